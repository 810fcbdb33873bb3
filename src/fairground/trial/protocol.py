"""The order of a trial: reset, start, verify, warm up, measure, drain, stop, audit.

A server that fails at any step ends the trial with a finding; what fails of our own makes it void. Either way everything that was
started is stopped, and the trial is a value.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg

from fairground import contract, diagnose, generators, reasons, thresholds, topology, validity
from fairground import machine as host
from fairground.model import (
    AuditLine,
    DatabaseUse,
    Finding,
    HostUse,
    LabError,
    Machine,
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
from fairground.process import Child, Keeper, RoleMeter, burner
from fairground.thresholds import Thresholds
from fairground.trial import audit, prepared
from fairground.trial.route import HOST, Route
from fairground.trial.watch import Reading, Watch, between, database_use

STDERR_TAIL = 2000
LOG_CHARACTERS = 100_000


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
    tools: Mapping[str, generators.Installed] = field(default_factory=dict)
    """Load generators from elsewhere that are here, by name."""
    thresholds: Thresholds = field(default_factory=thresholds.standard)
    machine: Machine | None = None
    """The machine that the run is of; None: of whatever machine this is."""


def run(bench: Bench, slot: Slot, attempt: int, stack: Stack, workload: Workload, folder: Path, folder_name: str) -> Trial:
    """Measure one slot of a plan. `folder` is where raw data goes, `folder_name` how the run names it."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(bench, slot, attempt, folder)
    with notes.phase("reset"):
        bench.database.reset(slot.cell.settings.scale)
    route = Route(bench.keeper, bench.database, slot.cell, bench.cores, folder)
    began = time.monotonic()
    bench.say(Progress(slot, attempt, "start"))
    if not _open(notes, route, stack):
        notes.findings.extend(route.close())
        return notes.trial(folder_name)
    try:
        with Watch(bench.database, route.meters, route.pooler) as watch:
            problem = route.wait(bench.ready_timeout_s)
            notes.phases["start"] = time.monotonic() - began
            notes.findings.extend(one for one in [route.exposed()] if one is not None)
            _measure(notes, watch, route, stack, workload, problem)
        notes.watch = watch
        if watch.failure is not None:
            notes.void("watch", f"the lab stopped looking at connections and memory: {watch.failure}")
    except (LabError, psycopg.Error) as error:
        notes.void("instrument", " ".join(str(error).split()))
    finally:
        with notes.phase("stop"):
            known = {finding.id for finding in notes.findings}
            spoken = {"server-exit"} if known & {"ready", "server-exit"} else set()
            notes.findings.extend(finding for finding in route.close() if finding.id not in spoken)
    with notes.phase("audit"):
        try:
            _audit(notes, workload)
        except psycopg.Error as error:
            notes.void("database", f"the database could not be read after the trial: {' '.join(str(error).split())}")
    _judge(notes)
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

    def lost_statements(self) -> str | None:
        """The error of a prepared statement that a pooler lost, in the words of who reported it; None when there was none."""
        if not topology.pooled(self.slot.cell.topology):
            return None
        log = self.folder / "database.log"
        with open(log, "a") as kept:
            kept.write(self.bench.database.take_errors())
        samples = [sample.body or "" for sample in self.result.samples] if self.result is not None else []
        logs = [_tail(self.folder / name) for name in ("server.log", "pooler.log")] + [log.read_text()[:LOG_CHARACTERS]]
        return prepared.error([*samples, *(finding.sentence for finding in self.findings), *logs])

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
            control=self.slot.control,
        )


def _open(notes: Notes, route: Route, stack: Stack) -> bool:
    """Start pooler and server. A pooler that does not start makes the trial void, a server that does not is rejected."""
    try:
        route.open_pooler()
    except (LabError, psycopg.Error) as error:
        notes.void("pooler", " ".join(str(error).split()))
        return False
    try:
        route.open_server(stack)
    except LabError as error:
        notes.reject("start", f"the server could not be started: {error.message}")
        return False
    return True


