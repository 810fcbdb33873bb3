"""A round of trials: which schedule its cells have, and what comes of their turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from builders.contracts import CONTRACTS, SEEDS
from builders.fakes import LOAD, WORKLOAD, FakeStack, Server, World
from builders.paths import ROOT
from fairground.inputs import manifest, workload_files
from fairground.measure import loaded, session, trial
from fairground.measure.schedule import SideBySide
from fairground.model import Cell, CellSettings, Control, Finding, Load, PlanSlot, Severity, Topology, Verdict

WORKLOADS = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}


class Asked(Exception):
    """The schedule that a session was to play."""


class Session:
    """One that starts nothing."""

    def __init__(self, *_: object) -> None:
        """Nothing is kept."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is stopped."""

    def play(self, schedule: Any) -> None:
        """Tell what is asked."""
        raise Asked(schedule)


@pytest.mark.parametrize("turns_s", [0.0, 2.5, None])
def test_turns_are_as_long_as_the_slots_say(turns_s: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them, some seconds, or as many as the window has."""
    monkeypatch.setattr(trial, "ArmSession", Session)
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), "healthy")
    cell = Cell(stack.id, "ping", Topology(), Load(), CellSettings())
    slots = [PlanSlot(1, 1, cell, 7, round=1, turns_s=turns_s), PlanSlot(2, 1, cell, 7, Control.AGAIN, round=1, turns_s=turns_s)]
    attempts = [trial.Attempt(slot, 1, stack, tmp_path / str(slot.number), "trial") for slot in slots]
    with pytest.raises(Asked) as asked:
        trial.together(None, attempts, WORKLOADS["ping"])  # type: ignore[arg-type]
    schedule = asked.value.args[0]
    assert isinstance(schedule, SideBySide) and schedule.turns_s == turns_s


def attempts(labels: str, folder: Path) -> list[trial.Attempt]:
    """Slots of one round, a letter each, with windows long enough for turns."""
    load = replace(LOAD, window_s=4.0)
    cells = [Cell(label, WORKLOAD.id, Topology(), load, CellSettings()) for label in labels]
    slots = [PlanSlot(number, 1, cell, 7, round=1) for number, cell in enumerate(cells, 1)]
    return [trial.Attempt(one, 1, cast(Any, FakeStack(one.cell.stack)), folder / one.cell.stack, one.cell.stack) for one in slots]


@pytest.mark.parametrize(("spoiled", "verdict", "left"), [(4, Verdict.VOID, 0), (3, Verdict.VALID, 1)])
def test_turns_that_the_machine_spoiled_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: int, verdict: Verdict, left: int
) -> None:
    """A piece that is void is left out; where all four are, the trial is void and says of what."""
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    void = Finding("foreign-cpu", Severity.VOID, "others were at work")
    said = iter([*[()] * 6, *[(void,)] * 2 * spoiled, *[()] * 8])  # for both arms: whole windows, two warm-ups, pieces
    monkeypatch.setattr(session.validity, "findings", lambda *_, **of: next(said) if of else ())
    monkeypatch.setattr(loaded.validity, "unmade", lambda *_: ())
    monkeypatch.setattr(
        "fairground.measure.schedule.TURN_S", 0.5
    )  # every turn of these servers is as long, whatever is asked for
    found = trial.together(world.bench(), attempts("ab", tmp_path), WORKLOAD)
    assert [(one.verdict is Verdict.VOID, len(one.turns)) for one in found] == [(verdict is Verdict.VOID, left)] * 2
    assert all((void in one.findings) == (verdict is Verdict.VOID) for one in found)


def test_a_round_of_trials_is_measured_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are up at once; each has its whole window and then its turns, which its rate comes from; a bad one is named alone."""
    world = World({"a": Server(), "b": Server(), "c": Server(wrong_case=True)}).moved_into(monkeypatch)
    found = trial.together(world.bench(), attempts("abc", tmp_path), WORKLOAD)
    assert [(one.number, one.round, one.cell.stack, one.folder) for one in found] == [
        (1, 1, "a", "a"), (2, 1, "b", "b"), (3, 1, "c", "c")
    ]  # fmt: skip
    assert world.log.index("c verify") < world.log.index("a measure") < world.log.index("b measure") < world.log.index("a turn")
    assert "c measure" not in world.log and "c turn" not in world.log
    assert [bool(one.turns) for one in found] == [True, True, False]
    assert found[2].verdict is Verdict.REJECTED and all(one.verdict is not Verdict.REJECTED for one in found[:2])
    assert all(one.audit and one.audit[0].holds for one in found[:2])
