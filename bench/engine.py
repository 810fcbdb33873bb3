"""`make bench-engine`: what the load engine costs and reaches, beside other generators, in interleaved rounds.

It measures and does not assert. Ratios are taken inside a round, because a machine's speed drifts between rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ledger
from generators import AB, FAIRLOAD, FAIRLOAD_GENERATOR, HEY, OHA, STATUS_ONLY, WRK, WRK_LUA, Generator, Seen, Shape

NGINX_CONF = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    default_type application/json;
    location / {{ return 200 '{{"ok":true,"message":"OK"}}'; }}
  }}
}}
"""


@dataclass(frozen=True)
class Case:
    """A row of the table. `shared`: server and generator on one core. The bars are ratios to the first of `rivals`.

    `body`: what the null responder answers, and fairload compares with every answer; None: the status alone is looked at.
    """

    name: str
    server: str
    shared: bool
    connections: int
    rivals: tuple[Generator, ...]
    cpu_bar: float
    rate_bar: float | None
    parameters: bool = False
    keep_alive: bool = True
    rate_per_s: int | None = None
    body: str | None = None


@dataclass(frozen=True)
class Sample:
    """One generator in one round. `cpu_us` is its own CPU time per completed request."""

    generator: str
    round: int
    requests_per_s: float
    cpu_us: float


PLAIN = (WRK, AB, HEY, OHA)
SMALL_BODY = '{"ok":true,"message":"OK"}'
LARGE_BODY = json.dumps([{"id": number, "note": "x" * 180} for number in range(100)])  # as long as an answer to /users
CASES = (
    Case("nginx, shared core, 100", "nginx", True, 100, PLAIN, 0.90, 1.06),
    Case("nginx, shared core, 100, parameters", "nginx", True, 100, (WRK_LUA, OHA), 0.78, 1.15, parameters=True),
    Case("null, 10", "null", False, 10, PLAIN, 0.85, 1.18),
    Case("null, 100", "null", False, 100, PLAIN, 0.85, 1.18),
    Case("null, 1000", "null", False, 1000, PLAIN, 0.85, 1.18),
    Case("null, 10, parameters", "null", False, 10, (WRK_LUA, OHA), 0.75, 1.35, parameters=True),
    Case("null, 100, parameters", "null", False, 100, (WRK_LUA, OHA), 0.75, 1.35, parameters=True),
    Case("null, 1000, parameters", "null", False, 1000, (WRK_LUA, OHA), 0.75, 1.35, parameters=True),
    Case("nginx, shared core, 100, close", "nginx", True, 100, PLAIN, 0.95, 1.05, keep_alive=False),
    Case("null, 100, every body compared", "null", False, 100, (STATUS_ONLY,), 1.03, 0.97, body=SMALL_BODY),
    Case("null, 100, every body of 20 kB compared", "null", False, 100, (STATUS_ONLY,), 1.03, 0.97, body=LARGE_BODY),
    Case("null, open loop, 20k/s", "null", False, 100, (OHA,), 1.0, None, rate_per_s=20_000),
    Case("null, open loop, 50k/s", "null", False, 100, (OHA,), 1.0, None, rate_per_s=50_000),
    Case("null, open loop, 100k/s", "null", False, 100, (OHA,), 1.0, None, rate_per_s=100_000),
)


