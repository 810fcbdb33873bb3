"""A folder of results: which records it holds, and the one that a person means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairground.model.record import Listed, Record, RecordKind
from fairground.records import journal, runs, store
from fairground.records.shapes import SHAPES


def find(results: Path, text: str, kind: RecordKind | None = None) -> Path:
    """The folder of a record, by path, id, beginning of an id, or `latest`; of one kind, or (None) of any."""
    if (given := store.kind_of(Path(text))) is not None and kind in (None, given):
        return Path(text)
    every = {folder.name: (started_unix_s, folder) for folder, started_unix_s in _folders(results, kind)}
    return journal.pick(every, text, results, "run" if kind is None else str(kind))


def find_run(results: Path, text: str) -> Path:
    """The folder of a run, as `find` finds it."""
    return find(results, text, RecordKind.RUN)


def of_kind(results: Path, kind: RecordKind) -> list[Record[Any, Any]]:
    """All records of one kind in a folder of results, by id."""
    return [store.load(folder) for folder, _ in _folders(results, kind)]


def list_records(results: Path) -> list[Listed]:
    """Every record in a folder of results, by id, which begins with the time of its start."""
    return [_listed(store.load(folder)) for folder, _ in _folders(results)]


def _listed(record: Record[Any, Any]) -> Listed:
    head, folder = record.head, record.folder
    finished = runs.run_of(record).finished if head.kind is RecordKind.RUN else record.end is not None
    page = folder / SHAPES[head.kind].page
    return Listed(record.id, head.kind, folder, head.started_unix_s, finished, len(record.entries), head.command, page)


def size(folder: Path) -> int:
    """Bytes of all files of a record."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _folders(results: Path, kind: RecordKind | None = None) -> Iterator[tuple[Path, float]]:
    """The folders in `results` that hold records of a kind, or (None) of any, by name; each with its start."""
    for folder in sorted(path for path in results.iterdir() if path.is_dir()) if results.is_dir() else []:
        found = store.kind_and_start(folder)
        if found is not None and kind in (None, found[0]):
            yield folder, found[1]
