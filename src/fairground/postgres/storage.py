"""PostgreSQL's words for files that cannot be written, told as what it is: the lab's own lack of room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from fairground.model import MachineError, StorageError, error

NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
TAIL_BYTES = 4096
FULL = " 53100: "
"""The SQLSTATE of a full disk, as it stands in each line of a log (`errorlog.LINE_PREFIX`)."""


def storage_error(said: str, folder: Path) -> MachineError | None:
    """The StorageError for what a program of PostgreSQL said, where it says that `folder` cannot be written."""
    number = next((number for number in NUMBERS if os.strerror(number).lower() in said.lower()), None)
    return None if number is None else error.of_machine(OSError(number, "", str(folder)))


@contextmanager
def watch_storage(log: Path | None) -> Iterator[None]:
    """Ask the database to write. A full disk is a StorageError, also where the server, whose `log` this is, broke on it."""
    try:
        yield
    except psycopg.Error as failure:
        where = "the server" if log is None else f"`{log.parent}`"
        told = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace") if log is not None and log.exists() else ""
        if isinstance(failure, psycopg.errors.DiskFull) or (
            not failure.sqlstate and (FULL in told or storage_error(told, Path()))
        ):
            raise StorageError(f"PostgreSQL cannot write its data in {where}: {error.NO_SPACE}", error.MAKE_SPACE) from failure
        raise
