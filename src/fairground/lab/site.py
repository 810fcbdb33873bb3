"""`report --site`: all records of a folder of results as a site of files, for any web server."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground import records
from fairground.lab import cross_check, pages
from fairground.lab.events import Event, SiteRecord, SiteWritten
from fairground.lab.roots import PACKAGE
from fairground.model import LabError, Run, foreign, storing
from fairground.model.record import Listed, Record, RecordKind
from fairground.report import boards
from fairground.report.run import story, transfer
from fairground.report.site import history, site
from fairground.report.site.site import RecordLine

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HOME = "../index.html"
MARK = ".fairground-site"
"""A file in each site, with what it holds: a folder without it that is not empty is somebody's own."""
_MADE = ("report.html", "summary.csv")
"""Files of a record that are made from the others."""


def write(results: Path, target: Path) -> Generator[Event]:
    """Write the site of all records in `results` to `target`; the last event is `SiteWritten`.

    Pages are written anew where the record, an experiment on it, or the lab has changed. LabError for a folder of something
    else. What a site held of records that are gone is removed.
    """
    _own(target)
    listed = records.list_records(results)
    before, lab = _before(target), _of_lab()
    known, measured = dict[str, _Written](), list[Run]()
    for place, one in enumerate(listed, 1):
        stamp = f"{lab} {_of_record(one, listed)}"
        kept = before.get(one.id)
        record = records.load(one.folder)
        run = records.run_of(record) if one.kind is RecordKind.RUN else None
        if kept is None or kept.stamp != stamp or (kept.line.page and not (target / one.id / kept.line.page).exists()):
            kept = _Written(stamp, _line(one, record, run, target))
            yield SiteRecord(place, len(listed), one.id)
        known[one.id] = kept
        measured += [] if run is None else [run]
    _forget(target, ["cells", *(id for id in before if id not in known)])
    for name, text in site.pages([one.line for one in known.values()], history.histories(measured)):
        _put(target / name, text)
    _put(target / MARK, _adapter().dump_json(known).decode())
    yield SiteWritten(target / site.OVERVIEW, len(known))


@dataclass(frozen=True)
class _Written:
    """A record whose pages are in the site, and from what they were made."""

    stamp: str
    line: RecordLine


@cache
def _adapter() -> TypeAdapter[dict[str, _Written]]:
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, _Written])


def _before(target: Path) -> dict[str, _Written]:
    """Read what the site holds; nothing where its list is not one of this lab's."""
    from pydantic import ValidationError

    try:
        return _adapter().validate_json((target / MARK).read_bytes())
    except ValidationError:
        return {}


def _of_lab() -> str:
    """Return a stamp that changes whenever the lab's own files do."""
    files = sorted(PACKAGE.rglob("*.*"))
    return f"{max(path.stat().st_mtime_ns for path in files)}-{len(files)}"


def _of_record(one: Listed, listed: Sequence[Listed]) -> str:
    """Return a stamp that changes whenever the record has grown or was judged.

    It also changes with each new experiment, which may be on this run.
    """
    files = sorted(path for path in one.folder.iterdir() if path.is_file() and path.name not in _MADE)
    experiments = (
        [f"{other.id}:{other.entries}" for other in listed if other.kind is RecordKind.WHY] if one.kind is RecordKind.RUN else []
    )
    return " ".join([*(f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files), *experiments])


def _own(target: Path) -> None:
    """Make the folder, or take it as the site that it is."""
    with storing(target):
        if target.exists() and not target.is_dir():
            raise LabError(f"`{target}` is a file, and a site is a folder", "name another folder")
        if target.is_dir() and any(target.iterdir()) and not (target / MARK).exists():
            raise LabError(f"`{target}` holds something else than a site", "name an empty or new folder")
        target.mkdir(parents=True, exist_ok=True)
        (target / MARK).touch()


def _forget(target: Path, names: Sequence[str]) -> None:
    """Remove folders that an earlier writing made; what somebody else put beside them stays."""
    with storing(target):
        for name in names:
            if (target / name).is_dir():
                shutil.rmtree(target / name)


def _line(one: Listed, record: Record[Any, Any], run: Run | None, target: Path) -> RecordLine:
    """Write a record's pages, and give its line in the list."""
    folder = target / one.id
    says, files = _pages(one, record, run)
    opened = ""
    for name, text in files:
        if name.endswith(".html"):
            _put(folder / name, text)
            opened = name if "/" not in name else opened
    more = tuple((f"replication of {path.stem.removeprefix('replicate-')}", path.name) for path in _replications(one.folder))
    for _, name in more:
        _put(folder / name, (one.folder / name).read_text(encoding="utf-8"))
    machine = history.group(record.head.machine)
    return RecordLine(one.id, one.kind, one.started_unix_s, one.finished, machine, foreign.line(says), opened, more)


def _pages(one: Listed, record: Record[Any, Any], run: Run | None) -> tuple[str, Iterator[tuple[str, str]]]:
    """Return what a record says in one sentence, and its files."""
    if run is not None:
        shown = boards.boards(run)
        return story.story(shown, transfer.crossings(run, shown))[0].replace("`", ""), pages.pages_of(run, HOME)
    if one.kind is RecordKind.CROSS_CHECK:
        return cross_check.says(record), iter(())
    if one.kind is RecordKind.CHECK:
        return one.command, iter(())
    made = pages.render(record, HOME)
    return made.says, iter(made.files)


def _replications(folder: Path) -> list[Path]:
    """The pages of replications that were judged by a run."""
    return sorted(folder.glob("replicate-*.html"))


def _put(path: Path, text: str) -> None:
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
