"""Parts of manual pages that a run writes: each between its own marks, and none where the run has nothing for one of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fairground.cli import report
from fairground.model import Fault, FaultKind, LabError
from fairground.report import parts
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
    before = [one.read_text() for one in (old, new)]
    parts.put(fixture.run(), {"table": old})
    parts.put(fixture.run(), {"table": new})
    assert [one.read_text() for one in (old, new)] == before, "replaced, and not added to"


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


def test_each_part_has_an_option() -> None:
    """`report` asks for it by its name."""
    assert set(parts.PARTS) <= {one.name for one in report.OPTIONS}
