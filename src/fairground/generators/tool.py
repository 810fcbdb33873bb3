"""A load generator from elsewhere: what it can do, how it is started, and the session that makes a trial of its runs.

Such a tool takes no command to end its warm-up, so it runs twice: for the warm-up, whose numbers count only towards what the
server was asked in all, and for the window.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairground.generators.session import LoadTask
from fairground.generators.slots import Templates
from fairground.host import Child, Keeper, Meter, RoleMeter, Stopped, Streams
from fairground.model import LabError, Latency, Load, LoadRequest, Outcomes, Result, Second, Workload, secret
from fairground.model.answerlog import AnswerLog
from fairground.model.slot import find_slots, slots_of

SLACK_S = 30.0
"""How much longer than its time and one timeout a tool may take to start, to drain and to print."""
LOOKS_S = 0.05
"""The seconds between two looks at whether a tool has ended."""
COUNTED_AT_MOST_S = 900.0
"""How long a run of a given number of requests may take."""


@dataclass(frozen=True)
class ToolJob:
    """One run of a tool: `load` for `seconds`, or `requests` of them; its files go to `folder`, where it is started."""

    load: Load
    workload: Workload
    templates: Templates
    host: str
    port: int
    seed: int
    seconds: float
    requests: int | None
    first: int
    """What `{seq}` counts from."""
    folder: Path
    stages: tuple[tuple[float, int], ...] = ()
    """The load's stages; a warm-up has none."""
    histogram: bool = True
    """The report has each latency; False where writing them would be in the CPU that is metered."""

    @property
    def request(self) -> LoadRequest:
        """The only request of its workload."""
        return self.workload.first

    @property
    def url(self) -> str:
        """The address that is asked, without the slots' values: only where the request has none."""
        return self.origin + self.path

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def path(self) -> str:
        return "".join(str(piece) for piece in self.templates.path)

    @property
    def body(self) -> str | None:
        return None if self.templates.body is None else "".join(str(piece) for piece in self.templates.body)

    def write(self, name: str, text: str) -> str:
        """Put a file where the tool is started, and return its name."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


def holds_secret(request: LoadRequest) -> bool:
    """True if a request's path or one of its headers holds a secret."""
    shown = [secret.redact_header(name, value) for name, value in request.headers]
    return shown != [value for _, value in request.headers] or secret.redact(request.path) != request.path


@dataclass(frozen=True)
class ToolOutput:
    """The output of a run: its streams, its exit code, and its files."""

    stdout: str
    stderr: str
    code: int | None
    folder: Path

    def file(self, name: str) -> str:
        """The text of a file that the tool wrote; empty when there is none."""
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def nothing(self, tool: str) -> LabError:
        """The error of a tool that gave no result; its last words say why."""
        lines = [line.strip() for text in (self.stdout, self.stderr) for line in text.splitlines() if line.strip()]
        said = f"its last output: {lines[-1][:300]}" if lines else "it said nothing"
        return LabError(f"`{tool}` ended with exit code {self.code} and no result; {said}", exit_code=3)


@dataclass(frozen=True)
class ToolReport:
    """The report of a tool on one run."""

    duration_s: float
    outcomes: Outcomes
    completed: int | None
    latency_ok: Latency | None = None
    latency_all: Latency | None = None
    bytes_received: int | None = None
    seconds: tuple[Second, ...] = ()
    caveats: tuple[str, ...] = ()
    lossy: bool = False
    """True if it lost count of requests otherwise than by dropping what was on its way at its end."""


