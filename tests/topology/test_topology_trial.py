"""Trials through proxies and poolers: the roles are measured apart, budgets are held, and what a pooler breaks is a result."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.expected import COMES_AND_GOES
from builders.paths import ROOT
from fairground import postgres, topology
from fairground.host import Keeper
from fairground.inputs import manifest, workload_files
from fairground.measure import Bench, path, run
from fairground.model import (
    Cell,
    CellSettings,
    Durability,
    Finding,
    LabError,
    Load,
    PathWire,
    PlanSlot,
    PoolScope,
    Severity,
    Topology,
    Trial,
    Verdict,
)
from fairground.postgres import Database
from fairground.topology import kind

MACHINE = COMES_AND_GOES | {"errors", "distance", "stalls"}
"""And what a test beside it brings about: a busy machine stalls any server."""
POOL = 4

pytestmark = pytest.mark.live


@pytest.fixture
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench with the session's database and the real engine."""
    return on(keeper, database)


def on(keeper: Keeper, database: Database) -> Bench:
    """A bench with a database and the real engine."""
    return bench_on(keeper, database, ready_timeout_s=20.0)


def tried(
    bench: Bench, folder: Path, path: Topology, workload: str = "db-ping", server: str = "healthy", **settings: object
) -> Trial:
    """A short trial of an animal through a topology."""
    for name in path.hops:
        if kind.version(topology.KINDS[name].program, os.environ.get("PATH")) is None:
            pytest.skip(f"{topology.KINDS[name].program} is not installed here")
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), server)
    asked = next(one for one in workload_files.load_workloads(SEEDS) if one.id == workload)
    load = Load(connections=8, window_s=1.0, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=5000)
    given = CellSettings(**{"workers": 1, "pool_size": POOL, "scale": 1, **settings})  # type: ignore[arg-type]
    cell = Cell(stack.id, asked.id, path, load, given)
    return run(bench, PlanSlot(1, 1, cell, 7), 1, stack, workload_files.render(asked, 1), folder, "trial")


def findings(trial: Trial) -> dict[str, Finding]:
    """What is to be said of the trial, the machine's noise and mere notes left out."""
    return {one.id: one for one in trial.findings if one.id not in MACHINE and one.severity is not Severity.NOTE}


@pytest.mark.parametrize(
    ("path", "roles"),
    [
        pytest.param(Topology("nginx"), {"proxy"}, marks=pytest.mark.nightly),
        (Topology("nginx-close"), {"proxy"}),
        pytest.param(Topology(pooler="pgbouncer-session"), {"pooler"}, marks=pytest.mark.nightly),
        pytest.param(Topology("nginx", "pgbouncer-session"), {"proxy", "pooler"}, marks=pytest.mark.nightly),
        (Topology("nginx", "pgbouncer-session", wire=PathWire(0.2, 1.0)), {"proxy", "pooler", "wire"}),
        (Topology(wire=PathWire(database_ms=1.0)), {"wire"}),
    ],
    ids=lambda value: value.id if isinstance(value, Topology) else "",
)
def test_hops_are_measured_apart(bench: Bench, tmp_path: Path, path: Topology, roles: set[str]) -> None:
    """Requests go through every hop of the topology, each with CPU of its own, its configuration and its log kept."""
    trial = tried(bench, tmp_path, path)
    assert not findings(trial), trial.findings
    assert trial.result is not None and trial.result.completed_ok > 0
    assert roles | {"server", "database", "generator", "lab"} == set(trial.roles)
    assert all((trial.roles[role].cpu_us or 0) > 0 for role in roles)
    assert {f"{role}.log" for role in roles} <= {file.name for file in tmp_path.iterdir()}
    assert ("pgbouncer.ini" in os.listdir(tmp_path), "nginx.conf" in os.listdir(tmp_path)) == (
        "pooler" in roles,
        "proxy" in roles,
    )
    if path.proxy is not None:  # a proxy that closes its connections to the server keeps none of them
        kept = "keepalive 1024;" in (tmp_path / "nginx.conf").read_text()
        assert kept is (path.proxy == "nginx")
    assert not bench.keeper.orphans()
    added = {one.evidence["side"]: one.evidence for one in trial.findings if one.id == "distance"}
    assert set(added) == set(path.wire.sides if path.wire is not None else ())
    for told in added.values():  # a relay can be late, and never early; the way without it may have been slow meanwhile
        over_us = float(told["added_us"] or 0) + float(told["without_us"] or 0)
        assert over_us >= float(told["asked_us"] or 0) and told["round_trips"]


