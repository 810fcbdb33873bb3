"""What the tests share: one keeper and one embedded PostgreSQL for a whole session of a worker, and golden files."""

from __future__ import annotations

import difflib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from builders.contracts import SEEDS
from fairground import postgres
from fairground.host import Keeper
from fairground.host.awake import hold_awake
from fairground.lab.places import Places
from fairground.model import Durability
from fairground.postgres import Database
from workers import Workers, starts_something

SCALE = 1
settings.register_profile("day", deadline=None, derandomize=True)
settings.register_profile("night", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "day"))
"""By day the same values are drawn each time: a change is what makes a test fail. By night others. No test asks how fast the machine is."""


def pytest_configure(config: pytest.Config) -> None:
    """Share out tests that may be side by side."""
    config.pluginmanager.register(Workers())


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C and a closed terminal reach what the tests start, also where the tests themselves are a background job.

    Under `nohup` the tests live on: what is started has the signal's own way again, since a handler is not handed down.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="session")
def keeper(request: pytest.FixtureRequest) -> Iterator[Keeper]:
    """The keeper of this session; whatever a test forgets to stop ends with it.

    Processors do not idle where a run would see to it, and where something is started: it takes time from other tests.
    """
    with ExitStack() as held:
        kept = held.enter_context(Keeper(os.environ))
        if any(map(starts_something, request.session.items)):
            hold_awake(held, kept, os.environ, Places.of(os.environ).engine, print)
        yield kept


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that all tests of a session share, so that a cluster is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def database(keeper: Keeper, cache: Path) -> Iterator[Database]:
    """The embedded PostgreSQL in the relaxed class, with the contract's data at scale 1."""
    found = postgres.start(keeper, cache, Durability.RELAXED)
    try:
        found.prepare(SEEDS.data(SCALE))
        yield found
    finally:
        found.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Makes folders that are disks of their own: `small_disk(name, size_mb)`. Skips the test where none can be mounted."""
    mounted = list[Path]()

    def made(name: str, size_mb: int) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=700", "tmpfs", str(folder)], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield made
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def golden() -> Callable[[Path, str], None]:
    """Hold a text against a golden file: `golden(path, text)`. `FAIRGROUND_GOLDEN=write` writes the file anew."""
    return hold


def hold(path: Path, text: str) -> None:
    """Fail with the difference when `path` says something else, and leave the text beside it as `*.got`."""
    got = path.with_name(path.name + ".got")
    if os.environ.get("FAIRGROUND_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    wanted = path.read_text() if path.exists() else ""
    if text == wanted:
        got.unlink(missing_ok=True)
        return
    got.write_text(text)
    lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), path.name, got.name, lineterm="")
    pytest.fail("\n".join(["the golden file says something else (make golden rewrites it)", *lines]), pytrace=False)
