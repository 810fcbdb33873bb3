"""What limits an animal is planted: the lab names it, and none of the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import planted
from fairground import contract, postgres
from fairground.cli.lab import ROOT
from fairground.model import Durability, Severity, Trial
from fairground.postgres import Database
from fairground.process import Keeper
from fairground.trial import Bench
from noise import OF_THE_MACHINE

pytestmark = pytest.mark.live

ATTEMPTS = 4


def disturbed(trial: Trial) -> bool:
    """Whether other work on the machine took so much of a trial that it tells nothing."""
    return any(one.severity is Severity.VOID and one.id in OF_THE_MACHINE for one in trial.findings)


def bench_on(keeper: Keeper, database: Database) -> Bench:
    """A bench with one of the databases."""
    cases = contract.load(ROOT / "contract" / "cases")
    return Bench(keeper, database, ROOT / "engine/target/release/fairload", cases, cores=2, ready_timeout_s=20.0)


@pytest.fixture(scope="module")
def durable(keeper: Keeper, cache: Path) -> Iterator[Database]:
    """A database whose commits wait for the disk."""
    found = postgres.start(keeper, cache, Durability.DURABLE, ROOT / "contract")
    try:
        found.prepare(planted.SCALE)
        yield found
    finally:
        found.stop()


@pytest.mark.parametrize("row", planted.ROWS, ids=planted.name)
def test_a_planted_limit_is_named_alone(
    request: pytest.FixtureRequest, keeper: Keeper, row: dict[str, Any], tmp_path: Path
) -> None:
    """The trial names what was planted, first and alone; a trial that the machine's noise voids is repeated, as a run repeats it."""
    if why := planted.lacking(row):
        pytest.skip(why)
    database = request.getfixturevalue("durable" if row.get("durable") else "database")
    bench = bench_on(keeper, database)
    for attempt in range(ATTEMPTS):
        trial = planted.tried(bench, row, tmp_path / f"trial-{attempt}")
        if not disturbed(trial):
            break
    told = "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in trial.findings)
    assert planted.named(trial) == [row["diagnosis"]], told
    assert trial.diagnosis == row["diagnosis"]
