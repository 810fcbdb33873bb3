"""Who is measured together: everybody where they fit, else in rounds that have the anchor in common."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.model import Cell, CellSettings, Control, Fault, FaultKind, Load, PoolScope, Topology
from fairground.run import rounds

CELL = Cell("a", "tx", Topology(), Load(), CellSettings(pool_size=10))
Entries = list[tuple[rounds.Entry, list[Cell]]]


def entries(count: int, topologies: int = 1, anchor_at: int = 0, cell: Cell = CELL) -> Entries:
    """So many stacks, each behind so many topologies; `anchor` stands at a place of its own."""
    hops = [Topology(), *(Topology(pooler=f"p{number}") for number in range(1, topologies))]
    names = [f"s{number}" for number in range(1, count)]
    names.insert(anchor_at, "anchor")
    return [((name, None), [replace(cell, stack=name, topology=hop) for hop in hops]) for name in names]


@given(st.integers(1, 40), st.integers(1, 2), st.data())
def test_rounds_hold_everybody_once_and_the_anchor_each(count: int, topologies: int, data: st.DataObject) -> None:
    """No round is larger than it may be, topologies of a stack stand together, and only the anchor is in several rounds."""
    given_ = entries(count, topologies, data.draw(st.integers(0, count - 1)))
    made = rounds.split(given_, "anchor")
    assert all(len(one) <= rounds.ARMS_AT_ONCE for one in made)
    own = [cell for _, some in given_ for cell in some if cell.stack == "anchor"]
    others = [cell for _, some in given_ for cell in some if cell.stack != "anchor"]
    assert all([cell for _, cell in one if cell.stack == "anchor"] == own for one in made)
    assert [cell for one in made for _, cell in one if cell.stack != "anchor"] == others


@given(st.integers(5, 40), st.integers(3, 6), st.sampled_from([10, 25, 100]), st.data())
def test_topologies_that_leave_no_room_have_rounds_of_their_own(
    count: int, topologies: int, pool: int, data: st.DataObject
) -> None:
    """No round holds more than the database has connections for, nor two topologies; its anchor is in each, everybody else in one."""
    cell = replace(CELL, settings=CellSettings(pool_size=pool))
    given_ = entries(count, topologies, data.draw(st.integers(0, count - 1)), cell)
    made = rounds.split(given_, "anchor")
    assert all(len(one) <= rounds.at_once(cell) for one in made)
    assert all(len({cell.topology for _, cell in one}) == 1 for one in made)
    assert all(sum(cell.stack == "anchor" for _, cell in one) == 1 for one in made)
    others = [cell for one in made for _, cell in one if cell.stack != "anchor"]
    assert len(others) == len(set(others)) == (count - 1) * topologies
    assert list(dict.fromkeys(one[0][1].topology for one in made)) == [cell.topology for cell in given_[0][1]]


def test_a_topology_without_the_anchor_has_another_in_each_round() -> None:
    """Its stacks are still held against one that all rounds have in common: the first."""
    hops = [Topology(), *(Topology(pooler=f"p{number}") for number in range(3))]
    given_ = entries(20, 4)
    given_[0] = (("anchor", None), [replace(CELL, stack="anchor", topology=hop) for hop in hops[:1]])
    apart = [one for one in rounds.split(given_, "anchor") if one[0][1].topology != Topology()]
    assert len(apart) == 9 and all(sum(cell.stack == "s1" for _, cell in one) == 1 for one in apart)
    assert all("anchor" not in {cell.stack for _, cell in one} for one in apart)


def test_rounds_are_about_equal() -> None:
    """31 stacks make five rounds of seven, not four of eight and one of three."""
    assert [len(one) for one in rounds.split(entries(31), "anchor")] == [7, 7, 7, 7, 7]
    assert [len(one) for one in rounds.split(entries(8), "anchor")] == [8]


def test_controls_have_places_like_stacks() -> None:
    """A control stands in one round, beside its anchor."""
    with_control: Entries = [*entries(9), (("anchor", Control.AGAIN), [replace(CELL, stack="anchor")])]
    made = rounds.split(with_control, "anchor")
    assert sum(entry == ("anchor", Control.AGAIN) for one in made for entry, _ in one) == 1
    assert all(any(entry == ("anchor", None) for entry, _ in one) for one in made)


@pytest.mark.parametrize(
    ("cell", "most"),
    [
        (CELL, 8),
        (replace(CELL, load=Load(model="open", rate_per_s=10.0)), 1),
        (replace(CELL, load=Load(generator="wrk")), 1),
        (replace(CELL, load=Load(requests=100)), 1),
        (replace(CELL, load=Load(fault=Fault(FaultKind.CONNECTIONS_CUT, 3.0))), 1),
        (replace(CELL, settings=CellSettings(pool_size=10, cpus=0.5)), 1),
        (replace(CELL, settings=CellSettings(pool_size=100)), 4),
        (replace(CELL, settings=CellSettings(pool_size=100, workers=2, pool_scope=PoolScope.PER_WORKER)), 2),
        (replace(CELL, settings=CellSettings(pool_size=2000)), 1),
    ],
)
def test_what_cannot_take_turns_is_measured_alone(cell: Cell, most: int) -> None:
    """An open loop, a number of requests, a fault, another generator and a CPU quota; and the pools of a round fit into the database."""
    assert rounds.at_once(cell) == most
    assert max(len(one) for one in rounds.split(entries(9, cell=cell), "anchor")) <= most
