"""The checkout's door, and what the command is called where there is one and where there is none."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from builders.paths import ROOT
from fairground.cli import door


def test_an_installed_lab_names_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both streams of an installed lab name the program on PATH; a checkout's name its door."""
    for installed, said in ((False, "./fairground list\n"), (True, "fairground list\n")):
        out, talk = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", talk)
        monkeypatch.setattr(door, "INSTALLED", installed)
        door.rename()
        for stream in (sys.stdout, sys.stderr):
            stream.write("./fairground list\n")
        assert (out.getvalue(), talk.getvalue()) == (said, said)


def test_a_renamed_stream_is_still_that_stream() -> None:
    """It counts what it was given, and knows what the stream below it knows."""
    stream = door.Rewritten(io.StringIO(), lambda text: text.replace(door.DOOR, door.PROGRAM))
    assert stream.write("./fairground") == len("./fairground")
    assert stream.getvalue() == "fairground" and not stream.isatty()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is set up, whose Python says with which words it was called and which source it would run."""
    root = tmp_path / "checkout"
    site = root / ".venv" / "lib" / "python3.11" / "site-packages"
    for folder in (site, root / ".venv" / "bin", root / "engine" / "src", root / "engine" / "target" / "release"):
        folder.mkdir(parents=True)
    shutil.copy2(ROOT / "fairground", root)
    (root / "requirements.lock").write_text("")
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / "engine" / name, root / "engine")
    program(root / "engine" / "target" / "release" / "fairload", "")
    program(root / ".venv" / "bin" / "python", f'echo "$@"; cat "{root}"/.venv/lib/python3.11/site-packages/fairground.pth')
    sum_ = subprocess.run("cksum <requirements.lock", shell=True, cwd=root, capture_output=True, text=True, check=True)
    (root / ".venv" / "lock.sum").write_text(sum_.stdout)
    (site / "fairground.pth").write_text(f"{root}/src\n")
    return root


def program(path: Path, script: str) -> None:
    """A shell script that may be run."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def with_the_least(root: Path) -> Path:
    """The folder of the programs that every system has, beside the checkout."""
    tools = root.parent / "bin"
    tools.mkdir()
    for name in ("sh", "uname", "cksum", "sed", "find", "flock", "readlink"):
        (tools / name).symlink_to(str(shutil.which(name)))
    return tools


def knock(root: Path) -> subprocess.CompletedProcess[str]:
    """Call the door; programs in `bin` beside the checkout come first."""
    path = f"{root.parent / 'bin'}:{os.environ['PATH']}"
    return subprocess.run([str(root / "fairground"), "list"], env={"PATH": path}, capture_output=True, text=True)


def test_a_renamed_checkout_runs_its_own_source(checkout: Path) -> None:
    """The path to the source follows the checkout, and a file that a copy shares by a hard link is not written to."""
    pointer = checkout / ".venv" / "lib" / "python3.11" / "site-packages" / "fairground.pth"
    shared = checkout.parent / "shared.pth"
    os.link(pointer, shared)
    program(checkout / ".venv" / "bin" / "python", 'echo "$@"')
    renamed = checkout.rename(checkout.with_name("another one"))
    done = knock(renamed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-m fairground list\n", "")
    site = renamed / ".venv" / "lib" / "python3.11" / "site-packages"
    assert [(path.name, path.read_text()) for path in site.iterdir()] == [("fairground.pth", f"{renamed}/src\n")]
    assert shared.read_text() == f"{checkout}/src\n"


def test_a_checkout_that_stayed_is_left_alone(checkout: Path) -> None:
    """Where the path is right nothing is written."""
    pointer = checkout / ".venv" / "lib" / "python3.11" / "site-packages" / "fairground.pth"
    before = pointer.stat()
    assert knock(checkout).stdout == f"-m fairground list\n{checkout}/src\n"
    assert (pointer.stat().st_ino, pointer.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def complete(root: Path, question: str) -> subprocess.CompletedProcess[str]:
    """Call the door as a shell does that completes a word."""
    environment = {"PATH": f"{root.parent / 'bin'}:{os.environ['PATH']}", "_FAIRGROUND_COMPLETE": question}
    return subprocess.run([str(root / "fairground")], env=environment, capture_output=True, text=True)


def test_a_completion_installs_and_builds_nothing(checkout: Path) -> None:
    """Where the lock changed and the engine is missing, a completion is answered at once by this checkout's source; without a
    Python of its own there is no answer."""
    (checkout / "requirements.lock").write_text("another")
    (checkout / "engine" / "target" / "release" / "fairload").unlink()
    for name in ("python3", "cargo"):
        program(checkout.parent / "bin" / name, "echo called")
    program(checkout / ".venv" / "bin" / "python", 'echo "$@" "$PYTHONPATH"')
    done = complete(checkout, "complete_bash")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"-m fairground {checkout}/src\n", "")
    shutil.rmtree(checkout / ".venv")
    done = complete(checkout, "complete_zsh")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_another_system_is_told_what_to_do(checkout: Path) -> None:
    """Where the system is no Linux one sentence says so, and what to use."""
    program(checkout.parent / "bin" / "uname", "echo Darwin")
    done = knock(checkout)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: Fairground measures on Linux only, and this is Darwin\n\nhint: use WSL 2 on Windows")


def test_an_engine_that_does_not_build_names_the_rust_it_needs(checkout: Path) -> None:
    """The version in the hint is the engine's own."""
    (checkout / "engine" / "target" / "release" / "fairload").unlink()
    program(checkout.parent / "bin" / "cargo", "exit 101")
    program(checkout.parent / "bin" / "cc", "")
    needed = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text())["package"]["rust-version"]
    done = knock(checkout)
    assert done.returncode == 3 and f"Rust {needed} or newer is needed" in done.stderr


