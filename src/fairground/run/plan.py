"""Plan what is measured in which order: blocks of cells, order-balanced from a seed. Pure: no I/O, no clock, no hidden chance.

A *heat* is the set of stacks that are compared with each other: one workload, load and settings. Inside a block the stacks of a
heat follow each other, so that a drifting machine harms them alike, and the topologies of one stack stand side by side, since
they are compared most closely of all: what a hop costs. The order of stacks in a heat, of topologies in a stack, and of heats in
a block, follows the rows of Williams designs: over as many blocks as there are stacks, every stack stands once in every place
and, for an even number, once behind every other (for an odd number: twice, over twice as many blocks).

The cells of a heat in one block are a *round*: all are up at once and are measured in turns (`measure.together`). A heat that has
more than fit is split into several rounds, and the anchor stands in each of them, so that every stack is held against an anchor
of its own seconds: blocks that are incomplete, with a control in common. Who shares a round changes from block to block.
Topologies that would leave a round to two stacks have rounds of their own: else every second arm would be the anchor.

A plan that compares holds *controls* in each heat: its anchor once more (A/A), and its anchor slowed down by a known share. They
take places among the stacks like any other, so that what an order does to stacks it does to them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.judge import sizing
from fairground.model import (
    Approach,
    Cell,
    CellSettings,
    Control,
    LabError,
    Load,
    Plan,
    PlanSlot,
    Server,
    Stack,
    Suite,
    SuiteGroup,
    Topology,
    Trial,
    Verdict,
    Workload,
    WorkloadEvent,
)
from fairground.run import naming, orders, retry, rounds, windows
from fairground.run.rounds import Entry
from fairground.stats.comparisons import heat_of

HeatKey = tuple[str, Load, CellSettings]
Heat = dict[str, list[Cell]]
"""Stack → its cells, one for each topology."""

PLANTED = 0.10
"""The known slowdown, as a share of the server's CPU: twice that of `compare`, since whole trials differ more than windows."""
COMPARING_STACKS, COMPARING_BLOCKS = 2, 3
"""From this many stacks and blocks on a plan compares, and holds controls."""
DEPLOYED = "deployed"
"""What a suite calls the documented variants of each server, and the first of one that has none."""
MOST_BLOCKS = 100
"""The most blocks of a plan that ends by its budget."""
MOST_SLOTS = 1000
"""The most slots of such a plan that are there only for heats which get the time of others."""

OVERHEAD_S = 1.5
"""Seconds of a trial outside warm-up and window (reset, start, verification, drain, audit, stop), while none is known."""
TOGETHER_S = 1.0
"""The same of a trial whose round is up at once."""
WARMUPS = 3
"""A warm-up lasts this many times its least, unless its most is less: 3.2 times in a run of 25 stacks on nine workloads."""
TURNS_COST = 1.15
"""Seconds that a second of load in turns takes: slow answers need more than their share."""
TURNS_WARMING_S = 0.15
"""… and the first turn of each stack, which tells how long its turns are."""


@dataclass(frozen=True)
class PlanPart:
    """Stacks × workloads × loads × topologies under `settings`; a plan joins one or more of them."""

    stacks: tuple[Stack, ...]
    workloads: tuple[Workload, ...]
    loads: tuple[Load, ...]
    topologies: tuple[Topology, ...]
    settings: CellSettings
    blocks: int = 1
    """This many blocks its cells have at least, where the suite has fewer. Nothing where a budget says how many there are."""


def build(
    suite: Suite, parts: Sequence[PlanPart], command: str, unavailable: Mapping[str, str] | None = None, hosts: int = 1
) -> Plan:
    """The plan of these parts, in which a cell that stands in several of them is measured once. The suite's groups are not read.

    `unavailable` is that of `of_suite`. A suite with a budget and no number of blocks (0) gets as many blocks as these `hosts`
    could at most measure in it side by side, were all but its cheapest heat narrow. If it `fits`, its windows are as short as
    lets BLOCKS of them fit on one host. One with neither gets BLOCKS blocks, which together take as long as one whole block.
    """

    def join(asked: Suite, some: Sequence[PlanPart]) -> Plan:
        return _join(asked, some, command, unavailable or {})

    if suite.blocks != 0:
        return join(suite, parts)
    whole: Sequence[PlanPart] = [replace(part, blocks=1) for part in parts]
    if suite.budget_s is None:
        return join(*_in_blocks(suite, whole, join))
    of_one, fitted = replace(suite, blocks=1, controls=suite.controls is not False), whole
    if suite.fits:
        of_one, fitted = _fitted(of_one, whole, suite.budget_s / windows.BLOCKS, lambda *one: estimate_s(join(*one).slots))
    blocks = _most_blocks(join(of_one, fitted), hosts * suite.budget_s)
    return join(replace(suite, blocks=blocks, turns_s=of_one.turns_s), fitted)


