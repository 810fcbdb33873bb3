"""Limits: pgbench's report is read or refused, and both ceilings are measured live."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.contracts import SEEDS
from builders.paths import ENGINE
from fairground.host import Child, Keeper
from fairground.inputs import workload_files
from fairground.measure import Bench, ceiling, pgbench
from fairground.measure.arm import PgbenchArm
from fairground.measure.watch import WatchedArm
from fairground.model import Cell, CellSettings, LabError, Load, Topology, Workload
from fairground.postgres import Database, DatabaseAddress

REPORT = """pgbench (18.1)
transaction type: tx.sql
number of transactions actually processed: 1234
latency average = 1.618 ms
initial connection time = 21.034 ms
tps = 617.123456 (without initial connection time)
"""


def workload(name: str) -> Workload:
    """A workload of the lab at scale 1."""
    return workload_files.render(next(one for one in workload_files.load_workloads(SEEDS) if one.id == name), 1)


def test_report_is_read() -> None:
    """The rate without connecting is what counts."""
    assert pgbench.rate_per_s(REPORT, 0) == 617.123456


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [(REPORT, 2, "tps = 617"), ("pgbench: error: no such table\n\n", 1, "no such table"), ("", None, "no output")],
)
def test_failure_is_told_in_its_own_words(output: str, code: int | None, words: str) -> None:
    """A report without a number, or of a pgbench that failed, is no limit; its last line says why."""
    assert pgbench.rate_per_s(output, code) is None
    assert words in pgbench.last_line(output)


@pytest.mark.live
@pytest.mark.parametrize(("name", "source"), [("ping", "null-responder"), ("db-ping", "pgbench"), ("transfer", "pgbench")])
def test_limit_is_measured(keeper: Keeper, database: Database, tmp_path: Path, name: str, source: str) -> None:
    """Each kind of workload has its own ceiling, above zero, and nothing is left running."""
    bench = Bench(keeper, database, ENGINE, (), 2)
    found = ceiling.measure(bench, tmp_path, workload(name), Load(connections=4), CellSettings(workers=1, pool_size=4, scale=1))
    assert (found.workload, found.source) == (name, source)
    assert found.rate_per_s > 0
    assert found.is_ceiling == (name != "transfer")
    tried = dict(found.tried)
    assert {"ping": not tried, "db-ping": {2, 4} <= set(tried), "transfer": set(tried) == {4}}[name]
    assert found.clients is None or tried[found.clients] == found.rate_per_s == max(tried.values())
    assert not keeper.orphans()


@pytest.mark.parametrize("own", [True, False])
def test_pgbench_has_the_sessions_of_servers_on_a_given_database(tmp_path: Path, own: bool) -> None:
    """There the settings of somebody else would be measured; on a database of the lab's own they are what was asked for."""
    given = Database(DatabaseAddress("h", 1, "u", "word"), cast(Any, SimpleNamespace(log=None)) if own else None)
    cell = Cell("pgbench", "tx", Topology(), Load(), CellSettings())
    one = pgbench.Pgbench(
        cast(Any, None),
        PgbenchArm("a", cell, workload("tx"), 1, ""),
        tmp_path,
        cast(Any, None),
        WatchedArm("d"),
        print,
        database=given,
    )
    told = one._environment()
    assert told["PGPASSWORD"] == "word"
    assert ("default_transaction_isolation=read\\ committed" in told.get("PGOPTIONS", "")) is not own


@pytest.mark.live
def test_a_limit_is_measured_again_with_the_same_clients(keeper: Keeper, database: Database, tmp_path: Path) -> None:
    """The count that did most is known by then: no other is tried, and the pool's size does not matter."""
    bench = Bench(keeper, database, ENGINE, (), 2)
    found = ceiling.measure(
        bench, tmp_path, workload("db-ping"), Load(connections=4), CellSettings(workers=1, pool_size=4, scale=1), clients=3
    )
    assert found.clients == 3 and found.tried == ((3, found.rate_per_s),) and found.rate_per_s > 0


@pytest.mark.live
@pytest.mark.parametrize(("name", "role"), [("ping", "null"), ("db-ping", "pgbench")])
def test_a_limit_has_the_seats_of_a_stack(
    keeper: Keeper, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, role: str
) -> None:
    """What stands in the server's place has its processors, and the database its own."""
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    given, spawn = dict[str, tuple[int, ...] | None](), keeper.spawn

    def spied(argv: Sequence[str], **more: Any) -> Child:
        given[more["role"]] = more["limits"].cores if more.get("limits") else None
        return spawn(argv, **more)

    monkeypatch.setattr(keeper, "spawn", spied)
    pins = (("server", (first,)), ("database", (last,)), ("generator", (last,)))
    settings = CellSettings(workers=1, pool_size=4, scale=1, pin=pins)
    bench = Bench(keeper, database, ENGINE, (), 2)
    try:
        assert ceiling.measure(bench, tmp_path, workload(name), Load(connections=4), settings, clients=4).rate_per_s > 0
        assert given[role] == (first,)
        assert database.child is not None
        assert role == "null" or os.sched_getaffinity(database.child.pid) == {last}
    finally:
        if database.child is not None:
            database.child.pin(None)


@pytest.mark.live
def test_broken_sql_is_a_reason(keeper: Keeper, database: Database, tmp_path: Path) -> None:
    """A workload whose SQL fails has no limit, with PostgreSQL's words."""
    bench = Bench(keeper, database, ENGINE, (), 2)
    with pytest.raises(LabError, match="the limit of db-ping"):
        ceiling.measure(
            bench,
            tmp_path,
            replace(workload("db-ping"), limit_sql="SELECT nothing FROM nowhere;"),
            Load(),
            CellSettings(pool_size=2, scale=1),
        )


def test_findings_of_the_engine_become_a_qualification() -> None:
    """Each known number is kept with what was measured of it."""
    check = {"name": "10 ms delay: p50", "unit": "ms", "expected": 10.0, "measured": 10.4, "tolerance": 0.05, "holds": True}
    found = ceiling.qualification(json.dumps({"checks": [check], "facts": [], "can_measure": True}), 3.5)
    assert (found.can_measure, found.took_s, found.checks[0].measured) == (True, 3.5, 10.4)


@pytest.mark.parametrize("output", ["", "{}", '{"can_measure": true, "checks": [{"name": "x"}]}'])
def test_an_engine_that_does_not_say_is_no_qualification(output: str) -> None:
    """Silence and strange words are an error with a sentence, not a machine that can measure."""
    with pytest.raises(LabError, match="gave no findings"):
        ceiling.qualification(output, 1.0)


@pytest.mark.live
@pytest.mark.nightly
def test_the_engine_qualifies_within_its_time(keeper: Keeper, database: Database, tmp_path: Path) -> None:
    """The short form of the engine's own check ends by itself and names its known numbers; nothing runs on."""
    found = ceiling.qualify(Bench(keeper, database, ENGINE, (), 2), tmp_path)
    assert found.took_s < ceiling.QUALIFY_S and len(found.checks) >= 5
    assert not keeper.orphans()