@dataclass(frozen=True)
class Tool:
    """One load generator. A limit that it has is False here, and a load beyond it is refused before anything is started."""

    name: str
    command: Callable[[ToolJob], list[str]]
    """The words after the program's name; writes the files that they name."""
    read: Callable[[ToolJob, ToolOutput], ToolReport]
    version: tuple[str, ...]
    """The command that tells its version, with `{program}` for its path."""
    version_pattern: str
    install: str
    """The command that gets it, with `{tools}` for the folder that holds `bin/`; or a sentence, where there is none."""
    convert: tuple[str, ...] | None = None
    """What to say to the program afterwards, to have its report in the file `converted`."""
    open_loop: bool = False
    counts: bool = False
    threads: bool = False
    random_path: bool = False
    random_body: bool = False
    sequence: bool = False
    pauses: bool = False
    """It can pause between an answer and the next request."""
    ramps: bool = False
    """It can change its number of connections while it measures."""
    whole_seconds: bool = False
    one_thread: bool = False
    """It can use one processor at most."""
    request_shown: bool = False
    """It takes headers and URL as words, which the process list shows."""
    environment: Mapping[str, str] | None = None
    refuse: Callable[[Load, Workload], str | None] = lambda load, workload: None
    """A further limit, as the end of the sentence that begins with the tool's name."""

    def refusal(self, load: Load, workload: Workload) -> str | None:
        """Say why it cannot make this load of this workload; None when it can.

        The words end a sentence that begins with the tool's name.
        """
        if workload.is_mix:
            return "sends one request, and not a mix of several"
        if any(one.source is not None for one in slots_of(workload.first)):
            return "cannot draw values from tables"
        if any(list(find_slots(value)) for _, value in workload.first.headers):
            return "cannot put a value of its own into each header"
        templates = Templates.of(workload.first)
        limits = (
            (load.model == "open" and not self.open_loop, "cannot keep a rate of arrivals"),
            (load.model == "open" and load.arrivals != "constant", f"spaces its arrivals evenly, and not `{load.arrivals}`"),
            (load.requests is not None and not self.counts, "measures a time, and not a number of requests"),
            (load.think_ms != 0 and not self.pauses, "cannot pause between an answer and the next request"),
            (bool(load.stages) and not self.ramps, "keeps its number of connections, and has no stages"),
            (load.threads != 1 and not self.threads, "cannot be told how many threads to use"),
            (not templates.fixed and not self.random_path, "sends one and the same request all the time"),
            (workload.pipeline > 1, "sends a request once the answer before it is there"),
            (templates.in_body and not self.random_body, "cannot put a value of its own into each body"),
            (templates.numbered and not self.sequence, "cannot give every request a number of its own"),
            (
                self.request_shown and holds_secret(workload.first),
                "takes its request as words, and a secret in them would be in the process list",
            ),
            (self.whole_seconds and load.window_s % 1 and load.requests is None, "measures whole seconds"),
            (self.whole_seconds and load.timeout_ms % 1000, "waits whole seconds for an answer"),
        )
        return next((sentence for holds, sentence in limits if holds), None) or self.refuse(load, workload)


@dataclass(frozen=True)
class Installed:
    """A tool that is here."""

    tool: Tool
    program: Path
    version: str | None
    """None: it does not tell."""

    @property
    def title(self) -> str:
        return f"{self.tool.name} {self.version}" if self.version else f"{self.tool.name} (does not tell its version)"


