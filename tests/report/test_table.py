"""The table of a run as Markdown: its numbers are those of the page, names from outside are clean, and no reason is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.model import Verdict
from fairground.report.boards import boards
from fairground.report.run import table
from fairground.report.run.grid import grid
from fairground.report.text.rows import letters
from report import fixture

GOLDEN = Path(__file__).parent / "golden" / "table.md"


def test_it_is_the_golden_one(golden: Callable[[Path, str], None]) -> None:
    """A run of two blocks, with every kind of cell in it."""
    run = fixture.two_blocks()
    golden(GOLDEN, table.markdown(run, boards(run)))


def test_each_cell_has_the_number_and_the_letters_of_the_page() -> None:
    """One line for each stack; each cell stands in the column of its board."""
    run = fixture.two_blocks()
    shown = boards(run)
    rows = [line.split(" | ") for line in table.markdown(run, shown).splitlines() if line.startswith("| ")]
    lines = {cells[0].removeprefix("| "): [cell.removesuffix(" |") for cell in cells[2:]] for cells in rows[1:]}
    for line in grid(run, shown).lines:
        assert lines[line.stack] == [table.cell(cell) for cell in line.cells]
        for cell, text in zip(line.cells, lines[line.stack], strict=True):
            assert (cell.mark == "number") == text[:1].isdigit()


def test_a_cell_without_a_number_says_why() -> None:
    """Rejected and absent cells stand below the table, with the reason that the page gives."""
    run = fixture.two_blocks()
    rejected = tuple(replace(trial, verdict=Verdict.REJECTED) for trial in run.trials if trial.cell.stack == "alder:inline")
    others = tuple(trial for trial in run.trials if trial.cell.stack != "alder:inline")
    found = replace(run, trials=(*rejected, *others))
    text = table.markdown(found, boards(found))
    assert "| ✗ | ✗ |" in text
    assert "- `alder:inline` on `" in text.split("Cells without a number:")[1]


def test_what_a_server_names_opens_no_tag_and_no_column() -> None:
    """A stack's name, the machine's and the command's are foreign text."""
    run = fixture.two_blocks()
    evil = "<b>x</b>|y\x1b[31m"
    trials = tuple(replace(one, cell=replace(one.cell, stack=evil)) for one in run.trials if one.cell.stack == "alder:inline")
    slots = tuple(replace(one, cell=replace(one.cell, stack=evil)) for one in run.plan.slots if one.cell.stack == "alder:inline")
    found = replace(run, trials=trials, plan=replace(run.plan, slots=slots), machine=replace(run.machine, cpu_model=evil))
    text = table.markdown(found, boards(found))
    assert "\x1b" not in text
    assert "<b>" not in text.replace("`", "")
    header, line = (one for one in text.splitlines() if one.startswith("| "))
    assert line.replace("\\|", "").count("|") == header.count("|")


@pytest.mark.parametrize(
    ("names", "said"), [("", ""), ("A", "A"), ("A B", "A B"), ("B C D", "B–D"), ("A C D", "A C D"), ("Y Z 27", "Y Z 27")]
)
def test_letters_that_follow_each_other_are_told_as_a_span(names: str, said: str) -> None:
    """Two stay as they are, and so do those with a gap."""
    assert letters(names) == said
