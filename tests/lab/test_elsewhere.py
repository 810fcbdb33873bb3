"""A generator on another host: what cannot be had with it, and who goes on with what was begun."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground.inputs.hosts import HostsAsked
from fairground.lab import elsewhere
from fairground.model import LabError, Load, Settings, Suite, SuiteGroup
from report import fixture

THERE = (("generator", "rack-2"),)


def suite(*loads: Load) -> Suite:
    """One group under these loads."""
    return Suite("s", "t", "", 1, 1, (SuiteGroup(("a",), ("tx",), loads, Settings()),))


def test_what_cannot_be_had() -> None:
    """Other generators, experiments, and fewer connections than hosts; the lab's engine can."""
    elsewhere.check(suite(Load()), None, THERE)
    with pytest.raises(LabError, match="`wrk` makes its load on the lab's machine"):
        elsewhere.check(suite(Load(), Load(generator="wrk")), None, THERE)
    with pytest.raises(LabError, match="`--why` makes its experiments with the generator on this machine"):
        elsewhere.check(suite(Load()), 60.0, THERE)

    with pytest.raises(LabError, match="3 hosts cannot share 2 connections: each needs one"):
        elsewhere.check(suite(Load(connections=2)), None, (("generator", "a+b+c"),))


def test_hosts_that_make_a_load_together_reach_one_address() -> None:
    """Servers listen at one: hosts that reach this machine by two cannot share a load. A single one stays what it is."""
    a, b, c = (
        cast(Any, SimpleNamespace(name=name, front=front, here=()))
        for name, front in (("a", "10.0.0.1"), ("b", "10.0.0.1"), ("c", "10.9.0.1"))
    )
    assert elsewhere.together([a]) is a
    both = elsewhere.together([a, b])
    assert (both.name, both.front) == ("a+b", "10.0.0.1")
    with pytest.raises(LabError, match="hosts `a` and `c` reach this machine at two addresses, `10.0.0.1` and `10.9.0.1`"):
        elsewhere.together([a, b, c])


def test_what_was_begun_elsewhere_goes_on_there() -> None:
    """The roles are where they were, or it is told how to say so."""
    elsewhere.same("r", (), ())
    elsewhere.same("r", THERE, THERE)
    for place in ((), (("generator", "rack-3"),)):
        with pytest.raises(LabError, match="`r` was begun with its generator on another host") as caught:
            elsewhere.same("r", THERE, place)
        assert caught.value.hint == "add --place generator=rack-2 --hosts ADDRESS"
    with pytest.raises(LabError, match="`r` was begun on one machine"):
        elsewhere.same("r", (), THERE)


def test_a_run_says_where_its_roles_were() -> None:
    """By its cells."""
    run = fixture.run()
    slot = run.plan.slots[0]
    cell = replace(slot.cell, settings=replace(slot.cell.settings, place=THERE))
    assert elsewhere.of_run(replace(run, plan=replace(run.plan, slots=(replace(slot, cell=cell),)))) == THERE
    assert elsewhere.of_run(replace(run, plan=replace(run.plan, slots=()))) == ()


def test_a_record_names_the_machine() -> None:
    """Without one it has nothing to say."""
    there = cast(Any, SimpleNamespace(described="rack-2, CPU, 2 cores, 6.1", front="10.0.0.1", remarks=iter(["far"])))
    assert elsewhere.versions(there) == {"generator's host": "rack-2, CPU, 2 cores, 6.1"} and elsewhere.versions(None) == {}
    assert (elsewhere.front(there), elsewhere.front(None)) == ("10.0.0.1", None)
    assert (list(elsewhere.remarks(there)), list(elsewhere.remarks(None))) == (["far"], [])


def test_a_file_that_names_other_hosts() -> None:
    """Who is not among them makes no load; nobody is asked for that."""
    asked = HostsAsked("127.0.0.1:9", hosts=("rack-1", "rack-3"))
    with (
        pytest.raises(LabError, match="host `rack-2` is not among those that the file names") as caught,
        elsewhere.generator(asked, THERE),
    ):
        pass
    assert caught.value.hint == "it names rack-1, rack-3"
