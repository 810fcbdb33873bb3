"""How long a build will take: what is remembered, and what is guessed where nothing is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from builders.plans import server
from fairground.host import build, build_time
from fairground.model import Server


def made_with(folder: Path, *commands: tuple[str, ...]) -> Server:
    """A server that is built with these commands."""
    folder.mkdir(exist_ok=True)
    return replace(server("one"), folder=folder, build=commands)


def test_a_first_build_is_guessed_by_its_tools(tmp_path: Path) -> None:
    """By the slowest of them; what nobody knows takes a while, and no command takes no time."""
    both = made_with(tmp_path / "one", ("python3", "-m", "venv", ".venv"), (".venv/bin/pip", "install", "x"))
    assert build_time.left_s(both, tmp_path) == build_time.GUESS_S["pip"]
    assert build_time.left_s(made_with(tmp_path / "one", ("smelt",)), tmp_path) == build_time.OTHER_S
    assert build_time.left_s(made_with(tmp_path / "one"), tmp_path) == 0.0


def test_the_last_build_of_any_checkout_is_remembered(tmp_path: Path) -> None:
    """The newest that tells counts; a server of a longer name, and a file that was cut off, say nothing of it."""
    one, builds = made_with(tmp_path / "one", ("cargo", "build")), tmp_path / "builds"
    builds.mkdir()
    for age, (name, text) in enumerate(
        [("one-0123456789", "{"), ("one-two-0123456789", '{"seconds": 9.0}'), ("one-abcdef0123", '{"seconds": 42.0}'),
         ("one-aaaaaaaaaa", '{"seconds": 77.0}')]
    ):  # fmt: skip
        (builds / f"{name}.json").write_text(text)
        os.utime(builds / f"{name}.json", (1000 - age, 1000 - age))
    assert build_time.left_s(one, tmp_path) == 42.0


def test_what_is_built_takes_no_time(tmp_path: Path) -> None:
    """A stamp of what the folder holds now says so, however long it took."""
    one = made_with(tmp_path / "one", ("cargo", "build"))
    stamp = build._stamp(one, tmp_path)
    stamp.parent.mkdir()
    stamp.write_text(json.dumps({"content": build.content_hash(one.folder), "seconds": 50.0}))
    assert build_time.left_s(one, tmp_path) == 0.0
