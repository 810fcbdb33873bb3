"""The errors that a person sees, and the words for what a machine refuses to the lab."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LabError(Exception):
    """Wrong input, or something this machine lacks: one sentence for a person, never a traceback.

    `hint` is the command or edit that mends it; `exit_code` is 2 (wrong input), 3 (nothing can be measured here),
    or 1 (a service failed).
    """

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code


class MachineError(LabError):
    """The machine's refusal of a port, a descriptor or a file to the lab. It is never the fault of a server."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint, 3)


class ContractError(LabError):
    """The error that a contract's own statement is refused by the database. It is never the fault of a server."""


class StorageError(MachineError):
    """The error that a folder of the lab's cannot be written. Nothing more can be measured until it can."""


class GoneError(StorageError):
    """The error that the folder of a measurement was removed while it went on. Nothing of it is kept."""

    def __init__(self, folder: Path | str) -> None:
        super().__init__(
            f"`{folder}` was removed while it was measured into", "measure anew, and leave the folder alone meanwhile"
        )


class DatabaseEnded(MachineError):
    """The error that the database server is there no more. Nothing more can be measured on it."""


class KeeperEnded(MachineError):
    """The error that the keeper was killed. Nothing more can be started."""


ENDING = (StorageError, DatabaseEnded, KeeperEnded)
"""The errors after which nothing more can be measured: what is left of a plan stays open."""

NO_SPACE = "no space is left on its file system"
MAKE_SPACE = "make space there (`df -h` shows where it went), or choose another folder"
_WRITABLE = "make it writable, or choose another folder"
_MOVE = "move the file away, or choose another folder"
STORAGE = {
    errno.ENOSPC: (NO_SPACE, MAKE_SPACE),
    errno.EDQUOT: ("the quota of its file system is used up", MAKE_SPACE),
    errno.EROFS: ("its file system is read-only", _WRITABLE),
    errno.EACCES: ("permission denied", _WRITABLE),
    errno.EPERM: ("the operation is not permitted", _WRITABLE),
    errno.ENOTDIR: ("a file stands where a folder should be", _MOVE),
    errno.EEXIST: ("a file stands where a folder should be", _MOVE),
    errno.EISDIR: ("a folder stands where a file should be", "move the folder away, or choose another folder"),
    errno.ENAMETOOLONG: ("its name is too long", "choose another folder"),
    errno.EIO: ("the disk fails", "dmesg says more; choose a folder on another disk"),
}
"""What a file system says of a file that cannot be written → why, and what mends it."""

WHILE_WRITING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""Those that a file which is open already may meet: such an error names no file."""

_FILES = "end what holds so many files, or allow more: ulimit -n 65536"
_PORTS = "end what holds them (`ss -s` counts them), or wait a minute until closed connections are forgotten"
SOCKETS = {
    errno.EADDRNOTAVAIL: ("no local port is free for the lab's own connections", _PORTS),
    errno.EMFILE: ("the lab may open no more files or connections", _FILES),
    errno.ENFILE: ("this machine may open no more files or connections", _FILES),
    errno.ENOBUFS: ("the kernel has no memory left for connections", "end what else runs here"),
    errno.ENOMEM: ("this machine has no memory left", "end what else runs here"),
}
"""What a kernel says to who opens a file, a connection or a process → why, and what mends it."""


def of_machine(error: OSError, place: Path | str | None = None) -> MachineError | None:
    """The error as a sentence, where it is one that no server can cause. `place` is what was written, if the error names none."""
    if error.errno in SOCKETS:
        return MachineError(*SOCKETS[error.errno])
    where = error.filename2 or error.filename or (place if error.errno in WHILE_WRITING else None)
    if error.errno not in STORAGE or where is None:
        return None
    why, hint = STORAGE[error.errno]
    return StorageError(f"`{where}` cannot be written: {why}", hint)


def make_folder(folder: Path) -> None:
    """Make a folder with those above it. StorageError where the machine refuses that."""
    with storing(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError:  # such as in /proc
            raise StorageError(f"`{folder}` cannot be made: its file system takes no folders", "choose another folder") from None


@contextmanager
def storing(place: Path | str) -> Iterator[None]:
    """Write something of the lab's at `place`: where the machine refuses that, it is a MachineError."""
    try:
        yield
    except OSError as error:
        refused = of_machine(error, place)
        if refused is None:
            raise
        raise refused from error


RECORD_HEAD = "head.json"
"""The file without which a folder is no record."""


@contextmanager
def resumable(place: Path | str, command: str) -> Iterator[None]:
    """Measure into `place`: whatever of the machine ends that, the error says that `command` goes on with what is finished.

    Where the record in `place` is gone there is nothing to go on with, and the error says that.
    """
    try:
        with storing(place):
            yield
    except (MachineError, FileNotFoundError) as error:
        if not (Path(place) / RECORD_HEAD).is_file():
            raise GoneError(place) from error
        if isinstance(error, FileNotFoundError):
            raise
        goes_on = f"what is finished is kept, and this goes on with it: {command}"
        error.hint = goes_on if error.hint is None else f"{error.hint}; {goes_on}"
        raise
