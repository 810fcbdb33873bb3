"""What seats and idle roles explain: waits for a processor beside other roles, and a pace that nothing depended on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders.facts import APART, CLOSED, HOST, OPEN, facts
from fairground.judge import thresholds, validity
from fairground.judge.thresholds import CheckBounds, WarnVoid
from fairground.judge.validity import TrialFacts
from fairground.judge.validity.check import bounds_for
from fairground.model import Cell, CellSettings, RoleUse, Severity

STANDARD = thresholds.standard()
TOGETHER = CellSettings(pin=(("server", (0,)), ("database", (1,)), ("generator", (1,))))
ANYWHERE = CellSettings()
WINDOW_US = 10e6


def used(cores: float, **fields: float) -> RoleUse:
    """A role that used so many cores over the window."""
    return RoleUse(cores * WINDOW_US, None, None, "cgroup2", **fields)


def waiting(settings: CellSettings, waited: float, database: float, generator: float = 0.1, server: float = 0.9) -> TrialFacts:
    """A generator of one thread that waited for a processor for a share of the window, and what the other roles used."""
    cell: Cell = replace(CLOSED, settings=settings)
    own = used(generator, busiest_thread_share=generator, busiest_thread_waited_share=waited, pressure_cpu_some_share=waited)
    return replace(facts(cell), roles={"server": used(server), "database": used(database), "generator": own, "lab": used(0.05)})


@pytest.mark.parametrize("check", ["run-queue", "generator-pressure"])
@pytest.mark.parametrize(
    ("made", "left"),
    [
        (waiting(TOGETHER, 0.85, database=0.9), 0.0),  # the database has the same core: that is how the trial is built
        (waiting(TOGETHER, 0.85, database=0.4), 0.4),  # somebody else had it for longer
        (waiting(TOGETHER, 0.85, database=0.4, server=0.0), 0.4),  # the server sits elsewhere, and explains nothing
        (waiting(ANYWHERE, 0.85, database=0.4, server=0.5), 0.0),  # all may meet each other
        (waiting(APART, 0.05, database=0.9), 0.05),  # nothing of the run may be where the generator is
    ],
    ids=["beside the database", "beside a stranger", "server elsewhere", "no seats", "its own cores"],
)
def test_the_generator_waits_for_roles_that_share_its_processors(check: str, made: TrialFacts, left: float) -> None:
    """A wait beyond what those roles worked was made by strangers, and is warned of."""
    assert validity.readings(made, STANDARD)[check] == pytest.approx(left)
    found = [one.severity for one in validity.findings(made, STANDARD) if one.id == check]
    assert found == ([Severity.WARN] if left else [])


@pytest.mark.parametrize(
    ("cell", "server", "warned"),
    [
        (replace(CLOSED, settings=TOGETHER), 0.97, False),  # the server's own core is fuller
        (replace(CLOSED, settings=TOGETHER), 0.80, True),  # it may have had more to give
        (replace(CLOSED, settings=replace(TOGETHER, pin=(("server", (0, 2)), ("generator", (1,))))), 0.97, True),  # of two cores
        (replace(CLOSED, settings=replace(TOGETHER, pin=(("server", (0, 1)), ("generator", (1,))))), 1.97, True),  # they meet
        (replace(CLOSED, settings=ANYWHERE), 0.97, True),
        (replace(OPEN, settings=TOGETHER), 0.97, True),  # behind a schedule it falls, whoever else is full
    ],
    ids=["server full", "server has room", "two cores", "shared", "no seats", "open loop"],
)
def test_a_full_generator_beside_a_fuller_server(cell: Cell, server: float, warned: bool) -> None:
    """It limits a closed loop only where the server had room left."""
    made = replace(facts(cell, busiest_thread_share=0.93), roles={"server": used(server)})
    assert [one.id for one in validity.findings(made, STANDARD, of=("generator",)) if one.id == "generator"] == [
        "generator"
    ] * warned
    assert "generator" not in " ".join(str(one.evidence.get("checks")) for one in validity.unmade(made, STANDARD)).split()


def test_other_threads_of_the_generator_explain_a_wait_too() -> None:
    """Where two threads share a processor, one waits while the other works."""
    alone = waiting(TOGETHER, 0.3, database=0.0)
    busy = replace(alone.roles["generator"], cpu_us=0.4 * WINDOW_US)
    several = replace(alone, roles=alone.roles | {"generator": busy})
    read = [validity.readings(made, STANDARD)["run-queue"] for made in (alone, several)]
    assert read == [pytest.approx(0.25), pytest.approx(0.0)]


@pytest.mark.parametrize(
    ("roles", "pace"),
    [
        ({"server": used(0.05), "database": used(0.13), "generator": used(0.02)}, 0.1),
        ({"server": used(0.9), "database": used(0.6), "generator": used(0.2)}, 0.5),
        ({"server": used(0.05), "database": replace(used(0.1), cpu_us=None)}, 0.5),
        ({"database": used(0.1)}, 0.5),
    ],
    ids=["all wait for locks", "busy", "one is not known", "no server"],
)
def test_the_canary_counts_for_as_much_as_processors_were_used(roles: dict[str, RoleUse], pace: float) -> None:
    """A machine half as slow again moves a rate by as much at most as was spent on processors; what is not known counts whole."""
    host = replace(HOST, canary_before_us=1000.0, canary_after_us=1500.0)
    made = replace(facts(CLOSED), roles=roles | {"lab": used(0.9)}, host=host)
    assert validity.readings(made, STANDARD)["canary"] == pytest.approx(pace)


def test_the_canary_sees_both_directions() -> None:
    """A machine that got faster changed its pace as much as one that got slower."""
    slower = replace(facts(CLOSED), host=replace(HOST, canary_before_us=1000.0, canary_after_us=1500.0))
    faster = replace(facts(CLOSED), host=replace(HOST, canary_before_us=1500.0, canary_after_us=1000.0))
    assert validity.readings(slower, STANDARD)["canary"] == validity.readings(faster, STANDARD)["canary"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("pin", "shared"),
    [
        ((), True),
        ((("generator", (0,)),), True),
        ((("generator", (0,)), ("server", (1,))), True),
        ((("generator", (0,)), ("server", (1,)), ("database", (1,))), False),
        ((("generator", (0,)), ("server", (0, 1)), ("database", (1,))), True),
        ((("generator", (0,)), ("server", (1,)), ("database", (1,)), ("proxy", (0, 1))), False),
    ],
)
def test_generator_alone_on_its_processors(pin: Any, shared: bool) -> None:
    """The generator shares its processors unless it and all others are pinned, and apart. A role that was not there does not count.

    On a host of its own it shares them with nobody.
    """
    roles = dict.fromkeys(("server", "database", "generator", "lab"), RoleUse(1.0, None, None, "cgroup2"))
    made = TrialFacts(10.0, replace(OPEN, settings=CellSettings(pin=pin)), roles=roles)
    assert made.shared is shared
    elsewhere = replace(made, roles={**roles, "generator": replace(roles["generator"], host="rack-2")})
    assert not elsewhere.shared and elsewhere.beside_generator == 0.0
    bounds = CheckBounds(0.1, 0.2, shared=WarnVoid(0.7))
    assert bounds_for(made, bounds) == (WarnVoid(0.7) if shared else bounds)


@pytest.mark.parametrize(
    ("stranger", "most_us", "said"),
    [
        ("chromium", 900_000.0, "other processes used 10% of a core during the window, most of it `chromium` (9%)"),
        ("chromium", 400_000.0, "other processes used 10% of a core during the window"),
        (None, None, "other processes used 10% of a core during the window"),
    ],
    ids=["one", "several", "nobody known"],
)
def test_who_disturbed_a_window_is_named(stranger: str | None, most_us: float | None, said: str) -> None:
    """Where one process used most of what others did, the finding says which."""
    host = replace(HOST, foreign_cpu_us=1e6, stranger=stranger, stranger_cpu_us=most_us)
    (found,) = [
        one for one in validity.findings(replace(facts(CLOSED), host=host, window_s=10.0), STANDARD) if one.id == "foreign-cpu"
    ]
    assert found.severity is Severity.WARN and found.sentence.partition(" (warned")[0] == said
