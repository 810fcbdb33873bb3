"""Remove what the lab keeps in a folder of results. The folder may be anybody's, so nothing else in it is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairground.records.listing import size
from fairground.records.shapes import ENTRIES
from fairground.records.site_folder import MARK

SITE, SERVE_WORD = ".site", ".serve.json"
"""What `serve` keeps beside the records: their pages, and the file that names the process which it has begun."""


@dataclass(frozen=True)
class KeptFolder:
    """A folder that takes space; `bytes` is what it took before it was cleared.

    In one that was cleared, `left` is what is none of the lab's, and `stuck` what is and could not be removed.
    """

    what: str
    folder: str
    bytes: int
    removed: bool
    left: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


def clear(what: str, folder: Path, remove: bool, shared: bool) -> KeptFolder:
    """The space that a folder takes, which is removed if `remove` says so. Of a `shared` one only what is the lab's."""
    own = own_of(folder) if shared else (folder,)
    taken = sum(map(size, own))
    if not remove:
        return KeptFolder(what, str(folder), taken, False)
    _remove(own)
    stuck = tuple(one.name for one in own if os.path.lexists(one)) if shared else _names_in(folder)
    left = tuple(name for name in _names_in(folder) if name not in stuck)
    return KeptFolder(what, str(folder), taken, True, left, stuck)


def own_of(results: Path) -> tuple[Path, ...]:
    """The records of a folder of results, and what `serve` keeps beside them. A link is never among them."""
    return tuple(_own(results)) if os.path.isdir(results) else ()


def _remove(paths: Iterable[Path]) -> None:
    """Remove folders and files, as far as that may be done."""
    for path in paths:
        if path.is_file():
            with suppress(OSError):
                path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)


def _names_in(folder: Path) -> tuple[str, ...]:
    """Names of what is in a folder; nothing where it is none."""
    return tuple(sorted(path.name for path in folder.iterdir())) if os.path.isdir(folder) else ()


def _own(results: Path) -> Iterator[Path]:
    for path in sorted(results.iterdir()):
        kept = path / (MARK if path.name == SITE else ENTRIES)
        if not path.is_symlink() and (os.path.isfile(kept) or path.name == SERVE_WORD and path.is_file()):
            yield path
