"""What limits an animal is planted: the lab names it, and none of the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import planted
from builders.benches import bench_on
from builders.contracts import SEEDS
from builders.expected import COMES_AND_GOES
from fairground import postgres
from fairground.host import Keeper
from fairground.host.awake import hold_awake
from fairground.judge import levels, thresholds
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.model import Durability, Severity, Trial, Verdict
from fairground.postgres import Database
from fairground.run import retry

pytestmark = [pytest.mark.live, pytest.mark.nightly]

ATTEMPTS = 4


def disturbed(trial: Trial) -> bool:
    """Whether other work on the machine took so much of a trial that it tells nothing.

    A warning of it is enough: half a percent of steal comes in pieces of 20 ms, and a thread that waited for them was not busy.
    """
    return any(
        (one.severity is Severity.VOID and one.id in COMES_AND_GOES)
        or (one.severity is Severity.WARN and one.id in retry.OF_THE_MACHINE)
        for one in trial.findings
    )


READY_S = 20.0


@pytest.fixture
def bench(request: pytest.FixtureRequest, keeper: Keeper, cache: Path, row: dict[str, Any]) -> Iterator[Bench]:
    """A bench in the place that a row asks for."""
    if why := planted.lacking(row):
        pytest.skip(why)
    if row.get("place") == "few-ports":
        with planted.few_ports(), Keeper(os.environ) as own, ExitStack() as held:
            hold_awake(held, own, os.environ, Places.of(os.environ).engine, print)
            database = postgres.start(own, cache, Durability.RELAXED)
            try:
                database.prepare(SEEDS.data(planted.SCALE))
                yield bench_on(own, database, ready_timeout_s=READY_S)
            finally:
                database.stop()
    else:
        database = request.getfixturevalue("durable" if row.get("place") == "durable" else "database")
        yield bench_on(keeper, database, ready_timeout_s=READY_S)


def undisturbed(bench: Bench, row: dict[str, Any], folder: Path, connections: int | None = None) -> Trial:
    """A trial of a row that no other work disturbed, or the last of a few that all were."""
    for attempt in range(ATTEMPTS):
        trial = planted.tried(bench, row, folder / f"trial-{attempt}", connections=connections)
        if not disturbed(trial):
            break
    return trial


@pytest.mark.parametrize("row", planted.ROWS, ids=planted.name)
def test_a_planted_limit_is_named_alone(bench: Bench, row: dict[str, Any], tmp_path: Path) -> None:
    """The trial names what was planted, first and alone; a trial that the machine's noise voids is repeated, as a run repeats it."""
    trial = undisturbed(bench, row, tmp_path)
    told = "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in trial.findings)
    assert planted.named(trial) == [row["diagnosis"]], told
    assert trial.diagnosis == row["diagnosis"]


@pytest.mark.parametrize(
    ("stack", "connections", "named"),
    [
        ("queuer:asyncio", (8, 32), ["serialised", "serialised"]),
        ("dreamer:asyncio", (8, 16), ["too-few-connections", "too-few-connections"]),
    ],
)
def test_two_loads_tell_a_lock_from_too_few_connections(
    keeper: Keeper, database: Database, stack: str, connections: tuple[int, ...], named: list[str], tmp_path: Path
) -> None:
    """More connections bring nothing to a server that serves one request after the other, and more to one that only waits."""
    row = next(row for row in planted.ROWS if row["stack"] == stack)
    bench = bench_on(keeper, database, ready_timeout_s=READY_S)
    trials = [undisturbed(bench, row, tmp_path / f"{count}", connections=count) for count in connections]
    told = levels.with_levels(trials, thresholds.standard().reasons)
    assert [trial.diagnosis for trial in told] == named, [trial.goodput_per_s for trial in trials]
    words = "gave no more" if named[0] == "serialised" else "gave more"
    assert any(words in finding.sentence for finding in told[0].findings)


def test_noise_is_named(keeper: Keeper, database: Database, tmp_path: Path) -> None:
    """Where programs that are none of the trial's use the processors, the trial is void and says so."""
    row = next(row for row in planted.ROWS if row["stack"] == "healthy:asyncio" and row["workload"] == "ping")
    strangers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        trial = planted.tried(bench_on(keeper, database, ready_timeout_s=READY_S), row, tmp_path / "trial")
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()
    void = {finding.id for finding in trial.findings if finding.severity is Severity.VOID}
    assert trial.verdict is Verdict.VOID
    assert "foreign-cpu" in void
