"""Two services, held against each other by the same request: each round loads both in turns, as `compare` does with stacks."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground.capacity.service import behaviour, failures, pairs, question
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import Conduct, most_connections
from fairground.host import Child
from fairground.lab import compare, service
from fairground.lab.events import Event, Said, Sink, unheard
from fairground.lab.preparation import Inputs, prepare
from fairground.lab.recording import open_record, record_units, until_over
from fairground.measure import Bench, logs, rounds
from fairground.measure.arm import ServiceArm, seed_of_start
from fairground.measure.rounds import RoundsEffort
from fairground.model import Audit, Cell, CellSettings, Finding, LabError, Load, Severity, Topology, Workload, secret
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, RecordKind, TryAsked
from fairground.run import stopping

WIDTH, MARGIN = 0.005, 0.01
UNKNOWN = Workload("try", "", "", (), Audit(), None)
"""What each service is asked is learned once it is up."""


def comparison_asked(a: TryAsked, b: TryAsked, load: Load, budget_s: float, margin: float = MARGIN) -> ComparisonAsked:
    """The comparison of two services. LabError where they are one."""
    if a.url == b.url:
        raise LabError(f"both sides are {secret.redact(a.url)}", "name another URL: --against http://127.0.0.1:3001/x")
    one, other = (secret.redact(side.url) for side in (a, b))
    other += " (B)" if one == other else ""
    pairs = stopping.pairs_within(budget_s, load)
    what = a.requests or f"{a.method.upper()} {secret.redact(_target(a))}"
    return ComparisonAsked(
        label_a=one, label_b=other, stack_a=one, stack_b=other, revisions=None, workload=what, load=load, settings=CellSettings(),
        seed=1, budget_s=budget_s, width=WIDTH, pairs=pairs, margin=margin, turn_s=compare.TURN_S, services=(a, b),
    )  # fmt: skip


def _target(asked: TryAsked) -> str:
    _, _, rest = asked.url.partition("://")
    return "/" + rest.partition("/")[2]


def compare_services(
    inputs: Inputs, asked: ComparisonAsked, requests: tuple[Asked, Asked], sink: Sink = unheard
) -> Iterator[Event]:
    """Measure what is missing of a comparison of two services. One that fails is a finding of its round, and ends it."""
    assert asked.services is not None
    if (warning := stopping.too_short(asked)) is not None:
        yield Said(warning)
    for one, request in zip(asked.services, requests, strict=True):
        if one.command is not None and service.answering_address(request) is not None:
            raise LabError(f"something listens on port {request.port} already", "end it, or compare it without a command")
    with prepare(inputs, (), (), sink) as testbed:
        record = open_record(inputs, RecordKind.COMPARISON, asked.without_secrets(), testbed)
        labels = (asked.label_a, asked.label_b)
        sides = tuple(
            _Service(testbed.bench, label, one, request, inputs, record.folder)
            for label, one, request in zip(labels, asked.services, requests, strict=True)
        )
        effort = RoundsEffort(UNKNOWN, asked.load, asked.settings, asked.seed, asked.turn_s, asked.pairs)

        def one_round(effort: RoundsEffort, folder: Path, number: int) -> Round:
            return _round(testbed.bench, (sides[0], sides[1]), effort, folder, number)

        start = functools.partial(compare.next_start, one_round, effort, record)
        yield from record_units(record, until_over(record, start, stopping.comparison_end))


def _round(bench: Bench, sides: tuple[_Service, _Service], effort: RoundsEffort, folder: Path, number: int) -> Round:
    """One start of the load of both services, and of those that have a command themselves."""
    began = time.monotonic()
    with ExitStack() as held:
        held.callback(logs.shorten, folder / service.LOG)  # once both have ended: they write to one file
        arms = list[ServiceArm]()
        for side in sides:
            arm = side.up(held, effort, number)
            if isinstance(arm, Finding):
                return Round(number, (), time.monotonic() - began, {side.label: (arm,)})
            arms.append(arm)
        made = rounds.round_of(bench, arms, effort, folder, number)
    said = _conduct(sides) if number == 1 else {}
    findings = {label: (*_with_advice(some, sides[0].request), *said.get(label, ())) for label, some in made.findings.items()}
    return replace(made, findings=findings, took_s=time.monotonic() - began)


def _with_advice(found: Sequence[Finding], request: Asked) -> Iterator[Finding]:
    """Add to wrong bodies of one request what to do if they are none."""
    for one in found:
        is_one = one.id == "wrong-answers" and request.mix is None
        yield replace(one, sentence=f"{one.sentence}; {failures.MAY_DIFFER}") if is_one else one


def _conduct(sides: tuple[_Service, _Service]) -> dict[str, list[Finding]]:
    """Tell which checks of a service fail, and whether both give the same answers."""
    found = dict[str, list[Finding]]()
    for side in sides:
        for one in () if side.conduct is None else side.conduct.broken:
            found.setdefault(side.label, []).append(Finding("conduct", Severity.WARN, f"the check `{one.id}`: {one.sentence}"))
    a, b = (side.conduct for side in sides)
    if a is not None and b is not None and (others := pairs.other_answers(a, b)):
        found.setdefault(sides[1].label, []).extend(others)
    return found


@dataclass
class _Service:
    """One side. Its answer is learned once, where it first is up."""

    bench: Bench
    label: str
    asked: TryAsked
    request: Asked
    inputs: Inputs
    folder: Path
    conduct: Conduct | None = field(default=None)

    def up(self, held: ExitStack, effort: RoundsEffort, number: int) -> ServiceArm | Finding:
        """Start the service if it has a command, and learn its answer. A Finding says why it cannot be loaded."""
        child: Child | None = None
        request = service.answering_address(self.request) or self.request
        if self.asked.command is not None:
            child = service.start(self.bench, self.asked.command, self.inputs.places.environ, self.folder / service.LOG)
            held.callback(child.stop)
            there = service.await_ready(child, self.asked.command[0], self.request)
            if isinstance(there, Finding):
                return there
            request = there
        several = question.ask_before(request)
        self.bench.keeper.guard(self.folder)  # what a login gave is a secret, too
        if self.conduct is None:
            self.conduct = question.examine(request, several)
            if not self.conduct.good:
                status = self.conduct.status
                how = (
                    f"--expect-status {status}" if several is None else f"write `expect = {{ status = {status} }}` into the file"
                )
                hint = f"{behaviour.advice_of(status)}; if {status} is good: {how}"
                words = f"`{self.label}` answers with status {status}: there is nothing to compare"
                raise LabError(words, hint, question.exit_code_of(status))
        most = most_connections(self.conduct.body_bytes)
        if effort.load.connections > most:
            size = f"answers of {self.conduct.body_bytes / 1e6:,.1f} MB"
            said = f"`{self.label}` gives {size}, and the load engine cannot hold them on {effort.load.connections:,} connections"
            raise LabError(said, f"--connections {most} at most")
        workload = several or question.workload(request, self.conduct)
        process, _ = service.process_of(child, request)
        cell = Cell(self.label, workload.id, Topology(), effort.load, CellSettings())
        return ServiceArm(self.label, cell, workload, seed_of_start(0, number), request.host, request.port, process, request.tls)
