"""The units in which tests are shared out where several are at work at once (`-n 3`), and their order."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fairground.host.child import BUILD_NICENESS
from fairground.host.keeper import stand_back
from fairground.model import Stack

One = TypeVar("One")

TESTS = Path(__file__).resolve().parent

BY_THEIR_IDS = frozenset(
    [
        "test_stack_fulfils_the_contract",
        "test_stack_fulfils_the_whole_contract",
        "test_fault_is_found",
        "test_right_server_passes_procedure",
    ]
)
"""Tests that no file keeps together: those whose ids begin alike, up to a colon, are one worker's, such as the stacks of a server."""

PATIENT = ("tests/cli/", "tests/report/", "tests/test_")
"""Tests whose names begin like that may wait for a processor, though some of them start something: no server is loaded in them for
a verdict. What starts databases or hosts stays with the others: a session of its own does not stand back, and takes their time."""

NICED = "gw2"
"""The third of three workers stands back behind the others, and takes only tests that may wait."""

TOGETHER = ("tests/fleet/", "tests/cli/", "tests/test_")
"""Tests whose names begin like that are one worker's: those of the first borrow this machine as a host, which lends itself to one lab
at a time. The second share a command line that has everything loaded, the third all sources, parsed."""

LONGEST = "tests/live/test_zoo.py"
"""A unit of six minutes. It begins in the middle: not beside slow builds, which are in the first half, and not as the last."""

SLOW_COMPILERS = frozenset(["cargo", "mvn"])
"""What takes minutes to build a server for the first time, with all processors that there are."""


def unit(nodeid: str) -> str:
    """What a test belongs to: its file, and with it what the file starts once, or others of its kind; or what it borrows."""
    if (begins := next(filter(nodeid.startswith, TOGETHER), None)) is not None:
        return begins
    file, _, test = nodeid.partition("::")
    name, _, id = test.partition("[")
    return f"{file}::{name}[{id.partition(':')[0]}" if name in BY_THEIR_IDS else file


@cache
def is_patient(unit: str) -> bool:
    """True if the tests of a unit may wait for a processor."""
    file = TESTS.parent / unit.partition("::")[0]
    return unit.startswith(PATIENT) or (file.is_file() and "mark.live" not in file.read_text())


def builds_slowly(item: pytest.Item) -> bool:
    """Whether a test has a stack whose server takes minutes to build."""
    callspec = getattr(item, "callspec", None)
    stack = callspec and callspec.params.get("stack")
    return isinstance(stack, Stack) and any(command[0] in SLOW_COMPILERS for command in stack.build)


def spread(few: Sequence[One], many: Sequence[One]) -> list[One]:
    """`few` among `many`, as far from each other as can be: the first of them at the very beginning, and none at the end."""
    mixed = list(many)
    for place in reversed(range(len(few))):
        mixed.insert(int(len(many) * place / len(few)), few[place])
    return mixed


def ordered(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Units of tests for workers to take: slow builds neither side by side nor at the end, what may wait last, and the fastest of it, long units first."""
    slow, live, longest, patient, rest = (list[list[pytest.Item]]() for _ in range(5))
    for one in units(items):
        name = unit(one[0].nodeid)
        if is_patient(name):
            kind = patient if any(map(starts_something, one)) else rest
        else:
            kind = longest if name == LONGEST else slow if any(map(builds_slowly, one)) else live
        kind.append(one)
    rest.sort(key=lambda one: not one[0].nodeid.startswith(TOGETHER))
    first, then = live[: len(live) // 2], live[len(live) // 2 :]
    return [item for one in [*spread(slow, first), *longest, *then, *patient, *rest] for item in one]


def units(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """The tests of each unit, with those that start something in front."""
    found: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=starts_something, reverse=True):
        found.setdefault(unit(item.nodeid), []).append(item)
    return found.values()


def turned(names: Sequence[One], place: int, count: int) -> list[One]:
    """The same names, begun by each of `count` workers at another of so many parts."""
    start = len(names) * place // count
    return [*names[start:], *names[:start]]


def file_of(item: pytest.Item) -> str:
    """The file of a test."""
    return item.nodeid.partition("::")[0]


def starts_something(item: pytest.Item) -> bool:
    """Whether a test starts a server, a database or a browser."""
    return item.get_closest_marker("live") is not None


class Workers:
    """The order of tests on several workers: whole units, and first those that start servers, so that short tests fill the end.

    Without workers the order is pytest's own.
    """

    def pytest_configure(self, config: pytest.Config) -> None:
        """Let the third worker, and all that it starts, stand back behind the others."""
        if getattr(config, "workerinput", {}).get("workerid") == NICED:
            os.setsid()
            stand_back(BUILD_NICENESS)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Let each worker read another part of the tests first: what one of them has compiled the others need not compile."""
        worker = getattr(session.config, "workerinput", None)
        if worker is not None and [Path(one).resolve() for one in session.config.args] == [TESTS]:
            parts = sorted({str(TESTS / file.relative_to(TESTS).parts[0]) for file in TESTS.rglob("test_*.py")})
            place = int(worker["workerid"].removeprefix("gw"))
            session.config.args = turned(parts, place, worker["workercount"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if hasattr(config, "workerinput"):
            items[:] = ordered(sorted(items, key=file_of))

    def pytest_collection_finish(self) -> None:
        """Thousands of tests stay to the end: garbage is not looked for among them, and less often."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """What is left ends with the process: pytest looks for garbage in it ten times, which would take two seconds."""
        gc.collect()
        gc.freeze()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from units import Units

        config.option.loadscopereorder = False
        return Units(config, log)
