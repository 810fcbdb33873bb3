"""What the tests of processes and builds share: a keeper without control groups, beside the session's, and the folder of a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairground.host import Keeper, child
from fairground.host.cgroup import Groups


@pytest.fixture
def groupless(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    """A keeper on a machine where no cgroup can be made."""
    monkeypatch.setattr(child.Groups, "create", lambda name: Groups(None, ()))
    with Keeper(os.environ) as kept:
        assert kept.groups.version is None
        yield kept


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A server's folder: a source, a folder with another, and what its builds leave, which is ignored."""
    place = tmp_path / "one"
    for name, text in {
        ".gitignore": "# outputs\nout\n/built/\n*.log\n\n",
        "main.c": "int main;",
        "lib/part.c": "int part;",
        "out": "binary",
        "built/deep/thing": "binary",
        "lib/trace.log": "noise",
        "__pycache__/main.pyc": "binary",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place
