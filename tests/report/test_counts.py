"""A counted measurement's texts: what an answer needs, how arms differ, what rule is broken, and no word of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders.pages import runs_only_its_own_script
from builders.stored import head
from fairground.model import CellSettings, Finding, LabError, Load, Severity, Topology
from fairground.model.count import UNCOUNTED, CountArm, CountAsked, CountedStart, CountedWindow, WorkCount
from fairground.model.record import Record, RecordKind
from fairground.report import counts, fail_on

ASKED = CountAsked(
    (CountArm("old", "one:plain", "main"), CountArm("new", "one:plain", ".")),
    ("db-ping",),
    True,
    Load(connections=16),
    CellSettings(workers=1),
    1,
    100.0,
    0.005,
)


def start(arm: str, number: int, instructions: int, settled: bool = True, findings: tuple[Finding, ...] = ()) -> CountedStart:
    """A start of 32 windows in which each of ten answers needs so many instructions and two reads."""
    windows = (CountedWindow(10, WorkCount(10 * instructions, {"read": 20, "futex": 0})),) * 32
    return CountedStart(arm, "db-ping", number, 320, windows, settled, findings, 5.0)


MORE = [start("old", 1, 10_000), start("old", 2, 10_002), start("new", 1, 10_200), start("new", 2, 10_202)]


def record(name: str, made: list[CountedStart], asked: CountAsked = ASKED, libc: str = "2.36") -> Record[Any, Any]:
    """A counted record under a name, with these starts."""
    known = replace(head(RecordKind.COUNT), asked=asked, id=name, versions={"libc": libc})
    return Record(None, known, tuple(made))  # type: ignore[arg-type]


def test_more_instructions_are_told_and_as_many_calls() -> None:
    """The change with its interval, then the same system calls, each arm's starts and spread, and that it is no time."""
    found = counts.report(ASKED, MORE)
    assert found.sentences == (
        "db-ping: new needs more instructions for an answer than old: +2.00 % (+1.94 % to +2.06 %, 95 % CI)",
        "db-ping: new needs more instructions between collections for an answer than old: +2.00 % (+1.94 % to +2.06 %, 95 % CI)",
        "db-ping: new and old need the same system calls within ± 0.50 %: +0.00 % (+0.00 % to +0.00 %, 95 % CI)",
    )
    assert (
        found.notes[0] == "db-ping, old: 2 starts of 320 requests, spread 0.01 % (0.01 % between collections)"
        and found.notes[-1] == counts.NOT_TIME
    )
    assert [(row.arm, round(row.instructions or 0), row.calls, row.names) for row in found.rows] == [
        ("old", 10_001, pytest.approx(2), {"read": pytest.approx(2)}),
        ("new", 10_201, pytest.approx(2), {"read": pytest.approx(2)}),
    ]
    text = counts.markdown(found)
    assert "| db-ping | old | 10,001 | 0.01 % | 2.00 | 2 | 320 |" in text
    assert "| db-ping | instructions |" in text and "| more |" in text and "| alike |" in text


def reading(arm: str, number: int, empty: int) -> CountedStart:
    """A start in which reads find nothing so often, and a little more so in every second window, each for 100 instructions."""
    reads = [empty + place % 2 for place in range(32)]
    windows = tuple(CountedWindow(10, WorkCount(100_000 + 100 * one, {"read": 20 + one}, empty_reads=one)) for one in reads)
    return replace(start(arm, number, 0), windows=windows)


def test_a_page_has_one_number_between_collections() -> None:
    """Rows and lines of two arms are levelled alike. Who sees no reads tells none."""
    made = [
        reading(arm, number, empty) for arm, both in (("old", (3, 9)), ("new", (6, 14))) for number, empty in enumerate(both, 1)
    ]
    found = counts.report(ASKED, made)
    (line,) = [one for one in found.lines if one.quantity == counts.BETWEEN]
    assert [row.between for row in found.rows] == [line.a, line.b] and line.a == pytest.approx(line.b)
    assert [row.empty_reads for row in found.rows] == [pytest.approx(0.65), pytest.approx(1.05)]
    assert {row.empty_reads for row in counts.report(ASKED, MORE).rows} == {None}


def test_reads_that_differ_are_told() -> None:
    """Nothing is levelled where one side looks in vain more often, and the page says so."""
    made = [reading(arm, number, least + number) for arm, least in (("old", 2), ("new", 30)) for number in (1, 2)]
    assert counts.report(ASKED, made).notes[0].startswith("db-ping: reads find nothing more often on one side than on the other")


@pytest.mark.parametrize(("rule", "broken"), [("more:1%", True), ("more:1.95%", False), ("more:5%", False)])
def test_a_rule_is_broken_where_the_whole_interval_lies_beyond(rule: str, broken: bool) -> None:
    """Its middle is 2 %, and at least it is 1.94 %."""
    said = fail_on.broken_counts(counts.report(ASKED, MORE).lines, fail_on.parse_counted(rule))
    assert bool(said) is broken
    assert not broken or said == tuple(
        f"db-ping: +1.94 % {quantity} at least (+2.00 % counted), and {rule} was asked for"
        for quantity in (counts.INSTRUCTIONS, counts.BETWEEN)
    )
    turned = [replace(one, arm={"old": "new", "new": "old"}[one.arm]) for one in MORE]
    assert fail_on.broken_counts(counts.report(ASKED, turned).lines, fail_on.parse_counted("more:0%")) == ()


