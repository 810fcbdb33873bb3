"""Wires as they are written: on the command line and in suites, what is refused, and where they show in ids and commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.suites import suite_with
from builders.trials import trial
from fairground.claims import cells
from fairground.inputs import asked, wires
from fairground.model import LabError, PathWire, Suite, Topology
from fairground.report.trial import again


@pytest.mark.parametrize(
    ("text", "wire", "id"),
    [
        ("database=1ms", PathWire(database_ms=1.0), "database=1ms"),
        ("server=0.2ms", PathWire(server_ms=0.2), "server=0.2ms"),
        ("server=200us", PathWire(server_ms=0.2), "server=0.2ms"),
        ("database=1s", PathWire(database_ms=1000.0), "database=1000ms"),
        ("database=5ms+server=1us", PathWire(0.001, 5.0), "server=0.001ms+database=5ms"),
    ],
)
def test_a_wire_is_read_as_it_is_written(text: str, wire: PathWire, id: str) -> None:
    """Each side has its delay; the id is in ms and in the order of the path, so that one wire has one name."""
    assert wires.one("--wire", text) == wire
    assert (wire.id, str(wire), wires.one("--wire", id)) == (id, id, wire)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "client=1ms",
            "`--wire`: there is no side `client` for a wire",
            "choose among server, database; for instance database=1ms",
        ),
        ("1ms", "`--wire`: there is no side `1ms` for a wire", "choose among server, database"),
        ("database", "`--wire`: `database` does not say how long a round trip takes", "for instance database=1ms"),
        ("database=soon", "`--wire`: `database=soon` does not say how long", "for instance database=1ms"),
        ("database=5", "`--wire`: `database=5` lacks the unit", "write database=5ms, or us or s"),
        ("database=-1ms", "`--wire`: `database=-1ms` should be 1us at least, and 1s at most", "for instance"),
        ("database=0ms", "`database=0ms` should be 1us at least", "for instance"),
        ("server=1001ms", "`server=1001ms` should be 1us at least, and 1s at most", "for instance"),
        ("server=1.5us", "`server=1.5us` is not a whole number of microseconds", "for instance"),
        ("server=1ms+server=2ms", "`server=1ms+server=2ms` names the side `server` twice", "a path has one wire on each side"),
    ],
)
def test_what_is_no_wire_is_refused(text: str, message: str, hint: str) -> None:
    """An unknown side, a missing unit, and a delay that cannot be had are each one sentence."""
    with pytest.raises(LabError) as caught:
        wires.parse("--wire", f"none,{text}")
    assert message in caught.value.message
    assert (caught.value.hint or "").startswith(hint)


def test_each_wire_is_a_topology_of_its_own() -> None:
    """Wires are paired with every hop; ids name the hops in the order of the path."""
    said = {"proxy": "nginx", "pooler": "none,pgbouncer-tx", "wire": "none,server=0.2ms+database=1ms"}
    found = asked.topologies({**asked.DEFAULTS, **said})
    assert [one.id for one in found] == [
        "nginx",
        "wire-server-0.2ms+nginx+wire-database-1ms",
        "nginx+pgbouncer-tx",
        "wire-server-0.2ms+nginx+wire-database-1ms+pgbouncer-tx",
    ]
    assert found[1] == Topology("nginx", wire=PathWire(0.2, 1.0))


def test_a_suite_names_wires(tmp_path: Path) -> None:
    """The key `wires` gives one topology for each, in its order."""
    found = suite_with(tmp_path, 'wires = ["none", "database=0.2ms"]').groups[0].topologies
    assert found == (Topology(), Topology(wire=PathWire(database_ms=0.2)))


def test_a_suites_wrong_wire_is_named_with_its_line(tmp_path: Path) -> None:
    """What is wrong, in which file and line."""
    with pytest.raises(LabError, match=r"`wires`: `database=1` lacks the unit, in `.*`, line 9"):
        suite_with(tmp_path, 'wires = ["database=1"]')


def test_a_wire_is_told_wherever_its_topology_is() -> None:
    """In the cell's id, in the command that measures again, and in the marks of claims."""
    plain = trial("a:b", 1, 500.0)
    far = replace(plain, cell=replace(plain.cell, topology=Topology(wire=PathWire(database_ms=1.0))))
    assert far.cell.id == "a:b tx wire-database-1ms c100"
    assert "--wire database=1ms" in again.command(far) and "--wire" not in again.command(plain)
    assert "wire=database=1ms" in cells.marks(far.cell)
    assert "wire=none" in cells.marks(plain.cell) & cells.plain(Suite("one", "One", "", 1, 1, ()))
