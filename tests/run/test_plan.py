"""Plans: every cell once per block, the same for the same seed, and no stack favoured by its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.plans import compared, planned, server, stacks, workload, workloads
from builders.trials import trial
from fairground.model import (
    CellSettings,
    Control,
    Fault,
    FaultKind,
    LabError,
    Load,
    Plan,
    Server,
    Suite,
    SuiteGroup,
    Topology,
    Verdict,
    WorkloadEvent,
)
from fairground.run import plan, rounds, windows
from fairground.run.plan import PlanPart


def made(stack_count: int, workload_count: int = 1, blocks: int = 1, seed: int = 7, loads: tuple[Load, ...] = (Load(),)) -> Plan:
    """A plan of so many stacks and workloads."""
    return uncontrolled(
        PlanPart(stacks(stack_count), workloads(workload_count), loads, (Topology(),), CellSettings()), blocks, seed
    )


def uncontrolled(part: PlanPart, blocks: int = 1, seed: int = 1, unavailable: Mapping[str, str] | None = None) -> Plan:
    """The plan of one part, without controls."""
    suite = Suite("", "t", "", blocks, seed, (), controls=False)
    return plan.build(suite, (part,), "./fairground run", unavailable)


SMALL = st.integers(1, 6)
ALONE = Load(model="open", rate_per_s=1000.0)
"""A load under which cells are measured one by one."""


@given(SMALL, SMALL, SMALL, st.integers(0, 2**40), st.integers(1, 3))
def test_each_cell_once_per_block(stack_count: int, workload_count: int, blocks: int, seed: int, load_count: int) -> None:
    """Every block holds every cell exactly once, and slots are numbered in the order in which they are measured."""
    loads = tuple(Load(connections=10 * number) for number in range(1, load_count + 1))
    built = made(stack_count, workload_count, blocks, seed, loads)
    cells = {(stack.id, one.id, load) for stack in stacks(stack_count) for one in workloads(workload_count) for load in loads}
    for block in range(1, blocks + 1):
        found = [(slot.cell.stack, slot.cell.workload, slot.cell.load) for slot in built.slots if slot.block == block]
        assert Counter(found) == Counter(cells)
    assert [slot.number for slot in built.slots] == list(range(1, len(built.slots) + 1))
    assert [slot.block for slot in built.slots] == sorted(slot.block for slot in built.slots)


@given(SMALL, SMALL, SMALL, st.integers(0, 2**40))
def test_same_seed_same_plan(stack_count: int, workload_count: int, blocks: int, seed: int) -> None:
    """A plan follows from its seed, and another seed gives other streams."""
    assert made(stack_count, workload_count, blocks, seed) == made(stack_count, workload_count, blocks, seed)
    other = made(stack_count, workload_count, blocks, seed + 1)
    assert {slot.seed for slot in made(stack_count, workload_count, blocks, seed).slots}.isdisjoint(
        slot.seed for slot in other.slots
    )


def test_order_is_the_same_for_ever() -> None:
    """The order from a seed never changes, so that a published command repeats a published run."""
    built = made(4, 2, 2)
    order = [" ".join(slot.cell.stack for slot in heat) for _, heat in groupby(built.slots, key=lambda s: s.cell.workload)]
    assert built.slots[0].cell.workload == built.slots[15].cell.workload == "w0"
    assert order == ["s3:v1 s0:v1 s2:v1 s1:v1", "s0:v1 s1:v1 s3:v1 s2:v1 s1:v1 s2:v1 s0:v1 s3:v1", "s2:v1 s3:v1 s1:v1 s0:v1"]
    assert (built.slots[0].seed, built.slots[15].seed) == (66784657, 1971093227)


@given(st.integers(1, rounds.ARMS_AT_ONCE), st.integers(1, 3), SMALL, st.integers(0, 2**40))
def test_every_stack_gets_every_place(count: int, designs: int, workload_count: int, seed: int) -> None:
    """Over as many blocks as stacks, each stack stands equally often in each place among those it is compared with."""
    built = made(count, workload_count, designs * count, seed)
    places: Counter[tuple[str, str, int]] = Counter()
    for _, heat in groupby(built.slots, key=lambda slot: (slot.block, slot.cell.workload)):
        places.update((slot.cell.workload, slot.cell.stack, place) for place, slot in enumerate(heat))
    assert set(places.values()) == {designs}
    assert len(places) == workload_count * count * count


@given(st.integers(2, rounds.ARMS_AT_ONCE), st.integers(0, 2**40))
def test_every_stack_follows_every_other_equally_often(count: int, seed: int) -> None:
    """Over a whole design no stack always runs in the wake of the same other one."""
    blocks = count if count % 2 == 0 else 2 * count
    built = made(count, 1, blocks, seed)
    behind: Counter[tuple[str, str]] = Counter()
    for _, heat in groupby(built.slots, key=lambda slot: slot.block):
        behind.update(pairwise(slot.cell.stack for slot in heat))
    assert set(behind.values()) == {blocks // count}
    assert len(behind) == count * (count - 1)


@given(SMALL, SMALL, SMALL)
def test_compared_stacks_stand_together(stack_count: int, workload_count: int, blocks: int) -> None:
    """Inside a block all stacks of a workload follow each other without another workload between them."""
    heats = [key for key, _ in groupby(made(stack_count, workload_count, blocks).slots, key=lambda s: (s.block, s.cell.workload))]
    assert len(heats) == len(set(heats)) == blocks * workload_count


@given(SMALL, SMALL, st.integers(2, 4), st.integers(0, 2**40))
def test_topologies_of_a_stack_stand_side_by_side(stack_count: int, blocks: int, topology_count: int, seed: int) -> None:
    """Inside a block the topologies of one stack follow each other, so that what a hop costs is compared at close range."""
    topologies = tuple(Topology(pooler=f"p{number}") for number in range(topology_count))
    built = uncontrolled(PlanPart(stacks(stack_count), workloads(2), (ALONE,), topologies, CellSettings()), blocks, seed)
    assert len(built.slots) == len(set(built.slots)) == stack_count * 2 * topology_count * blocks
    runs = [len(list(group)) for _, group in groupby(built.slots, key=lambda s: (s.block, s.cell.workload, s.cell.stack))]
    assert set(runs) == {topology_count}


@given(st.integers(2, 5), st.integers(0, 2**40))
def test_topologies_with_rounds_of_their_own_change_places(count: int, seed: int) -> None:
    """Where the rounds of each topology are apart, each of them is measured at every place of a block as often as the others."""
    topologies = tuple(Topology(pooler=f"p{number}") for number in range(count))
    built = uncontrolled(PlanPart(stacks(7), workloads(1), (Load(),), topologies, CellSettings()), count, seed)
    places: Counter[tuple[Topology, int]] = Counter()
    for _, block in groupby(built.slots, key=lambda slot: slot.block):
        order = [topology for topology, _ in groupby(slot.cell.topology for slot in block)]
        places.update((topology, place) for place, topology in enumerate(order))
    apart = count > 2
    assert (set(places.values()) == {1} and len(places) == count * count) is apart


@given(st.integers(2, 5), st.integers(0, 2**40))
def test_every_topology_gets_every_place(count: int, seed: int) -> None:
    """Over as many blocks as topologies each of them stands once in each place of its stack."""
    topologies = tuple(Topology(pooler=f"p{number}") for number in range(count))
    built = uncontrolled(PlanPart(stacks(2), workloads(1), (ALONE,), topologies, CellSettings()), count, seed)
    places: Counter[tuple[str, Topology, int]] = Counter()
    for _, group in groupby(built.slots, key=lambda slot: (slot.block, slot.cell.stack)):
        places.update((slot.cell.stack, slot.cell.topology, place) for place, slot in enumerate(group))
    assert set(places.values()) == {1} and len(places) == 2 * count * count


def test_topology_that_is_not_here_is_left_out() -> None:
    """Cells of a topology whose program is missing are left out with the reason, and the rest is measured."""
    topologies = (Topology(), Topology(pooler="pgcat-tx"))
    part = PlanPart(stacks(1), workloads(1), (Load(),), topologies, CellSettings())
    built = uncontrolled(part, unavailable={"topology pgcat-tx": "no pgcat"})
    assert [slot.cell.topology for slot in built.slots] == [Topology()]
    assert built.skipped == {"topology pgcat-tx": "no pgcat"}


def test_version_that_is_not_here_is_left_out() -> None:
    """Cells on a version of PostgreSQL that cannot be had are left out with the reason; stacks are compared on one version."""
    parts = [
        PlanPart(stacks(2), workloads(1), (Load(),), (Topology(),), CellSettings(postgres_version=one)) for one in (16, 17, None)
    ]
    suite = Suite("s", "S", "", 1, 1, ())
    built = plan.build(suite, parts, "./fairground run", {"PostgreSQL 16": "no network"})
    assert {slot.cell.settings.postgres_version for slot in built.slots} == {17, None}
    assert built.skipped == {"PostgreSQL 16": "no network"}
    rounds_of = {
        slot.round: {one.cell.settings.postgres_version for one in built.slots if one.round == slot.round} for slot in built.slots
    }
    assert len(rounds_of) == 2 and all(len(found) == 1 for found in rounds_of.values())
    with pytest.raises(LabError, match=r"nothing is left to measure \(PostgreSQL 16: no network\)"):
        plan.build(suite, parts[:1], "./fairground run", {"PostgreSQL 16": "no network"})


@given(SMALL, SMALL, st.integers(1, 8))
def test_stream_of_requests_is_common_to_a_block(stack_count: int, workload_count: int, blocks: int) -> None:
    """All cells of a block draw the same numbers, and every block draws new ones."""
    slots = made(stack_count, workload_count, blocks).slots
    assert len({(slot.block, slot.seed) for slot in slots}) == len({slot.seed for slot in slots}) == blocks
    assert all(0 <= slot.seed < 2**31 for slot in slots)


def test_workloads_change_places_between_blocks() -> None:
    """No workload is always the first of its block."""
    slots = made(1, 4, 4).slots
    assert {slot.cell.workload for slot in slots if slot.number % 4 == 1} == {"w0", "w1", "w2", "w3"}


def test_skipped_cells_keep_their_reason() -> None:
    """What a server skips or cannot run is not in the plan, and the plan says why."""
    lame = server("lame", skip={"w0": "it cannot"}).stacks[0]
    absent = server("absent").stacks[0]
    chosen = (*stacks(1), lame, absent)
    part = PlanPart(chosen, workloads(2), (Load(),), (Topology(),), CellSettings())
    built = uncontrolled(part, unavailable={"absent:v1": "no compiler"})
    assert {(slot.cell.stack, slot.cell.workload) for slot in built.slots} == {
        ("s0:v1", "w0"),
        ("s0:v1", "w1"),
        ("lame:v1", "w1"),
    }
    assert built.skipped == {"lame:v1 w0": "it cannot", "absent:v1": "no compiler"}


def test_nothing_to_measure_is_an_error() -> None:
    """A plan without a cell says why it has none."""
    lame = server("lame", skip={"w0": "it cannot"}).stacks
    with pytest.raises(LabError) as raised:
        uncontrolled(PlanPart(lame, workloads(1), (Load(),), (Topology(),), CellSettings()))
    assert raised.value.message == "nothing is left to measure (lame:v1 w0: it cannot)"
    assert raised.value.exit_code == 3


def test_no_blocks_is_an_error() -> None:
    """A plan of fewer blocks than none is refused; 0 says that nobody asked for a number."""
    with pytest.raises(LabError, match="a plan of -1 blocks measures nothing"):
        made(1, 1, -1)
    assert made(1, 1, 0).blocks == windows.BLOCKS


def test_every_cell_carries_what_it_is_measured_under() -> None:
    """Title, command, seed, load, topology and settings arrive in the plan and in each cell."""
    settings, topology, load = CellSettings(workers=5), Topology(pooler="p"), Load(connections=3)
    part = PlanPart(stacks(1), workloads(1), (load,), (topology,), settings)
    built = plan.build(Suite("", "title", "", 2, 9, (), controls=False), (part,), "command")
    assert (built.title, built.seed, built.blocks, built.command) == ("title", 9, 2, "command")
    assert {(slot.cell.topology, slot.cell.load, slot.cell.settings) for slot in built.slots} == {(topology, load, settings)}


# ---------------------------------------------------------------- suites


def suite(*groups: tuple[tuple[str, ...], tuple[str, ...]], blocks: int = 1) -> Suite:
    """A suite of (stacks, workloads) groups."""
    parts = tuple(SuiteGroup(names, chosen, (Load(),), CellSettings()) for names, chosen in groups)
    return Suite("id", "title", "about", blocks, 7, parts)


SERVERS = (server("a", 2), server("b", 3, documented=("v2", "v3")), server("c"))


def cells(chosen: Suite) -> set[tuple[str, str]]:
    """Stack and workload of each slot; a cell measured twice is an error."""
    found = [(slot.cell.stack, slot.cell.workload) for slot in plan.of_suite(chosen, SERVERS, workloads(2), "c").slots]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("all",), "a:v1 a:v2 b:v1 b:v2 b:v3 c:v1"),
        (("deployed",), "a:v1 b:v2 b:v3 c:v1"),
        (("documented",), "b:v2 b:v3"),
        (("tuned",), "a:v1 a:v2 b:v1 c:v1"),
        (("b", "a:v2"), "b:v1 b:v2 b:v3 a:v2"),
        (("a", "a:v1", "deployed"), "a:v1 a:v2 b:v2 b:v3 c:v1"),
    ],
)
def test_suite_chooses_stacks(names: tuple[str, ...], found: str) -> None:
    """A group names stacks one by one, by server or by kind; a stack named twice is measured once."""
    assert cells(suite((names, ("w1",)))) == {(name, "w1") for name in found.split()}


def test_groups_are_joined() -> None:
    """Stacks of several groups that share a workload are compared with each other, so they stand together."""
    chosen = suite((("deployed",), ("all",)), (("tuned", "c"), ("w1",)))
    assert len(cells(chosen)) == 4 * 2 + 2
    slots = plan.of_suite(chosen, SERVERS, workloads(2), "c").slots
    assert len([key for key, _ in groupby(slots, key=lambda slot: slot.cell.workload)]) == 2


@pytest.mark.parametrize(
    ("names", "chosen", "message"),
    [
        (("d",), ("w0",), "the suite names a stack `d` that does not exist"),
        (("a:v9",), ("w0",), "the suite names a stack `a:v9` that does not exist"),
        (("a",), ("w9",), "there is no workload `w9`"),
    ],
)
def test_suite_with_unknown_name_is_refused(names: tuple[str, ...], chosen: tuple[str, ...], message: str) -> None:
    """A name that nothing has is an error."""
    with pytest.raises(LabError) as raised:
        cells(suite((names, chosen)))
    assert raised.value.message == message


# ---------------------------------------------------------------- time


def test_estimate_counts_every_slot() -> None:
    """The estimate is the window, the likely warm-up, the overhead of each slot, and the turns of those in a round."""
    load = Load(window_s=4, warmup_min_s=3, warmup_max_s=5)
    assert plan.estimate_s(made(1, 3, 2, loads=(load,)).slots) == pytest.approx(6 * (plan.OVERHEAD_S + 5 + 4))
    turns_s = plan.TURNS_COST * (4 + 0.5) + plan.TURNS_WARMING_S
    assert plan.estimate_s(made(2, 3, 2, loads=(load,)).slots) == pytest.approx(12 * (plan.TOGETHER_S + 5 + 4 + turns_s))
    early = Load(window_s=4, warmup_min_s=1, warmup_max_s=5)
    named = replace(workload("w1"), events={WorkloadEvent.DEADLOCKS: 50})
    grown = uncontrolled(PlanPart(stacks(1), (named,), (load,), (Topology(),), CellSettings()))
    assert plan.estimate_s(grown.slots) == pytest.approx(plan.OVERHEAD_S + 5 + 4 * windows.MOST_WINDOWS)
    assert plan.estimate_s(made(1, loads=(early,)).slots) == pytest.approx(plan.OVERHEAD_S + 3 + 4)
    locked = uncontrolled(PlanPart(stacks(2), (named,), (load,), (Topology(),), CellSettings()))
    assert plan.estimate_s(locked.slots) == pytest.approx(2 * (plan.TOGETHER_S + 5 + 4 * windows.MOST_WINDOWS))


def test_seconds_in_turns_are_a_slots() -> None:
    """What the suite says, but none where requests lock each other out, nor where a stack is measured by itself."""
    named = replace(workload("w1"), events={WorkloadEvent.DEADLOCKS: 50})
    parts = [PlanPart(stacks(2), (workload("w0"), named), (Load(),), (Topology(),), CellSettings())]
    parts.append(PlanPart(stacks(1), (workload("w2"),), (Load(),), (Topology(),), CellSettings()))
    built = plan.build(Suite("", "title", "", 1, 9, (), controls=False, turns_s=2.5), parts, "command")
    assert {(slot.cell.workload, slot.turns_s) for slot in built.slots} == {("w0", 2.5), ("w1", 0.0), ("w2", None)}
    plain = plan.build(Suite("", "title", "", 1, 9, (), controls=False), parts, "command")
    more_s = plan.estimate_s(built.slots) - plan.estimate_s(plain.slots)
    assert more_s == pytest.approx(2 * plan.TURNS_COST * (2.5 - Load().window_s))


def test_remaining_time_follows_what_was_seen() -> None:
    """Time left is the estimate of what is left, or the mean of what is done once there is one."""
    built = made(2, 3)
    assert plan.remaining_s(built, (), None) == pytest.approx(plan.estimate_s(built.slots))
    assert plan.remaining_s(built, {1, 2}, None) == pytest.approx(plan.estimate_s(built.slots) * 4 / 6)
    assert plan.remaining_s(built, {1, 2, 3, 4}, 10.0) == pytest.approx(20)
    assert plan.remaining_s(built, range(1, 7), 10.0) == 0


# ---------------------------------------------------------------- controls, anchor, budget


@pytest.mark.parametrize(
    ("stack_count", "blocks", "asked", "held"),
    [(2, 3, None, True), (1, 9, None, False), (2, 2, None, False), (2, 3, False, False), (1, 1, True, True)],
)
def test_a_plan_that_compares_holds_controls(stack_count: int, blocks: int, asked: bool | None, held: bool) -> None:
    """From two stacks and three blocks on, or when asked for, each block measures the anchor again and slowed, on one path."""
    built = planned(compared(stack_count, blocks, 2, controls=asked))
    controls = [slot for slot in built.slots if slot.control is not None]
    wanted = (
        {(block, load, kind) for block in range(1, blocks + 1) for load in ("w0", "w1") for kind in Control} if held else set()
    )
    assert Counter((slot.block, slot.cell.workload, slot.control) for slot in controls) == Counter(wanted)
    assert {(slot.cell.stack, slot.cell.topology.id) for slot in controls} <= {("s0:v1", "direct")}
    assert {(slot.control, slot.planted) for slot in built.slots} <= {(None, 0.0), (Control.AGAIN, 0.0), (Control.SLOWED, 0.1)}
    assert len(built.slots) - len(controls) == 2 * 2 * stack_count * blocks


def test_where_something_goes_wrong_there_are_no_controls() -> None:
    """A heat with a fault tells how its stacks recover; the heat without one beside it has its controls."""
    fault = Load(fault=Fault(FaultKind.DATABASE_RESTART, 3.0))
    suite = compared(2, 3)
    built = planned(replace(suite, groups=(replace(suite.groups[0], loads=(Load(), fault)),)))
    assert {slot.cell.load for slot in built.slots if slot.control is not None} == {Load()}
    assert {slot.round for slot in built.slots if slot.cell.load == fault} == {0}


def test_controls_take_every_place_as_stacks_do() -> None:
    """Over as many blocks as there are stacks and controls, each control stands once in each place of its heat."""
    built = planned(compared(2, 4))
    places: Counter[tuple[object, int]] = Counter()
    for _, block in groupby(built.slots, key=lambda slot: slot.block):
        entries = dict.fromkeys((slot.cell.stack, slot.control) for slot in block)
        places.update((control, place) for place, (_, control) in enumerate(entries) if control is not None)
    assert places == Counter({(control, place): 1 for control in Control for place in range(4)})


def test_the_anchor_is_documented_and_in_most_workloads() -> None:
    """Of stacks in as many workloads the first documented one; one that is in fewer gives way, documented or not."""
    less, tuned, first, second = (
        server("s0", documented=("v1",), skip={"w1": "it has none"}),
        server("s1"),
        *(server(name, documented=("v1",)) for name in ("s2", "s3")),
    )
    suite = compared(4, 1, 2)

    def anchor(*servers: Server) -> str | None:
        names = [one.id for one in servers]
        group = replace(suite.groups[0], stacks=tuple(f"{name}:v1" for name in names))
        return plan.of_suite(replace(suite, groups=(group,)), servers, workloads(2), "c").anchor

    assert anchor(less, tuned, first, second) == "s2:v1"
    assert anchor(second, first) == "s3:v1"
    assert anchor(less, tuned) == "s1:v1"
    assert anchor(less) == "s0:v1"


def test_the_anchor_is_the_first_stack_or_the_named_one() -> None:
    """The anchor is in the plan; one that cannot be had here gives way to the first that can, and an unknown name is an error."""
    assert planned(compared(3, 1)).anchor == "s0:v1"
    named = planned(compared(3, 3, anchor="s2:v1"))
    assert named.anchor == "s2:v1"
    assert {slot.cell.stack for slot in named.slots if slot.control is not None} == {"s2:v1"}
    assert planned(compared(3, 3, anchor="s2:v1"), {"s2:v1": "no compiler"}).anchor == "s0:v1"
    with pytest.raises(LabError, match="the anchor `s7:v1` is not in the plan"):
        planned(compared(3, 1, anchor="s7:v1"))


def test_without_cgroups_the_slowed_control_is_left_out_and_said() -> None:
    """Where no slowdown can be planted the A/A pair stays, and the plan says why the other is missing."""
    built = planned(compared(2, 3), {"control slowed": "no cgroups"})
    assert {slot.control for slot in built.slots} == {None, Control.AGAIN}
    assert built.skipped == {"control slowed": "no cgroups"}


def test_a_stream_of_requests_can_be_named() -> None:
    """One seed for the requests of every block, whatever the seed of the order."""
    assert {slot.seed for slot in planned(compared(2, 3, stream=99)).slots} == {99}


@pytest.mark.parametrize("anchor", ["s0:v1", "s1:v1"])
def test_a_server_of_one_port_has_no_copy_beside_it(anchor: str) -> None:
    """Where the anchor listens at its own port whatever it is told, the plan has no controls and says why; a rival's port is no matter."""
    fixed = replace(server("s0"), port=8080)
    part = PlanPart((fixed.stacks[0], *stacks(2)[1:]), workloads(1), (Load(),), (Topology(),), CellSettings())
    built = plan.build(Suite("", "t", "", 3, 1, (), anchor=anchor), (part,), "c")
    alone = anchor == "s0:v1"
    assert {slot.control for slot in built.slots} == ({None} if alone else {None, *Control})
    assert [name for name, why in built.skipped.items() if "port 8080" in why] == (["controls of s0:v1"] if alone else [])


