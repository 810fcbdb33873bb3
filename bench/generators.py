"""The load generators as commands: how each is started for one shape of load, and what its output says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Another binary can be measured by naming it in the environment.
FAIRLOAD = Path(os.environ.get("FAIRLOAD", ROOT / "engine" / "target" / "release" / "fairload"))
GRACE_S = 60.0
# ab keeps a record of every request that it may send, so the most that any of them reaches is enough.
AB_MOST_PER_S = 400_000
LUA = """
math.randomseed(7)
request = function()
  return wrk.format("GET", "/x?a=" .. math.random(1, 100000) .. "&b=" .. math.random(1, 100000))
end
"""


@dataclass(frozen=True)
class Shape:
    """One load. `rate_per_s` makes it an open loop; `parameters` asks for two random numbers in every request."""

    port: int
    connections: int
    seconds: float
    keep_alive: bool = True
    parameters: bool = False
    rate_per_s: int | None = None
    timeout_ms: int = 10_000
    expect_body: str | None = None
    path: str = "/x"
    method: str = "GET"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"


@dataclass(frozen=True)
class Seen:
    """What a generator reports. `None`: it does not say. `errors` and `timeouts` are requests in its own words' sense."""

    completed: int | None
    ok: int | None
    errors: int | None
    timeouts: int | None
    words: str
    requests_per_s: float | None = None


@dataclass(frozen=True)
class Ran:
    """One ended process: its output, its exit code, its CPU time and its wall time."""

    stdout: str
    stderr: str
    code: int
    cpu_s: float
    seconds: float


@dataclass(frozen=True)
class Generator:
    name: str
    program: str
    argv: Callable[[Shape, Path], list[str]]
    read: Callable[[Ran], Seen]

    def find(self) -> str | None:
        """Its program's path, or None where it is not installed."""
        if self.program == "fairload":
            return str(FAIRLOAD) if FAIRLOAD.exists() else None
        return shutil.which(self.program)

    def run(self, shape: Shape, cpus: Sequence[int] | None = None) -> Ran:
        """Run it to its end on `cpus`. Raises TimeoutExpired where it does not end by itself."""
        with tempfile.TemporaryDirectory() as folder:
            argv = [self.find() or self.program, *self.argv(shape, Path(folder))]
            return run(argv, shape.seconds + GRACE_S, cpus)