def main() -> int:
    """Run the chosen cases and print the table, or make the ledger's table anew."""
    options = _options()
    if not FAIRLOAD.exists():
        sys.stderr.write("there is no engine; run `cargo build --release` in `engine/`\n")
        return 2
    if options.ledger:
        return ledger.write(Path(options.ledger), options.case)
    chosen = [case for case in CASES if all(part in case.name for part in options.case)]
    if not chosen:
        sys.stderr.write(f"no case has {options.case} in its name; names: {'; '.join(case.name for case in CASES)}\n")
        return 2
    tell = sys.stderr.write if options.json else sys.stdout.write
    tell(f"{options.rounds} rounds of {options.seconds:g} s; load of this machine: {os.getloadavg()[0]:.1f}\n")
    if missing := missing_rivals(chosen):
        tell(f"not installed, and left out: {', '.join(missing)}\n")
    measured: dict[Case, list[Sample]] = {}
    failed = False
    for case in chosen:
        try:
            measured[case] = measure(case, options.rounds, options.seconds, options.port)
        except RuntimeError as error:
            failed = True
            sys.stderr.write(f"{case.name}: {error}\n")
            continue
        tell("" if options.json else "\n" + table(case, measured[case]))
        sys.stdout.flush()
    if options.json:
        samples = [{"case": case.name, "samples": [dataclasses.asdict(one) for one in found]} for case, found in measured.items()]
        json.dump(samples, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        tell("\n" + overview(measured))
    return 1 if failed else 0


def missing_rivals(cases: Sequence[Case]) -> list[str]:
    """The programs that these cases ask for and this machine lacks."""
    return sorted({rival.program for case in cases for rival in case.rivals if not rival.find()})


def measure(case: Case, rounds: int, seconds: float, port: int) -> list[Sample]:
    """All generators of a case that are installed, once in each round, each round beginning with another one."""
    generators = [generator for generator in (FAIRLOAD_GENERATOR, *case.rivals) if generator.find()]
    cpus = sorted(os.sched_getaffinity(0))
    own = [cpus[-1]]
    shape = Shape(port, case.connections, seconds, case.keep_alive, case.parameters, case.rate_per_s, expect_body=case.body)
    samples = []
    with serving(case.server, port, own if case.shared else [cpus[0]], case.body):
        for number in range(rounds):
            turn = number % len(generators)
            for generator in generators[turn:] + generators[:turn]:
                seen, ran = generator.run(shape, own)
                samples.append(sample(generator.name, number, seen, ran.cpu_s))
    return samples


def sample(generator: str, number: int, seen: Seen, cpu_s: float) -> Sample:
    """Raises RuntimeError where a generator reports no requests: a ratio to nothing would be a lie."""
    if not seen.completed or seen.requests_per_s is None:
        raise RuntimeError(f"{generator} reported no requests: {seen.words}")
    return Sample(generator, number, seen.requests_per_s, cpu_s * 1e6 / seen.completed)


@contextlib.contextmanager
def serving(kind: str, port: int, cpus: Sequence[int], body: str | None = None) -> Iterator[None]:
    """A server of its own on 127.0.0.1, on `cpus`, for the length of the block; a null responder answers `body`."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "nginx":
            config = Path(folder) / "nginx.conf"
            config.write_text(NGINX_CONF.format(folder=folder, port=port))
            argv = ["nginx", "-p", folder, "-c", str(config)]
        else:
            argv = [str(FAIRLOAD), "null", "--port", str(port), *([] if body is None else ["--body", body])]
        child = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, cpus)), *argv], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            _wait_until_it_answers(port, child)
            yield
        finally:
            child.terminate()
            child.wait(10)


def _wait_until_it_answers(port: int, child: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        if child.poll() is not None:
            stderr = child.stderr.read().decode() if child.stderr else ""
            raise RuntimeError(f"the server on port {port} ended: {stderr.strip()}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server on port {port} does not listen")


def ratios(case: Case, samples: Sequence[Sample], name: str) -> tuple[list[float], list[float]]:
    """Requests/s and CPU of a generator over those of the case's first rival, round by round; empty where that one is missing."""
    mine = {sample.round: sample for sample in samples if sample.generator == name}
    theirs = {sample.round: sample for sample in samples if sample.generator == case.rivals[0].name}
    rounds = sorted(mine.keys() & theirs.keys())
    rates = [mine[number].requests_per_s / theirs[number].requests_per_s for number in rounds]
    return rates, [mine[number].cpu_us / theirs[number].cpu_us for number in rounds]


def table(case: Case, samples: Sequence[Sample]) -> str:
    """Medians, and ratios to the case's first rival as median and range over the rounds."""
    names = list(dict.fromkeys(sample.generator for sample in samples))
    base = case.rivals[0].name
    lines = [f"{case.name}", f"  {'':<10}{'requests/s':>12}{'µs CPU each':>13}   {'requests/s ÷ ' + base:<26}CPU ÷ {base}"]
    for name in sorted(names, key=lambda name: name != "fairload"):
        mine = [sample for sample in samples if sample.generator == name]
        rate = statistics.median(sample.requests_per_s for sample in mine)
        cpu = statistics.median(sample.cpu_us for sample in mine)
        line = f"  {name:<10}{rate:>12.0f}{cpu:>13.2f}"
        rates, cpus = ratios(case, samples, name)
        if rates and name != base:
            line += f"   {spread(rates):<26}{spread(cpus)}"
        lines.append(line)
    if base not in names:
        lines.append(f"  {base} is not installed: no ratios")
    wanted = f"CPU ≤ {case.cpu_bar:.2f}" + ("" if case.rate_bar is None else f", requests/s ≥ {case.rate_bar:.2f}")
    return "\n".join([*lines, f"  aim: {wanted}", ""])


def overview(measured: Mapping[Case, Sequence[Sample]]) -> str:
    """One row for each case, as Markdown: fairload over the case's first rival beside its bars. A bar that is missed is bold."""
    lines = ["| case | beside | CPU per request (bar) | requests/s (bar) |", "|--|--|--|--|"]
    for case, samples in measured.items():
        rates, cpus = ratios(case, samples, "fairload")
        if not rates:
            lines.append(f"| {case.name} | {case.rivals[0].name}: not installed | – | – |")
            continue
        cpu = _cell(cpus, f"≤ {case.cpu_bar:.2f}", statistics.median(cpus) <= case.cpu_bar)
        if case.rate_bar is None:
            rate = _cell(rates, "as due", True)
        else:
            rate = _cell(rates, f"≥ {case.rate_bar:.2f}", statistics.median(rates) >= case.rate_bar)
        lines.append(f"| {case.name} | {case.rivals[0].name} | {cpu} | {rate} |")
    return "\n".join([*lines, ""])


def _cell(ratios: Sequence[float], bar: str, met: bool) -> str:
    text = f"{spread(ratios)}, {bar}"
    return text if met else f"**{text}**"


def spread(ratios: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (5)")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each measurement, whole seconds for wrk and ab (5)")
    parser.add_argument("--case", action="append", default=[], help="only cases with this in their name; may be repeated")
    parser.add_argument("--port", type=int, default=7110, help="where the measured server listens (7110)")
    parser.add_argument("--json", action="store_true", help="every sample as JSON, instead of tables")
    parser.add_argument("--ledger", metavar="FILE", help="instead: write what each generator sees of each fault script")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
