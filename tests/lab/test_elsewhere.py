"""Roles on other hosts: what cannot be had with it, and who goes on with what was begun."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground.inputs.hosts import HostsAsked
from fairground.lab import elsewhere
from fairground.model import CellSettings, Fault, FaultKind, LabError, Load, Suite, SuiteGroup
from report import fixture

THERE = (("generator", "rack-2"),)
STORE = (("database", "rack-3"),)


def suite(*loads: Load) -> Suite:
    """One group under these loads."""
    return Suite("s", "t", "", 1, 1, (SuiteGroup(("a",), ("tx",), loads, CellSettings()),))


def test_what_cannot_be_had() -> None:
    """Other generators and experiments; the lab's engine can."""
    elsewhere.check(suite(Load()), None, THERE)
    with pytest.raises(LabError, match="`wrk` makes its load on the lab's machine"):
        elsewhere.check(suite(Load(), Load(generator="wrk")), None, THERE)
    with pytest.raises(LabError, match="`--why` makes its experiments with all roles on this machine"):
        elsewhere.check(suite(Load()), 60.0, THERE)


def test_what_cannot_be_had_of_a_database_elsewhere() -> None:
    """Faults that are done on its machine; other generators can, since they are here."""
    elsewhere.check(suite(Load(generator="wrk"), Load(fault=Fault(FaultKind.CONNECTIONS_CUT, 3.0))), None, STORE)
    for kind in (FaultKind.DATABASE_RESTART, FaultKind.DATABASE_CRASH, FaultKind.STALL):
        with pytest.raises(LabError, match=f"`{kind}.*` needs the database on the lab's machine"):
            elsewhere.check(suite(Load(fault=Fault(kind, 3.0, 0.5))), None, STORE)


def test_what_was_begun_elsewhere_goes_on_there() -> None:
    """The roles are where they were, or it is told how to say so."""
    elsewhere.same("r", (), ())
    elsewhere.same("r", THERE, THERE)
    for place in ((), (("generator", "rack-3"),)):
        with pytest.raises(LabError, match="`r` was begun with its generator on another host") as caught:
            elsewhere.same("r", THERE, place)
        assert caught.value.hint == "add --place generator=rack-2 --hosts ADDRESS"
    with pytest.raises(LabError, match="`r` was begun with roles on other hosts") as caught:
        elsewhere.same("r", (*THERE, *STORE), THERE)
    assert caught.value.hint == "add --place generator=rack-2 --place database=rack-3 --hosts ADDRESS"
    with pytest.raises(LabError, match="`r` was begun on one machine"):
        elsewhere.same("r", (), THERE)


def test_a_run_says_where_its_roles_were() -> None:
    """By its cells."""
    run = fixture.run()
    slot = run.plan.slots[0]
    cell = replace(slot.cell, settings=replace(slot.cell.settings, place=THERE))
    assert elsewhere.placed_of(replace(run.plan, slots=(replace(slot, cell=cell),))) == THERE
    assert elsewhere.placed_of(replace(run.plan, slots=())) == ()


def test_a_record_names_the_machines() -> None:
    """Without one it has nothing to say."""
    there = cast(Any, SimpleNamespace(described="rack-2, CPU, 2 cores, 6.1", front="10.0.0.1", remarks=("far",)))
    store = cast(Any, SimpleNamespace(described="rack-3, CPU, 8 cores, 6.1", front="10.0.0.1", remarks=("farther",)))
    both = elsewhere.Others(there, store)
    assert both.versions == {"generator's host": "rack-2, CPU, 2 cores, 6.1", "database's host": "rack-3, CPU, 8 cores, 6.1"}
    assert elsewhere.HERE.versions == {} and list(elsewhere.Others(database=store).versions) == ["database's host"]
    assert (both.front, elsewhere.HERE.front, elsewhere.Others(database=store).front) == ("10.0.0.1", None, None)
    assert (list(both.remarks), list(elsewhere.HERE.remarks)) == (["far", "farther"], [])


def test_a_server_elsewhere_asks_nobody_here() -> None:
    """Its host asks those of the other roles; the lab has no business with them."""
    with elsewhere.hosts_of(HostsAsked("127.0.0.1:9"), (("server", "rack-4"),)) as found:
        assert found is elsewhere.HERE
    with elsewhere.beside(HostsAsked("127.0.0.1:9"), fixture.run().plan) as found:
        assert found is elsewhere.HERE


def test_a_file_that_names_other_hosts() -> None:
    """Who is not among them makes no load; nobody is asked for that."""
    asked = HostsAsked("127.0.0.1:9", hosts=("rack-1", "rack-3"))
    with (
        pytest.raises(LabError, match="host `rack-2` is not among those that the file names") as caught,
        elsewhere.hosts_of(asked, THERE),
    ):
        pass
    assert caught.value.hint == "it names rack-1, rack-3"