def test_servers_of_one_port_are_measured_one_by_one() -> None:
    """Of servers that cannot be up at once each has the machine for itself, in the order of its block, and the plan says why."""
    three = [replace(server(name), port=port) for name, port in (("s0", 8080), ("s1", None), ("s2", 8080))]
    part = PlanPart(tuple(one.stacks[0] for one in three), workloads(1), (Load(),), (Topology(),), CellSettings())
    built = plan.build(Suite("", "t", "", 3, 1, (), anchor="s1:v1"), (part,), "c")
    assert {slot.round for slot in built.slots} == {0} and {slot.cell.stack for slot in built.slots} == {
        "s0:v1",
        "s1:v1",
        "s2:v1",
    }
    why = "they listen at port 8080 whatever they are told, so that they and those beside them are measured one by one"
    assert built.skipped == {"turns of s0:v1 and s2:v1": why}
    free = replace(part, stacks=(three[1].stacks[0], three[2].stacks[0]))
    together = plan.build(Suite("", "t", "", 3, 1, (), anchor="s1:v1"), (free,), "c")
    assert 0 not in {slot.round for slot in together.slots} and together.skipped == {}


def test_a_page_is_worth_its_time_after_few_blocks() -> None:
    """After the last sound trial of blocks 1, 2 and 4, never after the plan's last block, and never with a budget."""
    built = planned(compared(2, 4))
    trials = [replace(trial(slot.cell.stack, slot.block, 1.0), number=slot.number) for slot in built.slots]
    worth = [one for one in trials if plan.is_worth_a_page(built, one)]
    assert [one.block for one in worth] == [1, 2] and not any(worth[0].number < one.number for one in trials if one.block == 1)
    assert not any(plan.is_worth_a_page(replace(built, budget_s=60.0), one) for one in trials)
    void = replace(worth[0], verdict=Verdict.VOID)
    assert not plan.is_worth_a_page(built, void) and plan.is_worth_a_page(built, replace(void, attempt=3))
