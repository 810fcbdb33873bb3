"""Roles on other hosts as they are written, what is refused, and what follows for the cores of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.inputs import placing
from fairground.model import CellSettings, LabError, Load, Suite, SuiteGroup
from fairground.report.trial import again

THERE = (("generator", "rack-2"),)


def test_a_role_and_its_host() -> None:
    """Spaces around them are no part of a name."""
    assert placing.parse("--place", ["generator=rack-2"]) == placing.parse("--place", [" generator = rack-2 "]) == THERE
    assert placing.parse("--place", []) == ()


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        (["rack-2"], "`--place rack-2` should be a role and a host", "for instance --place generator=rack-2"),
        (["generator="], "`--place generator=` should be a role and a host", "for instance --place generator=rack-2"),
        (["genrator=b"], "there is no role `genrator`", "did you mean `generator`? known roles: database, generator, server"),
        (["chef=b"], "there is no role `chef`", "known roles: database, generator, server"),
        (["server=b+c"], "`--place server=b+c`: the server is on one host", "name one of them"),
        (
            ["server=c", "database=c"],
            "`--place` has server and database on host `c`",
            "a host takes one role: name another one for the other",
        ),
        (["database=b+c"], "`--place database=b+c`: the database is on one host", "name one of them"),
        (
            ["generator=b", "database=b"],
            "`--place` has generator and database on host `b`",
            "a host takes one role: name another one for the other",
        ),
        (["proxy=b"], "`--place proxy=b`: the proxy is where the server is", "place the server: --place server=b"),
        (["generator=b+c"], "`--place generator=b+c`: the generator is on one host", "name one of them"),
        (["generator=b", "generator=c"], "`--place` says twice where the generator is", "say it once"),
    ],
)
def test_what_cannot_be_meant(texts: list[str], message: str, hint: str) -> None:
    """One sentence, and what to write."""
    with pytest.raises(LabError) as caught:
        placing.parse("--place", texts)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_the_database_has_the_cores_that_are_free() -> None:
    """Those of the generator, which needs none here; where nobody is pinned nobody is."""
    pinned = CellSettings(pin=(("server", (0, 1)), ("database", (2,)), ("generator", (3,))))
    assert placing.settings(pinned, THERE) == CellSettings(pin=(("server", (0, 1)), ("database", (2, 3))), place=THERE)
    assert placing.settings(CellSettings(), THERE) == CellSettings(place=THERE)
    store = (("database", "rack-3"),)
    assert placing.settings(pinned, store).pin == (("server", (0, 1)), ("generator", (3,)))
    assert placing.settings(pinned, (*THERE, *store)).pin == (("server", (0, 1)),)
    assert placing.settings(pinned, (("server", "rack-4"),)).pin == pinned.pin  # they are that host's
    without = CellSettings(pin=(("server", (0,)), ("generator", (1,))))
    assert placing.settings(without, THERE).pin == (("server", (0,)),)


def test_all_groups_of_a_suite() -> None:
    """Each of them; nothing else changes."""
    group = SuiteGroup(("a",), ("tx",), (Load(),), CellSettings())
    asked = Suite("s", "t", "", 1, 1, (group, replace(group, stacks=("b",))))
    found = placing.suite(asked, THERE)
    assert [one.settings.place for one in found.groups] == [THERE, THERE] and [one.stacks for one in found.groups] == [
        ("a",),
        ("b",),
    ]


def test_measuring_again_names_the_host() -> None:
    """The command of a trial's page says where its generator was."""
    made = trial("a:b", 1, 100.0)
    placed = replace(made, cell=replace(made.cell, settings=replace(made.cell.settings, place=THERE)))
    assert "--place generator=rack-2" in again.command(placed)
    assert "--place" not in again.command(made)
