"""Files that are written as a measurement goes on: append-only lines that survive a crash, and folders named by their start.

A line that a crash tore is no finished unit: readers step over it, and the next append cuts it off.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from fairground.model import LabError, StorageError, storing
from fairground.model.error import make_folder
from fairground.model.known import KNOWN
from fairground.model.secret import PRIVATE

SHARED = 0o644
"""The mode of a page that a person may show."""


def append(path: Path, line: bytes) -> None:
    """Add a line (its end included) to a file that exists. When this returns, the line survives a crash of the machine."""
    with _no_link(path), storing(path), open(path, "r+b", opener=_open_itself) as file:
        _cut_torn_line(file)
        file.write(KNOWN.scrub_bytes(line))
        file.flush()
        os.fsync(file.fileno())


def write(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file, on the disk when this returns. No secret that this process knows is in it."""
    with _no_link(path), storing(path), open(path, "wb", opener=lambda name, flags: _open_itself(name, flags, mode)) as file:
        file.write(KNOWN.scrub_bytes(content))
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes, mode: int = PRIVATE) -> Path:
    """Write a file in place of an earlier one. A reader meets the old text or the new, and no half of either.

    Each writer has a half of its own: two may write one page at once, and the later one's stays.
    """
    partial = path.with_name(f"{path.stem}-{secrets.token_hex(4)}.partial")
    try:
        write(partial, content, mode)
        with storing(path):
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)  # a half of it takes the space that is lacking
        raise
    return path


def put(folder: Path, place: str, text: str) -> None:
    """Write a text at a place inside of a folder. LabError for a place outside of it, and for a link on the way."""
    parts = place.split("/")
    if not all(map(is_plain, parts)):
        raise LabError(f"`{place}` is no place inside of `{folder}`", "a record that names it was not written by this lab")
    at = folder
    for part in parts[:-1]:
        at = at / part
        require_no_link(at)
        make_folder(at)
    make_folder(folder)
    with (
        _no_link(at / parts[-1]),
        storing(at / parts[-1]),
        open(at / parts[-1], "w", encoding="utf-8", opener=_open_itself) as file,
    ):
        file.write(KNOWN.scrub(text))


def is_plain(name: str) -> bool:
    """True if a name from a file can be that of one file or folder, and leads nowhere else."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name and name.isprintable()


def require_no_link(path: Path) -> None:
    """Raise LabError if what stands at a path is a symbolic link: what it leads to is not this lab's."""
    if path.is_symlink():
        raise _linked(path)


def require_no_links(folder: Path) -> None:
    """Raise LabError if anything in a folder is neither a file nor a folder: raw data are written to what stands there."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            require_no_link(path)
            if not path.is_file() and not path.is_dir():
                raise _no_file(str(path))


def _linked(path: Path) -> LabError:
    return LabError(f"`{path}` is a link, and the lab does not follow it", "put what it leads to in its place, or remove it")


@contextmanager
def _no_link(path: Path) -> Iterator[None]:
    """Raise LabError where `_open_itself` met a link."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _linked(path) from error


def _open_itself(path: str, flags: int, mode: int = SHARED) -> int:
    """Open a file, and not what a link of its name leads to."""
    return _open_file(path, flags | os.O_NOFOLLOW, mode)