def _measure(notes: Notes, watch: Watch, route: Route, stack: Stack, workload: Workload, problem: str | None) -> None:
    """Verify and load a server, `problem` being why it is not ready. Lost prepared statements are measured, not given up on."""
    assert route.server is not None
    if problem is not None and not (route.listens() and notes.lost_statements()):
        notes.reject("ready", f"the server did not become ready: {problem}")
    else:
        try:
            route.open_proxy(ready=problem is None)
        except LabError as error:
            notes.void("proxy", error.message)
            return
        if (bodies := _verify(notes, stack, workload, route.port)) is not None:
            _load(notes, watch, route.server, _comparable(workload, bodies), route.port, bodies)
    if route.pooler is not None and (said := notes.lost_statements()):
        name = f"{notes.slot.cell.topology.pooler} {route.pooler.version}"
        notes.findings.append(prepared.finding(notes.result, name, said, notes.bench.thresholds.rules.prepared_reject))
        notes.diagnosis = prepared.ID


def _verify(notes: Notes, stack: Stack, workload: Workload, port: int) -> Mapping[str, str] | None:
    """The workload's contract cases at low rate: the bodies that were found right, or None when the server failed one.

    Cases that fail because a pooler loses prepared statements do not end the trial: the share of such failures is its result.
    """
    with notes.phase("verify"):
        cases = contract.select(notes.bench.cases, workload.id, quick=True)
        probe = notes.bench.database.query
        report = contract.run(cases, host=HOST, port=port, facts=contract.facts_from(probe), probe=probe, skip=stack.server.skip)
        excused = None if report.passed or not notes.lost_statements() else prepared.excused(report.findings)
        shown = report.findings if excused is None else excused
        notes.findings.extend(finding for finding in shown if finding.severity is not Severity.NOTE)
        return report.bodies if report.passed or excused is not None else None


def _comparable(workload: Workload, bodies: Mapping[str, str]) -> Workload:
    """The workload without its comparison of bodies, where the case whose right body it needs was excused."""
    rule = workload.expect.body
    if rule is None or "verified" not in rule or rule["verified"] in bodies:
        return workload
    return replace(workload, expect=replace(workload.expect, body=None))


def _load(notes: Notes, watch: Watch, child: Child, workload: Workload, port: int, bodies: Mapping[str, str]) -> None:
    """Warm-up, window and drain under the load's generator, beside a burner where the slot plants a slowdown."""
    bench = notes.bench
    notes.before = audit.before(bench.database, workload)
    notes.wal_before = bench.database.wal_position()
    slowdown, cores = notes.slot.planted, notes.slot.cell.settings.cores_of("server")
    planted = burner.plant(bench.keeper, bench.engine, child, slowdown, cores) if slowdown else None
    try:
        _drive(notes, watch, child, workload, port, bodies)
    finally:
        if planted is not None:
            planted.stop(0.0)


def _drive(notes: Notes, watch: Watch, child: Child, workload: Workload, port: int, bodies: Mapping[str, str]) -> None:
    """The generator's session, and what it and the machine say of the window."""
    bench, load = notes.bench, notes.slot.cell.load
    before_us = host.pace_us()
    session = generators.start(
        bench.keeper, bench.engine, bench.tools, workload, load, HOST, port, notes.slot.seed, bodies, notes.folder
    )
    session.child.pin(notes.slot.cell.settings.cores_of("generator"))
    watch.meters["generator"] = RoleMeter(session.child, closely=True)
    readings: dict[str, Reading] = {}
    server_ns: list[int] = []
    try:
        warmup, settled = _follow(notes, watch, child, session, readings, server_ns)
        notes.result = session.result()
    finally:
        session.stop()
    if "window" in readings and "drain" in readings:
        roles, use = between(watch.meters, readings["window"], readings["drain"])
        notes.roles = roles | {"server": replace(roles["server"], cpu_us_by_second=_differences_us(server_ns))}
        notes.host = replace(use, canary_before_us=before_us, canary_after_us=host.pace_us())
        notes.result = generators.with_share(notes.result, load, notes.roles["generator"])
    notes.findings.extend(diagnose.answers(notes.result))
    notes.findings.extend(diagnose.accounting(notes.result, workload))
    notes.findings.extend(diagnose.warmup(warmup, settled, bench.thresholds.rules))


