"""The sources of a server: which files of its folder they are, their hashes, and copies of them."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from fairground.model import LabError, foreign, storing

Files = Mapping[str, tuple[bool, bytes]]
"""A server's sources: name in its folder → whether it may be executed, and what is in it."""


def walk(folder: Path) -> Iterator[Path]:
    """Files that the folder's .gitignore does not name. Only plain names and `*` are understood, which is what servers need.

    What is no file is left out: a socket, or the link to nothing by which an editor locks. What it links to is part of it.
    """
    return _walk(folder, (), {folder.resolve()}, None)


def _walk(
    folder: Path, around: tuple[tuple[Path, list[str]], ...], within: set[Path], entered: set[Path] | None
) -> Iterator[Path]:
    """The sources of a folder. `around`: what is ignored in the one that links to it. `within`: the folders that it is in.

    A link of the outermost folder is followed whatever another one has led to. Behind it each folder is `entered` once, so that
    folders that link to each other are not walked on every way between them.
    """
    ignore = folder / ".gitignore"
    lines = ignore.read_text(encoding="utf-8").splitlines() if ignore.exists() else []
    patterns = [line.strip().strip("/") for line in lines if line.strip() and not line.startswith("#")] + ["__pycache__", ".git"]
    rules = (*around, (folder, patterns))
    for current, folders, names in os.walk(folder):
        inside = [Path(current, name) for name in sorted(folders) if not _is_ignored(Path(current, name), rules)]
        folders[:] = [path.name for path in inside if not path.is_symlink() and path.resolve() not in within]
        paths = (Path(current, name) for name in names if not _is_ignored(Path(current, name), rules))
        yield from (path for path in paths if path.is_file())
        for link in (path for path in inside if path.is_symlink()):
            there = link.resolve()
            behind = set[Path]() if entered is None else entered
            if there not in behind and not any(there.is_relative_to(root) for root in within):
                behind.add(there)
                yield from _walk(link, rules, within | {there}, behind)


def _is_ignored(path: Path, rules: Iterable[tuple[Path, list[str]]]) -> bool:
    names = ((name, pattern) for folder, all in rules for name in (path.name, str(path.relative_to(folder))) for pattern in all)
    return any(fnmatch.fnmatch(name, pattern) for name, pattern in names)


def content_hash(folder: Path) -> str:
    """SHA-256 over the names and contents of the folder's files, ignored ones left out."""
    digest = hashlib.sha256(str(folder.resolve()).encode())
    for path in sorted(walk(folder)):
        digest.update(f"\0{path.relative_to(folder)}\0{path.stat().st_mode & 0o111}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def copy_sources(source: Path, target: Path) -> None:
    """Copy a server's folder without what its builds put there."""
    for path in sorted(walk(source)):  # all are known before the first is there
        (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target / path.relative_to(source))


def working_copy(folder: Path, cache: Path) -> Path:
    """A copy of a server's sources that may be built, for a folder that is only read: made once for each content."""
    return _kept(sources_hash(folder), folder.name, cache, lambda copy: copy_sources(folder, copy))


def sources_hash(folder: Path) -> str:
    """SHA-256 over a server's id and its sources, wherever the folder is: that of `content_hash` says where it was built, too."""
    digest = hashlib.sha256(folder.name.encode())
    for path in sorted(walk(folder)):
        digest.update(f"\0{path.relative_to(folder)}\0{bool(path.stat().st_mode & 0o111)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def pack_sources(folder: Path) -> Files:
    """A server's sources, to be sent."""
    return {
        str(path.relative_to(folder)): (bool(path.stat().st_mode & 0o111), path.read_bytes()) for path in sorted(walk(folder))
    }


def unpack(id: str, files: Files, digest: str, cache: Path) -> Path:
    """The folder of sources that somebody sent. LabError when a name in them is no plain one, or they are not of this hash."""
    names = [PurePosixPath(name) for name in files]
    if PurePosixPath(id).name != id or id.startswith(".") or any(name.is_absolute() or ".." in name.parts for name in names):
        raise LabError(f"the sources that were sent of the server `{foreign.line(id)}` have names that reach beyond their folder")

    def fill(copy: Path) -> None:
        for name, (executable, content) in files.items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(content)
            (copy / name).chmod(0o755 if executable else 0o644)
        if sources_hash(copy) != digest:
            raise LabError(f"the sources that were sent of the server `{id}` are not those that were announced")

    return _kept(digest, id, cache, fill)


def sent_folder(digest: str, cache: Path) -> Path | None:
    """The folder of the sources with this hash; None where they are not here."""
    home = _home(digest, cache)
    return next((path for path in home.iterdir() if not path.name.startswith(".")), None) if home.is_dir() else None


def _home(digest: str, cache: Path) -> Path:
    return cache / "builds" / "servers" / digest[:12]


def _kept(digest: str, id: str, cache: Path, fill: Callable[[Path], None]) -> Path:
    """A folder of the cache that is named by its content; `fill` puts it there, once."""
    home = _home(digest, cache)
    copy = home / id
    if not copy.is_dir():
        with storing(home):
            home.mkdir(parents=True, exist_ok=True)
            began = Path(tempfile.mkdtemp(dir=home, prefix="."))
            try:
                fill(began / id)
                (began / id).rename(copy)
            except OSError:  # another lab was faster, or the disk refuses it
                if not copy.is_dir():
                    raise
            finally:
                shutil.rmtree(began)
    return copy