def _in_blocks(
    suite: Suite, parts: Sequence[PlanPart], join: Callable[[Suite, Sequence[PlanPart]], Plan]
) -> tuple[Suite, Sequence[PlanPart]]:
    """The suite in BLOCKS blocks, and its parts. If it `fits`, they take about as long as one block of what its loads ask for.

    Nothing but turns tells who was not warm: where a stack takes none, windows become shorter, and warm-ups stay.
    """
    asked = replace(suite, blocks=windows.BLOCKS, controls=suite.controls or False)
    if not suite.fits:
        return asked, parts
    whole = join(replace(asked, blocks=1), parts)
    steps = len(windows.SHORTER_S) if all(slot.round for slot in whole.slots) else windows.WARM_STEPS
    block_s = estimate_s(whole.slots) / windows.BLOCKS
    of_one, fitted = _fitted(replace(asked, blocks=1), parts, block_s, lambda *one: estimate_s(join(*one).slots), steps)
    return replace(asked, turns_s=of_one.turns_s), fitted


def _fitted(
    suite: Suite,
    parts: Sequence[PlanPart],
    block_s: float,
    cost_s: Callable[[Suite, Sequence[PlanPart]], float],
    most_steps: int = len(windows.SHORTER_S),
) -> tuple[Suite, Sequence[PlanPart]]:
    """Fit a suite of one block, so that the block costs `block_s` at most, in this many steps.

    Returns the suite with its seconds in turns, and the parts with their windows.
    Whole windows become shorter first. Where the shortest cost too much, turns take what is left, but no less than a window does.
    """
    steps = [parts]
    for step in range(most_steps):
        steps.append([replace(part, loads=windows.shorter(part.loads, step, part.workloads)) for part in parts])
    longest_s = [max(load.window_s for part in some for load in part.loads) for some in steps]
    in_turns_s = [suite.turns_s or max(one_s, min(longest_s[0], windows.TURNS_S)) for one_s in longest_s]
    costs_s = [cost_s(replace(suite, turns_s=one_s), some) for one_s, some in zip(in_turns_s, steps, strict=True)]
    place = next((place for place, one_s in enumerate(costs_s) if one_s <= block_s), -1)
    turns_s = in_turns_s[place]
    if suite.turns_s is None and costs_s[place] > block_s:  # what turns cost is all but linear in them
        least_s = cost_s(replace(suite, turns_s=longest_s[place]), steps[place])
        share = (block_s - least_s) / (costs_s[place] - least_s) if costs_s[place] > least_s else 0.0
        room_s = max(0.0, share) * (turns_s - longest_s[place])
        tenths = math.floor(10 * room_s)
        while tenths > 0 and cost_s(replace(suite, turns_s=longest_s[place] + tenths / 10), steps[place]) > block_s:
            tenths -= 1
        turns_s = longest_s[place] + tenths / 10
    return replace(suite, turns_s=turns_s), steps[place]


