"""The findings of a comparison, as lines, a document and an exit code."""

from __future__ import annotations

from pathlib import Path

import typer

from fairground.cli import say
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.cli.screen import duration
from fairground.lab.events import UnitDone
from fairground.model import storing
from fairground.model.plural import plural
from fairground.report import fail_on
from fairground.report.compared import Compared, decision_of
from fairground.report.fail_on import Rule


def tell(event: UnitDone) -> None:
    """One line for each round."""
    found = decision_of(event.record)
    words = "" if found.half_width is None else f", ± {found.half_width:.1%}"
    left = duration(event.left_s or 0.0)
    say.note(f"round {len(event.record.entries)}: {plural(found.pairs, 'pair')}{words}, at most {left} left")


def show(found: Compared, folder: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Print what a comparison found, as lines or as a document, and write its summary."""
    if markdown is not None:
        with storing(markdown):
            markdown.write_text(found.markdown, encoding="utf-8")
    if as_json:
        say.document(found.document | {"folder": str(folder) if folder else None})
        return
    for line in found.sentences:
        say.line(line)
    if folder is not None:
        say.line(f"page  {folder / 'compare.html'}")


def leave(found: Compared, rule: Rule | None) -> None:
    """End with code 1 where an arm is rejected or the rule is broken; with 3 without a number to hold it against, or any."""
    if found.rejected is not None:
        raise typer.Exit(BAD_ANSWER)
    if rule is None:
        if not found.is_measured and not any(line.a and line.b for line in found.lines):
            raise typer.Exit(NOTHING_MEASURED)
        return
    if not fail_on.is_measured(found.lines, rule):
        say.note(f"nothing was measured that {rule.text} could be held against")
        raise typer.Exit(NOTHING_MEASURED)
    sentences = fail_on.broken_rules(found.lines, rule)
    for sentence in sentences:
        say.note(f"failed: {sentence}")
    if sentences:
        raise typer.Exit(BAD_ANSWER)
