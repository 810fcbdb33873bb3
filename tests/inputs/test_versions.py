"""Versions of PostgreSQL as a person writes them, and where a cell's version is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.suites import suite_with
from builders.trials import trial
from fairground.claims import cells
from fairground.inputs import asked
from fairground.model import Cell, CellSettings, LabError, Load, Seats, Suite, Topology
from fairground.report.trial import again


def versions(suite: Suite) -> list[int | None]:
    """The version of each group."""
    return [group.settings.postgres_version for group in suite.groups]


def said(text: str | None, **more: object) -> dict[str, object]:
    """A command line that says this of versions."""
    return {**asked.DEFAULTS, "postgres_version": text, **more}


def test_each_version_is_a_group() -> None:
    """A command line makes a group for each, once; without the option there is one, of no version."""
    assert versions(asked.suite(said("16, 17,16"), "t", ["a"])) == [16, 17]
    assert versions(asked.suite(said(None), "t", ["a"])) == [None]


@pytest.mark.parametrize(
    ("text", "message"), [("15", "the lab has no PostgreSQL `15`"), (",", "`--postgres-version` names no version")]
)
def test_what_is_no_version_is_refused(text: str, message: str) -> None:
    """What the lab cannot start is named with what it can."""
    with pytest.raises(LabError, match=message) as caught:
        asked.suite(said(text), "t", ["a"])
    assert caught.value.hint == "choose among 16, 17, 18"


def test_a_verb_of_one_version_takes_no_second(tmp_path: Path) -> None:
    """`compare` and `capacity` measure on one; the lab's own is as if none were named, unless a database is given."""
    none = Seats((), (), ())
    with pytest.raises(LabError, match="names several versions"):
        asked.seat_asked(said("16,17"), Load(), none)
    found = [asked.seat_asked(said(text, database=url), Load(), none)[0].postgres_version
             for text, url in (("17", None), ("18", None), ("18", "postgresql://x"), (None, None))]  # fmt: skip
    assert found == [17, None, 18, None]


def test_a_suite_names_versions(tmp_path: Path) -> None:
    """The key stands at the top or in a group, whose own goes first."""
    assert versions(suite_with(tmp_path, 'postgres_versions = ["17", "18"]')) == [17, 18]
    assert versions(suite_with(tmp_path, "")) == [None]
    two = 'postgres_versions = ["16"]\n[[group]]\npostgres_versions = ["17"]\n[[group]]'
    assert versions(suite_with(tmp_path, two)) == [17, 16]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('postgres_versions = ["9"]', r"`postgres_versions`: the lab has no PostgreSQL `9`, in `.*`, line 9"),
        ("postgres_versions = []", r"`postgres_versions` names no version, in `.*`, line 9"),
        ('[[group]]\npostgres_versions = ["9"]', r"the lab has no PostgreSQL `9`, in `.*`, line 10"),
    ],
)
def test_a_suites_wrong_version_is_named_with_its_line(tmp_path: Path, lines: str, message: str) -> None:
    """What is wrong, in which file and line."""
    with pytest.raises(LabError, match=message):
        suite_with(tmp_path, lines)


def test_a_version_is_told_wherever_its_cell_is() -> None:
    """In the cell's id, in the command that measures again, and in the marks of claims. A cell of no version is as it was."""
    plain = trial("a:b", 1, 500.0)
    other = replace(plain, cell=replace(plain.cell, settings=replace(plain.cell.settings, postgres_version=17)))
    assert (plain.cell.id, other.cell.id) == ("a:b tx direct c100", "a:b tx direct c100 pg17")
    assert "--postgres-version 17" in again.command(other) and "--postgres-version" not in again.command(plain)
    assert "postgres=17" in cells.marks(other.cell)
    assert "postgres=18" in cells.marks(plain.cell) & cells.plain(Suite("one", "One", "", 1, 1, ()))
    assert Cell("a:b", "tx", Topology(), Load(), CellSettings()).id == "a:b tx direct c100"
