"""Many records as a site of files: the list of records, lists of cells over runs and of counts, and a page for each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairground.report import frame
from fairground.report.counts import amount
from fairground.report.site import counted, history
from fairground.report.site.counted import CountHistory
from fairground.report.site.history import History
from fairground.report.text import words

OVERVIEW, CELLS, COUNTS = "index.html", "cells.html", "counts.html"


@dataclass(frozen=True)
class RecordLine:
    """A record in the list. `page` is in the record's own folder; empty: it has none. `more`: further pages by their names."""

    id: str
    kind: str
    started_unix_s: float
    finished: bool
    machine: str
    says: str
    page: str = ""
    more: tuple[tuple[str, str], ...] = ()


def pages(
    lines: Sequence[RecordLine], histories: Sequence[History], counts: Sequence[CountHistory] = ()
) -> Iterator[tuple[str, str]]:
    """(place, text) of the pages that stand above those of the records; newest records first."""
    yield OVERVIEW, overview(lines, bool(counts))
    yield CELLS, cells(histories)
    for one in histories:
        yield f"cells/{one.slug}.html", history.html(one)
    if counts:
        yield COUNTS, counted_stacks(counts)
    for each in counts:
        yield f"counts/{each.slug}.html", counted.html(each)


def overview(lines: Sequence[RecordLine], has_counts: bool = False) -> str:
    """The list of records."""
    newest = sorted(lines, key=lambda one: (-one.started_unix_s, one.id))
    title = f"{words.plural(len(lines), 'record')}, newest first" if lines else "No record yet"
    said = () if lines else ("./fairground demo makes the first.",)
    return _list("records", title, said, newest, has_counts=has_counts)


def cells(histories: Sequence[History]) -> str:
    """The list of cells; those that changed first."""
    changed, judged = sum(bool(one.changed) for one in histories), sum(one.judged for one in histories)
    ordered = sorted(histories, key=lambda one: not one.changed)
    title = f"{words.plural(len(histories), 'cell')}, run by run"
    said = f"{changed} of {words.plural(judged, 'cell')} that could be judged changed beyond what all cells of two runs did."
    none = "Whether a cell changed cannot be told yet: that takes two runs with six cells and two blocks in common."
    return _list("cells", title, [said if judged else none] if histories else (), ordered)


def counted_stacks(histories: Sequence[CountHistory]) -> str:
    """The list of what is counted; what changed first."""
    changed, judged = sum(bool(one.changed) for one in histories), sum(len(one.numbered) > 1 for one in histories)
    title = f"{words.plural(len(histories), 'counted stack')}, commit by commit"
    said = f"{changed} of {words.plural(judged, 'stack')} with two records or more changed." if judged else "Each has one record."
    ordered = sorted(histories, key=lambda one: not one.changed)
    return _list("counts", title, [said], ordered)


def _list(there: str, title: str, sentences: Sequence[str], lines: Sequence[object], has_counts: bool = False) -> str:
    script, digest = frame.script_of("site.js")
    return frame.render(
        "site.html",
        there=there,
        title=title,
        sentences=sentences,
        lines=lines,
        script=script,
        script_hash=digest,
        started=frame.minute,
        has_counts=has_counts,
        amount=amount,
        sentence=counted.sentence if there == "counts" else history.sentence,
    )
