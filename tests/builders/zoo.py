"""Animals of the zoo in sessions that several of them share, each beside a healthy server on the same workload."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pytest

from builders.contracts import CONTRACTS, EVERY_WORKLOAD, EXAMPLES
from builders.paths import TESTS
from fairground.inputs import manifest, workload_files
from fairground.measure import Bench
from fairground.model import CellSettings, Finding, Load, Severity, Stack
from fairground.run.rounds import ARMS_AT_ONCE

Row = Mapping[str, Any]
"""An entry of `expected.toml`."""

ZOO = TESTS / "zoo"
EXPECTED: Mapping[str, list[dict[str, Any]]] = tomllib.loads((ZOO / "expected.toml").read_text())
SERVERS = (*manifest.load_servers(ZOO, CONTRACTS), *manifest.load_servers(TESTS / "zoo-todo", EXAMPLES))
SCALE = 1
WORKLOADS_OF_ALL = (*EVERY_WORKLOAD, *(one for each in EXAMPLES.values() for one in workload_files.load_workloads(each)))
WORKLOADS = {one.id: workload_files.render(one, SCALE) for one in WORKLOADS_OF_ALL}
HEALTHY: Mapping[str, str] = {"todo": "clerk:reads", "techempower": "juggler:asyncio"}
"""Contract → the honest animal that stands beside the others; those that are not named have the first one below."""


def healthy_of(row: Row) -> str:
    """The honest animal of a row's contract."""
    return HEALTHY.get(row["workload"].rpartition("/")[0], "healthy:asyncio")


WITH_A_HEALTHY_ONE = {row["workload"] for row in EXPECTED["trial"] if row["stack"] == healthy_of(row)}
ALONE = ("ready", "connections", "strays")
"""Findings of which a neighbour has its part: it waits, finds no connection, or is told that strays may be its own."""
WARMUP_S = 0.5
"""Long enough for what an animal does: whether its server had settled is not asked."""
NEVER_READY_S = 3.0
"""How long a test waits for an animal that never becomes ready: all others have the bench's time."""


class Judged(Protocol):
    """The end of an animal: a trial, or an arm's end."""

    @property
    def findings(self) -> tuple[Finding, ...]: ...


End = TypeVar("End", bound=Judged)


def row_id(row: Row) -> str:
    """The name of a row in a test's id."""
    return f"{row['stack']}-{row['workload']}"


def by_night(rows: Sequence[Row], is_late: Callable[[Row], bool]) -> list[Any]:
    """The rows as parameters of a test, the late ones marked as `nightly`."""
    return [pytest.param(row, id=row_id(row), marks=[pytest.mark.nightly] if is_late(row) else []) for row in rows]


def stack_of(row: Row, name: str | None = None) -> Stack:
    """The stack of a row, or another one of the zoo."""
    (found,) = manifest.find_stack(SERVERS, name or row["stack"])
    return found


def settings_of(row: Row) -> CellSettings:
    """The settings of a row."""
    return CellSettings(workers=1, pool_size=row.get("pool_size", 8), scale=SCALE, **row.get("settings", {}))


def load_of(row: Row, window_s: float) -> Load:
    """The closed loop of a row."""
    window_s = row.get("window_s", window_s)
    return Load(row["connections"], window_s=window_s, warmup_min_s=WARMUP_S, warmup_max_s=WARMUP_S, timeout_ms=5000)


def is_possible(row: Row, bench: Bench) -> bool:
    """A server can leave its control group here, where a row asks for that."""
    return not row.get("groups") or (os.geteuid() == 0 and bench.keeper.groups.version is not None)


def is_alone(row: Row) -> bool:
    """The row asks for something that no other row of a session has, or disturbs others, or has no healthy server beside it."""
    own = {"groups", "settings", "alone"} & row.keys()
    return bool(own) or row.get("finding") in ALONE or row["workload"] not in WITH_A_HEALTHY_ONE


def parts(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    """Rows that share a session: all on one workload, one number of connections and one window, with room for a healthy server.

    A healthy server has a session of its own where no animal of its workload takes others beside it. What is tried by night
    alone is in no session of the day.
    """
    together: dict[tuple[object, ...], list[Row]] = {}
    for number, row in enumerate(rows):
        if row["stack"] != healthy_of(row):
            common = (row["workload"], row["connections"], row.get("place"), row.get("window_s"), row.get("nightly", False))
            together.setdefault((number,) if is_alone(row) else common, []).append(row)
    found = [tuple(part) for some in together.values() for part in _even(some, ARMS_AT_ONCE - 1)]
    healthy = [row for row in rows if row["stack"] == healthy_of(row)]
    return found + [(row,) for row in healthy if not any(_holds(part, row) for part in found)]


def _even(rows: Sequence[Row], most: int) -> list[Sequence[Row]]:
    """As few parts as can be, none longer than `most`, and all about as long."""
    count = math.ceil(len(rows) / most)
    return [rows[number::count] for number in range(count)]


def rejections(findings: Iterable[Finding]) -> set[str]:
    """The ids of findings that reject."""
    return {one.id for one in findings if one.severity is Severity.REJECT}


def sentences(end: Judged) -> str:
    """All findings, a line each, for a test that fails."""
    return "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in end.findings)


class Measure(Protocol[End]):  # type: ignore[misc]
    """Measures stacks of the zoo beside each other, as the first row asks: the end of each, by its name."""

    def __call__(self, row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, End]: ...


class Sessions(Generic[End]):
    """Sessions of rows, each measured once: when a test asks for the first of its rows."""

    def __init__(self, rows: Sequence[Row], measure: Measure[End], folder: Path) -> None:
        self._parts, self._measure, self._folder = parts(rows), measure, folder
        self._ends: dict[int, Mapping[str, End] | Exception] = {}

    def end(self, row: Row) -> tuple[End, End | None]:
        """The animal's end, and that of the healthy server beside it: None where the animal is alone.

        There is none in a place of its own either: each animal there has an honest neighbour among the rows.
        """
        number = next(number for number, part in enumerate(self._parts) if _holds(part, row))
        if number not in self._ends:
            part = self._parts[number]
            stacks = [one["stack"] for one in part]
            healthy = healthy_of(row)
            beside = [] if is_alone(part[0]) or "place" in part[0] or part[0]["stack"] == healthy else [healthy]
            try:
                self._ends[number] = self._measure(part[0], [*beside, *stacks], self._folder / f"session-{number}")
            except Exception as error:  # each of its rows fails for the same reason, and none measures all of them again
                self._ends[number] = error
        ends = self._ends[number]
        if isinstance(ends, Exception):
            raise ends
        return ends[row["stack"]], ends.get(healthy_of(row)) if row["stack"] != healthy_of(row) else None


def _holds(part: Sequence[Row], row: Row) -> bool:
    """The row is one of a part, or a healthy server on the workload of the part."""
    if row["stack"] == healthy_of(row) and part[0] is not row:
        alike = all(part[0].get(key) == row.get(key) for key in ("workload", "place", "nightly"))
        return alike and not is_alone(part[0])
    return any(one is row for one in part)


def labelled(stacks: Sequence[str]) -> Iterator[tuple[str, Stack]]:
    """Each stack of the zoo by its name."""
    for name in stacks:
        (stack,) = manifest.find_stack(SERVERS, name)
        yield name, stack