def test_a_rule_needs_a_change_that_is_known() -> None:
    """One start of a side has no spread, and calls of the system are none of the rule's."""
    rule = fail_on.parse_counted("more:1%")
    lines = counts.report(ASKED, MORE).lines
    assert fail_on.is_counted(lines, rule)
    few = counts.report(ASKED, MORE[:3]).lines
    assert few and not fail_on.is_counted(few, rule)
    assert not fail_on.is_counted([line for line in lines if line.quantity == counts.CALLS], rule)


def test_rules_of_time_and_of_counts_are_none_of_each_other() -> None:
    """Each is refused with what mends it."""
    with pytest.raises(LabError, match="is no rule on what is counted"):
        fail_on.parse_counted("slower:5%")
    with pytest.raises(LabError, match="is a rule on what is counted, and time is measured"):
        fail_on.parse("more:1%")


def test_an_arm_without_a_number_says_why() -> None:
    """What left the emulation is told with its command; nothing is compared, and nothing is 0."""
    lost = Finding(UNCOUNTED, Severity.VOID, "`node worker.js` of the server is not counted")
    found = counts.report(ASKED, [MORE[0], MORE[1], *(start("new", number, 1, findings=(lost,)) for number in (1, 2))])
    assert found.sentences[0] == "db-ping: `new` has no number: `node worker.js` of the server is not counted"
    assert found.lines == () and not found.rejected and found.is_measured
    assert [row.instructions is None for row in found.rows] == [False, True]
    assert not counts.report(ASKED, []).is_measured


def test_a_run_tells_levels_and_what_has_not_settled() -> None:
    """Each arm's needs are a sentence, with their scatter; a warm-up that did not settle is a doubt."""
    found = counts.report(replace(ASKED, compared=False), [*MORE[:2], start("new", 1, 5000, settled=False)])
    assert found.sentences[0].startswith("db-ping: old needs 10,001 instructions ± 0.01 % from start to start, and 2")
    assert any("new: the warm-up of 1 start did not settle" in note for note in found.notes) and found.lines == ()


def test_two_records_are_held_against_each_other() -> None:
    """Cells that both have; versions that differ are named, and so is an arm without a number on one side."""
    other = [replace(one, windows=start("x", 1, 10_500).windows) for one in MORE[:2]]
    found = counts.between(record("first", MORE), record("second", other, libc="2.41"))
    assert found.sentences[0] == "db-ping: new in second: it was not started" and not found.rejected
    assert found.sentences[1].startswith("db-ping: old in second needs more instructions for an answer than old in first: +4.9")
    assert len(found.lines) == 3 and found.notes[0] == "the records differ in libc 2.36 and 2.41"


def test_an_arm_that_the_second_record_rejects_is_told() -> None:
    """What was right before and is wrong now is a bad answer. What was wrong before and is right now is none."""
    wrong = start("new", 3, 10_200, findings=(Finding("errors", Severity.REJECT, "wrong answers"),))
    sides = record("first", MORE), record("second", [*MORE, wrong])
    found = counts.between(*sides)
    assert found.rejected and found.sentences[0].startswith("db-ping: new in second: ") and "wrong answers" in found.sentences[0]
    assert len(found.lines) == 3 and not counts.between(*reversed(sides)).rejected


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (replace(ASKED, load=Load(connections=32)), "connections (16 and 32)"),
        (replace(ASKED, settings=CellSettings(workers=2, prepared=False)), "workers (1 and 2), prepared (True and False)"),
        (replace(ASKED, topology=Topology(pooler="pgbouncer")), "path"),
        (replace(ASKED, arms=tuple(replace(arm, stack="two:plain") for arm in ASKED.arms)), "stack (one:plain and two:plain)"),
    ],
)
def test_records_that_were_counted_differently_are_not_compared(asked: CountAsked, what: str) -> None:
    """The settings would be taken for the code. What differs is named; the cores of another machine are none of it."""
    found = counts.between(record("first", MORE), record("second", MORE, asked))
    assert found.lines == () and not found.where
    assert found.sentences == tuple(f"db-ping: {arm} is not compared: the records differ in {what}" for arm in ("old", "new"))
    pinned = replace(ASKED, settings=replace(ASKED.settings, pin=(("server", (3,)),)))
    assert len(counts.between(record("first", MORE), record("second", MORE, pinned)).lines) == 6


@pytest.mark.parametrize("asked", [replace(ASKED, workloads=("ping",)), replace(ASKED, arms=(CountArm("two", "two:plain"),) * 2)])
def test_records_that_have_nothing_in_common_are_refused(asked: CountAsked) -> None:
    """Each has what the other has not; nothing would be told."""
    with pytest.raises(LabError, match="^the two records have no stack on the same workload in common: old, new on db-ping and "):
        counts.between(record("first", MORE), record("second", [], asked))


def test_no_time_is_told_on_the_page() -> None:
    """Goodput, latency and CPU are of a server that runs natively. The page runs its own script alone."""
    found = counts.report(ASKED, MORE)
    text = counts.html(found, ("a machine",), "Fairground 0.1.0")
    runs_only_its_own_script(text)
    for word in ("per second", "latency", "goodput", "µs"):
        assert word not in text.partition("<main")[2], word
    assert "10,0" in text and "+2.00 %" in text and "read" in text
    told = counts.document(found)
    assert told["lines"][0]["verdict"] == "more" and told["counted"][0]["system_calls"] == {"read": pytest.approx(2)}  # type: ignore[index]