def run(argv: Sequence[str], limit_s: float, cpus: Sequence[int] | None = None) -> Ran:
    """Run a command to its end and read its CPU time from the kernel's account of this very child."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        if cpus is not None:
            os.sched_setaffinity(child.pid, cpus)
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > limit_s:
                child.kill()
                child.wait()
                raise subprocess.TimeoutExpired(list(argv), limit_s)
            time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    cpu_s = usage.ru_utime + usage.ru_stime
    return Ran(texts[0], texts[1], child.returncode, cpu_s, time.monotonic() - start)


def fairload_argv(shape: Shape, _: Path) -> list[str]:
    url = shape.url + ("?a={int:1..100000}&b={int:1..100000}" if shape.parameters else "")
    argv = ["run", "--json", "--url", url, "-c", str(shape.connections), "-d", str(shape.seconds)]
    argv += ["--timeout-ms", str(shape.timeout_ms), "-X", shape.method]
    argv += [] if shape.keep_alive else ["--close"]
    argv += [] if shape.rate_per_s is None else ["--rate", str(shape.rate_per_s)]
    return argv + ([] if shape.expect_body is None else ["--expect-body", shape.expect_body])


def status_only_argv(shape: Shape, folder: Path) -> list[str]:
    """The engine that looks at the status alone: what comparing bodies costs is the difference."""
    return fairload_argv(replace(shape, expect_body=None), folder)


def read_fairload(ran: Ran) -> Seen:
    if not ran.stdout:
        return Seen(None, None, None, None, ran.stderr.strip())
    document: dict[str, Any] = json.loads(ran.stdout)
    counts: dict[str, Any] = document["life"]["outcomes"]
    status: dict[str, int] = counts["status"]
    bad = {name: count for name, count in counts.items() if name not in ("ok", "status") and count}
    bad |= {f"status {code}": count for code, count in status.items()}
    sent = document["life"]["sent"]
    timeouts = counts["timeout"]
    words = " · ".join([f"{counts['ok']} ok", *(f"{count} {name.replace('_', ' ')}" for name, count in bad.items())])
    window = document["window"]
    rate = window["completed"] / (window["duration_us"] / 1e6) if window["duration_us"] else None
    return Seen(sent, counts["ok"], sent - counts["ok"] - timeouts, timeouts, words, rate)


def wrk_argv(shape: Shape, folder: Path) -> list[str]:
    argv = ["-t", "1", "-c", str(shape.connections), "-d", f"{max(1, round(shape.seconds))}s"]
    argv += ["--timeout", f"{max(1, round(shape.timeout_ms / 1000))}s"]
    argv += [] if shape.keep_alive else ["-H", "Connection: close"]
    if shape.parameters or shape.method != "GET":
        script = folder / "requests.lua"
        script.write_text(LUA if shape.parameters else f'wrk.method = "{shape.method}"\n')
        argv += ["-s", str(script)]
    return [*argv, shape.url]


def read_wrk(ran: Ran) -> Seen:
    requests = _number(r"(\d+) requests in", ran.stdout)
    bad_status = _number(r"Non-2xx or 3xx responses: (\d+)", ran.stdout) or 0
    found = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", ran.stdout)
    connect, read, write, timeout = (int(text) for text in found.groups()) if found else (0, 0, 0, 0)
    if requests is None:
        return Seen(None, None, None, None, _last_line(ran))
    words = f"{requests} requests"
    words += f" · non-2xx or 3xx {bad_status}" if bad_status else ""
    words += f" · socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}" if found else ""
    rate = _decimal(r"Requests/sec:\s+([\d.]+)", ran.stdout)
    return Seen(requests, requests - bad_status, connect + read + write + bad_status, timeout, words, rate)


def ab_argv(shape: Shape, _: Path) -> list[str]:
    # -r: go on after a socket error. -t sets -n to 50,000, so -n stands after it.
    argv = ["-q", "-r", "-c", str(shape.connections), "-s", str(max(1, round(shape.timeout_ms / 1000)))]
    argv += ["-t", str(max(1, round(shape.seconds))), "-n", str(int(max(1, shape.seconds) * AB_MOST_PER_S))]
    argv += ["-i"] if shape.method == "HEAD" else []
    return [*argv, *(["-k"] if shape.keep_alive else []), shape.url]


def read_ab(ran: Ran) -> Seen:
    complete = _number(r"Complete requests:\s+(\d+)", ran.stdout)
    if complete is None:
        return Seen(None, None, None, None, _last_line(ran))
    failed = _number(r"Failed requests:\s+(\d+)", ran.stdout) or 0
    kinds = re.search(r"\(Connect: \d+, Receive: \d+, Length: \d+, Exceptions: \d+\)", ran.stdout)
    bad_status = _number(r"Non-2xx responses:\s+(\d+)", ran.stdout) or 0
    words = f"{complete} complete · {failed} failed" + (f" {kinds.group()}" if kinds and failed else "")
    words += f" · non-2xx {bad_status}" if bad_status else ""
    rate = _decimal(r"Requests per second:\s+([\d.]+)", ran.stdout)
    bad = max(failed, bad_status)  # an unexpected status of another length is in both
    return Seen(complete, complete - bad, bad, None, words, rate)


def hey_argv(shape: Shape, _: Path) -> list[str]:
    argv = ["-z", f"{shape.seconds}s", "-c", str(shape.connections), "-t", str(max(1, round(shape.timeout_ms / 1000)))]
    argv += ["-m", shape.method]
    return [*argv, *([] if shape.keep_alive else ["-disable-keepalive"]), shape.url]


def read_hey(ran: Ran) -> Seen:
    codes = {code: int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) responses", ran.stdout)}
    section = ran.stdout.partition("Error distribution:")[2]
    errors = [(int(count), text) for count, text in re.findall(r"\[(\d+)\]\s+(\S.*)", section)]
    if not codes and not errors:
        return Seen(None, None, None, None, _last_line(ran))
    late = sum(count for count, text in errors if "deadline exceeded" in text)
    failed = sum(count for count, _ in errors)
    other = sum(count for code, count in codes.items() if code != "200")
    words = " · ".join([f"[{code}] {count}" for code, count in sorted(codes.items())] + _grouped(errors))
    completed = sum(codes.values()) + failed
    rate = _decimal(r"Requests/sec:\s+([\d.]+)", ran.stdout)
    return Seen(completed, codes.get("200", 0), failed - late + other, late, words, rate)


def _grouped(errors: Sequence[tuple[int, str]]) -> list[str]:
    """Error texts differ in their port numbers: those that end alike are one."""
    sums: dict[str, int] = {}
    for count, text in errors:
        tail = re.sub(r".*: ", "", re.sub(r"\([^)]*\)", "", text).strip())
        sums[tail] = sums.get(tail, 0) + count
    return [f"{count} “{tail}”" for tail, count in sums.items()]


def oha_argv(shape: Shape, _: Path) -> list[str]:
    argv = ["--no-tui", "--output-format", "json", "-z", f"{shape.seconds}s", "-c", str(shape.connections)]
    argv += ["-t", f"{shape.timeout_ms}ms", "-m", shape.method]
    argv += [] if shape.keep_alive else ["--disable-keepalive"]
    argv += [] if shape.rate_per_s is None else ["-q", str(shape.rate_per_s), "--latency-correction"]
    if shape.parameters:
        return [*argv, "--rand-regex-url", shape.url.replace(".", "\\.") + r"\?a=[1-9][0-9]{0,4}&b=[1-9][0-9]{0,4}"]
    return [*argv, shape.url]


def read_oha(ran: Ran) -> Seen:
    try:
        document: dict[str, Any] = json.loads(ran.stdout)
    except ValueError:
        return Seen(None, None, None, None, _last_line(ran))
    codes: dict[str, int] = document["statusCodeDistribution"]
    errors: dict[str, int] = document["errorDistribution"]
    late = sum(count for text, count in errors.items() if "timeout" in text)
    # Requests that its own end cut off are no errors of the server.
    failed = sum(count for text, count in errors.items() if "deadline" not in text)
    done, ok = sum(codes.values()), codes.get("200", 0)
    words = " · ".join([f"[{code}] {count}" for code, count in codes.items()] + [f"{n} “{text}”" for text, n in errors.items()])
    return Seen(done + failed, ok, failed - late + done - ok, late, words, done / document["summary"]["total"])


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else None


def _decimal(pattern: str, text: str) -> float | None:
    found = re.search(pattern, text)
    return float(found.group(1)) if found else None


def _last_line(ran: Ran) -> str:
    lines = [line.strip() for line in (ran.stdout + "\n" + ran.stderr).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("apr_")]
    return f"no result: `{(errors or lines or ['no output'])[-1]}`"


FAIRLOAD_GENERATOR = Generator("fairload", "fairload", fairload_argv, read_fairload)
STATUS_ONLY = replace(FAIRLOAD_GENERATOR, name="status only", argv=status_only_argv)
WRK = Generator("wrk", "wrk", wrk_argv, read_wrk)
WRK_LUA = replace(WRK, name="wrk+Lua")
AB = Generator("ab", "ab", ab_argv, read_ab)
HEY = Generator("hey", "hey", hey_argv, read_hey)
OHA = Generator("oha", "oha", oha_argv, read_oha)
