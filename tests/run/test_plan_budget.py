"""What a budget makes of a plan: how many blocks, how long windows are, and how long stacks take turns."""

from __future__ import annotations

from dataclasses import replace

from builders.plans import compared, planned
from fairground.model import Load, Topology
from fairground.run import plan, windows


def test_a_budget_plans_what_it_could_at_most_hold() -> None:
    """With a budget alone the plan has as many blocks as windows and shortest warm-ups fit in, controls counted; at least one."""
    per_block_s = (2 * 2 + 2) * (Load().warmup_min_s + 2 * Load().window_s)
    for budget_s, blocks in ((10 * per_block_s, 10), (1.0, 1), (1e9, plan.MOST_BLOCKS)):
        built = planned(compared(2, 0, budget_s=budget_s))
        assert (built.blocks, built.budget_s) == (blocks, budget_s)
    assert planned(compared(2, 4, budget_s=1e9)).blocks == 4
    assert planned(compared(2, 0, budget_s=10 * per_block_s), hosts=3).blocks == 30


def test_windows_are_as_short_as_a_budget_asks_for() -> None:
    """Four blocks fit, where its file or its person did not say how long windows are; with enough time they are as ever."""

    def windows_of(budget_s: float, **more: bool) -> set[tuple[float, float]]:
        built = planned(compared(2, 0, budget_s=budget_s, **more))
        assert not more or budget_s < 60 or windows.BLOCKS * plan.estimate_s(built.slots) / built.blocks <= budget_s
        return {(slot.cell.load.window_s, slot.cell.load.warmup_max_s) for slot in built.slots}

    usual = {(Load().window_s, Load().warmup_max_s)}
    assert windows_of(120) == usual == windows_of(3600, fits=True)
    found = [windows_of(budget_s, fits=True) for budget_s in (600, 300, 180)]
    lengths = [window_s for ((window_s, _),) in found]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1] and len(set(lengths)) > 1
    assert windows_of(10, fits=True) == {windows.SHORTER_S[-1]}


def test_seconds_in_turns_are_as_many_as_a_budget_has_room_for() -> None:
    """Windows become shorter before turns do; those are never shorter than windows, and what was asked for is kept."""

    def of(budget_s: float, **more: float) -> tuple[float, float]:
        built = planned(compared(2, 0, budget_s=budget_s, fits=True, **more))
        ((window_s, turns_s),) = {(slot.cell.load.window_s, slot.turns_s) for slot in built.slots}
        assert turns_s is not None
        assert more or turns_s == window_s or windows.BLOCKS * plan.estimate_s(built.slots) / built.blocks <= budget_s + 0.001
        return window_s, turns_s

    assert of(3600) == (Load().window_s, Load().window_s)
    short_s = windows.SHORTER_S[-1][0]
    window_s, turns_s = of(165)
    assert window_s < windows.TURNS_S == turns_s
    window_s, turns_s = of(100)
    assert window_s == short_s < turns_s < windows.TURNS_S
    assert of(10) == (short_s, short_s)
    assert of(100, turns_s=2.0)[1] == of(3600, turns_s=2.0)[1] == 2.0


def test_without_a_word_a_plan_has_four_blocks_in_the_time_of_one() -> None:
    """Windows become shorter before turns do, and nobody who did not ask for controls gets them."""
    one, four = planned(compared(2, 1)), planned(compared(2, 0, fits=True))
    assert four.blocks == windows.BLOCKS and not any(slot.control for slot in four.slots)
    assert plan.estimate_s(four.slots) <= plan.estimate_s(one.slots) + 0.001
    ((window_s, turns_s),) = {(slot.cell.load.window_s, slot.turns_s) for slot in four.slots}
    assert turns_s is not None and window_s < Load().window_s and window_s <= turns_s
    said = planned(compared(2, 0, controls=True))
    assert said.blocks == windows.BLOCKS and any(slot.control for slot in said.slots)
    assert {slot.cell.load for slot in said.slots} == {Load()}


def test_who_takes_no_turns_stays_warm() -> None:
    """Of a stack by itself windows become shorter, and warm-ups stay: no turns would tell that it was cold."""
    suite = compared(1, 0, fits=True)
    alone = replace(suite, groups=(replace(suite.groups[0], topologies=(Topology(),)),))
    ((window_s, least_s, most_s),) = {
        (one.window_s, one.warmup_min_s, one.warmup_max_s) for one in (slot.cell.load for slot in planned(alone).slots)
    }
    assert window_s < Load().window_s and (least_s, most_s) == (Load().warmup_min_s, Load().warmup_max_s)