def addresses(database: Database) -> set[str]:
    """The addresses at which a database server of ours listens. Another process may have its port at another one."""
    assert database.child is not None
    own = {process.pid for process in database.child.processes()}
    sockets = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.pid in own]
    return {one.laddr.ip for one in sockets}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(Topology(), marks=pytest.mark.nightly),
        Topology("nginx", "pgbouncer-session", wire=PathWire(0.2, 1.0)),
    ],
    ids=lambda one: one.id,
)
def test_roles_listen_at_their_hosts_address(cache: Path, tmp_path: Path, path: Topology) -> None:
    """On a host that is reached at another address each role is found there, and none at the usual one."""
    with Keeper(os.environ, "127.0.0.2") as elsewhere:
        database = postgres.start(elsewhere, cache, Durability.RELAXED)
        try:
            database.prepare(SEEDS.data(1))
            trial = tried(on(elsewhere, database), tmp_path, path, "tx")
            assert database.admin.host == "127.0.0.2" and addresses(database) == {"127.0.0.2"}
        finally:
            database.stop()
    assert not findings(trial), trial.findings
    assert trial.result is not None and trial.result.completed_ok > 0
    assert trial.audit and all(line.holds for line in trial.audit)


@pytest.mark.parametrize("workload", ["tx", pytest.param("users", marks=pytest.mark.nightly)])
def test_transaction_pooling_without_prepared_statements(bench: Bench, tmp_path: Path, workload: str) -> None:
    """A server that keeps no named statements works behind transaction pooling; its budget is counted at the pooler."""
    path = Topology(pooler="pgbouncer-tx", pooler_size=2)
    trial = tried(bench, tmp_path, path, workload, prepared=False)
    assert not findings(trial), trial.findings
    assert trial.database is not None
    assert 2 < (trial.database.pooler_clients_peak or 0) <= POOL
    assert 1 <= (trial.database.connections_peak or 0) <= 2
    assert trial.audit and all(line.holds for line in trial.audit)


@pytest.mark.parametrize("workload", ["db-ping", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("users", "tx"))])
def test_lost_prepared_statements_are_a_result(bench: Bench, tmp_path: Path, workload: str) -> None:
    """Named statements behind transaction pooling: the share that fails is measured, with the error in the database's words."""
    path = Topology(pooler="pgbouncer-tx", pooler_size=2)
    trial = tried(bench, tmp_path, path, workload)
    version = kind.version("pgbouncer", os.environ.get("PATH"))
    if kind.version_numbers(version or "") >= kind.PREPARED_SINCE["pgbouncer"]:
        assert not findings(trial), trial.findings
        return
    found = findings(trial)["prepared-statements"]
    assert (trial.verdict, trial.diagnosis) == (Verdict.REJECTED, "prepared-statements")
    assert found.severity is Severity.REJECT and "prepared statement" in str(found.evidence["error"])
    assert trial.goodput_per_s is None
    if trial.result is not None:
        window = trial.result.window
        failed = (window.shed or 0) + window.status[500]
        assert (found.evidence["failed"], found.evidence["failed_share"]) == (failed, round(failed / window.total, 4))
        assert failed > 0
    assert not bench.keeper.orphans()


