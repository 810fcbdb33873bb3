"""What each reason predicts: one thing is changed, and nothing that a server wrote is carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import experiments
from fairground.judge.experiments import EXPERIMENTS, experiment
from fairground.model import Cell, CellSettings, Durability, Load, PathWire, Topology
from fairground.model.experiment import Direction, Experiment
from fairground.model.reason import DB_LOCK, REASONS

LIMITED = CellSettings(pool_size=5, cpus=0.5, memory_mb=200, durability=Durability.DURABLE, pin=(("server", (0,)),))
CELL = Cell("a:b", "transfer", Topology(), Load(connections=8, keep_alive=False), LIMITED)


KNOWN = {"database_cores": 0.9, "server_cores": 0.3}


def made(reason: str, cell: Cell = CELL, **evidence: str | float) -> Experiment:
    """The experiment, which there must be."""
    found = experiment(reason, cell, evidence)
    assert isinstance(found, Experiment), found
    return found


def test_every_reason_has_an_experiment_or_says_why_not() -> None:
    """Those that predict something have an experiment, and the others a sentence."""
    assert {one.id for one in EXPERIMENTS} == {one.id for one in REASONS.values() if one.predictions}
    for reason in REASONS.values():
        if not reason.predictions:
            assert experiment(reason.id, CELL, {}) == reason.untested


def differs(one: Cell, other: Cell) -> set[str]:
    """The names of the fields in which two cells differ, those of load and settings by themselves."""
    pairs = [(one, other, ("stack", "workload", "topology")), (one.load, other.load, tuple(vars(one.load))),
             (one.settings, other.settings, tuple(vars(one.settings)))]  # fmt: skip
    return {name for a, b, names in pairs for name in names if getattr(a, name) != getattr(b, name)}


@pytest.mark.parametrize("reason", [one.id for one in EXPERIMENTS])
def test_each_change_changes_one_thing(reason: str) -> None:
    """One field of the cell, statements, or a planted slowdown: never two of them, and never the stack."""
    hops = {"proxy-cpu": Topology("nginx"), "pooler": Topology(pooler="pgbouncer-tx")}
    hops |= dict.fromkeys(("wire", "wire-cpu"), Topology(wire=PathWire(database_ms=1.0)))
    workload = "tx" if reason == "db-lock" else CELL.workload
    load = replace(CELL.load, keep_alive=reason == "delayed-ack")
    cell = replace(CELL, workload=workload, load=load, topology=hops.get(reason, CELL.topology))
    found = made(reason, cell, **KNOWN)
    labels = [one.label for one in found.changes]
    assert len(set(labels)) == len(labels) > 0
    for one in found.changes:
        changed = differs(cell, one.cell)
        assert len(changed) + bool(one.statements) + bool(one.planted) == 1, (one.label, changed)
        assert "stack" not in changed and one.words.split()[0] in ("with", "without")
    assert found.direction in {one.goodput for one in REASONS[reason].predictions}


def test_a_full_thread_is_slowed_on_a_core_of_its_own() -> None:
    """On several cores, what is spent on purpose would run beside it: there the server gets a worker more, while a core is free."""
    assert made("app-serial").changes[0].planted == experiments.SLOWED
    for pin in ((), (("server", (0, 1)),)):
        found = made("app-serial", replace(CELL, settings=CellSettings(workers=1, pin=pin)))
        assert [one.cell.settings.workers for one in found.changes] == [2] and not found.refutes
    full = replace(CELL, settings=CellSettings(workers=2, pin=(("server", (0, 1)),)))
    assert "a worker for each of its cores" in str(experiment("app-serial", full, {}))
    assert isinstance(experiment("app-cpu", replace(CELL, settings=CellSettings()), {}), Experiment)


def test_a_full_database_must_lose_what_is_taken_from_it() -> None:
    """A quarter of what it uses, told as a share of what the server uses; without either there is no experiment."""
    found = experiment("db-cpu", CELL, {"database_cores": 0.9, "server_cores": 0.3})
    assert isinstance(found, Experiment) and found.direction is Direction.LESS and found.refutes
    (slowed,) = found.changes
    assert slowed.slowed == "database" and slowed.planted == pytest.approx(0.25 * 3)
    for known in ({}, {"database_cores": 0.9}, {"database_cores": 0.9, "server_cores": 0.0}):
        assert "is not known from its trials" in str(experiment("db-cpu", CELL, known))


@pytest.mark.parametrize("reason", ["ports", "backlog"])
def test_connections_stay_open_where_new_ones_are_the_limit(reason: str) -> None:
    """Where they stay open already there is nothing to change."""
    (found,) = made(reason).changes
    assert found.cell.load.keep_alive
    assert "open already" in str(experiment(reason, found.cell, {}))


def test_sizes_are_doubled_and_doubled_again() -> None:
    """Twice and four times the connections, or the pool."""
    assert [one.cell.load.connections for one in made("too-few-connections").changes] == [16, 32]
    assert [one.cell.settings.pool_size for one in made("pool").changes] == [10, 20]


def test_a_full_server_must_lose_what_is_taken_from_it() -> None:
    """More CPU is planted on it, and less goodput is predicted."""
    found = made("app-cpu")
    assert found.direction is Direction.LESS and found.changes[0].planted == experiments.SLOWED


def test_deadlocks_have_one_experiment_where_there_is_a_twin_and_another_elsewhere() -> None:
    """Rows in one order is another workload, where the contract has one."""
    assert [one.cell.workload for one in made("deadlock", twin="in-order").changes] == ["in-order"]
    assert [one.label for one in made("deadlock").changes] == ["sooner"]


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("aid + 0 = $1", "((aid + 0))"),
        ("name = $1 LIMIT 1", "((name))"),
        ("aid::text = '7'", "((aid::text))"),
        ("aid + ?=?", "((aid + 0))"),
        ("aid * ?=?", "((aid * 1))"),
        ("name=?", "((name))"),
    ],
)
def test_the_missing_index_is_that_of_the_statement(where: str, index: str) -> None:
    """What the statement seeks becomes the index."""
    found = made("db-cpu", table="accounts", statement=f"SELECT x FROM accounts WHERE {where}")
    assert found.changes[0].statements[0] == f"CREATE INDEX ON accounts {index}"


@pytest.mark.parametrize(
    "where",
    [
        "f(x); DROP TABLE accounts; -- = $1",
        "(SELECT pg_sleep(9)) = $1",
        "aid || 'x' = $1",
        "aid > $1",
        '"a"; x = $1',
        "a)) ; b = 1",
    ],
)
def test_a_servers_text_is_never_carried_out(where: str) -> None:
    """A statement is foreign text: what is not plainly a column gives no experiment."""
    assert isinstance(experiment("db-cpu", CELL, {"table": "accounts", "statement": f"SELECT 1 FROM t WHERE {where}"}), str)
    assert isinstance(experiment("db-cpu", CELL, {"table": "a; DROP", "statement": "SELECT 1 FROM t WHERE a = $1"}), str)


@pytest.mark.parametrize(
    "load", [Load(model="open", rate_per_s=10.0), Load(generator="wrk"), Load(requests=100)], ids=["open", "wrk", "requests"]
)
def test_other_loads_have_no_experiment(load: Load) -> None:
    """Arms take turns under the engine's closed loop only."""
    assert "closed loop" in str(experiment("pool", replace(CELL, load=load), {}))


