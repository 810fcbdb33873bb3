"""The folder of the cache, out of which programs are run: nobody else may have put them there."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from fairground.model import LabError

ROOT_UID = 0
HINT = "name a folder of your own: FAIRGROUND_CACHE=DIR"


def cache_of(environ: Mapping[str, str]) -> Path:
    """The cache by `FAIRGROUND_CACHE`, `XDG_CACHE_HOME` or the home of the user. LabError where others can write to it."""
    home = environ.get("HOME") or _home()
    if named := environ.get("FAIRGROUND_CACHE"):
        found = Path(named)
    elif named := environ.get("XDG_CACHE_HOME"):
        found = Path(named) / "fairground"
    elif home:
        found = Path(home) / ".cache" / "fairground"
    else:
        raise LabError("the lab has no place for its cache: neither HOME is set nor has this user a home", HINT)
    found = found.resolve()
    _require_own(found, Path(home) if home else None)
    return found


def _home() -> str | None:
    """The home of the user who runs this, by the machine's list of users."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return None


def _require_own(folder: Path, home: Path | None) -> None:
    """Raise LabError if somebody else owns a cache that is there, or could put another one in its place.

    Root and whoever owns the home are trusted: they can do all that the user does there.
    """
    trusted = {os.geteuid(), ROOT_UID}
    if home is not None and home.is_dir() and folder.is_relative_to(home.resolve()):
        trusted.add(home.stat().st_uid)
    for place in (folder, *folder.parents):
        try:
            found = place.stat()
        except (FileNotFoundError, NotADirectoryError):  # who writes to it says what stands there
            continue
        except OSError as error:
            raise LabError(f"the cache `{folder}` cannot be used: {(error.strerror or str(error)).lower()}", HINT) from error
        if found.st_uid not in trusted and (place == folder or found.st_mode & stat.S_IWUSR):
            raise LabError(f"the cache `{folder}` is not yours: `{place}` belongs to {_name(found.st_uid)}", HINT)
        kept = place != folder and found.st_mode & stat.S_ISVTX  # there nobody else can remove or rename what is ours
        if _others_write(found) and not kept:
            raise LabError(f"the cache `{folder}` is not yours alone: others can write to `{place}`", HINT)


def _others_write(found: os.stat_result) -> bool:
    """True if others may write to a folder. A group that has the user alone is no other."""
    if found.st_mode & stat.S_IWOTH:
        return True
    if not found.st_mode & stat.S_IWGRP or found.st_gid == 0:
        return False
    try:
        group, owner = grp.getgrgid(found.st_gid), pwd.getpwuid(found.st_uid)
    except KeyError:
        return found.st_gid != os.getegid()
    return owner.pw_gid != found.st_gid or bool(set(group.gr_mem) - {owner.pw_name})


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
