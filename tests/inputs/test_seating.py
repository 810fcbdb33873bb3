"""Seats as they are asked for: pins, workers and threads that follow from them, beside what a person says by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.paths import ROOT
from fairground.inputs import asked, manifest, seating
from fairground.inputs.seating import Wish
from fairground.model import CellSettings, LabError, Load, PathWire, Seats, Topology

TWO = Seats((0,), (1,), (1,))
EIGHT = Seats((0, 1, 2, 3), (4, 5), (6, 7))
ONE_CORE = Seats((), (), (), "there is one core only")
APART = (("server", (0, 1, 2, 3)), ("database", (4, 5)), ("generator", (6, 7)))
DIRECT = Topology()


def pins(text: str | None = None, machine: Seats | None = EIGHT, hops: Topology = DIRECT, **fields: object) -> object:
    """The pins of settings with these fields, where this is said of seats."""
    return seating.seat_settings(replace(CellSettings(), **fields), (hops,), Wish(text), machine).pin  # type: ignore[arg-type]


def test_roles_sit_apart_unless_something_else_is_said() -> None:
    """Nothing said is `apart`; `shared`, one core or an unknown machine leave the roles where they are."""
    assert pins() == pins("apart") == APART
    assert pins("shared") == pins(machine=None) == pins("apart", ONE_CORE) == pins("apart", None) == ()
    assert pins(machine=TWO) == (("server", (0,)), ("database", (1,)), ("generator", (1,)))


def test_a_quota_shares_unless_seats_are_asked_for() -> None:
    """A server of 1.5 processors would lose half of one on a seat of one core."""
    assert pins(cpus=1.5, machine=TWO) == ()
    assert pins("apart", TWO, cpus=1.5) == pins(machine=TWO)
    assert seating.seat_settings(CellSettings(cpus=1.5), (DIRECT,), Wish("apart"), EIGHT).workers == 2


def test_a_database_of_ones_own_is_not_pinned() -> None:
    """A machine that gives the database no seat pins the other two."""
    assert pins(machine=replace(EIGHT, database=())) == (APART[0], APART[2])


def test_seats_are_spelled() -> None:
    """Each role that is named has its cores, whatever the machine would give; the others have none."""
    assert pins("server=0-1,4,database=2") == (("server", (0, 1, 4)), ("database", (2,)))
    assert pins("server=1", None) == (("server", (1,)),)


@pytest.mark.parametrize("text", ["together", "", "server", "server=", "server=a", "cook=1", "server=3-1", "server=0,database="])
def test_seats_that_cannot_be_meant(text: str) -> None:
    """The option, what was typed, and what to write."""
    with pytest.raises(LabError, match="^`--seats .*` should say which cores each role has$") as raised:
        seating.parse("--seats", text)
    assert raised.value.hint == "apart, shared, or for instance server=0-3,database=4-5,generator=6-7"


def test_pins_win_over_seats() -> None:
    """A role that is pinned by hand stays there, and no other role gets its cores while some are free."""
    assert pins(machine=TWO, pin=(("server", (0,)),)) == pins(machine=TWO)
    assert pins(machine=TWO, pin=(("server", (1,)),)) == (("server", (1,)), ("database", (0,)), ("generator", (0,)))
    assert pins(machine=TWO, pin=(("server", (0, 1)),)) == (("server", (0, 1)),)
    assert pins(pin=(("database", (6,)),)) == (APART[0], ("database", (6,)), ("generator", (7,)))
    assert pins("server=0,database=1", pin=(("server", (1,)),)) == (("server", (1,)), ("database", (1,)))


def test_hops_sit_with_generator_and_database() -> None:
    """Proxy and pooler have their cores, where a topology has one; a pin wins."""
    both = Topology("nginx", "pgbouncer-tx")
    assert pins(hops=both) == (*APART, ("proxy", (4, 5, 6, 7)), ("pooler", (4, 5, 6, 7)))
    assert pins(hops=Topology(pooler="pgcat-tx"), pin=(("pooler", (3,)),))[-1] == ("pooler", (3,))  # type: ignore[index]
    assert pins(hops=Topology(wire=PathWire(database_ms=1.0))) == (*APART, ("wire", (4, 5, 6, 7)))
    assert pins(hops=Topology("nginx"), text="server=0") == (("server", (0,)),)


def test_workers_and_threads_follow_unless_they_are_said() -> None:
    """As many workers as the server has cores, and threads as the generator has cores of its own."""
    settings = seating.seat_settings(CellSettings(), (DIRECT,), Wish(), EIGHT)
    assert settings.workers == 4
    assert seating.seat_settings(CellSettings(workers=9), (DIRECT,), Wish(workers=True), EIGHT).workers == 9
    assert seating.seat_settings(CellSettings(), (DIRECT,), Wish("shared"), EIGHT) == CellSettings()
    assert seating.seat_load(Load(), settings, Wish(), EIGHT).threads == 2
    assert seating.seat_load(Load(1), settings, Wish(), EIGHT).threads == 1, "a thread needs a connection"
    assert seating.seat_load(Load(threads=1), settings, Wish(threads=True), EIGHT).threads == 1
    assert seating.seat_load(Load(generator="ab"), settings, Wish(), EIGHT).threads == 1, "other generators have their own rules"
    assert seating.seat_load(Load(), settings, Wish("shared"), EIGHT).threads == 1
    beside = Seats((0, 4), (1, 5), (1, 5))
    assert (
        seating.seat_load(Load(), seating.seat_settings(CellSettings(), (DIRECT,), Wish(), beside), Wish(), beside).threads == 1
    )


def test_the_command_line_takes_its_seats() -> None:
    """A suite of what is said, and the settings and load of a verb with a few options, are seated alike."""
    (group,) = asked.suite(asked.DEFAULTS, "title", ["a:b"], EIGHT).groups
    assert (group.settings, group.loads) == (CellSettings(4, pin=APART), (Load(threads=2),))
    assert asked.seat_asked({}, Load(), EIGHT) == (group.settings, group.loads[0])
    assert asked.seat_asked({"seats": "shared", "workers": 3}, Load(), EIGHT) == (CellSettings(3), Load())
    assert [asked.seat_asked({"threads": 5, **seats}, Load(), EIGHT)[1].threads for seats in ({}, {"seats": "shared"})] == [5, 5]
    (group,) = asked.suite({**asked.DEFAULTS, "threads": 1, "workers": 1}, "title", ["a:b"], EIGHT).groups
    assert (group.settings, group.loads) == (CellSettings(1, pin=APART), (Load(),))


SUITE = 'title = "t"\nabout = "a"\nblocks = 1\nseed = 1\nstacks = ["all"]\nworkloads = ["ping"]\nconnections = [9]\n'


def test_a_suites_seats(tmp_path: Path) -> None:
    """A group has its own or the file's; the command line's stand in for both; workers and threads that it says stay."""
    path = tmp_path / "example.toml"
    path.write_text(
        SUITE + 'seats = "shared"\n[[group]]\n[[group]]\nseats = "apart"\n[[group]]\nseats = "server=2"\nthreads = 3\n'
        "settings = { workers = 5 }\n"
    )
    found = manifest.load_suite(path, machine=EIGHT).groups
    assert [one.settings for one in found] == [
        CellSettings(),
        CellSettings(4, pin=APART),
        CellSettings(5, pin=(("server", (2,)),)),
    ]
    assert [one.loads[0].threads for one in found] == [1, 2, 3]
    assert {one.settings.pin for one in manifest.load_suite(path, machine=EIGHT, seats="apart").groups} == {APART}
    assert [one.settings.pin for one in manifest.load_suite(path).groups] == [(), (), (("server", (2,)),)]
    path.write_text(SUITE)
    assert manifest.load_suite(path, machine=EIGHT).groups[0].settings == CellSettings(4, pin=APART)


def test_a_suites_mistake_in_seats(tmp_path: Path) -> None:
    """It is named with its line."""
    path = tmp_path / "example.toml"
    path.write_text(SUITE + 'seats = "besides"\n')
    with pytest.raises(LabError, match="^`seats` is `besides` in `.*/example.toml`, line 8$") as raised:
        manifest.load_suite(path, machine=EIGHT)
    assert raised.value.hint is not None and raised.value.hint.startswith("write apart, shared, or ")


@pytest.mark.parametrize("path", sorted((ROOT / "suites").glob("*.toml")), ids=lambda path: path.stem)
def test_replications_share_the_machine(path: Path) -> None:
    """What somebody published was measured on shared cores; the lab's own suites give each role its own."""
    groups = manifest.load_suite(path, machine=EIGHT).groups
    own = path.stem in ("crash", "demo", "distance", "faults", "matrix", "orms")
    wanted = {(APART, 4)} if own else {((), one.settings.workers) for one in manifest.load_suite(path).groups}
    pins = {tuple(pin for pin in one.settings.pin if pin[0] != "wire") for one in groups}  # a wire sits with two others
    assert {(pin, one.settings.workers) for pin in pins for one in groups} == wanted
