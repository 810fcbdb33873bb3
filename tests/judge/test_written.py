"""Writes that the lab looks for at the moment of their answer: what rejects, and how the audit counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.contracts import SEEDS
from builders.facts import outcomes, result, second
from builders.trials import trial
from fairground.inputs import workload_files
from fairground.judge import written
from fairground.judge.written import Probe
from fairground.model import LedgerRow, Severity

WORKLOAD = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "tx")
RESULT = trial("a:plain", 1, 1400.0).result
assert RESULT is not None
LIFE = RESULT.life or RESULT.window
SLOTS = {"aid": "7", "tid": "3", "bid": "1", "delta": "-5"}
ON_TIME, LATE, LOST = Probe(SLOTS, True), Probe(SLOTS, True, 51.4), Probe(SLOTS, True, None)
REFUSED, UNKNOWN = Probe(SLOTS, False, None), Probe(SLOTS, None, None)


def test_writes_that_are_there_say_nothing() -> None:
    """Writes that were there at once, requests that were refused, and those of which nobody knows reject nothing."""
    assert written.findings([], 2.0, RESULT) == written.findings([ON_TIME, ON_TIME, REFUSED, UNKNOWN], 2.0, RESULT) == ()


@pytest.mark.parametrize(
    ("probes", "words"),
    [
        (
            [ON_TIME, LATE],
            "of 2 writes that the lab looked for at the moment of their answer, 1 were in the database only up to 51 ms",
        ),
        ([ON_TIME, LOST], "1 were not there 2 s later"),
        ([LATE, LOST, REFUSED], "1 were in the database only up to 51 ms later and 1 were not there 2 s later"),
    ],
)
def test_a_late_write_rejects(probes: list[Probe], words: str) -> None:
    """One acknowledged write that was not there at the moment of its answer rejects, with the milliseconds that are known."""
    (found,) = written.findings(probes, 2.0, RESULT)
    assert (found.id, found.severity) == ("late-writes", Severity.REJECT)
    assert words in found.sentence


def test_headers_that_are_wrong_in_most_answers_reject() -> None:
    """The sentence says of how many. One old date of several is a machine's that stood still, and who refused is not asked."""
    old = replace(ON_TIME, header="the header `date` is 9 s old")
    (found,) = written.findings([old, old, ON_TIME, replace(REFUSED, header=None)], 2.0, RESULT)
    assert (found.id, found.severity) == ("headers-under-load", Severity.REJECT)
    assert found.sentence == (
        "of 3 answers to requests of the lab's own under load, 2 had a wrong header: the header `date` is 9 s old"
    )
    assert written.findings([old, ON_TIME], 2.0, RESULT) == ()


def test_probes_that_ended_early_are_no_word_for_a_server() -> None:
    """A fault of the lab's that ends them makes the trial void, whatever was found until then."""
    assert written.findings([ON_TIME], 2.0, RESULT, ended_by=None) == ()
    (found,) = written.findings([ON_TIME], 2.0, RESULT, ended_by="KeyError: 7")
    assert (found.id, found.severity) == ("probes-ended", Severity.VOID)
    assert found.sentence.startswith("the lab's own requests ended after 1, ") and found.sentence.endswith("KeyError: 7")


def test_a_write_that_could_not_be_looked_for_is_told() -> None:
    """Where the database refuses the question nothing is taken for there, late or unflushed: the lab says that it does not know."""
    (found,) = written.findings(
        [ON_TIME, replace(LATE, looked=False), replace(ON_TIME, unflushed=True, looked=False)], 2.0, RESULT
    )
    assert (found.id, found.severity) == ("writes-not-looked-for", Severity.WARN)
    assert found.sentence.startswith("of 3 acknowledged writes, 2 could not be looked for")
    assert written.findings([ON_TIME, replace(REFUSED, looked=False)], 2.0, RESULT) == ()


def test_requests_that_were_all_refused_are_told() -> None:
    """Without an acknowledged write nothing was looked for, and a server that refuses them all does not pass in silence."""
    (found,) = written.findings([REFUSED] * 4 + [UNKNOWN], 2.0, RESULT)
    assert (found.id, found.severity) == ("writes-not-acknowledged", Severity.WARN)
    assert found.sentence.startswith("of 5 requests of the lab's own none was acknowledged")
    assert written.findings([REFUSED] * 4, 2.0, RESULT) == (), "so few may be refused by chance"
    refusing = replace(RESULT, life=replace(LIFE, shed=LIFE.ok + 1))
    assert written.findings([REFUSED] * 50, 2.0, refusing) == (), "as most of the load was"


