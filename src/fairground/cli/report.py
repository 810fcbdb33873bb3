"""`report`: the pages of a record again, from its stored data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from fairground import records
from fairground.cli import say
from fairground.cli.arguments import takes
from fairground.cli.check import show
from fairground.cli.cross_check import cross_checked
from fairground.cli.why import experiment
from fairground.inputs import options
from fairground.inputs.options import Given, Option
from fairground.lab import pages
from fairground.lab.events import SiteRecord, SiteWritten
from fairground.lab.places import Places
from fairground.lab.site import write
from fairground.model import LabError, foreign
from fairground.model.record import CheckAsked, Record, RecordKind, StackChecked
from fairground.records.shapes import MEND
from fairground.report import parts
from fairground.report.text import words

OPTIONS = (
    Option("record", "Its id, the beginning of it, its folder, or `latest`.", str, "latest", argument=True, metavar="RECORD"),
    Option("locks", "Put what the order of row locks costs into this Markdown file.", Path | None, None, metavar="FILE"),
    Option("table", "Put the run's table into this Markdown file: stacks by workloads.", Path | None, None, metavar="FILE"),
    Option("faults", "Put what faults did into this Markdown file.", Path | None, None, metavar="FILE"),
    Option("distance", "Put what distances did into this Markdown file.", Path | None, None, metavar="FILE"),
    Option("site", "Write all records as a site into this folder, for any web server.", Path | None, None, metavar="DIR"),
    *(one for one in options.SHARED if one.name in ("results", "as_json")),
)


@takes(*OPTIONS)
def report(_: typer.Context, given: Given) -> None:
    """Write the pages of a record again, from stored data; of a record without a page, print the result again.

    Examples: ./fairground report · ./fairground report 2026-09-30-1412-demo · ./fairground report --site public
    """
    places = Places.of(os.environ, None, given["results"])
    run_name, site, as_json = given["record"], given["site"], given["as_json"]
    asked = {name: given[name] for name in parts.PARTS if given[name] is not None}
    if site is not None:
        if run_name != "latest" or asked:
            hint = f"leave the record, {words.join_names([f'`--{name}`' for name in parts.PARTS], len(parts.PARTS))} out"
            raise LabError("`--site` writes all records, so it takes no single one", hint)
        _site(places, site, as_json)
        return
    folder = records.find(places.results, run_name)
    if (kind := records.kind_of(folder)) is not RecordKind.RUN:
        if asked:
            raise LabError(f"`{folder.name}` is a {kind}, and only a run has tables", "./fairground list runs")
        with telling_damage(folder):
            _other(records.load(folder), kind, as_json)
        return
    with telling_damage(folder):
        written = pages.report(folder)
    parts.put(written.run, asked)
    say.the_summary(written.run, written.path, as_json, written.tried)


@contextmanager
def telling_damage(folder: Path) -> Iterator[None]:
    """Turn what goes wrong with somebody's record into a LabError that names it: its numbers may be none."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # shapes say nothing of what numbers can be
        said = foreign.line(f"{type(error).__name__}: {error}")
        raise LabError(f"the pages of `{folder.name}` cannot be made ({said})", MEND) from error


def _other(record: Record[Any, Any], kind: RecordKind | None, as_json: bool) -> None:
    """A record that is no run's: its page again, or what it says where it has none."""
    if kind is RecordKind.CHECK:
        _check(record, as_json)
    elif kind is RecordKind.CROSS_CHECK:
        cross_checked(record, as_json)
    elif kind is RecordKind.WHY:
        pages.write(record)
        experiment(record, as_json)
    else:
        path = pages.write(record)
        if as_json:
            say.document({"id": record.folder.name, "kind": str(kind), "report": str(path)})
        else:
            say.line(f"page  {path}")


def _check(record: Record[CheckAsked, StackChecked], as_json: bool) -> None:
    """A check has no page: its lines are printed again."""
    if as_json:
        say.document({"id": record.id, "kind": str(RecordKind.CHECK), "stacks": {one.stack: one.row for one in record.entries}})
        return
    for one in record.entries:
        show(record, one, verbose=False)


def _site(places: Places, target: Path, as_json: bool) -> None:
    """Write the site, with a line of progress for each record."""
    try:
        for event in write(places.results, target, places.suites):
            match event:
                case SiteRecord():
                    say.note(f"{event.place}/{event.records}  {event.id}{f'  damaged: {event.damage}' if event.damage else ''}")
                case SiteWritten() if as_json:
                    say.document({"site": str(event.path), "records": event.records})
                case SiteWritten():
                    say.line(f"site  {event.path}")
    except KeyboardInterrupt:
        say.note("interrupted; pages that are written stay, and the same command writes the others")
        raise
