"""The order of a trial: reset, start, verify, warm up, measure, drain, stop, audit.

A server that fails at any step ends the trial with a finding; what fails of our own makes it void. Either way everything that was
started is stopped, and the trial is a value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from fairground import contract, diagnose
from fairground.generators import engine
from fairground.model import (
    AuditLine,
    DatabaseUse,
    Finding,
    HostUse,
    LabError,
    Progress,
    Result,
    RoleUse,
    Severity,
    Slot,
    Stack,
    Trial,
    Workload,
)
from fairground.postgres import Database
from fairground.process import Child, Keeper, RoleMeter, free_port, server, wait_until_silent
from fairground.trial import audit
from fairground.trial.watch import Reading, Watch, between

HOST = "127.0.0.1"
STOP_GRACE_S = 5.0
STDERR_TAIL = 2000


@dataclass(frozen=True)
class Bench:
    """What every trial of a run shares."""

    keeper: Keeper
    database: Database
    engine: Path
    cases: Sequence[contract.Case]
    cores: int
    say: Callable[[Progress], None] = lambda _: None
    ready_timeout_s: float = 30.0


def run(bench: Bench, slot: Slot, attempt: int, stack: Stack, workload: Workload, folder: Path, folder_name: str) -> Trial:
    """Measure one slot of a plan. `folder` is where raw data goes, `folder_name` how the run names it."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(bench, slot, attempt, folder)
    with notes.phase("reset"):
        bench.database.reset(slot.cell.settings.scale)
    port = free_port()
    began = time.monotonic()
    bench.say(Progress(slot, attempt, "start"))
    address = (HOST, port, bench.database.server_url())
    try:
        child = server.start(bench.keeper, stack, slot.cell.settings, *address, folder / "server.log")
    except LabError as error:
        notes.reject("start", f"the server could not be started: {error.message}")
        return notes.trial(folder_name)
    meters = {"server": RoleMeter(child)}
    if bench.database.child is not None:
        meters["database"] = RoleMeter(bench.database.child)
    try:
        with Watch(bench.database, meters) as watch:
            problem = server.wait(child, HOST, port, bench.ready_timeout_s)
            notes.phases["start"] = time.monotonic() - began
            if problem is not None:
                notes.reject("ready", f"the server did not become ready: {problem}")
            elif (bodies := _verify(notes, stack, workload, port)) is not None:
                _load(notes, watch, child, workload, port, bodies)
        notes.connections_peak, notes.watch = watch.connections_peak, watch
        if watch.failure is not None:
            notes.void("watch", f"the lab stopped looking at connections and memory: {watch.failure}")
    except (LabError, psycopg.Error) as error:
        notes.void("instrument", " ".join(str(error).split()))
    finally:
        with notes.phase("stop"):
            _stop(notes, child, port)
    with notes.phase("audit"):
        try:
            _audit(notes, workload)
        except psycopg.Error as error:
            notes.void("database", f"the database could not be read after the trial: {' '.join(str(error).split())}")
    return notes.trial(folder_name)


@dataclass
class Notes:
    """What is known of the trial so far."""

    bench: Bench
    slot: Slot
    attempt: int
    folder: Path
    started_unix_s: float = field(default_factory=time.time)
    began: float = field(default_factory=time.monotonic)
    phases: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    result: Result | None = None
    roles: Mapping[str, RoleUse] = field(default_factory=dict)
    host: HostUse | None = None
    connections_peak: int | None = None
    watch: Watch | None = None
    before: audit.Before | None = None
    wal_before: int | None = None
    database: DatabaseUse | None = None
    audit: tuple[AuditLine, ...] = ()
    diagnosis: str | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Say that a phase begins, and note how long it took."""
        self.bench.say(Progress(self.slot, self.attempt, name))
        began = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = time.monotonic() - began

    def reject(self, id: str, sentence: str, **evidence: int | float | str | None) -> None:
        self.findings.append(Finding(id, Severity.REJECT, sentence, evidence))

    def void(self, id: str, sentence: str) -> None:
        self.findings.append(Finding(id, Severity.VOID, sentence))

    def trial(self, folder_name: str) -> Trial:
        """All of it, frozen, with the verdict."""
        tail = _printable(_tail(self.folder / "server.log"))
        if tail:
            self.findings.append(
                Finding("stderr", Severity.NOTE, "the server wrote to its standard streams", {"characters": len(tail)})
            )
        return Trial(
            number=self.slot.number,
            block=self.slot.block,
            attempt=self.attempt,
            cell=self.slot.cell,
            seed=self.slot.seed,
            started_unix_s=self.started_unix_s,
            duration_s=time.monotonic() - self.began,
            phases_s=self.phases,
            result=self.result,
            roles=self.roles,
            host=self.host,
            database=self.database,
            audit=self.audit,
            findings=tuple(self.findings),
            verdict=diagnose.verdict(self.findings),
            diagnosis=self.diagnosis,
            stderr_tail=tail,
            folder=folder_name,
        )


def _verify(notes: Notes, stack: Stack, workload: Workload, port: int) -> Mapping[str, str] | None:
    """The workload's contract cases at low rate: the bodies that were found right, or None when the server failed one."""
    with notes.phase("verify"):
        cases = contract.select(notes.bench.cases, workload.id, quick=True)
        probe = notes.bench.database.query
        report = contract.run(cases, host=HOST, port=port, facts=contract.facts_from(probe), probe=probe, skip=stack.server.skip)
        notes.findings.extend(finding for finding in report.findings if finding.severity is not Severity.NOTE)
        return report.bodies if report.passed else None