@pytest.mark.parametrize(
    ("unflushed", "found"),
    [([None, None], []), ([False, False], []), ([False, True, None], ["of 2 acknowledged writes, 1 were not on the disk yet"])],
)
def test_a_write_that_is_not_on_the_disk_rejects(unflushed: list[bool | None], found: list[str]) -> None:
    """Where the database waits for its disk by itself, a server may not tell it otherwise."""
    said = written.findings([replace(ON_TIME, unflushed=one) for one in unflushed], 2.0, RESULT)
    assert [one.id for one in said] == ["unflushed-writes"] * len(found)
    assert all(one.severity is Severity.REJECT and words in one.sentence for one, words in zip(said, found, strict=True))


def test_only_an_acknowledged_write_that_is_there_can_be_off_the_disk() -> None:
    """Of a late one that is said already; of one that was refused or is unknown nobody promised anything."""
    said = written.findings([replace(one, unflushed=True) for one in (LATE, REFUSED, UNKNOWN)], 2.0, RESULT)
    assert [one.id for one in said] == ["late-writes"]


def test_the_audit_counts_what_probes_wrote() -> None:
    """Acknowledged probes are good answers and ledger entries, unknown ones are unknown, and refused ones are nothing."""
    before = replace(RESULT, ledgers={"tellers": {"3": LedgerRow(2, 10, 0, 0), "4": LedgerRow(1, 1, 0, 0)}})
    found = written.with_probes(before, [ON_TIME, LATE, REFUSED, UNKNOWN], WORKLOAD.first)
    assert found.life is not None and found.ledgers is not None
    assert (found.life.ok - LIFE.ok, found.life.unknown - LIFE.unknown) == (2, 1)
    assert found.ledgers["tellers"] == {"3": LedgerRow(4, 0, 1, -5), "4": LedgerRow(1, 1, 0, 0)}
    assert found.ledgers["branches"] == {"1": LedgerRow(2, -10, 1, -5)}
    assert before.ledgers == {"tellers": {"3": LedgerRow(2, 10, 0, 0), "4": LedgerRow(1, 1, 0, 0)}}


def test_a_generator_without_a_ledger_keeps_none() -> None:
    """Where nobody knows what rows the load named, the probes alone are no ledger."""
    found = written.with_probes(replace(RESULT, ledgers=None), [ON_TIME], WORKLOAD.first)
    assert found.ledgers is None and found.life is not None and found.life.ok == LIFE.ok + 1


@pytest.mark.parametrize(
    ("flushes", "good", "connections", "holds"),
    [(500, 500, 1, True), (500, 4000, 8, True), (500, 4001, 8, False), (20, 6000, 25, False), (0, 0, 8, True)],
)
def test_a_flush_ends_one_commit_of_each_connection(flushes: int, good: int, connections: int, holds: bool) -> None:
    """Group commit gives each connection one, and never two."""
    assert written.flush_line(flushes, good, connections).holds is holds


def test_answers_whose_flushes_may_not_be_counted_yet() -> None:
    """The last seconds and what came after the window are left out, and of a short one as much of the warm-up before it."""
    life = outcomes(1000)
    seconds = tuple(second(number, ok=100) for number in range(8))
    told = result(life, life=life, window_s=8.0, seconds=seconds, completed_ok=800, in_flight_end=16, refused=4)
    assert written.counted_by(told) == 1000 - 4 - 200 - 16
    assert written.counted_by(replace(told, window_s=8.5)) == 1000 - 4 - 100 - 16
    assert written.counted_by(replace(told, seconds=())) == 1000 - 4 - 800 - 16
    assert written.counted_by(replace(told, seconds=(), completed_ok=1000)) == 0
    assert written.counted_by(replace(told, window_s=0.5, seconds=(), completed_ok=100)) == 1000 - 4 - 300 - 16


def test_answers_of_the_last_turns_are_left_out() -> None:
    """What was given within 1.5 s before the last turn's end; it does not matter how long ago that is."""
    ends = [(10.0, 100), (10.9, 200), (11.1, 300), (12.5, 400)]
    assert written.counted_in_turns(ends) == 200
    assert written.counted_in_turns([*ends, (40.0, 500)]) == 400
    assert written.counted_in_turns(ends[-1:]) == written.counted_in_turns([]) == 0
