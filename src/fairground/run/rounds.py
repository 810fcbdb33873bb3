"""Split cells into those that are measured together: all at once where they fit, or in rounds that share the anchor. Pure.

Rounds that share an anchor are incomplete blocks with a control in common: each stack is held against the anchor of its own
seconds. Who shares a round follows the order of the block, which is another in each, so that in time everybody meets everybody.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from fairground.model import Cell, Control, Load, Server, clash_of

Entry = tuple[str, Control | None]
"""What takes a place in a heat: a stack, or a control of it."""

ARMS_AT_ONCE = 8
"""The most cells of a round: each has its server, its engine and a database of its own."""
STACKS = 3
"""Of this many stacks a round must have room for all topologies, or each topology has rounds of its own."""
CONNECTIONS = 400
"""The most connections to the database that a round's pools may hold together, of the 500 of the lab's own PostgreSQL."""


def clashes(heats: Iterable[Iterable[str]], servers: Mapping[str, Server]) -> dict[tuple[str, str], str]:
    """Two stacks of a heat → the clause that says why they cannot be up at once."""
    pairs = dict.fromkeys(pair for heat in heats for pair in itertools.combinations(heat, 2))
    return {(one, other): why for one, other in pairs if (why := clash_of(servers[one], servers[other])) is not None}


def without_turns(apart: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Turns that a plan leaves out, since stacks cannot be up at once → why."""
    found = dict[str, str]()
    for clause in dict.fromkeys(apart.values()):
        names = list(dict.fromkeys(name for two, why in apart.items() if why == clause for name in two))
        more = names[1] if len(names) == 2 else f"{len(names) - 1} more"
        found[f"turns of {names[0]} and {more}"] = f"they {clause}, so that they and those beside them are measured one by one"
    return found


def split(entries: Sequence[tuple[Entry, Sequence[Cell]]], anchor: str) -> list[list[tuple[Entry, Cell]]]:
    """Split the cells of a heat in one block, in their order, into those measured together; one by one where none can be.

    Where there are several rounds the anchor stands in each, at the place that it has. Topologies of one stack stay together
    while a round has room for those of STACKS stacks. Else each has rounds of its own, in the anchor's order: fewer anchors.
    """
    cells = [(entry, cell) for entry, some in entries for cell in some]
    most = at_once(cells[0][1])
    if len(cells) <= most or most < 2:
        return [cells] if most > 1 else [[one] for one in cells]
    ours = [cell for (entry, cell) in cells if entry == (anchor, None)]
    topologies = list(dict.fromkeys(cell.topology for cell in [*ours, *(cell for _, cell in cells)]))
    if len(topologies) * STACKS <= most:
        return _rounds(entries, anchor, most)
    apart = [[(entry, [one for one in some if one.topology == topology]) for entry, some in entries] for topology in topologies]
    return [together for every in apart for together in _rounds([one for one in every if one[1]], anchor, most)]


def _rounds(entries: Sequence[tuple[Entry, Sequence[Cell]]], anchor: str, most: int) -> list[list[tuple[Entry, Cell]]]:
    """Rounds of `most` cells and about equal size, with the anchor in each; where it is not among them, with the first stack."""
    if len(_flat(entries)) <= most:
        return [_flat(entries)]
    place = next((number for number, (entry, _) in enumerate(entries) if entry == (anchor, None)), 0)
    ours, others = entries[place], [one for number, one in enumerate(entries) if number != place]
    room, total = most - len(ours[1]), sum(len(some) for _, some in others)
    even = math.ceil(total / math.ceil(total / room))
    parts: list[list[tuple[Entry, Sequence[Cell]]]] = [[]]
    for one in others:
        if parts[-1] and len(_flat(parts[-1])) + len(one[1]) > even:
            parts.append([])
        parts[-1].append(one)
    return [_flat([*part[: place % (len(part) + 1)], ours, *part[place % (len(part) + 1) :]]) for part in parts]


def _flat(entries: Iterable[tuple[Entry, Sequence[Cell]]]) -> list[tuple[Entry, Cell]]:
    return [(entry, cell) for entry, some in entries for cell in some]


def at_once(cell: Cell) -> int:
    """The number of cells like this one that can be measured in turns; 1 where its load cannot, or the database is too small.

    An open loop and a number of requests leave nothing to compare in turns, and generators from elsewhere cannot stand still. A
    fault of the database would meet all of them. A CPU quota is that of a tenth of a second, of which a short turn has it all.
    """
    load = cell.load
    if load.generator != Load.generator or load.model != "closed" or load.requests is not None or load.fault:
        return 1
    if cell.settings.cpus is not None:
        return 1
    return max(1, min(ARMS_AT_ONCE, CONNECTIONS // cell.settings.pool_total))