def test_advisory_locks_are_taken_away_and_row_locks_get_more_rows() -> None:
    """What the samples saw decides which. Where a larger scale gives no more rows, an experiment with one would change nothing."""
    assert [one.cell.settings.scale for one in made("db-lock", replace(CELL, workload="tx")).changes] == [100]
    said = "there are three rows at any scale"
    assert experiment("db-lock", CELL, {"fixed_rows": said}) == f"{said}, so that there are no more rows to choose from"
    (found,) = EXPERIMENTS[DB_LOCK](CELL, {"waiting_for_advisory_locks": 0.9}).changes  # type: ignore[union-attr]
    assert found.cell == CELL and found.statements[-1].endswith("SET search_path = unlocked, pg_catalog, public")


def test_the_generator_gets_more_threads_where_it_has_room() -> None:
    """Twice as many; a seat of one core holds no second one."""
    assert made("generator").changes[0].cell.load.threads == 2
    seated = replace(CELL, settings=replace(LIMITED, pin=(("generator", (1,)),)))
    assert "no more processors" in str(experiment("generator", seated, {}))


def test_what_is_there_already_cannot_be_added() -> None:
    """A quota that is not set, connections that stay open or do not, a database that is too old."""
    free = replace(CELL, settings=CellSettings(), load=Load(), topology=Topology("nginx"))
    closed = replace(free, load=Load(keep_alive=False))
    assert isinstance(experiment("delayed-ack", closed, {}), str)
    old = replace(free, settings=CellSettings(postgres_version=16))
    assert isinstance(experiment("connect-per-request", old, {}), str)
    assert isinstance(experiment("connect-per-request", free, {}), Experiment)
    for reason in ("throttled", "memory", "ports", "db-commit", "wire"):
        assert isinstance(experiment(reason, free, {}), str), reason
    assert isinstance(experiment("prepared-statements", replace(free, settings=CellSettings(prepared=False)), {}), str)
