"""Carrying out a plan: void trials are repeated in their slot and kept, and a run stays one of one machine and one measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground import measure, records
from fairground.host import machine
from fairground.judge import thresholds
from fairground.model import Cell, CellSettings, LabError, Load, Plan, PlanSlot, Stack, Topology, Trial, Verdict, Workload
from fairground.run import runner

CELL = Cell("one:plain", "ping", Topology(), Load(), CellSettings())
PLAN = Plan("Two", 7, 1, (PlanSlot(1, 1, CELL, 7), PlanSlot(2, 1, CELL, 7)), {}, "command")
STACKS = cast(Mapping[str, Stack], {"one:plain": None})
WORKLOADS = cast(Mapping[str, Workload], {"ping": None})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run of two slots."""
    facts: dict[str, Any] = {"versions": {"engine": "1"}, "database_settings": {}, "stacks": {}, "workloads": {}}
    return records.create_run(tmp_path, PLAN, started_unix_s=0.0, machine=machine.fingerprint(), **facts)


def bench(**fields: Any) -> measure.Bench:
    """A bench of which nothing is used."""
    return measure.Bench(cast(Any, SimpleNamespace(awake=False)), *[cast(Any, None)] * 3, cores=2, **fields)


def verdicts(monkeypatch: pytest.MonkeyPatch, *ones: Verdict) -> list[measure.Bench]:
    """Trials that end with these verdicts, one after the other; the benches that they were given."""
    coming, benches = iter(ones), list[measure.Bench]()

    def together(given: measure.Bench, attempts: Sequence[measure.Attempt], workload: Workload) -> tuple[Trial, ...]:
        benches.append(given)
        return tuple(ended(one) for one in attempts)

    def ended(one: measure.Attempt) -> Trial:
        known = (one.slot.number, 1, one.number, CELL, 7, 0.0, 1.0, {}, None, {}, None, None, (), ())
        return Trial(*known, next(coming), None, "", one.folder_name)

    monkeypatch.setattr(measure, "together", together)
    return benches


def carried_out(folder: Path, given: measure.Bench | None = None) -> Iterator[Trial]:
    """The trials of the plan as they are measured."""
    return runner.run(PLAN, folder, STACKS, WORKLOADS, given or bench())


VALID, WARNED, VOID, REJECTED = Verdict.VALID, Verdict.WARNED, Verdict.VOID, Verdict.REJECTED


@pytest.mark.parametrize(
    ("ones", "attempts"),
    [
        ((VALID, VALID), [(1, 1), (2, 1)]),
        ((VOID, VALID, WARNED), [(1, 1), (1, 2), (2, 1)]),
        ((VOID, VOID, VALID, REJECTED), [(1, 1), (1, 2), (1, 3), (2, 1)]),
        ((VOID, VOID, VOID, VOID, VOID, VOID), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]),
    ],
)
def test_void_trials_are_repeated_at_most_twice_and_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ones: tuple[Verdict, ...], attempts: list[tuple[int, int]]
) -> None:
    """Only void is repeated, in its own slot, before the next one begins; all attempts are stored with their verdicts."""
    verdicts(monkeypatch, *ones)
    assert [(one.number, one.attempt) for one in carried_out(folder)] == attempts
    kept = records.load_run(folder)
    assert [(one.number, one.attempt, one.verdict) for one in kept.trials] == [
        (*attempt, one) for attempt, one in zip(attempts, ones, strict=True)
    ]
    assert kept.finished


def test_resuming_counts_the_attempts_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that was void twice before an interruption is tried once more, not thrice."""
    verdicts(monkeypatch, VOID, VOID, VOID, VALID)
    going = carried_out(folder)
    assert [next(going).attempt, next(going).attempt] == [1, 2]
    going.close()  # type: ignore[attr-defined]
    assert [(one.number, one.attempt) for one in carried_out(folder)] == [(1, 3), (2, 1)]


# ---------------------------------------------------------------- one measure


def test_a_run_is_judged_by_one_set_of_thresholds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not resumed under others, and the sentence names them."""
    verdicts(monkeypatch, VALID, VALID)
    next(carried_out(folder))
    standard = thresholds.standard()
    other = replace(standard, reasons=replace(standard.reasons, locked=0.5))
    with pytest.raises(LabError) as caught:
        next(carried_out(folder, bench(thresholds=other)))
    assert "(reasons.locked)" in caught.value.message


# ---------------------------------------------------------------- one machine


def test_trials_know_the_machine_of_their_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial is given the run's machine to compare itself with."""
    benches = verdicts(monkeypatch, VALID, VALID)
    list(carried_out(folder))
    assert [one.machine for one in benches] == [machine.fingerprint()] * 2


def test_a_run_is_not_resumed_on_another_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kernel is refused, by its name, before anything is measured."""
    benches = verdicts(monkeypatch, VALID)
    there = replace(machine.fingerprint(), kernel="5.0-elsewhere")
    monkeypatch.setattr(machine, "fingerprint", lambda _: there)
    with pytest.raises(LabError) as caught:
        next(carried_out(folder))
    assert "was begun on another machine: kernel was `" in caught.value.message
    assert "is `5.0-elsewhere`" in caught.value.message and benches == []
