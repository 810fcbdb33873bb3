"""Room on the disks that the lab writes to. A full one shows itself in many ways, and most look like a server's fault."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from fairground.model import StorageError, error

LEAST_BEFORE_BYTES = 32_000_000
"""Free before something is measured: a copy of the data, its log, and what the generator tells fit into it."""
LEAST_AFTER_BYTES = 1_000_000
"""Free after something failed. With less of it nobody knows whether the disk was the reason."""


def free_bytes(folder: Path) -> int:
    """The bytes that we may still write on the disk of `folder`, or of the nearest existing folder above it."""
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    found = os.statvfs(there)
    return found.f_frsize * (found.f_bfree if os.geteuid() == 0 else found.f_bavail)


def require_room(folders: Iterable[Path], least_bytes: int) -> None:
    """Raise StorageError if less than `least_bytes` is free on a folder's disk."""
    for folder in folders:
        require_free(f"`{folder}`", free_bytes(folder), least_bytes)


def require_free(whose: str, free: int, least_bytes: int) -> None:
    """Raise StorageError if less than `least_bytes` is `free` on a disk; `whose` says which one."""
    if free < least_bytes:
        sentence = f"the disk of {whose} is full: {free / 1e6:.1f} MB are free, and {least_bytes / 1e6:.0f} are needed"
        raise StorageError(sentence, error.MAKE_SPACE)
