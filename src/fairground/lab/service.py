"""Any HTTP service, without a contract: how it behaves, what it gives, and its load curve. What it does wrong is a finding."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground import postgres
from fairground.capacity.service import behaviour, drive, parts, question
from fairground.capacity.service.address import is_here
from fairground.capacity.service.parts import Ahead, ServiceChecks, ServicePart, Unit
from fairground.capacity.service.request import Asked
from fairground.host import Child, Resident, Streams, listener, listens, machine
from fairground.inputs.shell_words import ASSIGNED
from fairground.lab.events import Event, Going, Said, Sink, unheard
from fairground.lab.preparation import Inputs, prepare
from fairground.lab.recording import NewEntry, Units, open_record, record_units
from fairground.measure import Bench, logs
from fairground.measure.arm import Ended, ServiceArm
from fairground.measure.session import ArmSession
from fairground.model import Cell, CellSettings, Finding, LabError, Load, MachineError, Severity, Topology, foreign
from fairground.model.known import KNOWN
from fairground.model.record import Record, RecordEnd, RecordKind, TryAsked
from fairground.model.secret import PRIVATE
from fairground.postgres import DatabaseBeside, StatementCost
from fairground.stats import forecast

LOG = "server.log"
"""What a service writes that the lab started; its beginning and end are kept."""
READY_S = 30.0
SHOWN_CHARACTERS = 120
NORMALISED = frozenset(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE"])
"""Statements in which `pg_stat_statements` has put `$1` for each constant. A constant of others may be a password."""


def attempt(inputs: Inputs, asked: TryAsked, request: Asked, sink: Sink = unheard) -> Iterator[Event]:
    """Look at a service and load it, as far as that is missing. LabError when nobody answers at a URL that was given.

    The record keeps what is `asked` without the secrets in it.
    """
    there = answering_address(request)
    if asked.command is not None and there is not None:
        raise LabError(f"something listens on port {request.port} already", "end it, or try it without a command")
    beside = None if asked.database is None or not asked.load else postgres.open_beside(asked.database)
    with prepare(inputs, (), (), sink, None if asked.load else False) as testbed:
        record: Record[TryAsked, ServicePart] = open_record(inputs, RecordKind.TRY, asked.without_secrets(), testbed)
        yield Said(f"{request.method} {record.head.asked.url}: checks")
        subject = Subject(inputs.places.environ, testbed.bench, asked, there or request, record.folder, beside)
        if beside is not None and beside.hidden:
            yield Said("this role may not see what others do in the database: GRANT pg_read_all_stats to it")
        yield from record_units(record, missing_parts(measure_parts(subject, record.entries)))


@dataclass(frozen=True)
class Subject:
    """The service that is tried, and with what."""

    environ: Mapping[str, str]
    bench: Bench
    asked: TryAsked
    request: Asked
    folder: Path
    database: DatabaseBeside | None = None


def missing_parts(measured: Iterator[Ahead | ServicePart], now: Callable[[], float] = time.monotonic) -> Units:
    """The parts as entries, and before each load the time left. `now`: a clock of seconds."""
    pace = _Pace(now)
    for one in measured:
        if isinstance(one, Ahead):
            yield Going(one.what, pace.left_s(one))
        else:
            pace.finish()
            yield NewEntry(one)
    yield RecordEnd(time.time(), "all that was asked for was measured")


class _Pace:
    """The time that a planned second of load takes, by the loads that are done.

    Starts and waits for the last answers are in it.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._since = now, 0.0
        self._ahead: Ahead | None = None
        self._took = list[float]()

    def left_s(self, ahead: Ahead) -> float | None:
        """A load begins: this many seconds are left from here on. None where nobody can tell."""
        self.finish()
        self._ahead, self._since = ahead, self._now()
        return forecast.left_s(self._took, math.ceil(ahead.left_s))

    def finish(self) -> None:
        """The load that began last is over."""
        if self._ahead is not None:
            self._took.append((self._now() - self._since) / self._ahead.load_s)
        self._ahead = None


def measure_parts(subject: Subject, done: Sequence[ServicePart]) -> Iterator[Ahead | ServicePart]:
    """The parts that are missing. Where a command starts the service, what becomes of its process is a finding."""
    command, request = subject.asked.command, subject.request
    if command is None:
        yield from _parts(subject, None, done)
        return
    child = start(subject.bench, command, subject.environ, subject.folder / LOG)
    words, _ = without_settings(command, subject.environ)
    try:
        there, said = await_ready(child, words[0], request), set[str]()
        fault = there if isinstance(there, Finding) else None
        if not isinstance(there, Finding):
            try:
                for one in _parts(replace(subject, request=there), child, done):
                    said |= {finding.id for finding in one.findings} if isinstance(one, ServicePart) else set()
                    yield one
            except MachineError:
                raise
            except LabError as error:
                fault = ended_of(child, words[0]) or _silent(error)
                if fault is None:
                    raise
            fault = fault or ended_of(child, words[0])
        if fault is not None and fault.id not in said:
            yield ServicePart(Unit.SERVICE, findings=(fault,))
    finally:
        child.stop()
        logs.shorten(subject.folder / LOG)


def start(bench: Bench, command: Sequence[str], environ: Mapping[str, str], log: Path) -> Child:
    """Start a service by its command; what it writes is added to `log`."""
    words, settings = without_settings(command, environ)
    with open(os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, PRIVATE), "ab") as stream:
        return bench.keeper.spawn(words, role="server", env=settings, cwd=Path.cwd(), streams=Streams.into(stream))


