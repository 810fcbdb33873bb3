"""Comparisons, capacities and tries that are interrupted go on: what is finished is kept, and nothing is measured twice.

Nothing is started here: what measures a round or a part is a function of the test's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.full import full
from builders.steps import step
from builders.stored import START
from fairground import model, records
from fairground.capacity.cells import capacities_of
from fairground.capacity.loadcurve import CurvePoint, StepJudgement, StepWord
from fairground.capacity.parts import CapacityPart, Phase
from fairground.capacity.service.known import service_of
from fairground.capacity.service.parts import ServiceChecks, ServicePart, Unit
from fairground.capacity.service.values import Closed
from fairground.lab import capacity, pages, service
from fairground.lab.events import Event, Finished, RecordOpened, UnitDone
from fairground.lab.recording import record_units, until_over
from fairground.model import CellSettings, Finding, LabError, Load, Machine, Severity, StackInfo
from fairground.model.pair import Round, WindowPair, WindowTally
from fairground.model.record import CapacityAsked, ComparisonAsked, Head, Record, RecordEnd, RecordKind, TryAsked
from fairground.report.compared import comparison_of
from fairground.run import stopping
from fairground.stats.differences import DifferenceWord

COMPARED = ComparisonAsked("a", "b", "one:a", "one:b", None, "ping", Load(), CellSettings(), 1, 100.0, 0.0001, 1, 0.01, 0.1)
SOUGHT = CapacityAsked(
    (("one:a", "ping"), ("one:b", "ping")), "p99<50ms,errors<1%", 300.0, 0.05, Load(model="open"), CellSettings(), 1
)
TRIED = TryAsked("http://127.0.0.1:1/", "get", (), None, "p99<50ms,errors<1%", 1, 1000, True, False, None)
REJECT = Finding("server", Severity.REJECT, "it ended by itself with exit code 3")


class Interrupted(Exception):
    """Stands for Ctrl-C and for a crash."""


def begun(results: Path, kind: RecordKind, asked: object, *unavailable: str) -> Record[Any, Any]:
    """A record without entries, of stacks that can be had but for those that are named."""
    infos = {id: replace(full(StackInfo), id=id, unavailable="no compiler" if id in unavailable else None)
             for id in ("one:a", "one:b")}  # fmt: skip
    versions = {"fairground": "1.2.3", "PostgreSQL": "18.1"}
    machine = replace(full(Machine), cpu_model="a CPU", awake=False)
    return records.create(
        results, str(kind), Head(model.SCHEMA_VERSION, kind, "", "command", START, machine, versions, {}, infos, asked)
    )


def last(events: Iterator[Event]) -> Record[Any, Any]:
    """The finished record."""
    found = list(events)[-1]
    assert isinstance(found, Finished)
    return found.record


# ---------------------------------------------------------------- a comparison


def comparison(record: Record[Any, Any], measure: Callable[[int], Round]) -> Iterator[Event]:
    """The events of a comparison whose rounds `measure` makes."""
    return record_units(record, until_over(record, lambda made: measure(len(made) + 1), stopping.comparison_end))


def one_round(number: int, faster: float = 1.1, **fields: Any) -> Round:
    """A start in which B gives `faster` times as much at the same cost for each answer."""
    wobble = 1 + 0.001 * (-1) ** number
    b = WindowTally(round(1000 * faster * wobble), 0, 1.0, 1e5 * faster)
    return Round(number, (WindowPair(number, 1, "a", WindowTally(1000, 0, 1.0, 1e5), b),), 10.0, **fields)


def test_a_record_that_grew_since_it_was_read_does_not_go_on(tmp_path: Path) -> None:
    """Its next round would be measured twice, under one number. Nothing of it is removed, and what the other measured stays."""
    record = begun(tmp_path, RecordKind.COMPARISON, COMPARED)
    grown = records.append(record, one_round(1))
    with pytest.raises(LabError, match="another process has measured into"):
        last(comparison(record, one_round))
    assert records.load(record.folder).entries == grown.entries
    records.end(grown, RecordEnd(START, "it is whole"))
    with pytest.raises(LabError, match="another process has measured into"):
        last(comparison(grown, one_round))


def test_a_comparison_goes_on_with_the_round_that_is_missing(tmp_path: Path) -> None:
    """After an interruption the finished rounds are kept, the next one has the next number, and the whole budget is one."""
    record, asked_for = begun(tmp_path, RecordKind.COMPARISON, COMPARED), list[int]()

    def measure(number: int) -> Round:
        if number == 4 and asked_for[-1] != 4:
            asked_for.append(4)
            raise Interrupted
        asked_for.append(number)
        return one_round(number)

    with pytest.raises(Interrupted):
        list(comparison(record, measure))
    kept = records.load(record.folder)
    assert [one.number for one in kept.entries] == [1, 2, 3] and kept.end is None
    whole = last(comparison(kept, measure))
    assert asked_for == [1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10]
    assert records.load(record.folder) == whole and whole.end is not None
    assert whole.end.reason == "the next round would have ended after the budget of 1.67 min"
    assert list(comparison(whole, measure)) == [RecordOpened(whole), Finished(whole)], "what is finished is not measured again"


def test_a_comparison_tells_its_rounds_as_they_end(tmp_path: Path) -> None:
    """Each event has the record with the round that is on the disk by then, and at most how long it still takes."""
    record = begun(tmp_path, RecordKind.COMPARISON, replace(COMPARED, budget_s=25.0))
    told = [event for event in comparison(record, one_round) if isinstance(event, UnitDone)]
    assert [(len(event.record.entries), event.left_s) for event in told] == [(1, 15.0), (2, 5.0)]


def test_an_arm_that_fails_ends_a_comparison_with_its_finding(tmp_path: Path) -> None:
    """It is a value of the record: the page names the arm, no number is called, and earlier rounds are kept."""
    record = begun(tmp_path, RecordKind.COMPARISON, COMPARED)

    def measure(number: int) -> Round:
        return one_round(number, findings={"b": (REJECT,)} if number == 2 else {})

    whole = last(comparison(record, measure))
    why = f"`b` is rejected: {REJECT.sentence}"
    assert (len(whole.entries), whole.end and whole.end.reason) == (2, why)
    shown = comparison_of(whole)
    assert (shown.lines, shown.rejected, shown.sentences) == ((), why, [why])
    assert shown.document["rejected"] == why
    assert "ended by itself with exit code 3" in pages.write(whole).read_text()


def test_a_comparison_is_shown_again_from_its_record(tmp_path: Path) -> None:
    """Page, Markdown and document of a loaded record are those of the measured one."""
    whole = last(comparison(begun(tmp_path, RecordKind.COMPARISON, COMPARED), one_round))
    page = pages.write(whole)
    first = {path.name: path.read_text() for path in whole.folder.glob("compare.*")}
    assert set(first) == {"compare.html", "compare.json", "compare.md"} and page.name == "compare.html"
    for name in first:
        (whole.folder / name).unlink()
    pages.write(records.load(whole.folder))
    assert {path.name: path.read_text() for path in whole.folder.glob("compare.*")} == first
    goodput, cost = comparison_of(whole).lines
    assert (goodput.difference.word, cost.difference.word) == (DifferenceWord.FASTER, DifferenceWord.EQUIVALENT)


def test_two_modes_are_in_sentences_document_and_page(tmp_path: Path) -> None:
    """A server that is a fifth slower in every third start is said to be so wherever the comparison is shown."""
    whole = last(comparison(begun(tmp_path, RecordKind.COMPARISON, COMPARED), slower_at_times))
    shown = comparison_of(whole)
    assert any("`b` has two modes: in 3 of 10 starts (30%; rounds 3, 6, 9)" in words for words in shown.sentences)
    assert shown.document["modes"]["high"] == (3, 6, 9)
    assert "has two modes" in pages.write(whole).read_text()


def slower_at_times(number: int) -> Round:
    """A start in which B needs a fifth more CPU for an answer when its number is a multiple of 3."""
    made = one_round(number, faster=1.0)
    (pair,) = made.pairs
    return replace(made, pairs=(replace(pair, b=replace(pair.b, cpu_us=1.2e5 if number % 3 == 0 else 1e5)),))


# ---------------------------------------------------------------- a capacity


def sought(record: Record[Any, Any], measure: Callable[[int, Sequence[CapacityPart]], Iterator[CapacityPart]]) -> Iterator[Event]:
    """The events of a capacity whose parts `measure` makes."""
    return record_units(record, capacity.missing_parts(record, measure))


def capacity_parts(number: int) -> list[CapacityPart]:
    """All parts of a cell that keeps 1000 requests a second and no more, nothing of its overload being measured."""

    def part(place: int, phase: Phase, rate: float | None = None, word: StepWord = StepWord.KEPT, **fields: Any) -> CapacityPart:
        if rate is not None:
            at = replace(step(1000), rate_per_s=rate, duration_s=15.0, latency_ok=None)
            fields |= {
                "points": (CurvePoint(phase, place, at, StepJudgement(word, "why")),),
                "rate_per_s": rate,
                "duration_s": 15.0,
            }
        return CapacityPart(number, phase, place, 10.0 * place, place, **fields)

    return [
        part(1, Phase.SEARCH, closed_per_s=1500.0),
        part(2, Phase.SEARCH, 1000.0),
        part(3, Phase.SEARCH, 1040.0, StepWord.MISSED),
        part(4, Phase.SEARCH, ended="the bracket is as narrow as asked for"),
        *(part(place, Phase.CONFIRM, 1000.0) for place in (1, 2, 3)),
        part(4, Phase.CONFIRM, ended=""),
        part(1, Phase.CURVE, ended="the load curve was left out: the budget was used up"),
        part(1, Phase.OVERLOAD, ended=""),
    ]


def measuring(
    made: list[tuple[int, int]], stop_after: int | None = None
) -> Callable[[int, Sequence[CapacityPart]], Iterator[CapacityPart]]:
    """Measures the parts of a cell that are missing, notes them in `made`, and is interrupted after so many."""

    def measure(number: int, done: Sequence[CapacityPart]) -> Iterator[CapacityPart]:
        for place, part in enumerate(capacity_parts(number)):
            if place < len(done):
                continue
            if len(made) == stop_after:
                raise Interrupted
            made.append((number, place))
            yield part

    return measure


@pytest.mark.parametrize("stop_after", range(20))
def test_a_capacity_goes_on_with_the_part_that_is_missing(stop_after: int, tmp_path: Path) -> None:
    """Wherever it is interrupted, every part of both cells is measured once, and the capacities are the same."""
    record, made = begun(tmp_path, RecordKind.CAPACITY, SOUGHT), list[tuple[int, int]]()
    with pytest.raises(Interrupted):
        list(sought(record, measuring(made, stop_after)))
    kept = records.load(record.folder)
    assert len(kept.entries) == stop_after and kept.end is None
    whole = last(sought(kept, measuring(made)))
    assert made == [(number, place) for number in (1, 2) for place in range(10)]
    assert records.load(record.folder) == whole
    assert [(one.stack, one.confirmed_per_s, one.missed_from_per_s) for one in capacities_of(whole)] == [
        ("one:a", 1000.0, 1040.0),
        ("one:b", 1000.0, 1040.0),
    ]
    assert capacities_of(whole)[0].notes == ("the load curve was left out: the budget was used up",)


def test_a_stack_that_cannot_be_had_is_left_out(tmp_path: Path) -> None:
    """Its cell has no part, and the others keep their numbers."""
    made = list[tuple[int, int]]()
    whole = last(sought(begun(tmp_path, RecordKind.CAPACITY, SOUGHT, "one:a"), measuring(made)))
    assert {number for number, _ in made} == {2} and [one.stack for one in capacities_of(whole)] == ["one:b"]


def test_a_server_that_fails_has_no_capacity_and_the_next_cell_is_measured(tmp_path: Path) -> None:
    """What it did is a finding of the record; what is known of it by then is kept."""

    def measure(number: int, done: Sequence[CapacityPart]) -> Iterator[CapacityPart]:
        whole = capacity_parts(number)
        yield from (*whole[:3], replace(whole[3], findings=(REJECT,))) if number == 1 else whole

    whole = last(sought(begun(tmp_path, RecordKind.CAPACITY, SOUGHT), measure))
    one, other = capacities_of(records.load(whole.folder))
    assert (one.rejected, one.confirmed_per_s, one.measured) == (REJECT.sentence, None, True)
    assert other.confirmed_per_s == 1000.0
    page = pages.write(whole).read_text()
    assert "one:a on ping has no capacity" in page and "one:b on ping keeps p99&lt;50ms,errors&lt;1%" in page


# ---------------------------------------------------------------- a try


def tried(record: Record[Any, Any], measure: Callable[[Sequence[ServicePart]], Iterator[ServicePart]]) -> Iterator[Event]:
    """The events of a try whose parts `measure` makes."""
    return record_units(record, service.missing_parts(measure(record.entries)))


LOOPS = (1, 10, 100)


def try_parts() -> list[ServicePart]:
    """The parts of a visit to a service that answers."""
    checks = ServiceChecks(200, "text/plain", "aGk=", 2, True, (Finding("status", Severity.NOTE, "200"),), "process 7")
    loops = [
        ServicePart(Unit.LOOP, closed=Closed(count, 100.0 * count, 1000.0, None, 100, 0, None, None, None)) for count in LOOPS
    ]
    at = replace(step(1000), latency_ok=None)
    return [
        ServicePart(Unit.CHECKS, checks=checks),
        *loops,
        ServicePart(Unit.CURVE, curve=(CurvePoint("curve", 1, at, StepJudgement(StepWord.KEPT, "")),)),
    ]


@pytest.mark.parametrize("stop_after", range(1, 5))
def test_a_try_goes_on_with_the_part_that_is_missing(stop_after: int, tmp_path: Path) -> None:
    """Checks and loops that are finished are kept, and the page is the same again."""
    record, made = begun(tmp_path, RecordKind.TRY, TRIED), list[int]()

    def measure(done: Sequence[ServicePart], stop: int | None = None) -> Iterator[ServicePart]:
        for place, part in list(enumerate(try_parts()))[len(done) :]:
            if place == stop:
                raise Interrupted
            made.append(place)
            yield part

    with pytest.raises(Interrupted):
        list(tried(record, lambda done: measure(done, stop_after)))
    whole = last(tried(records.load(record.folder), measure))
    assert made == [0, 1, 2, 3, 4] and records.load(record.folder) == whole
    visit = service_of(whole)
    assert visit.conduct is not None and visit.conduct.body == b"hi" and visit.method == "GET"
    assert [one.connections for one in visit.closed] == [1, 10, 100] and len(visit.curve) == 1
    page = pages.write(whole).read_text()
    assert pages.write(records.load(record.folder)).read_text() == page and "process 7" in page


def test_a_service_that_never_answered_has_a_page(tmp_path: Path) -> None:
    """What it did is a finding, and what nobody measured is unknown."""
    whole = last(
        tried(begun(tmp_path, RecordKind.TRY, TRIED), lambda done: iter([ServicePart(Unit.SERVICE, findings=(REJECT,))]))
    )
    visit = service_of(records.load(whole.folder))
    assert (visit.conduct, visit.closed, visit.broken) == (None, (), (REJECT,))
    assert REJECT.sentence in pages.write(whole).read_text()


def test_a_try_in_which_nothing_was_measured_leaves_no_record(tmp_path: Path) -> None:
    """Where nobody answers at all the error is told, and no folder would be taken for a measurement."""

    def measure(done: Sequence[ServicePart]) -> Iterator[ServicePart]:
        raise LabError("nobody answers", exit_code=3)
        yield from ()

    record = begun(tmp_path, RecordKind.TRY, TRIED)
    with pytest.raises(LabError, match="nobody answers"):
        list(tried(record, measure))
    assert list(tmp_path.iterdir()) == []
