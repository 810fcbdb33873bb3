"""How long a build will take: what is remembered, and what is guessed where nothing is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from builders.plans import server
from fairground.host import build, build_time, sources
from fairground.model import Stack


def made_with(folder: Path, *commands: tuple[str, ...]) -> tuple[Stack, ...]:
    """The stacks of a server that is built with these commands."""
    folder.mkdir(exist_ok=True)
    return replace(server("one"), folder=folder, build=commands).stacks


def remember(cache: Path, name: str, content: str, seconds: dict[tuple[str, ...], float]) -> None:
    """Leave the stamp of an earlier build."""
    (cache / "builds").mkdir(exist_ok=True)
    (cache / "builds" / name).write_text(json.dumps({"content": content, "built": list(seconds.items())}))


def test_a_first_build_is_guessed_by_its_tools(tmp_path: Path) -> None:
    """By the slowest of them; what nobody knows takes a while, and no command takes no time."""
    both = made_with(tmp_path / "one", ("python3", "-m", "venv", ".venv"), (".venv/bin/pip", "install", "x"))
    assert build_time.left_s(both, tmp_path) == build_time.GUESS_S["pip"]
    assert build_time.left_s(made_with(tmp_path / "one", ("smelt",)), tmp_path) == build_time.OTHER_S
    assert build_time.left_s(made_with(tmp_path / "one"), tmp_path) == 0.0


def test_the_last_build_of_any_checkout_is_remembered(tmp_path: Path) -> None:
    """The newest that tells counts; a server of a longer name, and a file that was cut off, say nothing of it."""
    one, builds = made_with(tmp_path / "one", ("cargo", "build")), tmp_path / "builds"
    remember(tmp_path, "one-two-0123456789.json", "", {("cargo", "build"): 9.0})
    remember(tmp_path, "one-abcdef0123.json", "", {("cargo", "build"): 42.0})
    remember(tmp_path, "one-aaaaaaaaaa.json", "", {("cargo", "build"): 77.0})
    (builds / "one-0123456789.json").write_text("{")
    for age, name in enumerate(["0123456789", "two-0123456789", "abcdef0123", "aaaaaaaaaa"]):
        os.utime(builds / f"one-{name}.json", (1000 - age, 1000 - age))
    assert build_time.left_s(one, tmp_path) == 42.0


def test_what_is_built_takes_no_time(tmp_path: Path) -> None:
    """A stamp of what the folder holds now says so, however long it took."""
    one = made_with(tmp_path / "one", ("cargo", "build"))
    stamp = build._stamp(one[0].server, tmp_path)
    remember(tmp_path, stamp.name, sources.content_hash(one[0].server.folder), {("cargo", "build"): 50.0})
    assert build_time.left_s(one, tmp_path) == 0.0


def test_only_commands_that_are_left_take_time(tmp_path: Path) -> None:
    """As long as they took last, or as a first guess says of them."""
    first, second = ("cargo", "build"), ("npm", "ci")
    one = made_with(tmp_path / "one", first, second)
    content = sources.content_hash(one[0].server.folder)
    remember(tmp_path, build._stamp(one[0].server, tmp_path).name, content, {first: 50.0})
    assert build_time.left_s(one, tmp_path) == build_time.GUESS_S["npm"]
    remember(tmp_path, "one-abcdef0123.json", "", {second: 4.0})
    assert build_time.left_s(one, tmp_path) == 4.0
