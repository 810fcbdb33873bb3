"""`report --site`: all records of a folder of results as a site of files, for any web server."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground import records
from fairground.inputs.roots import PACKAGE, ROOT
from fairground.lab import cross_check, pages, replicate
from fairground.lab.events import Event, SiteRecord, SiteWritten
from fairground.model import LabError, MachineError, Run, foreign
from fairground.model.record import Listed, Record, RecordKind
from fairground.records import Damaged
from fairground.records.site_folder import MARK, SiteFolder
from fairground.report.rendering import render
from fairground.report.run import page
from fairground.report.site import counted, history, site
from fairground.report.site.history import History
from fairground.report.site.site import RecordLine

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HOME = "../index.html"
DAMAGED = "damaged"
"""In place of a record's kind."""
_MADE = ("report.html", "details.html", "summary.csv")
"""Files of a record that are made from the others."""


def write(results: Path, target: Path, suites: Path = ROOT / "suites") -> Generator[Event]:
    """Write the site of all records in `results` to `target`; the last event is `SiteWritten`.

    Pages are written anew where the record, an experiment on it, or the lab has changed. LabError for a folder of something
    else. What a site held of records that are gone is removed. A damaged record has a line that says so. `suites`: those whose
    claims were judged.
    """
    folder = SiteFolder(target)
    listed = records.list_all(results)
    sound = [one for one in listed if isinstance(one, Listed)]
    before, lab = _before(folder), _of_lab()
    known, measured, lines = dict[str, _Written](), list[Run](), list[RecordLine]()
    counts = list[Record[Any, Any]]()
    for place, one in enumerate(listed, 1):
        kept = before.get(one.id)
        try:
            if isinstance(one, Damaged):
                raise LabError(one.why)
            stamp = f"{lab} {_of_record(one, sound)}"
            record = records.load(one.folder)
            run = records.run_of(record) if one.kind is RecordKind.RUN else None
            if kept is None or kept.stamp != stamp or (kept.line.page and not folder.holds(one.id, kept.line.page)):
                kept = _Written(stamp, _line(one, record, run, folder, suites))
                yield SiteRecord(place, len(listed), one.id)
        except MachineError:
            raise
        except Exception as error:  # a record may come from anywhere: whatever is wrong with one is no reason to hide the others
            why = error.message if isinstance(error, LabError) else f"its page cannot be made ({type(error).__name__}: {error})"
            lines.append(RecordLine(one.id, DAMAGED, 0.0, False, "", foreign.line(why)))
            yield SiteRecord(place, len(listed), one.id, foreign.line(why))
            continue
        known[one.id] = kept
        lines.append(kept.line)
        measured += [] if run is None else [run]
        counts += [record] if one.kind is RecordKind.COUNT else []
    for name in ("cells", "counts", *(id for id in before if id not in known)):
        folder.forget(name)
    found, lost = _histories(measured)
    for name, text in site.pages(lines, found, counted.histories(counts)):
        folder.put(name, text)
    yield from (SiteRecord(len(listed), len(listed), id, why) for id, why in lost.items())
    folder.put(MARK, _adapter().dump_json(known).decode())
    yield SiteWritten(target / site.OVERVIEW, len(lines))


def _histories(measured: Sequence[Run]) -> tuple[list[History], dict[str, str]]:
    """The histories of the cells of all runs that have one; of the others, why they have none."""
    try:
        return list(history.histories(measured)), {}
    except Exception:  # as above: one run of somebody else's is no reason to hide the others
        lost = {run.id: why for run in measured if (why := _lost(run))}
        return list(history.histories([run for run in measured if run.id not in lost])), lost


def _lost(run: Run) -> str:
    try:
        history.histories([run])
    except Exception as error:
        return foreign.line(f"its history cannot be made ({type(error).__name__}: {error})")
    return ""


@dataclass(frozen=True)
class _Written:
    """A record whose pages are in the site, and from what they were made."""

    stamp: str
    line: RecordLine


@cache
def _adapter() -> TypeAdapter[dict[str, _Written]]:
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, _Written])


def _before(folder: SiteFolder) -> dict[str, _Written]:
    """Read what the site holds; nothing where its list is not one of this lab's."""
    from pydantic import ValidationError

    try:
        return _adapter().validate_json(folder.list_text)
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


def _line(one: Listed, record: Record[Any, Any], run: Run | None, folder: SiteFolder, suites: Path) -> RecordLine:
    """Write a record's pages, and give its line in the list. All are made of the record: its own pages may be anybody's."""
    says, files = _pages(one, record, run)
    opened = ""
    for name, text in files:
        if name.endswith(".html"):
            folder.put(f"{one.id}/{name}", text)
            opened = opened or name
    more = []
    for suite, text in () if run is None else replicate.pages_of(run, suites):
        folder.put(f"{one.id}/{replicate.page_of(suite)}", text)
        more.append((f"replication of {suite}", replicate.page_of(suite)))
    machine = foreign.line(record.head.machine.group)
    return RecordLine(one.id, str(one.kind), one.started_unix_s, one.finished, machine, foreign.line(says), opened, tuple(more))


def _pages(one: Listed, record: Record[Any, Any], run: Run | None) -> tuple[str, Iterator[tuple[str, str]]]:
    """Return what a record says in one sentence, and its files."""
    if run is not None:
        return page.heading_of(run, pages.tried_of(run)), pages.pages_of(run, HOME)
    if one.kind is RecordKind.CROSS_CHECK:
        return cross_check.says(record), iter(())
    if one.kind is RecordKind.CHECK:
        return one.command, iter(())
    made = render(record, HOME)
    return made.says, iter(made.files)
