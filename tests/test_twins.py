"""Files that several servers share to the letter: `servers/twins.toml` declares them, and they stay the same."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.paths import ROOT
from fairground.host import sources

SERVERS = ROOT / "servers"
LEAST_LINES = 40
"""Shorter files may be equal by chance or of need, such as a .gitignore."""


def declared(servers: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each file that has twins, and the servers that hold it."""
    for one in tomllib.loads((servers / "twins.toml").read_text())["twins"]:
        yield one["file"], tuple(one["servers"])


def unlike(servers: Path) -> list[str]:
    """Declared twins that differ from the first of their kind, or are not there."""
    found = []
    for file, (first, *others) in declared(servers):
        whole = servers / first / file
        found += [
            f"{other}/{file} is not what {first}/{file} is: copy the right one over the other"
            for other in others
            if not whole.is_file()
            or not (servers / other / file).is_file()
            or (servers / other / file).read_bytes() != whole.read_bytes()
        ]
    return found


def undeclared(servers: Path) -> list[str]:
    """Equal files of different servers, long enough to count, that no line of the table declares together."""
    known = {(one, other, file) for file, ids in declared(servers) for one in ids for other in ids}
    same: dict[bytes, list[tuple[str, str]]] = {}
    for folder in sorted(path.parent for path in servers.glob("*/server.toml")):
        for path in sorted(sources.walk(folder)):
            content = path.read_bytes()
            if content.count(b"\n") >= LEAST_LINES:
                same.setdefault(content, []).append((folder.name, str(path.relative_to(folder))))
    return [
        f"{one}/{file} and {other}/{name} are equal: declare them in servers/twins.toml"
        for places in same.values()
        for (one, file), (other, name) in itertools.combinations(places, 2)
        if one != other and not (file == name and (one, other, file) in known)
    ]


def test_twins_are_the_same() -> None:
    """Every declared twin is there, and is the same to the letter."""
    assert [file for file, ids in declared(SERVERS) if len(set(ids)) < 2] == []
    assert unlike(SERVERS) == []


def test_equal_files_are_declared() -> None:
    """No two servers share a long file that the table does not declare."""
    assert undeclared(SERVERS) == []


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    """Three servers with one long file, of which two declare it as theirs together, and a short one that counts not."""
    for name in ("apple", "pear", "plum"):
        (tmp_path / name).mkdir()
        for file, text in (("server.toml", name), ("store.x", "line\n" * LEAST_LINES), ("short.x", "line\n" * (LEAST_LINES - 1))):
            (tmp_path / name / file).write_text(text)
    (tmp_path / "twins.toml").write_text('[[twins]]\nfile = "store.x"\nservers = ["apple", "pear"]\n')
    return tmp_path


def test_a_twin_that_differs_is_found(orchard: Path) -> None:
    """A byte more makes a twin another file, and so does its absence; both are told with the twin's place."""
    assert unlike(orchard) == []
    (orchard / "pear" / "store.x").write_text("line\n" * LEAST_LINES + "\n")
    assert unlike(orchard) == ["pear/store.x is not what apple/store.x is: copy the right one over the other"]
    (orchard / "pear" / "store.x").unlink()
    assert len(unlike(orchard)) == 1


def test_an_undeclared_twin_is_found(orchard: Path) -> None:
    """A long file that a third server has too is told for each server that has it, whatever its name; a short one is not."""
    third = "and plum/store.x are equal: declare them in servers/twins.toml"
    assert undeclared(orchard) == [f"apple/store.x {third}", f"pear/store.x {third}"]
    (orchard / "plum" / "store.x").rename(orchard / "plum" / "other.x")
    assert len(undeclared(orchard)) == 2
    (orchard / "plum" / ".gitignore").write_text("other.x\n")
    assert undeclared(orchard) == []