def test_overdraft_behind_a_pooler(bench: Bench, tmp_path: Path) -> None:
    """Behind a pooler the connections to the pooler are counted against POOL_SIZE, and an overdraft is rejected."""
    trial = tried(bench, tmp_path, Topology(pooler="pgbouncer-tx", pooler_size=2), server="hoarder", prepared=False)
    assert findings(trial)["connections"].severity is Severity.REJECT
    assert "connections to the pooler" in findings(trial)["connections"].sentence
    assert trial.database is not None and (trial.database.pooler_clients_peak or 0) > POOL
    assert (trial.database.connections_peak or 0) <= 2


@pytest.mark.parametrize(("role", "path"), [("proxy", Topology("nginx")), ("pooler", Topology(pooler="pgbouncer-tx"))])
def test_hop_that_does_not_start_makes_the_trial_void(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, path: Topology
) -> None:
    """A hop that fails to start is the machine's fault: void, one sentence, nothing left running, and no exception."""

    def refuse(*_: object, **__: object) -> None:
        raise LabError(f"the {role} did not start", exit_code=3)

    monkeypatch.setattr(topology, f"start_{role}", refuse)
    trial = tried(bench, tmp_path, path)
    assert (trial.verdict, set(findings(trial))) == (Verdict.VOID, {role})
    assert findings(trial)[role].sentence == f"the {role} did not start"
    assert trial.result is None
    assert not bench.keeper.orphans()


def test_hop_that_ends_by_itself_makes_the_trial_void(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler that dies during a trial is no fault of the server's."""
    opened = path.Route.wait

    def wait_and_kill(self: path.Route, timeout_s: float) -> str | None:
        problem = opened(self, timeout_s)
        assert self.pooler is not None
        self.pooler.child.send(9)
        self.pooler.child.wait(5.0)
        return problem

    monkeypatch.setattr(path.Route, "wait", wait_and_kill)
    trial = tried(bench, tmp_path, Topology(pooler="pgbouncer-session"))
    assert findings(trial)["pooler"].severity is Severity.VOID
    assert "ended by itself with exit code -9" in findings(trial)["pooler"].sentence
    assert not bench.keeper.orphans()


# ---------------------------------------------------------------- resources


def test_quota_memory_and_cores(bench: Bench, tmp_path: Path) -> None:
    """The server runs under its quota, in its memory and on its core; the trial says how each is held, and what was throttled."""
    trial = tried(bench, tmp_path, Topology(), "ping", cpus=0.2, memory_mb=200, pin=(("server", (0,)), ("generator", (1,))))
    assert not findings(trial), trial.findings
    server = trial.roles["server"]
    assert server.bounds["cores"] == "0" and trial.roles["generator"].bounds == {"cores": "1"}
    assert server.bounds["memory"].startswith("200 MB by ")
    assert trial.roles["database"].bounds == {}
    if "for want" not in server.bounds["cpus"]:
        assert server.bounds["cpus"].endswith("quota of 0.2")
        assert server.throttled_periods is not None and server.periods is not None
        assert server.throttled_periods <= server.periods


def test_pool_for_each_worker(bench: Bench, tmp_path: Path) -> None:
    """A pool for each worker is given to the server as the total of all workers, and that total is its budget."""
    trial = tried(bench, tmp_path, Topology(), workers=3, pool_size=2, pool_scope=PoolScope.PER_WORKER)
    assert not findings(trial), trial.findings
    assert trial.database is not None and 2 < (trial.database.connections_peak or 0) <= 6


def test_memory_limit_that_is_too_small(bench: Bench, tmp_path: Path) -> None:
    """A server that does not fit into its memory is rejected and says so; nothing of it is left."""
    trial = tried(bench, tmp_path, Topology(), "ping", memory_mb=16)
    assert trial.verdict is Verdict.REJECTED, trial.findings
    assert {"ready", "memory-limit", "server-exit", "start"} & set(findings(trial))
    assert not bench.keeper.orphans()
