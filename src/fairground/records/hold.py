"""Tell whether a record is measured into: by a lock on its head, which ends with the process that holds it.

To open a file is all that a lock needs. Other users of the machine may open a record's folder, and not its head.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairground.model import GoneError, LabError
from fairground.model.error import RECORD_HEAD
from fairground.records import journal

TRIES, PAUSE_S = 20, 0.01
"""Who looks holds a lock for a moment, too."""


@contextmanager
def hold_record(folder: Path) -> Iterator[None]:
    """Hold a record while it is measured into. LabError where another process does, for two would mix their entries.

    LabError also for a link in it: a record may come from anywhere, and what is measured would be written to where it leads.
    """
    journal.require_no_links(folder)
    try:
        place = _open_head(folder)
    except OSError as error:
        raise GoneError(folder) from error
    try:
        for _ in range(TRIES):
            if _locked(place, fcntl.LOCK_EX):
                break
            time.sleep(PAUSE_S)
        else:
            raise _held(folder)
        yield
    finally:
        os.close(place)


def require_unheld(folder: Path) -> None:
    """Raise LabError if somebody measures into a record now, before anything is built or started beside that."""
    if is_held(folder):
        raise _held(folder)


def is_held(folder: Path) -> bool:
    """True if somebody measures into a record now. What is copied, interrupted or killed is held by nobody."""
    try:
        place = _open_head(folder)
    except OSError:
        return False
    try:
        return not _locked(place, fcntl.LOCK_SH)
    finally:
        os.close(place)


def _held(folder: Path) -> LabError:
    return LabError(f"`{folder}` is measured into by another process", "wait for its end, or interrupt it")


def _open_head(folder: Path) -> int:
    """Open what is locked. A record may come from anywhere: its head may be a link, or a pipe that nobody writes to."""
    return os.open(folder / RECORD_HEAD, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def _locked(place: int, how: int) -> bool:
    """True if the lock is had, or there are none on this file system: then nobody is kept from measuring."""
    try:
        fcntl.flock(place, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
