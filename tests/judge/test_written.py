"""Writes that the lab looks for at the moment of their answer: what rejects, and how the audit counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.paths import ROOT
from builders.trials import trial
from fairground.inputs import manifest
from fairground.judge import written
from fairground.judge.written import Probe
from fairground.model import LedgerRow, Severity

WORKLOAD = next(one for one in manifest.load_workloads(ROOT / "workloads") if one.id == "tx")
RESULT = trial("a:plain", 1, 1400.0).result
assert RESULT is not None
LIFE = RESULT.life or RESULT.window
SLOTS = {"aid": 7, "tid": 3, "bid": 1, "delta": -5}
ON_TIME, LATE, LOST = Probe(SLOTS, True), Probe(SLOTS, True, 51.4), Probe(SLOTS, True, None)
REFUSED, UNKNOWN = Probe(SLOTS, False, None), Probe(SLOTS, None, None)


def test_writes_that_are_there_say_nothing() -> None:
    """Writes that were there at once, requests that were refused, and those of which nobody knows reject nothing."""
    assert written.findings([], 2.0) == written.findings([ON_TIME, ON_TIME, REFUSED, UNKNOWN], 2.0) == ()


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
    (found,) = written.findings(probes, 2.0)
    assert (found.id, found.severity) == ("late-writes", Severity.REJECT)
    assert words in found.sentence


@pytest.mark.parametrize(
    ("unflushed", "found"),
    [([None, None], []), ([False, False], []), ([False, True, None], ["of 2 acknowledged writes, 1 were not on the disk yet"])],
)
def test_a_write_that_is_not_on_the_disk_rejects(unflushed: list[bool | None], found: list[str]) -> None:
    """Where the database waits for its disk by itself, a server may not tell it otherwise."""
    said = written.findings([replace(ON_TIME, unflushed=one) for one in unflushed], 2.0)
    assert [one.id for one in said] == ["unflushed-writes"] * len(found)
    assert all(one.severity is Severity.REJECT and words in one.sentence for one, words in zip(said, found, strict=True))


def test_only_an_acknowledged_write_that_is_there_can_be_off_the_disk() -> None:
    """Of a late one that is said already; of one that was refused or is unknown nobody promised anything."""
    said = written.findings([replace(one, unflushed=True) for one in (LATE, REFUSED, UNKNOWN)], 2.0)
    assert [one.id for one in said] == ["late-writes"]


def test_the_audit_counts_what_probes_wrote() -> None:
    """Acknowledged probes are good answers and ledger entries, unknown ones are unknown, and refused ones are nothing."""
    before = replace(RESULT, ledgers={"tellers": {"3": LedgerRow(2, 10, 0, 0), "4": LedgerRow(1, 1, 0, 0)}})
    found = written.with_probes(before, [ON_TIME, LATE, REFUSED, UNKNOWN], WORKLOAD)
    assert found.life is not None and found.ledgers is not None
    assert (found.life.ok - LIFE.ok, found.life.unknown - LIFE.unknown) == (2, 1)
    assert found.ledgers["tellers"] == {"3": LedgerRow(4, 0, 1, -5), "4": LedgerRow(1, 1, 0, 0)}
    assert found.ledgers["branches"] == {"1": LedgerRow(2, -10, 1, -5)}
    assert before.ledgers == {"tellers": {"3": LedgerRow(2, 10, 0, 0), "4": LedgerRow(1, 1, 0, 0)}}


def test_a_generator_without_a_ledger_keeps_none() -> None:
    """Where nobody knows what rows the load named, the probes alone are no ledger."""
    found = written.with_probes(replace(RESULT, ledgers=None), [ON_TIME], WORKLOAD)
    assert found.ledgers is None and found.life is not None and found.life.ok == LIFE.ok + 1
