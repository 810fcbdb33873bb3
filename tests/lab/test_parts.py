"""Parts of manual pages that a run writes: each between its own marks, and none where the run has nothing for one of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fairground.lab import parts
from fairground.model import Fault, FaultKind, LabError
from report import fixture


def test_a_table_is_put_between_its_marks(tmp_path: Path) -> None:
    """What stands around them stays; a page that is not there begins with its title."""
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("# Mine\n\n<!-- table -->\nold\n<!-- /table -->\n\nThe end.\n")
    parts.put(fixture.run(), {"table": old})
    parts.put(fixture.run(), {"table": new})
    text = old.read_text()
    assert (
        text.startswith("# Mine\n\n<!-- table -->\nRun `")
        and text.endswith("<!-- /table -->\n\nThe end.\n")
        and "\nold\n" not in text
    )
    assert new.read_text().startswith(f"# {parts.PARTS['table'].title}\n")


@pytest.mark.parametrize(
    ("name", "lacking", "hint"),
    [
        ("faults", "has no cell with a fault", "./fairground run suites/faults.toml"),
        ("distance", "has one distance alone", "./fairground run suites/distance.toml"),
    ],
)
def test_a_run_that_has_nothing_for_a_part(name: str, lacking: str, hint: str, tmp_path: Path) -> None:
    """It is told with the suite that has it, and no other part is put either."""
    with pytest.raises(LabError, match=lacking) as caught:
        parts.put(fixture.run(), {"table": tmp_path / "table.md", name: tmp_path / "it.md"})
    assert caught.value.hint == hint and not list(tmp_path.iterdir())


def test_faults_are_told_with_their_run(tmp_path: Path) -> None:
    """Which run it was stands above the tables."""
    run = fixture.run()
    fault = Fault(FaultKind.DATABASE_RESTART, 3.0)
    trials = [replace(one, cell=replace(one.cell, load=replace(one.cell.load, fault=fault))) for one in run.trials]
    slots = [replace(one, cell=replace(one.cell, load=replace(one.cell.load, fault=fault))) for one in run.plan.slots]
    parts.put(replace(run, trials=tuple(trials), plan=replace(run.plan, slots=tuple(slots))), {"faults": tmp_path / "it.md"})
    text = (tmp_path / "it.md").read_text()
    assert f"Run `{run.id}`" in text and "### `database-restart@3s` on `tx`" in text


def test_parts_by_their_names() -> None:
    """Each with its file."""
    assert parts.named(["faults=a.md", "distance=b=c.md"]) == {"faults": Path("a.md"), "distance": Path("b=c.md")}
    assert parts.named([]) == {}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("faults", "`--part faults` should be a part and its file", "for instance --part faults=docs/faults.md"),
        ("faults=", "`--part faults=` should be a part and its file", "for instance --part faults=docs/faults.md"),
        ("fault=a.md", "there is no part `fault`", "did you mean `faults`?"),
        ("zzz=a.md", "there is no part `zzz`", "parts: transfer, table, faults, distance"),
    ],
)
def test_what_is_no_part(text: str, message: str, hint: str) -> None:
    """One sentence, and what to write."""
    with pytest.raises(LabError) as caught:
        parts.named([text])
    assert (caught.value.message, caught.value.hint) == (message, hint)