def _load(notes: Notes, watch: Watch, child: Child, workload: Workload, port: int, bodies: Mapping[str, str]) -> None:
    """Warm-up, window and drain under the engine."""
    bench, load = notes.bench, notes.slot.cell.load
    notes.before = audit.before(bench.database, workload)
    notes.wal_before = bench.database.wal_position()
    session = engine.Session(
        bench.keeper, bench.engine, engine.plan(workload, load, HOST, port, notes.slot.seed, bodies), notes.folder
    )
    watch.meters["generator"] = RoleMeter(session.child)
    readings: dict[str, Reading] = {}
    try:
        warmup, settled = _follow(notes, watch, child, session, readings)
        notes.result = session.result()
    finally:
        session.stop()
    if "window" in readings and "drain" in readings:
        notes.roles, notes.host = between(watch.meters, readings["window"], readings["drain"])
        notes.findings.extend(diagnose.machine(notes.host, notes.result.window_s, bench.cores))
    notes.findings.extend(diagnose.answers(notes.result))
    notes.findings.extend(diagnose.instrument(notes.result, warmup, settled))


def _follow(
    notes: Notes, watch: Watch, child: Child, session: engine.Session, readings: dict[str, Reading]
) -> tuple[list[int], bool]:
    """Read the engine's events to the end; begin the window once the warm-up has settled or its time is up."""
    load, warmup, settled, asked = notes.slot.cell.load, list[int](), True, False
    clock = time.monotonic()
    phase, began = "warmup", clock
    while (event := session.event()) is not None:
        now = time.monotonic()
        match event["event"]:
            case "second":
                total = load.window_s if phase == "window" else load.warmup_max_s
                notes.bench.say(
                    Progress(notes.slot, notes.attempt, phase, now - began, total, event["ok"], event["not_ok"], event["p99_us"])
                )
                if phase == "warmup":
                    warmup.append(event["ok"])
                if child.exit_code() is not None and phase != "ended":
                    notes.reject("server-exit", f"the server ended during the {phase} with exit code {child.exit_code()}")
                    session.halt()
                    phase = "ended"
            case "window" | "drain" as name:
                notes.phases[phase], phase, began = now - began, name, now
                readings[name] = Reading(watch.meters)
                (watch.open_window if name == "window" else watch.close_window)()
        if phase == "warmup" and not asked:
            settled = diagnose.settled(warmup)
            if now - began >= load.warmup_max_s or (now - began >= load.warmup_min_s and settled):
                session.measure()
                asked = True
    notes.phases[phase] = time.monotonic() - began
    return warmup, settled


def _stop(notes: Notes, child: Child, port: int) -> None:
    """Stop the server and prove that nothing of it is left. What it did not do by itself is a finding."""
    exited = child.exit_code()
    if exited is not None and not any(finding.id in ("ready", "server-exit") for finding in notes.findings):
        notes.reject("server-exit", f"the server ended by itself with exit code {exited}", exit_code=exited)
    stopped = child.stop(STOP_GRACE_S)
    if stopped.seconds is None:
        notes.findings.append(
            Finding("stop", Severity.WARN, f"the server did not exit within {STOP_GRACE_S:.0f} s of SIGTERM and was killed")
        )
    if stopped.strays:
        notes.findings.append(
            Finding(
                "strays",
                Severity.WARN,
                f"the server left {len(stopped.strays)} processes behind, which were killed",
                {"processes": ", ".join(stopped.strays)[:300]},
            )
        )
    if not wait_until_silent(HOST, port):
        notes.void("port", f"something still listens on port {port} after the server was stopped")


def _audit(notes: Notes, workload: Workload) -> None:
    """Read the database once the server's connections are gone, and hold it against the answers."""
    database = notes.bench.database
    if not database.wait_for_no_connections():
        notes.void("connections-left", "the server's database connections were still open after it had ended")
    counters, wal = database.counters(), database.wal_position()
    notes.database = DatabaseUse(
        commits=counters.commits,
        rollbacks=counters.rollbacks,
        rows_read=counters.rows_read,
        deadlocks=counters.deadlocks,
        wal_bytes=wal - notes.wal_before if wal is not None and notes.wal_before is not None else None,
        connections_peak=notes.connections_peak,
        wait_events=dict(notes.watch.wait_events) if notes.watch else {},
        wait_samples=notes.watch.wait_samples if notes.watch else 0,
    )
    notes.findings.extend(diagnose.budget(notes.database, notes.slot.cell))
    if notes.result is None or notes.before is None:
        return
    notes.audit = audit.lines(database, workload, notes.result, notes.database, notes.before)
    notes.findings.extend(diagnose.audit_findings(notes.audit))
    notes.findings.extend(diagnose.chatter(workload, notes.result, notes.database))
    limit = diagnose.limit(notes.slot.cell, notes.result, notes.roles, notes.host, notes.database, notes.bench.cores)
    if limit is not None:
        notes.findings.append(limit)
        notes.diagnosis = limit.id


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-STDERR_TAIL:].decode(errors="replace")
    except OSError:
        return ""


def _printable(text: str) -> str:
    """The text without control characters: what a server prints reaches terminals and pages as text only."""
    return "".join(letter for letter in text if letter in "\n\t" or (letter.isprintable())).strip()
