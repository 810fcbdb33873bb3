"""Remove what the lab keeps in a folder of results. The folder may be anybody's, so nothing else in it is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairground.records.shapes import ENTRIES
from fairground.records.site_folder import MARK

SITE, SERVE_WORD = ".site", ".serve.json"
"""What `serve` keeps beside the records: their pages, and the file that names the process which it has begun."""


def own_of(results: Path) -> tuple[Path, ...]:
    """The records of a folder of results, and what `serve` keeps beside them. A link is never among them."""
    return tuple(_own(results)) if os.path.isdir(results) else ()


def remove(paths: Iterable[Path]) -> None:
    """Remove folders and files, as far as that may be done."""
    for path in paths:
        if path.is_file():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)


def names_in(folder: Path) -> tuple[str, ...]:
    """Names of what is in a folder; nothing where it is none."""
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()


def _own(results: Path) -> Iterator[Path]:
    for path in sorted(results.iterdir()):
        kept = path / (MARK if path.name == SITE else ENTRIES)
        if not path.is_symlink() and (os.path.isfile(kept) or path.name == SERVE_WORD and path.is_file()):
            yield path