def test_an_engine_that_cannot_be_linked_names_what_links(checkout: Path) -> None:
    """A fresh system has no `cc`, and another Rust would not help it."""
    (checkout / "engine" / "target" / "release" / "fairload").unlink()
    tools = with_the_least(checkout)
    program(tools / "cargo", "exit 101")
    done = subprocess.run([str(checkout / "fairground"), "list"], env={"PATH": str(tools)}, capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.endswith("`cc` is missing\n\nhint: apt-get install gcc libc6-dev\n")


def test_a_failed_environment_is_told_though_the_engine_builds(checkout: Path) -> None:
    """Both are made at once, and what fails decides how it ends."""
    shutil.rmtree(checkout / ".venv")
    engine = checkout / "engine" / "target" / "release" / "fairload"
    engine.unlink()
    program(checkout.parent / "bin" / "python3", "case $2 in venv) exit 1; esac")
    program(checkout.parent / "bin" / "cargo", f"touch '{engine}'")
    done = knock(checkout)
    assert (done.returncode, engine.exists()) == (3, True)
    assert "hint: apt-get install python3-venv" in done.stderr


SLOW_PYTHON = """case $2 in venv)
    echo made >>"$HOME/made"
    while [ ! -e "$HOME/go" ]; do sleep 0.02; done
    mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
    cp "$HOME/bin/inner" "$4/bin/python"
esac"""
"""A Python that is a while at making a virtual environment, and notes each that it makes."""


def test_a_second_first_use_waits_for_the_first(checkout: Path) -> None:
    """Of two first uses at once one makes the virtual environment; the other says that it waits, and makes none over it."""
    home = checkout.parent
    shutil.rmtree(checkout / ".venv")
    program(home / "bin" / "inner", 'echo "$@"')
    program(home / "bin" / "python3", SLOW_PYTHON)
    environment = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home)}
    command = (str(checkout / "fairground"), "list")
    doors = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        said = {one.stderr.readline() for one in doors if one.stderr is not None}
    finally:
        (home / "go").touch()
    assert said == {
        "first use: installing the lab into .venv, about 20 s …\n",
        "another ./fairground sets the lab up: waiting for it …\n",
    }
    assert [one.communicate(timeout=60)[0] for one in doors] == ["-m fairground list\n"] * 2
    assert [one.returncode for one in doors] == [0, 0]
    assert (home / "made").read_text() == "made\n"


@pytest.mark.parametrize(
    ("there", "command"),
    [
        (None, 'curl --proto =https --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal && . "$HOME/.cargo/env"'),
        ("bin/rustup", "rustup default stable"),
        ("home/.cargo/bin/cargo", '. "$HOME/.cargo/env"'),
    ],
)
def test_where_rust_is_missing_one_command_brings_it(checkout: Path, there: str | None, command: str) -> None:
    """It is that of what is here already: an installation beside PATH, a rustup without a toolchain, or nothing."""
    (checkout / "engine" / "target" / "release" / "fairload").unlink()
    tools = with_the_least(checkout)
    if there is not None:
        (checkout.parent / there).parent.mkdir(parents=True, exist_ok=True)
        program(checkout.parent / there, "")
    env = {"PATH": str(tools), "HOME": str(checkout.parent / "home")}
    done = subprocess.run([str(checkout / "fairground"), "list"], env=env, capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.endswith(
        f"error: cargo is missing, and the load engine is written in Rust\n\nhint: {command}\n"
    )
