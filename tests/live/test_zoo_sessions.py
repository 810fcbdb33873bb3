"""The zoo in comparisons and under a search: each animal gets the same word there as in a trial, and its neighbour none; under `try` what the wire shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.benches import bench_on
from builders.expected import each
from builders.paths import TESTS
from fairground.host import Keeper, free_port, server
from fairground.inputs import manifest
from fairground.lab.roots import ROOT
from fairground.measure import Bench
from fairground.measure.arm import Ended, StackArm
from fairground.measure.schedule import InTurns, Schedule, Whole, WholeWindows
from fairground.measure.session import Session
from fairground.model import Cell, Load, Settings, Severity, Topology
from fairground.postgres import Database

ZOO = TESTS / "zoo"
SERVERS = manifest.load_servers(ZOO)
TRIALS = tomllib.loads((ZOO / "expected.toml").read_text())["trial"]
IN_TURNS = [row for row in TRIALS if "place" not in row and row.get("finding") != "audit:transactions"]
"""Rows of the session's own database; and in turns the transactions of arms are not told apart."""
ROWS = [row for row in IN_TURNS if row["verdict"] == "rejected"]
ON_THE_WIRE = [row for row in ROWS if row["finding"] in ("wrong-answers", "server-exit") and row["workload"] == "ping"]
"""What can be told of an animal without its contract and its database."""
WORKLOADS = {one.id: manifest.render(one, 1) for one in manifest.load_workloads(ROOT / "workloads")}
NEVER_READY_S = 3.0
"""How long is waited for an animal that never becomes ready: all others have the bench's time."""


@pytest.fixture(scope="module")
def bench(keeper: Keeper, database: Database) -> Iterator[Bench]:
    """A bench with the session's database."""
    yield bench_on(keeper, database, ready_timeout_s=10.0)


def arm(label: str, name: str, row: dict[str, Any]) -> StackArm:
    """A stack of the zoo on a row's workload."""
    (stack,) = manifest.find_stack(SERVERS, name)
    load = Load(row["connections"], window_s=1.0, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=5000)
    settings = Settings(workers=1, pool_size=row.get("pool_size", 8), scale=1)
    return StackArm(label, Cell(stack.id, row["workload"], Topology(), load, settings), WORKLOADS[row["workload"]], 7, stack)


def played(bench: Bench, row: dict[str, Any], arms: list[StackArm], schedule: Schedule, folder: Path) -> dict[str, Ended]:
    """The ends of arms that were loaded as a schedule says. Skips what a row's animal cannot do here."""
    if row.get("groups") and (os.geteuid() != 0 or bench.keeper.groups.version is None):
        pytest.skip("a server cannot leave its control group here")
    if row["finding"] == "ready":
        bench = replace(bench, ready_timeout_s=NEVER_READY_S)
    with Session(bench, arms, folder) as session:
        for _ in session.play(schedule):
            pass
    return dict(session.ended)


def rejections(ended: Ended) -> set[str]:
    """What rejects an arm."""
    return {one.id for one in ended.findings if one.severity is Severity.REJECT}


@pytest.mark.parametrize("row", each(ROWS))
def test_in_turns_with_a_healthy_one(bench: Bench, row: dict[str, Any], tmp_path: Path) -> None:
    """Beside a healthy server, in turns: the animal is rejected for what it does, the other is not, and nothing runs on."""
    arms = [arm("healthy", "healthy", row), arm("animal", row["stack"], row)]
    schedule = InTurns(("healthy", "animal"), arms[0].cell.load, 2, lambda _: True)
    ended = played(bench, row, arms, schedule, tmp_path)
    told = "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in ended["animal"].findings)
    assert row["finding"] in rejections(ended["animal"]), told
    assert rejections(ended["healthy"]) == set()
    assert not bench.keeper.orphans()


@pytest.mark.parametrize("row", each(ON_THE_WIRE, "{stack}"))
def test_as_a_service_without_a_contract(bench: Bench, row: dict[str, Any], tmp_path: Path) -> None:
    """Under `try`, which knows neither contract nor database: what is wrong on the wire gets the same word, and exit code 1."""
    (stack,) = manifest.find_stack(SERVERS, row["stack"])
    assert bench.database is not None
    database, port = bench.database.arm(1), free_port()
    database.reset(1)
    environ = server.environment(os.environ, stack, Settings(workers=1, scale=1), "127.0.0.1", port, database.server_url())
    words = ["try", "--url", f"http://127.0.0.1:{port}/ping", "--seconds", "1", "--json", "--results", str(tmp_path), "--"]
    done = subprocess.run(
        [sys.executable, "-m", "fairground", *words, *stack.server.serve],
        cwd=stack.server.folder, env={**os.environ, **environ, "PYTHONPATH": str(ROOT / "src"), "CI": "1"}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    found = {one["id"] for one in json.loads(done.stdout)["checks"] if one["severity"] == "reject"}
    assert (done.returncode, found) == (1, {row["finding"]}), done.stderr


@pytest.mark.parametrize("row", each(ROWS))
def test_under_one_load_after_the_other(bench: Bench, row: dict[str, Any], tmp_path: Path) -> None:
    """On a server that stays up, as in a search: a closed loop and a rate; the animal is rejected, and nothing runs on."""
    subject = arm("animal", row["stack"], row)
    closed = replace(subject.cell.load, window_s=2.0)  # a trial's window: so many samples are as many statements
    opened = Load(50, model="open", window_s=1.0, warmup_min_s=0.3, timeout_ms=5000)
    asks = (Whole("animal", closed, 1, folder="load-001"), Whole("animal", opened, 2, ((100.0, 1.0),), folder="load-002"))
    ended = played(bench, row, [subject], WholeWindows(asks), tmp_path)["animal"]
    told = "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in ended.findings)
    assert row["finding"] in rejections(ended), told
    assert not bench.keeper.orphans()
