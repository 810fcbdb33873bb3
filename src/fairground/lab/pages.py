"""Records as documents and pages: written when a measurement ends, and again from the record whenever one likes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairground import records
from fairground.lab.events import Reported
from fairground.model import LabError, Run
from fairground.model.record import Record, RecordKind
from fairground.records import journal
from fairground.report.rendering import RENDERERS, render
from fairground.report.run import evidence, page, why
from fairground.report.trial import trial_page

RUN_PAGE = records.SHAPES[RecordKind.RUN].page


def report(folder: Path) -> Reported:
    """Write summary.csv, report.html, details.html and a page for each trial of a run, finished or not."""
    found = records.load_run(folder)
    summary, texts = page.summary_csv(found), pages_of(found)
    own = tuple(itertools.islice(texts, 2))  # both are there before one is replaced: they show the same record
    journal.replace(folder / "summary.csv", summary.encode(), journal.SHARED)
    for place, text in own:
        journal.replace(folder / place, text.encode(), journal.SHARED)
    for place, text in texts:
        journal.put(folder, place, text)
    return Reported(folder / RUN_PAGE, found, tried_of(found))


def pages_of(found: Run, home: str | None = None) -> Iterator[tuple[str, str]]:
    """Render (place in the folder, text) of a run's pages and of its trials'. `home`: where the list of records is, in a site."""
    yield RUN_PAGE, page.html(found, tried_of(found), home)
    yield evidence.PAGE, page.details(found, home)
    yield from trial_page.pages(found)


def tried_of(found: Run) -> why.TriedBy:
    """Find what experiments on a run's reasons found."""
    return why.tried_by(one for one in records.of_kind(found.folder.parent, RecordKind.WHY) if one.head.asked.run == found.id)


def write(record: Record[Any, Any]) -> Path:
    """Write a record's document and pages, in place of earlier ones; the page. LabError for a kind that has none."""
    if record.head.kind not in RENDERERS:
        raise LabError(f"a {record.head.kind} has no page", "`./fairground list runs` shows what has one")
    paths = [journal.replace(record.folder / name, text.encode(), journal.SHARED) for name, text in render(record).files]
    return paths[-1]
