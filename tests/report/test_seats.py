"""Seats in words and drawn."""

from __future__ import annotations

from dataclasses import replace

from builders.full import full
from fairground.model import CellSettings, PathWire, Plan, PlanSlot, Run, Topology
from fairground.report.text import seats
from report import fixture

TWO = (("server", (0,)), ("database", (1,)), ("generator", (1,)))
EIGHT = (("server", (0, 1, 2, 3)), ("database", (4, 5)), ("generator", (6, 7)), ("proxy", (4, 5, 6, 7)))


def test_roles_with_the_same_cores_stand_together() -> None:
    """Ascending cores, runs as ranges."""
    assert seats.sentence(TWO) == "server on core 0, database and generator on core 1"
    assert seats.sentence((("server", (0, 1, 2, 8)),)) == "server on cores 0-2, 8"


def test_the_picture_has_a_box_for_each_seat() -> None:
    """Cores above their roles; a core of several roles stands in a box of all of them."""
    assert seats.picture(TWO) == (
        "┌────────┬────────────────────────┐",
        "│ core 0 │ core 1                 │",
        "│ server │ database and generator │",
        "└────────┴────────────────────────┘",
    )
    assert seats.picture(EIGHT)[1:3] == (
        "│ cores 0-3 │ cores 4-5          │ cores 6-7           │",
        "│ server    │ database and proxy │ generator and proxy │",
    )
    assert seats.picture(()) == ()


def test_another_host_is_a_box_of_its_own() -> None:
    """It stands after the seats of this machine, with its name above what is there."""
    here, there = (("server", (0,)), ("database", (1,))), (("generator", "rack-2"),)
    assert seats.sentence(here, there) == "server on core 0, database on core 1, generator on host rack-2"
    assert seats.picture(here, there)[1:3] == ("│ core 0 │ core 1   │ host rack-2 │", "│ server │ database │ generator   │")
    assert seats.picture((), there)[1:3] == ("│ host rack-2 │", "│ generator   │")
    assert seats.machine(2, [CellSettings(pin=here, place=there)]) == "2 cores"


def test_a_run_draws_each_way_of_its_cells_once() -> None:
    """Cells that nobody pinned draw nothing."""
    plan = full(Plan)
    slot = plan.slots[0]

    def pinned(pin: seats.Pins) -> PlanSlot:
        return replace(slot, cell=replace(slot.cell, settings=replace(slot.cell.settings, pin=tuple(pin), place=())))

    made = replace(plan, slots=tuple(pinned(pin) for pin in (TWO, TWO, (), EIGHT)))
    assert seats.draw_seats(made) == ("\n".join(seats.picture(TWO)), "\n".join(seats.picture(EIGHT)))


def test_cores_are_shared_with_the_generator_only_where_they_are() -> None:
    """Where any cell's server may use a core of the generator, the header says so."""

    def machine(cores: int, *pins: seats.Pins) -> str:
        return seats.machine(cores, [CellSettings(pin=tuple(pin)) for pin in pins])

    assert machine(2, TWO) == "2 cores"
    assert machine(2, ()) == machine(2, TWO, ()) == "2 cores shared with the generator"
    assert machine(4, (("server", (0, 1)), ("generator", (1, 2)))) == "4 cores shared with the generator"
    assert machine(1, (("server", (0,)),)) == "1 core shared with the generator"


def test_the_page_says_where_the_roles_of_a_placed_run_are() -> None:
    """Whoever is on a host shares no machine with the servers, and requests of a placed generator use no loopback."""
    run = fixture.one_block()
    here = " ".join(seats.doubts(run))
    assert "Generator, servers and database share one machine with 2 cores: absolute rates include" in here
    assert "loopback interface: there is no network card, no round trip, no lost packet and no TLS." in here
    there = " ".join(seats.doubts(_with_cells(run, (("generator", "rack-2"), ("database", "rack-3")), Topology())))
    assert (
        "Servers are on one machine with 2 cores, and the generator is on host rack-2 and the database is on host rack-3" in there
    )
    assert "Statements travel to host rack-3" in there and "Statements" not in here
    assert "Requests come from host rack-2" in there and "loopback" not in there and "generator's own cost" not in there
    near = seats.share((("server", "rack-1"), ("database", "rack-3")))
    assert near == "Generator and servers share this machine, and the database is on host rack-3"


def test_a_wire_in_the_path_is_a_round_trip() -> None:
    """The page does not deny the distance that the lab itself adds."""
    _, said = seats.doubts(_with_cells(fixture.one_block(), (), Topology(wire=PathWire(server_ms=0.2))))
    _, far = seats.doubts(_with_cells(fixture.one_block(), (("generator", "rack-2"),), Topology(wire=PathWire(server_ms=0.2))))
    assert "its network is in the numbers, with the lab's own wire (server=0.2ms), and there is no TLS." in far
    assert said.endswith("no network card, no lost packet and no TLS; distance is the lab's own wire (server=0.2ms).")


def _with_cells(run: Run, place: tuple[tuple[str, str], ...], path: Topology) -> Run:
    """The run with all its cells' roles at `place`, on the path `path`."""
    slots = tuple(
        replace(one, cell=replace(one.cell, settings=replace(one.cell.settings, place=place), topology=path))
        for one in run.plan.slots
    )
    return replace(run, plan=replace(run.plan, slots=slots))
