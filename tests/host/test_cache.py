"""Where the cache is, and whose: programs are run out of it, so nobody else may be able to put one there."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

import pytest

from fairground import generators
from fairground.host import cache
from fairground.host.cache import cache_of
from fairground.lab.places import Places
from fairground.model import LabError

ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
NOBODY = pwd.getpwnam("nobody").pw_uid


def prepared(folder: Path) -> Path:
    """A cache with a program in it that somebody else made."""
    (folder / "tools" / "bin").mkdir(parents=True)
    program = folder / "tools" / "bin" / "wrk"
    program.write_text("#!/bin/sh\necho run by $(id -u)\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({"FAIRGROUND_CACHE": "{}/a", "XDG_CACHE_HOME": "{}/b", "HOME": "{}/c"}, "a"),
        ({"XDG_CACHE_HOME": "{}/b", "HOME": "{}/c"}, "b/fairground"),
        ({"HOME": "{}/c"}, "c/.cache/fairground"),
        ({"FAIRGROUND_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "{}/c"}, "c/.cache/fairground"),
    ],
)
def test_the_environment_says_where(environ: Mapping[str, str], found: str, tmp_path: Path) -> None:
    """A folder that is not there yet is one's own, where nobody else can make it first."""
    assert cache_of({name: text.format(tmp_path) for name, text in environ.items()}) == tmp_path / found


def test_without_home_it_is_in_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """And never in a folder that all share."""
    assert cache_of({}) == (Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache" / "fairground").resolve()
    monkeypatch.setattr(cache, "_home", lambda: None)
    with pytest.raises(LabError, match="no place for its cache"):
        cache_of({})


@pytest.mark.parametrize("name", ["FAIRGROUND_CACHE", "XDG_CACHE_HOME", "HOME"])
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_cache_that_others_can_write_to_is_refused(name: str, mode: int, tmp_path: Path) -> None:
    """Whatever named it, before any program of it could be run."""
    inside = {"FAIRGROUND_CACHE": ".", "XDG_CACHE_HOME": "fairground", "HOME": ".cache/fairground"}[name]
    folder = prepared(tmp_path / "named" / inside)
    folder.chmod(mode)
    with pytest.raises(LabError, match="not yours alone") as raised:
        Places.of({name: str(tmp_path / "named")})
    assert raised.value.exit_code == 2 and "FAIRGROUND_CACHE" in (raised.value.hint or "")
    folder.chmod(0o755)
    assert generators.find("wrk", Places.of({name: str(tmp_path / "named")}).tool_path) is not None


def test_a_folder_above_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    """They could put another cache in its place; not so where only owners rename, as in /tmp."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    folder = prepared(tmp_path / "shared" / "cache")
    with pytest.raises(LabError, match="others can write to `.*shared`"):
        cache_of({"FAIRGROUND_CACHE": str(folder)})
    (tmp_path / "shared").chmod(0o1777)
    assert cache_of({"FAIRGROUND_CACHE": str(folder)}) == folder


@ROOT_ALONE
@pytest.mark.parametrize("whose", ["cache", "above"])
def test_a_cache_of_somebody_else_is_refused(whose: str, tmp_path: Path) -> None:
    """Also where only the folder above is theirs. In one's own home, which may be another user's by `sudo`, it is trusted."""
    folder = prepared(tmp_path / "theirs" / ".cache" / "fairground")
    os.chown(folder if whose == "cache" else tmp_path / "theirs", NOBODY, -1)
    with pytest.raises(LabError, match="belongs to nobody"):
        cache_of({"FAIRGROUND_CACHE": str(folder)})
    with pytest.raises(LabError, match="belongs to nobody"):
        cache_of({"XDG_CACHE_HOME": str(folder.parent), "HOME": str(tmp_path / "else")})
    os.chown(tmp_path / "theirs", NOBODY, -1)
    assert cache_of({"HOME": str(tmp_path / "theirs")}) == folder


def test_a_link_to_a_folder_of_all_is_refused(tmp_path: Path) -> None:
    """What counts is the folder that the link leads to."""
    folder = prepared(tmp_path / "open")
    folder.chmod(0o777)
    (tmp_path / "cache").symlink_to(folder)
    with pytest.raises(LabError, match="not yours alone"):
        cache_of({"FAIRGROUND_CACHE": str(tmp_path / "cache")})
