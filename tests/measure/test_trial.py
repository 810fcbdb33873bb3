"""The trial when the fault is ours or the machine's: it is void, it is still a value, and nothing is left running."""

from __future__ import annotations

import stat
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.expected import COMES_AND_GOES
from builders.paths import ROOT
from fairground.host import Child, Keeper, burner
from fairground.inputs import manifest, workload_files
from fairground.judge import answers
from fairground.measure import Bench, path, run, watch
from fairground.model import Cell, CellSettings, Control, Load, PlanSlot, Topology, Trial, Verdict
from fairground.postgres import Database

MACHINE = COMES_AND_GOES

pytestmark = pytest.mark.live


@pytest.fixture
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench with the session's database and the real engine."""
    return bench_on(keeper, database)


def trial(
    bench: Bench, folder: Path, serve: tuple[str, ...] | None = None, control: Control | None = None, planted: float = 0.0
) -> Trial:
    """A short trial of the healthy animal, or of one that is served by another command; of a control, if it is said."""
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), "healthy")
    if serve is not None:
        stack = replace(stack, server=replace(stack.server, serve=serve))
    workload = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "db-ping")
    load = Load(connections=4, window_s=1.0, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=3000)
    cell = Cell(stack.id, workload.id, Topology(), load, CellSettings(workers=1, pool_size=4, scale=1))
    return run(bench, PlanSlot(1, 1, cell, 7, control, planted), 1, stack, workload_files.render(workload, 1), folder, "trial")


def test_a_planted_slowdown_ends_with_the_load(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slowed control burns its share in the server's own group while the load lasts; nothing of it is left behind or held against
    the server, and the trial says what it is."""
    if bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    planted: list[tuple[float, int]] = []

    def plant(keeper: Keeper, engine: Path, server: Child, share: float, cores: tuple[int, ...] | None) -> Child:
        made = real(keeper, engine, server, share, cores)
        until = time.monotonic() + 10
        while len(server.group.pids() or ()) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        planted.append((share, len(server.group.pids() or ())))
        return made

    real = burner.plant
    monkeypatch.setattr(burner, "plant", plant)
    measured = trial(bench, tmp_path / "trial", control=Control.SLOWED, planted=0.25)
    assert planted == [(0.25, 2)]
    assert measured.control is Control.SLOWED
    assert not {"strays", "server-exit", "stop", "instrument"} & set(found(measured)), measured.findings
    assert not bench.keeper.orphans()


def found(trial: Trial) -> dict[str, str]:
    """Findings by id, those about the machine's noise left out."""
    return {finding.id: str(finding.severity) for finding in trial.findings if finding.id not in MACHINE}


def test_healthy_trial_has_no_finding(bench: Bench, tmp_path: Path) -> None:
    """A good server on a good bench: every phase took place, and nothing is to be said."""
    measured = trial(bench, tmp_path / "trial")
    assert not {id for id, severity in found(measured).items() if severity != "note"}, measured.findings
    assert {"reset", "start", "verify", "warmup", "window", "stop", "audit"} <= set(measured.phases_s)
    assert {"server", "database", "generator", "lab"} <= set(measured.roles)
    assert measured.database is not None and measured.database.connections_peak is not None
    assert 1 <= measured.database.connections_peak <= 4


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo 'out of cheese' >&2\nexit 101\n", "out of cheese"), ("echo '{}'\necho '{}'\nexit 0\n", "result is not JSON")],
    ids=["no result", "two results"],
)
def test_engine_that_fails_makes_the_trial_void(script: str, said: str, bench: Bench, tmp_path: Path) -> None:
    """An engine that ends without a result, or with one that cannot be read, is the instrument's fault, not the server's."""
    broken = tmp_path / "broken-engine"
    broken.write_text(f"#!/bin/sh\n{script}")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    measured = trial(replace(bench, engine=broken), tmp_path / "trial")
    assert (measured.verdict, found(measured).get("instrument")) == (Verdict.VOID, "void")
    assert said in next(finding.sentence for finding in measured.findings if finding.id == "instrument")
    assert measured.goodput_per_s is None


def test_port_that_is_still_served_makes_the_trial_void(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something listens after the server was stopped, another server was measured too."""
    monkeypatch.setattr(path, "wait_until_silent", lambda host, port: False)
    assert found(trial(bench, tmp_path / "trial")).get("port") == "void"


def test_connections_that_stay_make_the_trial_void(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters cannot be read while connections of the ended server are open."""
    monkeypatch.setattr(Database, "wait_for_no_connections", lambda _: False)
    assert found(trial(bench, tmp_path / "trial")).get("connections-left") == "void"


def test_database_that_cannot_be_read_makes_the_trial_void(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is gone at the audit ends the trial, not the run."""

    def gone(_: Database) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(Database, "counters", gone)
    measured = trial(bench, tmp_path / "trial")
    assert found(measured).get("database") == "void"
    assert answers.verdict(measured.findings) is Verdict.VOID


def test_cpu_of_a_given_database_is_unknown_not_foreign(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a database of our own what it uses is no stranger's CPU: the check for strangers is not made."""
    monkeypatch.setattr(bench.database, "owner", None)
    measured = trial(bench, tmp_path / "trial")
    assert measured.host is not None and measured.host.foreign_cpu_us is None
    assert "database" not in measured.roles
    assert "foreign-cpu" not in {finding.id for finding in measured.findings}


def test_server_that_cannot_be_started_is_rejected(bench: Bench, tmp_path: Path) -> None:
    """A program that is not there is the server's fault and a result; the run goes on."""
    measured = trial(bench, tmp_path / "trial", serve=("./no-such-program",))
    assert (measured.verdict, found(measured)) == (Verdict.REJECTED, {"start": "reject"})


def test_watch_that_ends_early_makes_the_trial_void(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of connections that stopped early would let an overdraft pass: the trial is void."""

    def broken(_: object) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(watch.ArmWatch, "_sample", broken)
    assert found(trial(bench, tmp_path / "trial")).get("watch") == "void"
