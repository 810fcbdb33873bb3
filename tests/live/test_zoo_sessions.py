"""The zoo in comparisons and under a search: each animal gets the same word there as in a trial, and its neighbour none; under `try` what the wire shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from builders import quiet, zoo
from builders.contracts import SEEDS
from builders.zoo import Row, Sessions
from fairground.host import free_port, server
from fairground.judge import sizing
from fairground.measure import Bench
from fairground.measure.arm import ArmWindow, Ended, StackArm
from fairground.measure.schedule import TURN_S, Ask, Schedule, Turns, Whole
from fairground.measure.session import ArmSession
from fairground.model import Cell, CellSettings, Load, Topology

COUNTED = {
    ("audit:transactions", "transfer-ordered"), ("audit:late-commits", "transfer-ordered"), ("audit:late-commits", "crud"),
}  # fmt: skip
"""What is found by counting transactions: in turns those of arms are not told apart."""
IN_TURNS = [
    row
    for row in zoo.EXPECTED["trial"]
    if "place" not in row and (row.get("finding"), row["workload"]) not in COUNTED and row["stack"] != "hasty:seldom"
]
"""Rows of the session's own database, without what turns of seconds are too short for."""
BY_DAY = ("lost-tx:asyncio", "batcher:together", "hasty:now-and-then")
"""What is tried in turns by day, on `tx`: a fault that the database's rows show, one that its transactions do, and one that time does.
The whole zoo has its trials by day."""
ROWS = [
    {**row, "nightly": row["stack"] not in BY_DAY or row["workload"] != "tx"} for row in IN_TURNS if row["verdict"] == "rejected"
]
ON_THE_WIRE = [row for row in ROWS if row["finding"] in ("wrong-answers", "server-exit") and row["workload"] == "ping"]
"""What can be told of an animal without its contract and its database."""

pytestmark = pytest.mark.live


@dataclass(frozen=True)
class EachInTurns:
    """All arms that have not failed, in turns: a warm-up and two windows."""

    arms: tuple[str, ...]
    load: Load

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The next turns, while fewer than three were made."""
        here = tuple(arm for arm in self.arms if arm not in failed)
        made = len({window.number for window in windows})
        window_s = self.load.window_s if made else sizing.WARMING_S
        return Turns(here, self.load, TURN_S, window_s, warm_up=made == 0) if made < 3 else None


@dataclass(frozen=True)
class EachAfterTheOther:
    """Each arm that has not failed under a closed loop, and then under a rate."""

    arms: tuple[str, ...]
    load: Load

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The next load of the first arm that has not had both."""
        opened = Load(50, model="open", window_s=1.0, warmup_min_s=0.3, timeout_ms=5000)
        had = [window.arm for window in windows]
        for arm in self.arms:
            if arm not in failed and had.count(arm) < 2:
                again = arm in had
                return (
                    Whole(arm, opened, 2, ((100.0, 1.0),), folder="load-002")
                    if again
                    else Whole(arm, self.load, 1, folder="load-001")
                )
        return None


def play(
    bench: Bench, row: Row, stacks: Sequence[str], kind: type[EachInTurns] | type[EachAfterTheOther], folder: Path
) -> Mapping[str, Ended]:
    """The ends of stacks that are loaded as a schedule of this kind says."""
    workload, settings = zoo.WORKLOADS[row["workload"]], zoo.settings_of(row)
    load = zoo.load_of(row, 1.0)
    arms = [
        StackArm(name, Cell(name, row["workload"], Topology(), load, settings), workload, 7, stack)
        for name, stack in zoo.labelled(stacks)
    ]
    schedule: Schedule = kind(tuple(stacks), load)
    if row["finding"] == "ready":
        bench = replace(bench, ready_timeout_s=zoo.NEVER_READY_S)
    folder.mkdir()
    with ArmSession(bench, arms, {name: folder / f"{number}" for number, name in enumerate(stacks)}) as session:
        for _ in session.play(schedule):
            pass
    return dict(session.ended)


@pytest.fixture(scope="module")
def in_turns(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Sessions[Ended]:
    """Sessions of rows that take turns."""

    def measured(row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, Ended]:
        return play(bench, row, stacks, EachInTurns, folder)

    return Sessions(ROWS, measured, tmp_path_factory.mktemp("turns"))


@pytest.fixture(scope="module")
def one_after_the_other(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Sessions[Ended]:
    """Sessions of rows that are loaded one after the other."""

    def measured(row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, Ended]:
        return play(bench, row, stacks, EachAfterTheOther, folder)

    return Sessions(ROWS, measured, tmp_path_factory.mktemp("loads"))


def assert_rejected(bench: Bench, sessions: Sessions[Ended], row: Row) -> None:
    """The animal is rejected for what it does, the healthy server beside it is not, and nothing runs on."""
    if not zoo.is_possible(row, bench):
        pytest.skip("a server cannot leave its control group here")
    animal, healthy = sessions.end(row)
    assert row["finding"] in zoo.rejections(animal.findings), zoo.sentences(animal)
    if healthy is not None:
        assert zoo.rejections(healthy.findings) == set(), zoo.sentences(healthy)
    assert not bench.keeper.orphans()


@pytest.mark.parametrize("row", zoo.by_night(ROWS, lambda row: row["nightly"]))
def test_in_turns_with_a_healthy_one(bench: Bench, in_turns: Sessions[Ended], row: Row) -> None:
    """In turns with others, as in a comparison."""
    assert_rejected(bench, in_turns, row)


@pytest.mark.nightly
@pytest.mark.parametrize("row", ROWS, ids=zoo.row_id)
def test_under_one_load_after_the_other(bench: Bench, one_after_the_other: Sessions[Ended], row: Row) -> None:
    """On a server that stays up, as in a search: a closed loop and a rate."""
    assert_rejected(bench, one_after_the_other, row)


@pytest.mark.parametrize("row", ON_THE_WIRE, ids=zoo.row_id)
def test_as_a_service_without_a_contract(bench: Bench, row: Row, tmp_path: Path) -> None:
    """Under `try`, which knows neither contract nor database: what is wrong on the wire gets the same word, and exit code 1."""
    stack = zoo.stack_of(row)
    assert bench.database is not None
    database, port = bench.database.arm(1), free_port()
    database.reset(SEEDS.data(1))
    values = server.values_of(CellSettings(workers=1, scale=1), "127.0.0.1", port, database.server_url())
    environ = server.environment(os.environ, stack, values)
    words = ["try", "--url", f"http://127.0.0.1:{port}/ping", "--window", "1", "--json", "--results", str(tmp_path), "--"]
    done = subprocess.run(
        [sys.executable, "-m", "fairground", *words, *stack.server.serve],
        cwd=stack.server.folder, env={**os.environ, **environ, "PYTHONPATH": quiet.PATH, "CI": "1"}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    found = {one["id"] for one in json.loads(done.stdout)["checks"] if one["severity"] == "reject"}
    assert (done.returncode, found) == (1, {row["finding"]}), done.stderr