def _most_blocks(one: Plan, budget_s: float) -> int:
    """The most blocks like the plan's one that a budget could hold. Heats that are narrow leave their time to the others."""
    heats: dict[Cell, list[PlanSlot]] = {}
    for slot in one.slots:
        heats.setdefault(heat_of(slot.cell), []).append(slot)
    cheapest_s = min(_least_s(some) for some in heats.values())
    whole, of_one = int(budget_s / _least_s(one.slots)), int(budget_s / cheapest_s)
    return max(1, min(MOST_BLOCKS, of_one, max(whole, MOST_SLOTS // len(one.slots))))


def of_suite(
    suite: Suite,
    servers: Sequence[Server],
    workloads: Sequence[Workload],
    command: str,
    unavailable: Mapping[str, str] | None = None,
    hosts: int = 1,
) -> Plan:
    """The plan of a suite, for this many `hosts`. A cell that stands in several of its groups is measured once.

    `unavailable` says of stacks by id, of load generators by `generator NAME`, of topologies by `topology ID`, and of versions of
    PostgreSQL by `PostgreSQL MAJOR`, why they are not here; of the slowed control, as `control slowed`, why none can be made.
    """
    parts = [
        PlanPart(
            stacks := _stacks(group, servers),
            _workloads(group, stacks, workloads),
            group.loads,
            group.topologies,
            group.settings,
            blocks=group.blocks or 1,
        )
        for group in suite.groups
    ]
    return build(suite, parts, command, unavailable, hosts)


def estimate_s(slots: Iterable[PlanSlot]) -> float:
    """Seconds that these slots will take, from their loads alone; retries are not foreseen."""
    return sum(_slot_s(slot) for slot in slots)


def _least_s(slots: Iterable[PlanSlot]) -> float:
    """Seconds below which no machine can measure these slots: windows, whole and in turns, and shortest warm-ups alone."""
    return sum(slot.cell.load.warmup_min_s + slot.cell.load.window_s + _in_turns_s(slot) for slot in slots)


def remaining_s(plan: Plan, done: Collection[int], mean: float | None) -> float:
    """Seconds left when the slots numbered in `done` are done and took `mean` seconds each (None: not known yet)."""
    rest = [slot for slot in plan.slots if slot.number not in done]
    return estimate_s(rest) if mean is None else mean * len(rest)


def is_worth_a_page(plan: Plan, trial: Trial) -> bool:
    """True for the last trial of block 1, 2, 4, 8 and so on, in a plan with more blocks. A page costs little beside them.

    With a budget none is: all of it is for measuring. Nor is one that is void and will be repeated.
    """
    block, is_repeated = trial.block, trial.verdict is Verdict.VOID and trial.attempt <= len(retry.PAUSES_S)
    if is_repeated or plan.budget_s is not None or block >= plan.blocks or block & (block - 1):
        return False
    return trial.number == max(slot.number for slot in plan.slots if slot.block == block)


def _join(suite: Suite, parts: Sequence[PlanPart], command: str, unavailable: Mapping[str, str]) -> Plan:
    skipped: dict[str, str] = {}
    heats: dict[HeatKey, Heat] = {}
    blocks = dict[Cell, int]()
    crossed, everything = list[str](), all(naming.EVERY in group.workloads for group in suite.groups)
    for whole in parts:
        names = [f"generator {load.generator}" for load in whole.loads] + [f"topology {one.id}" for one in whole.topologies]
        names.append(f"PostgreSQL {whole.settings.postgres_version}")
        skipped |= {name: unavailable[name] for name in sorted(set(names)) if name in unavailable}
        if names[-1] in unavailable:
            continue
        part = replace(
            whole,
            loads=tuple(load for load in whole.loads if f"generator {load.generator}" not in unavailable),
            topologies=tuple(one for one in whole.topologies if f"topology {one.id}" not in unavailable),
        )
        for workload in part.workloads:
            for stack in part.stacks:
                if stack.id in unavailable:
                    skipped[stack.id] = unavailable[stack.id]
                elif workload.contract.id != stack.server.contract.id:
                    crossed.append(f"{stack.id} {workload.id}")
                elif workload.id in stack.skip:
                    if everything and workload.id not in stack.server.skip:
                        continue  # `all` does not mean an optional one that it does not serve
                    skipped[f"{stack.id} {workload.id}"] = stack.skip[workload.id]
                else:
                    for cell in _enter(heats, part, stack, workload):
                        blocks[cell] = max(part.blocks, blocks.get(cell, suite.blocks))
    if crossed and not everything:
        more = f" and {len(crossed) - 1} more" if len(crossed) > 1 else ""
        skipped[f"pairs of two contracts: {crossed[0]}{more}"] = "a stack is asked the workloads of its own contract"
    if not heats:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise LabError("nothing is left to measure" + (f" ({reasons})" if reasons else ""), "choose other stacks or workloads", 3)
    if suite.blocks < 1:
        raise LabError(f"a plan of {suite.blocks} blocks measures nothing", "ask for at least 1 block")
    every = list(heats.values())
    known = {stack for heat in every for stack in heat}
    if suite.anchor is not None and suite.anchor not in known and suite.anchor not in skipped:
        raise LabError(f"the anchor `{suite.anchor}` is not in the plan", f"it has {', '.join(sorted(known))}")
    documented = {stack.id for part in parts for stack in part.stacks if stack.variant.approach is Approach.DOCUMENTED}
    anchor = suite.anchor if suite.anchor in known else _default_anchor(every, documented)
    controls = _controls(suite, every, unavailable)
    single = {stack.id: why for whole in parts for stack in whole.stacks if (why := stack.server.alone) is not None}
    for alone in sorted(single.keys() & {_anchor_of(heat, replace(suite, anchor=anchor)) for heat in every if controls}):
        skipped[f"controls of {alone}"] = f"{single[alone]}, so that no copy of it can be up beside it"
    if Control.AGAIN in controls and Control.SLOWED not in controls:
        skipped["control slowed"] = unavailable["control slowed"]
    locked = {one.id for whole in parts for one in whole.workloads if WorkloadEvent.DEADLOCKS in one.events}
    apart = rounds.clashes(every, {stack.id: stack.server for whole in parts for stack in whole.stacks})
    skipped |= rounds.without_turns(apart)
    slots = _slots(every, replace(suite, anchor=anchor), blocks, controls, single, apart)
    slots = windows.with_turns(slots, locked, suite.turns_s)
    named = {workload.id for whole in parts for workload in whole.workloads if workload.events}
    slots = windows.with_ceilings(slots, named, _room_s(slots, suite.budget_s))
    return Plan(suite.title, suite.seed, max(blocks.values()), slots, skipped, command, anchor, suite.budget_s, suite.until)


def _room_s(slots: Sequence[PlanSlot], budget_s: float | None) -> float | None:
    """The seconds that a block may take longer than its loads ask for, so that enough fit into a budget; None: there is none."""
    if budget_s is None:
        return None
    return budget_s / windows.BLOCKS - estimate_s(slot for slot in slots if slot.block == 1)


def _controls(suite: Suite, heats: Sequence[Heat], unavailable: Mapping[str, str]) -> tuple[Control, ...]:
    """The controls of each heat: none where the plan compares nothing and nobody asked for them."""
    compares = suite.blocks >= COMPARING_BLOCKS and any(len(heat) >= COMPARING_STACKS for heat in heats)
    if not (compares if suite.controls is None else suite.controls):
        return ()
    return tuple(control for control in Control if f"control {control}" not in unavailable)


def _enter(heats: dict[HeatKey, Heat], part: PlanPart, stack: Stack, workload: Workload) -> Iterator[Cell]:
    """Yield the cells of a part that are of a stack and a workload, each entered in its heat."""
    for topology in part.topologies:
        for load in part.loads:
            neighbours = heats.setdefault((workload.id, load, part.settings), {}).setdefault(stack.id, [])
            cell = Cell(stack.id, workload.id, topology, load, part.settings)
            if cell not in neighbours:
                neighbours.append(cell)
            yield cell


def _slots(
    heats: Sequence[Heat],
    suite: Suite,
    blocks: Mapping[Cell, int],
    controls: tuple[Control, ...],
    alone: Collection[str],
    apart: Collection[tuple[str, str]],
) -> tuple[PlanSlot, ...]:
    """Number the cells of all blocks. The stream of requests is the same for all cells of a block, and new in each block.

    A cell stands in its first `blocks`, a control in those of the suite. Stacks that are `alone` have no control, which is a copy
    that is up beside them. Where two stacks of a round are `apart`, all of its stacks are measured one after the other.
    """
    most, seed = max(blocks.values()), suite.seed
    heat_orders = orders.orders_of(range(len(heats)), most, f"{seed}/heats")
    entry_orders, cell_orders = list[list[list[Entry]]](), list[dict[Entry, list[list[Cell]]]]()
    for place, heat in enumerate(heats):
        name = f"{seed}/{next(iter(heat.values()))[0].workload}/{place}"
        entries = _entries(heat, suite, () if _anchor_of(heat, suite) in alone else controls)
        entry_orders.append(orders.orders_of(list(entries), most, name))
        cell_orders.append({entry: orders.orders_of(cells, most, f"{name}/{entry[0]}") for entry, cells in entries.items()})
    slots: list[PlanSlot] = []
    numbers = itertools.count(1)
    for block in range(most):
        stream = orders.digest_of(f"{seed}/block/{block + 1}") >> 225  # 31 bits, so that every language reads the same number
        stream = stream if suite.stream is None else suite.stream
        for place in heat_orders[block]:
            anchor, placed = _anchor_of(heats[place], suite), list[tuple[Entry, list[Cell]]]()
            for entry in entry_orders[place][block]:
                due = [cell for cell in cell_orders[place][entry][block] if block < (suite.blocks if entry[1] else blocks[cell])]
                placed += [(entry, due)] if due else []
            for together in rounds.split(placed, anchor) if placed else ():
                stacks = {stack for (stack, _), _ in together}
                number = next(numbers) if len(together) > 1 and not any(stacks.issuperset(two) for two in apart) else 0
                for (_, control), cell in together:
                    planted = PLANTED if control is Control.SLOWED else 0.0
                    slots.append(PlanSlot(len(slots) + 1, block + 1, cell, stream, control, planted, number))
    return tuple(slots)


def _default_anchor(heats: Sequence[Heat], documented: Collection[str]) -> str:
    """The first stack of those in most heats, a `documented` one where there is one.

    A tuned server is often the fastest, and then the load engine limits it: two cores that change their speed apart would blur
    each ratio to it.
    """
    heats_of = Counter(stack for heat in heats for stack in heat)
    return max(heats_of, key=lambda stack: (heats_of[stack], stack in documented))


def _anchor_of(heat: Heat, suite: Suite) -> str:
    """The stack of a heat that the others are held against: the plan's anchor, or the heat's first."""
    return suite.anchor if suite.anchor is not None and suite.anchor in heat else next(iter(heat))


def _entries(heat: Heat, suite: Suite, controls: tuple[Control, ...]) -> dict[Entry, list[Cell]]:
    """The entries of a heat: its stacks, and the controls of its anchor on the first topology. None stand beside faults."""
    entries: dict[Entry, list[Cell]] = {(stack, None): cells for stack, cells in heat.items()}
    if (len(heat) >= COMPARING_STACKS or suite.controls) and next(iter(heat.values()))[0].load.fault is None:
        anchor = _anchor_of(heat, suite)
        entries |= {(anchor, control): heat[anchor][:1] for control in controls}
    return entries


def _slot_s(slot: PlanSlot) -> float:
    load = slot.cell.load
    window_s, overhead_s = slot.window_most_s or load.window_s, TOGETHER_S if slot.round else OVERHEAD_S
    turns_s = max(_in_turns_s(slot), slot.window_most_s or 0.0) if _in_turns_s(slot) else 0.0
    turning_s = TURNS_COST * (sizing.warming_s(turns_s) + turns_s) + TURNS_WARMING_S if turns_s else 0.0
    return overhead_s + min(WARMUPS * load.warmup_min_s, load.warmup_max_s) + window_s + turning_s


def _in_turns_s(slot: PlanSlot) -> float:
    """Seconds for which each stack of a slot's round is loaded in turns, on average."""
    asked_s = slot.cell.load.window_s if slot.turns_s is None else slot.turns_s
    return asked_s if slot.round else 0.0


def _stacks(group: SuiteGroup, servers: Sequence[Server]) -> tuple[Stack, ...]:
    found: dict[str, Stack] = {}
    for name in group.stacks:
        chosen = [stack for server in servers for stack in server.stacks if _is_meant(name, stack, server)]
        if not chosen and name not in ("all", DEPLOYED, *map(str, Approach)):
            raise LabError(f"the suite names a stack `{name}` that does not exist", "`./fairground list` shows them all")
        found |= {stack.id: stack for stack in chosen}
    return tuple(found.values())


def _is_meant(name: str, stack: Stack, server: Server) -> bool:
    """True if a suite that says `name` means this stack of a server: all, those of an approach, or one by its id."""
    if name == DEPLOYED:
        documented = [one for one in server.stacks if one.variant.approach is Approach.DOCUMENTED]
        return stack in (documented or server.stacks[:1])
    return name in ("all", server.id, stack.id, str(stack.variant.approach))


def _workloads(group: SuiteGroup, stacks: Sequence[Stack], workloads: Sequence[Workload]) -> tuple[Workload, ...]:
    """The workloads of a group. LabError where a stack that it names fulfils another contract."""
    named = [one for one in stacks if {one.id, one.server.id} & set(group.stacks)]
    found = naming.meant_workloads(group.workloads, stacks, workloads, group.contract)
    if naming.EVERY not in group.workloads or group.contract is not None:
        naming.require_one_contract(named, found)
    return found
