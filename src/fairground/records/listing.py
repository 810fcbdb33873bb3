"""A folder of results: which records it holds, and the one that a person means. A damaged one is named, and hides no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fairground.model import LabError
from fairground.model.record import Listed, Record, RecordKind
from fairground.records import journal, runs, store
from fairground.records.shapes import ENTRIES, HEAD, MEND, SHAPES

Made = TypeVar("Made")


@dataclass(frozen=True)
class Damaged:
    """A folder that should be a record and cannot be read. `why` is a sentence."""

    folder: Path
    why: str

    @property
    def id(self) -> str:
        return self.folder.name


def find(results: Path, text: str, kind: RecordKind | None = None) -> Path:
    """The folder of a record, by path, id, beginning of an id, or `latest`; of one kind, or (None) of any."""
    if (given := store.kind_of(Path(text))) is not None and kind in (None, given):
        return Path(text)
    every = {folder.name: (started_unix_s, folder) for folder, started_unix_s in _folders(results, kind)}
    if text not in every and (damaged := next((one for one in _damaged_heads(results) if one.id == text), None)) is not None:
        raise LabError(damaged.why, MEND)
    if text not in every and (other := _kind_of(results, text)) is not None:
        wanted = "run" if kind is None else str(kind)
        raise LabError(f"`{text}` is a {other}, and a {wanted} is asked for", "`./fairground list runs` shows what there is")
    return journal.pick(every, text, results, "run" if kind is None else str(kind))


def _kind_of(results: Path, id: str) -> str | None:
    """The kind of the record of this id; None where there is none."""
    return next((str(found[0]) for folder, found in _heads(results) if folder.name == id and isinstance(found, tuple)), None)


def is_kind(results: Path, text: str, kind: RecordKind) -> bool:
    """True if the only record that `text` can mean is of this kind."""
    try:
        return store.kind_of(find(results, text)) is kind
    except LabError:
        return False


def find_run(results: Path, text: str) -> Path:
    """The folder of a run, as `find` finds it."""
    return find(results, text, RecordKind.RUN)


def of_kind(results: Path, kind: RecordKind) -> list[Record[Any, Any]]:
    """All records of one kind in a folder of results that can be read, by id."""
    found = [_read(folder, lambda record: record) for folder, _ in _folders(results, kind)]
    return [one for one in found if not isinstance(one, Damaged)]


def list_all(results: Path) -> list[Listed | Damaged]:
    """The records in a folder of results by id, and those among them that cannot be read."""
    sound = [_read(folder, _listed) for folder, _ in _folders(results)]
    return sorted([*_damaged_heads(results), *sound], key=lambda one: one.id)


def _read(folder: Path, made: Callable[[Record[Any, Any]], Made]) -> Made | Damaged:
    """Make something of a record, or say why it cannot be read."""
    try:
        return made(store.load(folder))
    except LabError as error:
        return Damaged(folder, error.message)
    except Exception as error:  # a record may come from anywhere: whatever is wrong with one is no reason to hide the others
        return Damaged(folder, f"`{folder.name}` cannot be read ({type(error).__name__}: {error})")


def _listed(record: Record[Any, Any]) -> Listed:
    head, folder = record.head, record.folder
    finished = runs.run_of(record).finished if head.kind is RecordKind.RUN else record.end is not None
    page = folder / SHAPES[head.kind].page
    return Listed(record.id, head.kind, folder, head.started_unix_s, finished, len(record.entries), head.command, page)


def size(folder: Path) -> int:
    """Bytes of all files of a record; a link counts as what it is."""
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.lstat().st_size if path.is_symlink() or path.is_file() else 0
        except OSError:
            continue  # removed in the meantime
    return found


def _folders(results: Path, kind: RecordKind | None = None) -> Iterator[tuple[Path, float]]:
    """The folders in `results` that hold records of a kind, or (None) of any, by name; each with its start."""
    for folder, found in _heads(results):
        if isinstance(found, tuple) and kind in (None, found[0]):
            yield folder, found[1]


def _damaged_heads(results: Path) -> Iterator[Damaged]:
    """The folders in `results` whose head cannot be read."""
    for _, found in _heads(results):
        if isinstance(found, Damaged):
            yield found


def _heads(results: Path) -> Iterator[tuple[Path, tuple[RecordKind, float] | Damaged]]:
    """The folders in `results` that have a head, by name. Of each what its head says, or why that cannot be read."""
    for folder in sorted(filter(os.path.isdir, results.iterdir())) if os.path.isdir(results) else []:
        if journal.leads_out(folder, results):
            yield folder, Damaged(folder, f"`{folder.name}` is a link out of `{results}`, and is not followed")
            continue
        try:
            found = store.kind_and_start(folder)
        except LabError as error:
            yield folder, Damaged(folder, error.message)
            continue
        if found is not None:
            yield folder, found
        elif os.path.isfile(folder / ENTRIES) and (folder / ENTRIES).stat().st_size:  # of a record that begins they are empty
            yield folder, Damaged(folder, f"`{folder.name}` has measurements, and no `{HEAD}`")
