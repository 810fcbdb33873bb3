"""`report --site`: all records of a folder of results as a site of files, for any web server."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from fairground.lab import pages, run
from fairground.lab.events import Event, SiteRecord, SiteWritten
from fairground.model import LabError, Run, foreign, storing
from fairground.model.record import Kind, Listed, Record
from fairground.report import boards, history, site, story, transfer
from fairground.report.site import Line
from fairground.run import records, store

HOME = "../index.html"
MARK = ".fairground-site"
"""A file in each site: what holds none, and is not empty, is somebody's own folder."""


def write(results: Path, target: Path) -> Generator[Event]:
    """Write the site of all records in `results` to `target`; the last event is `SiteWritten`.

    LabError for a folder that holds something else.
    What a site held of records that are gone is removed.
    """
    _own(target)
    listed = records.listed(results)
    lines, runs = list[Line](), list[Run]()
    for place, one in enumerate(listed, 1):
        record = records.load(one.folder)
        lines.append(_line(one, record, target))
        if one.kind is Kind.RUN:
            runs.append(store.load(one.folder))
        yield SiteRecord(place, len(listed), one.id)
    for name, text in site.pages(lines, history.histories(runs)):
        _put(target / name, text)
    _forget(target, {one.id for one in lines})
    yield SiteWritten(target / site.OVERVIEW, len(lines))


def _own(target: Path) -> None:
    """Make the folder, or take it as the site that it is."""
    with storing(target):
        if target.exists() and not target.is_dir():
            raise LabError(f"`{target}` is a file, and a site is a folder", "name another folder")
        if target.is_dir() and any(target.iterdir()) and not (target / MARK).exists():
            raise LabError(f"`{target}` holds something else than a site", "name an empty or new folder")
        target.mkdir(parents=True, exist_ok=True)
        (target / MARK).touch()
        shutil.rmtree(target / "cells", ignore_errors=True)


def _forget(target: Path, known: set[str]) -> None:
    with storing(target):
        for folder in target.iterdir():
            if folder.is_dir() and folder.name not in known and folder.name != "cells":
                shutil.rmtree(folder)


def _line(one: Listed, record: Record[Any, Any], target: Path) -> Line:
    """Write a record's pages, and give its line in the list."""
    folder = target / one.id
    says, files = _pages(one, record)
    opened = ""
    for name, text in files:
        if name.endswith(".html"):
            _put(folder / name, text)
            opened = name if "/" not in name else opened
    more = tuple((f"replication of {path.stem.removeprefix('replicate-')}", path.name) for path in _replications(one.folder))
    for _, name in more:
        _put(folder / name, (one.folder / name).read_text(encoding="utf-8"))
    machine = history.group(record.head.machine)
    return Line(one.id, one.kind, one.started_unix_s, one.finished, machine, foreign.line(says), opened, more)


def _pages(one: Listed, record: Record[Any, Any]) -> tuple[str, Iterator[tuple[str, str]]]:
    """What a record says in one sentence, and its files."""
    if one.kind is Kind.RUN:
        found = store.load(one.folder)
        shown = boards.boards(found)
        return story.story(shown, transfer.crossings(found, shown))[0].replace("`", ""), run.rendered(found, HOME)
    if record.earlier is not None:
        return one.command, iter(())
    if one.kind in (Kind.CHECK, Kind.CROSS_CHECK):
        return one.command, iter(())
    made = pages.rendered(record, HOME)
    return made.says, iter(made.files)


def _replications(folder: Path) -> list[Path]:
    """The pages of replications that were judged by a run."""
    return sorted(folder.glob("replicate-*.html"))


def _put(path: Path, text: str) -> None:
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
