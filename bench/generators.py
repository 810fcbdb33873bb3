"""The load generators for one shape of load: the lab's own commands and readers of them, each run with its CPU metered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.generators import TOOLS, engine, engine_plan
from fairground.generators.slots import Templates
from fairground.generators.tool import Tool, ToolJob, ToolOutput
from fairground.model import Audit, Expectation, LabError, Load, LoadRequest, Outcomes, Workload
from frame import ROOT

# Another binary can be measured by naming it in the environment.
FAIRLOAD = Path(os.environ.get("FAIRLOAD", ROOT / "engine" / "target" / "release" / "fairload"))
GRACE_S = 60.0
SLOTS = "?a={int:1..100000}&b={int:1..100000}"


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
    content_type: str | None = None

    def load(self, timeout_ms: int) -> Load:
        """The lab's load of this shape."""
        model, arrivals = ("closed", "poisson") if self.rate_per_s is None else ("open", "constant")
        return Load(
            self.connections, self.keep_alive, self.seconds, 0.0, 0.0, timeout_ms, model, self.rate_per_s, arrivals=arrivals
        )  # fmt: skip

    def workload(self, compares: bool = True) -> Workload:
        """The lab's workload of this shape; without `compares` the status alone is looked at."""
        body = {"exact": self.expect_body} if compares and self.expect_body else None
        path = self.path + (SLOTS if self.parameters else "")
        expect = Expectation(200, self.content_type, body, 1)
        return Workload("x", "", "", (LoadRequest("x", self.method, path, expect=expect),), Audit(), None)


@dataclass(frozen=True)
class Seen:
    """What a generator reports. `None`: it does not say. `errors` are all requests that are neither good nor timed out."""

    completed: int | None
    ok: int | None
    errors: int | None
    timeouts: int | None
    words: str
    requests_per_s: float | None = None

    @classmethod
    def of(cls, outcomes: Outcomes, completed: int | None, requests_per_s: float | None) -> Seen:
        """Sum up what became of requests. What was in flight at the end has become nothing yet."""
        kinds = ("shed", "wrong_body", "timeout", "connect", "reset", "malformed", "unclassified")
        bad = {f"status {code}": count for code, count in outcomes.status.items()}
        bad |= {kind.replace("_", " "): getattr(outcomes, kind) for kind in kinds}
        words = " · ".join([f"{outcomes.ok} ok", *(f"{count} {kind}" for kind, count in bad.items() if count)])
        return cls(completed, outcomes.ok, outcomes.bad, outcomes.timeout, words, requests_per_s)


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
    """A generator by its name in tables. Without a `tool` it is the engine, which `compares` bodies or looks at the status."""

    name: str
    tool: Tool | None = None
    compares: bool = True

    @property
    def program(self) -> str:
        """The name of its program."""
        return "fairload" if self.tool is None else self.tool.name

    def find(self) -> str | None:
        """Its program's path, or None where it is not installed."""
        if self.tool is None:
            return str(FAIRLOAD) if FAIRLOAD.exists() else None
        return shutil.which(self.program)

    def job(self, shape: Shape, folder: Path) -> ToolJob:
        """The run of a tool. All but oha wait for whole seconds."""
        whole_ms = shape.timeout_ms if self.name == "oha" else max(1000, round(shape.timeout_ms, -3))
        load, workload = shape.load(whole_ms), shape.workload()
        templates = Templates.of(workload.first)
        return ToolJob(load, workload, templates, "127.0.0.1", shape.port, 7, shape.seconds, None, 1, folder, histogram=False)

    def argv(self, shape: Shape, folder: Path) -> list[str]:
        """The words after the program's name; files that they name are written into `folder`."""
        if self.tool is not None:
            return self.tool.command(self.job(shape, folder))
        plan = engine_plan.plan(shape.workload(self.compares), shape.load(shape.timeout_ms), "127.0.0.1", shape.port, 7, {})
        plan["load"] = {**dict(plan["load"]), "warmup_s": 0}  # type: ignore[call-overload]
        (folder / "plan.json").write_text(json.dumps(plan))
        return ["run", "--plan", "plan.json"]

    def run(self, shape: Shape, cpus: Sequence[int] | None = None) -> tuple[Seen, Ran]:
        """Run it to its end on `cpus`. Raises TimeoutExpired where it does not end by itself."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            argv = [self.find() or self.program, *self.argv(shape, folder)]
            ran = run(argv, shape.seconds + GRACE_S, cpus, folder)
            return self.read(shape, ran, folder), ran

    def read(self, shape: Shape, ran: Ran, folder: Path) -> Seen:
        """The numbers of a run by the lab's own reader; none, and its last words, where it told nothing."""
        try:
            if self.tool is not None:
                told = self.tool.read(self.job(shape, folder), ToolOutput(ran.stdout, ran.stderr, ran.code, folder))
                rate = told.completed / told.duration_s if told.completed and told.duration_s else None
                return Seen.of(told.outcomes, told.completed, rate)
            if not ran.stdout:
                raise LabError(ran.stderr.strip())
            found = engine.parse(json.loads(ran.stdout), ())
        except LabError as error:
            return Seen(None, None, None, None, f"no result: {error.message}")
        rate = found.completed / found.window_s if found.completed and found.window_s else None
        return Seen.of(found.life, found.life.total - (found.life.unsent or 0), rate)


def run(argv: Sequence[str], limit_s: float, cpus: Sequence[int] | None = None, folder: Path | None = None) -> Ran:
    """Run a command to its end and read its CPU time from the kernel's account of this very child."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder)
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


FAIRLOAD_GENERATOR = Generator("fairload")
STATUS_ONLY = Generator("status only", compares=False)
WRK, AB, HEY, OHA = (Generator(name, TOOLS[name]) for name in ("wrk", "ab", "hey", "oha"))
WRK_LUA = Generator("wrk+Lua", TOOLS["wrk"])