def answering_address(request: Asked) -> Asked | None:
    """The request to the first address of its name where something listens; None where nothing does."""
    return next((one for one in request.addresses if listens(one.host, one.port)), None)


def without_settings(command: Sequence[str], environ: Mapping[str, str]) -> tuple[Sequence[str], Mapping[str, str]]:
    """A command and its environment: what `env NAME=VALUE …` sets is put there, since its words are in the process list."""
    if not command or Path(command[0]).name != "env":
        return command, environ
    settings = list(itertools.takewhile(lambda word: ASSIGNED.match(word), command[1:]))
    rest = command[1 + len(settings) :]
    if not rest or rest[0].startswith("-"):
        return command, environ
    return rest, {**environ, **dict(word.split("=", 1) for word in settings)}


def _parts(subject: Subject, child: Child | None, done: Sequence[ServicePart]) -> Iterator[Ahead | ServicePart]:
    asked, request = subject.asked, subject.request
    process, server = process_of(child, request)
    seen, several = parts.checks(done), question.ask_before(request)
    subject.bench.keeper.guard(subject.folder)  # what a login gave is a secret, too
    if seen is None or not seen.is_whole:
        known, seen = seen, ServiceChecks.of(question.examine(request, several), server)
        if known is None:
            yield ServicePart(Unit.CHECKS, checks=seen.without_secrets(KNOWN.scrub_bytes))
    if asked.load and seen.good:
        workload = several or question.workload(request, seen.conduct)
        cell = Cell("the service", workload.id, Topology(), Load(), CellSettings())
        arm = ServiceArm("the service", cell, workload, 1, request.host, request.port, process, request.tls, subject.database)
        effort = drive.ServiceEffort.of(asked, seen.conduct.body_bytes, machine.most_connections())
        before = {} if subject.database is None else subject.database.statements()
        with ArmSession(subject.bench, [arm], subject.folder) as session:
            cut_short = yield from drive.measure(done, session, arm.label, effort, subject.bench.cores)
        if subject.database is not None and before:
            yield from _statements(before, subject.database.statements())
        yield from _wrong(session.ended[arm.label], cut_short)


def _statements(before: Mapping[str, StatementCost], after: Mapping[str, StatementCost]) -> Iterator[ServicePart]:
    """Report which statement took most of the database's time under load, by `pg_stat_statements`."""
    nothing = StatementCost(0, 0.0)
    spent = {
        text: StatementCost(cost.calls - was.calls, cost.total_ms - was.total_ms)
        for text, cost in after.items()
        if cost.total_ms > (was := before.get(text, nothing)).total_ms
    }
    total_ms = math.fsum(cost.total_ms for cost in spent.values())
    if not total_ms:
        return
    text, most = max(spent.items(), key=lambda one: one[1].total_ms)
    each = f"{most.calls:,} calls, {most.total_ms / max(1, most.calls):.2f} ms each"
    kind = text.lstrip("( \n\t").partition(" ")[0].upper()
    shown = foreign.line(text if kind in NORMALISED else f"{kind} …", SHOWN_CHARACTERS)
    words = f"of {total_ms / 1000:.1f} s in statements {most.total_ms / total_ms:.0%} went to `{shown}`: {each}"
    yield ServicePart(Unit.SERVICE, findings=(Finding("statements", Severity.NOTE, words, {"calls": most.calls}),))


def _wrong(ended: Ended, cut_short: ServicePart | None) -> Iterator[ServicePart]:
    """Report what the service did wrong under load, as a part, after the load curve that it cut short.

    LabError where the instrument failed, and nothing can be said of the service: `--resume` measures that curve anew.
    """
    if found := tuple(one for one in ended.findings if one.severity is Severity.REJECT):
        if cut_short is not None:
            yield cut_short
        yield ServicePart(Unit.SERVICE, findings=found)
    elif ended.void is not None:
        raise LabError(ended.void, "the log of the load engine is in the folder of the last load", exit_code=3)


def await_ready(child: Child, name: str, request: Asked) -> Asked | Finding:
    """Wait until the service listens on an address of its name and answers as one that has started. Or why it does not listen."""
    deadline = time.monotonic() + READY_S
    while (there := answering_address(request)) is None or question.is_starting(there):
        if (ended := ended_of(child, name)) is not None:
            return ended
        if time.monotonic() > deadline:
            break  # one that listens and answers badly is told by its checks
        time.sleep(0.02 if there is None else behaviour.SETTLE_PAUSE_S)
    sentence = f"`{name}` does not listen on port {request.port} after {READY_S:.0f} s"
    return there or Finding("ready", Severity.REJECT, sentence, {"waited_s": READY_S})


def ended_of(child: Child, name: str) -> Finding | None:
    """Report that the service ended by itself; None while it runs."""
    if (code := child.exit_code()) is None:
        return None
    return Finding("server-exit", Severity.REJECT, f"`{name}` ended with exit code {code}", {"exit_code": code})


def _silent(error: LabError) -> Finding | None:
    """Report that a service which runs and listens gives no answer; None where the error is another one."""
    return Finding("no-answers", Severity.REJECT, error.message) if isinstance(error, behaviour.NoAnswer) else None


def process_of(child: Child | None, request: Asked) -> tuple[Child | Resident | None, str | None]:
    """Choose the process whose CPU is read, and name it in words; both None where there is none.

    It is the process that was started or, on this machine, the one that listens.
    """
    if child is not None:
        return child, f"the process {child.pid} that was started"
    if not is_here(request.host):
        return None, None
    if (process := listener(request.port, request.host)) is None:
        return None, None
    pids = ", ".join(map(str, process.pids))
    return process, f"process {pids}, which listens on port {request.port}"