class ToolSession:
    """The warm-up and the window of one trial as two runs of a tool."""

    def __init__(self, keeper: Keeper, installed: Installed, task: LoadTask) -> None:
        load, folder, self.log = task.load, task.folder, AnswerLog()
        self._keeper, self._installed, self._tool = keeper, installed, installed.tool
        self._load, self._halted, self._second = load, False, 0
        window = ToolJob(
            load=load,
            workload=task.workload,
            templates=Templates.of(task.workload.first),
            host=task.host,
            port=task.port,
            seed=2 * task.seed + 1,
            seconds=load.window_s,
            requests=load.requests,
            first=1_000_000_001,
            folder=folder / "generator",
            stages=load.stages,
        )
        warmup = replace(
            window,
            seed=2 * task.seed,
            seconds=load.warmup_min_s,
            requests=None,
            first=1,
            folder=folder / "generator-warmup",
            stages=(),
        )
        self._jobs = [warmup, window] if load.warmup_min_s else [window]
        self._pending: list[dict[str, Any]] = [{"event": "start"}]
        self._seen: list[ToolReport] = []
        self._children: list[Child] = []
        self._phase, self._late_s = "", 0.0
        self.argv: tuple[str, ...] = ()
        self.child = self._begin(self._jobs[0])

    def event(self, timeout_s: float = 15.0) -> dict[str, Any] | None:
        """The next event; once a second it is that the tool still runs. LabError when it runs far longer than it should."""
        if self._pending:
            return self._pending.pop(0)
        if not self._jobs:
            return None
        job = self._jobs[0]
        code = self._wait(min(1.0, timeout_s))
        if code is None:
            if time.monotonic() > self._deadline:
                raise LabError(f"`{self._tool.name}` did not end by itself", exit_code=3)
            self._second += 1
            silent = dict.fromkeys(("ok", "not_ok", "p50_us", "p99_us", "max_us", "in_flight"))
            return {"event": "second", "phase": self._phase, "second": self._second - 1, **silent}
        self._jobs.pop(0)
        if job.folder.name == "generator":
            self._pending.append({"event": "end"})
            return {"event": "drain", "late_s": self._late_s}
        self._seen.append(self._read(job))
        if self._halted:
            self._jobs.clear()
            return {"event": "end"}
        self.child = self._begin(self._jobs[0])
        return self._pending.pop(0)

    def _wait(self, timeout_s: float) -> int | None:
        """The exit code, as soon as it is there. What the lab can have noticed too late is the time since it looked before."""
        ends = time.monotonic() + timeout_s
        while (looked := time.monotonic()) < ends:
            if (code := self.child.wait(LOOKS_S)) is not None:
                self._late_s = time.monotonic() - looked
                return code
        return None

    def meter(self) -> Meter:
        """A meter of the run that goes on. Its threads are sampled, so that those which end with the window are known."""
        return RoleMeter(self.child, closely=True)

    def pin(self, cores: Sequence[int] | None) -> None:
        """Pin the threads that it has, and those that they start."""
        self.child.pin(cores)

    def measure(self, window_s: float | None = None) -> None:
        """Do nothing: how long warm-up and window last was said when they began."""

    def halt(self) -> None:
        """End the run; most tools then print what they have."""
        self._halted = True
        self.child.send(signal.SIGINT)

    def stop(self) -> Stopped:
        """End whatever runs."""
        return [child.stop() for child in self._children][-1]

    def result(self) -> Result:
        """Both runs as one result: the window's numbers, and what both asked of the server."""
        if self._phase != "window":
            raise LabError(f"`{self._tool.name}` was ended before its window", exit_code=3)
        window = self._read(self._window)
        life = window.outcomes
        for seen in self._seen:
            life = life.join(seen.outcomes)
        runs = len(self._seen) + 1
        return Result(
            generator=self._installed.title,
            command=self.argv,
            window_s=window.duration_s,
            window=window.outcomes,
            life=life,
            completed=window.completed,
            completed_ok=window.outcomes.ok,
            in_flight_start=None,
            in_flight_end=None,
            bytes_received=window.bytes_received,
            bodies_checked=None,
            latency_ok=window.latency_ok,
            latency_all=window.latency_all,
            connect=None,
            seconds=window.seconds,
            ledgers=None,
            samples=(),
            cpu_us=None,
            busiest_thread_share=None,
            uncounted_most=None if any(seen.lossy for seen in (window, *self._seen)) else runs * self._load.most_connections,
            caveats=(*window.caveats, *_without_edges(self._window.workload)),
        )

    def _begin(self, job: ToolJob) -> Child:
        job.folder.mkdir(parents=True, exist_ok=True)
        words = self._tool.command(job)
        longest = job.seconds if job.requests is None else COUNTED_AT_MOST_S
        self._deadline = time.monotonic() + longest + self._load.timeout_ms / 1000 + SLACK_S
        self._phase, self._second = ("window" if job.folder.name == "generator" else "warmup"), 0
        if self._phase == "window":
            self._window, self.argv = job, (self._tool.name, *words)
            self._pending.append({"event": "window"})
        return self._spawn(job, words, "stdout")

    def _convert(self, job: ToolJob) -> None:
        if self._spawn(job, list(self._tool.convert or ()), "converted").wait(SLACK_S) != 0:
            raise LabError(f"`{self._tool.name}` could not read its own report", exit_code=3)

    def _spawn(self, job: ToolJob, words: list[str], stdout: str) -> Child:
        environment = {"PATH": f"{self._installed.program.parent}", "HOME": str(job.folder), **(self._tool.environment or {})}
        with open(job.folder / stdout, "wb") as out, open(job.folder / "stderr", "ab") as complaints:
            child = self._keeper.spawn(
                [str(self._installed.program), *words],
                role="generator",
                env=environment,
                cwd=job.folder.resolve(),
                streams=Streams(None, out, complaints),
            )
        self._children.append(child)
        return child

    def _read(self, job: ToolJob) -> ToolReport:
        if self._tool.convert and self.child.exit_code() == 0:
            self._convert(job)
        texts = [(job.folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
        return self._tool.read(job, ToolOutput(texts[0], texts[1], self.child.exit_code(), job.folder))


def _without_edges(workload: Workload) -> tuple[str, ...]:
    """Say what such a tool leaves out: it counts one status as good, so that all of its requests must have the same."""
    share = sum(edge.share for edge in workload.first.edges)
    if not share:
        return ()
    return (
        f"it sends the workload's plain requests alone: unknown ids and edge values, {share:.2%} of the engine's, are left out",
    )


def outcomes(job: ToolJob, statuses: Mapping[int, int], **kinds: int | None) -> Outcomes:
    """Outcomes of answers by status and of failures by kind; bodies are not looked at, so what has the right status is good."""
    wanted = job.request.expect.status
    others = {code: count for code, count in sorted(statuses.items()) if code not in (wanted, 503) and count}
    return Outcomes(
        ok=statuses.get(wanted, 0),
        shed=0 if wanted == 503 else statuses.get(503, 0),
        status=others,
        wrong_body=None,
        timeout=kinds.get("timeout"),
        connect=kinds.get("connect"),
        reset=kinds.get("reset"),
        malformed=kinds.get("malformed"),
        unsent=kinds.get("unsent"),
        in_flight=kinds.get("in_flight"),
        unclassified=kinds.get("unclassified"),
    )


def number(pattern: str, text: str) -> int | None:
    """The first group of the first match as a whole number."""
    found = re.search(pattern, text)
    return int(found[1]) if found else None


def decimal(pattern: str, text: str) -> float | None:
    """The first group of the first match as a number."""
    found = re.search(pattern, text)
    return float(found[1]) if found else None