def _open_file(path: str, flags: int, mode: int = SHARED) -> int:
    """Open a file. LabError for what is none, such as a pipe: whoever opens one waits for its other end."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise _no_file(path) from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise _no_file(path)


def _no_file(path: str) -> LabError:
    return LabError(f"`{path}` is no file, and the lab neither reads nor writes it", "put a file in its place, or remove it")


def content_of(path: Path, begin: int = 0) -> bytes:
    """The bytes of a file, from a place in it on. LabError for what is no file, and OSError where it cannot be read."""
    with open(path, "rb", opener=_open_file) as file:
        file.seek(begin)
        return file.read()


def whole(path: Path) -> Any:
    """Read what is in a JSON file. LabError when it cannot be read."""
    require_within(path)
    try:
        return json.loads(content_of(path))
    except (OSError, ValueError, RecursionError) as error:
        message = f"`{path.name}` of `{path.parent.name}` cannot be read ({error})"
        raise LabError(message, "restore the folder from where it was copied, or remove it") from error


def lines(path: Path) -> list[Any]:
    """The values of a `.jsonl` file without its torn end; none where there is no file. LabError for a damaged line."""
    require_within(path)
    try:
        content = content_of(path)
    except FileNotFoundError:
        return []
    values = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            message = f"`{path.name}` of `{path.parent.name}` is damaged in line {number}"
            raise LabError(message, "restore the folder from where it was copied, or remove that line") from error
    return values


def leads_out(path: Path, results: Path) -> bool:
    """True if a path is a link, or behind one, that leads out of a folder of results."""
    return not path.resolve().is_relative_to(results.resolve())


def require_within(path: Path) -> None:
    """Raise LabError if a record's file is a link out of the folder of results: somebody else's file would be published."""
    if leads_out(path, path.parent.resolve().parent):
        message = f"`{path.name}` of `{path.parent.name}` is a link out of the folder of results, and is not followed"
        raise LabError(message, "put the file itself in its place, or remove the record")


def new_folder(results: Path, started_unix_s: float, title: str) -> Path:
    """Make a folder that is named by the minute of its start in UTC and a title. LabError where none can be made."""
    name = f"{datetime.fromtimestamp(started_unix_s, UTC).strftime('%Y-%m-%d-%H%M')}-{slug(title)}"
    number, folder = 1, results / name
    make_folder(results)
    while True:
        try:
            with storing(folder):
                folder.mkdir()
            return folder
        except StorageError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
            number += 1
            folder = results / f"{name}-{number}"


@contextmanager
def whole_or_none(folder: Path) -> Iterator[None]:
    """Fill a new folder. Where it cannot be filled nothing of it stays, for it would be no record."""
    try:
        yield
    except StorageError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def scrub_folder(folder: Path) -> None:
    """Take the secrets that this process knows out of what others wrote into a folder, such as logs."""
    for path in sorted(folder.rglob("*")) if KNOWN else ():
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if (clean := KNOWN.scrub_bytes(content)) != content:
            path.write_bytes(clean)


def sync_folder(folder: Path) -> None:
    """Make the names of new files last, not their contents alone."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def slug(text: str) -> str:
    """A text in plain letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "run"


def pick(found: Mapping[str, tuple[float, Path]], text: str, results: Path, noun: str) -> Path:
    """One folder of `found` (id → start, folder) by id, beginning of an id, or `latest`. LabError when it is unclear."""
    if text == "latest" and found:
        return max(found.values(), key=lambda one: (one[0], one[1].name))[1]
    if text in found:
        return found[text][1]
    fitting = [name for name in found if text and name.startswith(text)]
    if len(fitting) == 1:
        return found[fitting[0]][1]
    if fitting:
        raise LabError(f"`{text}` fits {len(fitting)} {noun}s in `{results}`", f"say which: {', '.join(fitting)}")
    if not found:
        hint = "make one with `./fairground demo`" if noun == "run" else "`./fairground list runs` shows what there is"
        raise LabError(f"there is no {noun} in `{results}`", hint)
    near = difflib.get_close_matches(text, found, n=3, cutoff=0.3) or list(found)[-3:]
    raise LabError(f"there is no {noun} `{text}` in `{results}`", f"there are {', '.join(near)}; `latest` is the newest")


def _cut_torn_line(file: BinaryIO) -> None:
    """Cut what follows the last line end, and stand there."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - 1, 0))
    if file.read(1) not in (b"", b"\n"):
        file.seek(0)
        end = file.read().rfind(b"\n") + 1
        file.truncate(end)
    file.seek(end)
