"""The engine's own tests, which are written in Rust: `cargo test` runs them too."""

from __future__ import annotations

import fcntl
import os
import subprocess

import pytest

from fairground.host import Keeper, build, sources
from fairground.inputs.roots import ROOT
from fairground.lab.places import Places

ENGINE = ROOT / "engine"
CACHE = Places.of(os.environ).cache
"""The lab's own: what the engine's tests depend on compiles once for all checkouts, as that of servers does."""


COMPILES_S = 900.0


def words(verb: str, *rest: str) -> tuple[str, ...]:
    """A command of cargo. The profile is one that compiles quickly: engine/Cargo.toml."""
    return ("cargo", verb, "--profile", "tested", "--quiet", "--locked", *rest)


def cargo(*command: str) -> tuple[int, str]:
    """The exit code, and the end of what it said."""
    surroundings = build.environment(os.environ, CACHE)
    done = subprocess.run(words(*command), cwd=ENGINE, env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr)[-8000:]


@pytest.fixture(scope="module", autouse=True)
def of_these_sources() -> None:
    """Nothing that another checkout's engine left is taken for this one's: cargo tells them by times alone.

    One test worker cleans, and another waits for it: else it would lose what it has just compiled.
    """
    stamp, digest = CACHE / "builds" / "engine-tests.sources", sources.sources_hash(ENGINE)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    with stamp.open("a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if stamp.read_text() != digest:
            code, said = cargo("clean", "--package", "fairload")
            assert code == 0, said
            stamp.write_text(digest)


@pytest.mark.live
def test_they_compile(keeper: Keeper) -> None:
    """All of them compile; that takes a while on a machine on which none ever did, and measures nothing: it stands back."""
    code, said = build.BuildCommand(keeper, words("test", "--no-run"), ENGINE, cache=CACHE).end(COMPILES_S)
    assert code == 0, said


@pytest.mark.live
@pytest.mark.usefixtures("keeper")
def test_what_cargo_tests() -> None:
    """All of them pass, on processors that are kept awake."""
    code, said = cargo("test")
    assert code == 0, said
    assert "test result: ok." in said