def _follow(
    notes: Notes,
    watch: Watch,
    child: Child,
    session: generators.Session,
    readings: dict[str, Reading],
    server_ns: list[int],
) -> tuple[list[int], bool]:
    """Read the generator's events to the end; begin the window once the warm-up has settled or its time is up.

    `readings` are taken where the window begins and ends, the server's CPU clock into `server_ns` at each of its seconds.
    """
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
                if phase == "warmup" and event["ok"] is not None:
                    warmup.append(event["ok"])
                elif phase == "window":
                    server_ns.append(watch.meters["server"].cpu_ns())
                if child.exit_code() is not None and phase != "ended":
                    notes.reject("server-exit", f"the server ended during the {phase} with exit code {child.exit_code()}")
                    session.halt()
                    phase = "ended"
            case "window" | "drain" as name:
                notes.phases[phase], phase, began = now - began, name, now
                if watch.meters["generator"].child is not session.child:
                    session.child.pin(notes.slot.cell.settings.cores_of("generator"))
                    watch.meters["generator"] = RoleMeter(session.child, closely=True)
                readings[name] = Reading(watch.meters, notes.bench.keeper.spun_ns())
                server_ns += [readings[name].clocks["server"].cpu_ns] if name == "window" else []
                (watch.open_window if name == "window" else watch.close_window)()
        if phase == "warmup" and not asked:
            settled = diagnose.settled(warmup, notes.bench.thresholds.rules)
            if now - began >= load.warmup_max_s or (now - began >= load.warmup_min_s and settled):
                session.measure()
                asked = True
    notes.phases[phase] = time.monotonic() - began
    return warmup, settled


def _differences_us(clock_ns: Sequence[int]) -> tuple[float, ...]:
    return tuple((after - before) / 1000 for before, after in itertools.pairwise(clock_ns))


def _judge(notes: Notes) -> None:
    """Whether what was measured may be believed."""
    bench = notes.bench
    notes.findings.extend(validity.identity(bench.machine, host.fingerprint(bench.keeper.awake)))
    if notes.result is not None:
        facts = validity.Facts(notes.result.window_s, notes.slot.cell, notes.result, notes.roles, notes.host, notes.database)
        notes.findings.extend(validity.findings(facts, bench.thresholds))
        notes.findings.extend(validity.unmade(facts, bench.thresholds))


def _audit(notes: Notes, workload: Workload) -> None:
    """Read the database once the server's connections are gone, and hold it against the answers."""
    database = notes.bench.database
    if not database.wait_for_no_connections():
        notes.void("connections-left", "the server's database connections were still open after it had ended")
    counters, wal = database.counters(), database.wal_position()
    wal_bytes = wal - notes.wal_before if wal is not None and notes.wal_before is not None else None
    notes.database = database_use(counters, notes.watch, wal_bytes)
    notes.findings.extend(diagnose.budget(notes.database, notes.slot.cell))
    if notes.result is None or notes.before is None:
        return
    notes.audit = audit.lines(database, workload, notes.result, notes.database, notes.before)
    notes.findings.extend(diagnose.audit_findings(notes.audit))
    notes.findings.extend(diagnose.chatter(workload, notes.result, notes.database, notes.bench.thresholds.rules))
    cell = notes.slot.cell
    if notes.diagnosis is None:
        known = (cell, notes.result, notes.roles, notes.host, notes.database, notes.bench.cores)
        for reason in reasons.limits(*known, notes.bench.thresholds.reasons):
            notes.findings.append(reason)
            notes.diagnosis = notes.diagnosis or reason.id


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-STDERR_TAIL:].decode(errors="replace")
    except OSError:
        return ""


def _printable(text: str) -> str:
    """The text without control characters: what a server prints reaches terminals and pages as text only."""
    return "".join(letter for letter in text if letter in "\n\t" or (letter.isprintable())).strip()
