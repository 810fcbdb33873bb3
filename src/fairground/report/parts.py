"""Parts of Markdown files that a run writes: the tables and findings of the manual's pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.model import LabError, Run
from fairground.report import boards, splice
from fairground.report.boards import Board
from fairground.report.run import crossing, distances, faults, table


@dataclass(frozen=True)
class MarkdownPart:
    """`markdown` makes it of a run and its boards; None: the run has nothing for it, and `lacking` says what. `suite` has it."""

    title: str
    markdown: Callable[[Run, Sequence[Board]], str | None]
    lacking: str
    suite: str


def _lock_order(run: Run, shown: Sequence[Board]) -> str | None:
    return crossing.markdown(run, shown) if crossing.crossings(run, shown) else None


def _faults(run: Run, _: Sequence[Board]) -> str | None:
    found = faults.rows(run)
    return table.source_text(run) + "\n" + faults.markdown(found) if found else None


PARTS: Mapping[str, MarkdownPart] = {
    "locks": MarkdownPart("What the order of locks costs", _lock_order, "no workload with a twin", "matrix"),
    "table": MarkdownPart(table.TITLE, table.markdown, "no cell", "matrix"),
    "faults": MarkdownPart("Faults: what a server does when its database goes away", _faults, "no cell with a fault", "faults"),
    "distance": MarkdownPart("Distance: what a round trip costs", distances.markdown, "one distance alone", "distance"),
}
"""Parts by the name of their marks, which is also that of the option that asks for them."""


def put(run: Run, asked: Mapping[str, Path]) -> None:
    """Put the parts that are asked for into their files. LabError where the run has nothing for one of them; then none is put."""
    shown = boards.boards(run)
    made = dict[str, str]()
    for name in asked:
        text = PARTS[name].markdown(run, shown)
        if text is None:
            raise LabError(f"run `{run.id}` has {PARTS[name].lacking}", f"./fairground run suites/{PARTS[name].suite}.toml")
        made[name] = text
    for name, text in made.items():
        splice.put(asked[name], name, text, PARTS[name].title)
