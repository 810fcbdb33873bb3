"""How long events may make a window, by the time that a run has."""

from __future__ import annotations

from dataclasses import replace

from builders.contracts import SEEDS
from fairground.inputs import workload_files
from fairground.model import Cell, CellSettings, Fault, FaultKind, Load, PlanSlot, Topology
from fairground.run import windows

LOAD = Load(window_s=4.0)


def slot(number: int, workload: str, load: Load = LOAD, block: int = 1, round_: int = 0) -> PlanSlot:
    """A place in a plan."""
    return PlanSlot(number, block, Cell("a:plain", workload, Topology(), load, CellSettings()), 1, round=round_)


def ceilings(slots: list[PlanSlot], room_s: float | None = None) -> list[float | None]:
    """Those of the slots, where the workload `transfer` names events."""
    return [one.window_most_s for one in windows.with_ceilings(slots, {"transfer"}, room_s)]


def test_a_small_budget_makes_windows_shorter_and_none_longer() -> None:
    """Windows first, warm-ups where that is not enough; a load that is short already stays as it is, and so does a number of requests."""
    (ping,) = [one for one in workload_files.load_workloads(SEEDS) if one.id == "ping"]
    steps = [windows.shorter((Load(),), step, [ping])[0] for step in range(len(windows.SHORTER_S))]
    assert [(one.window_s, one.warmup_min_s, one.warmup_max_s) for one in steps] == [
        (3.0, 2.0, 20.0), (2.0, 2.0, 20.0), (1.5, 2.0, 20.0), (1.0, 2.0, 20.0), (1.0, 0.5, 0.5), (0.7, 0.5, 0.5)
    ]  # fmt: skip
    short, counted = Load(window_s=0.6, warmup_min_s=0.1, warmup_max_s=0.2), Load(requests=100)
    staged = Load(stages=((5.0, 10),))
    assert windows.shorter((short, counted, staged), 5, [ping]) == (short, counted, staged)


def test_a_small_budget_leaves_room_for_events() -> None:
    """Two deadlocks may hold all of a shorter window."""
    found = {one.id: one for one in workload_files.load_workloads(SEEDS)}
    (last,) = windows.shorter((Load(),), len(windows.SHORTER_S) - 1, [found["ping"], found["transfer"]])
    assert (last.window_s, last.warmup_min_s) == (windows.EVENTFUL_S, 2.0)


def test_without_a_budget_a_window_grows_to_four_times_its_length() -> None:
    """Only one of a workload that names events."""
    assert ceilings([slot(1, "transfer"), slot(2, "ping")]) == [16.0, None]


def test_without_a_pilot_a_window_stays_as_it_is() -> None:
    """A warm-up that is too short to count events tells nothing; a run with a budget lets the window grow all the same."""
    hurried = slot(1, "transfer", replace(LOAD, warmup_min_s=0.5, warmup_max_s=0.5))
    assert ceilings([hurried]) == [4.0]
    assert ceilings([hurried], 10.0) == [14.0]


def test_what_events_cannot_size_stays_as_it_is() -> None:
    """Generators from elsewhere, a number of requests, and a window in which something goes wrong on purpose."""
    fault = Fault(FaultKind.STALL, 1.0, 0.1)
    loads = [replace(LOAD, generator="wrk"), replace(LOAD, requests=100), replace(LOAD, fault=fault)]
    assert ceilings([slot(number, "transfer", load) for number, load in enumerate(loads, 1)]) == [None] * 3


def test_a_budget_is_shared_out_between_the_windows_of_a_block() -> None:
    """40 s are 10 s for each of four windows, of which two are in turns; a minute is the most."""
    slots = [slot(number, "transfer", block=block, round_=block) for block in (1, 2) for number in (2 * block, 2 * block + 1)]
    assert ceilings(slots, 40.0) == [14.0] * 4
    assert ceilings(slots, 1e6) == [windows.LONGEST_S] * 4


def test_a_budget_without_room_leaves_windows_as_they_are() -> None:
    """Never shorter than asked for; and a load that asks for more than a minute gets it."""
    assert ceilings([slot(1, "transfer")], -5.0) == [4.0]
    assert ceilings([slot(1, "transfer", replace(LOAD, window_s=90.5))], 1e6) == [90.5]
