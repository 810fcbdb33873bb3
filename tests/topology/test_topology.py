"""Proxies and poolers: what is rendered for them, what is read from them, and how they start, fail and end."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from builders.contracts import SEEDS
from builders.paths import TESTS
from fairground import topology
from fairground.host import Keeper, listens
from fairground.model import POOLERS, PROXIES, LabError, PathWire, Topology
from fairground.postgres import Database
from fairground.topology import Census, Pooler, kind, start
from fairground.topology.hop import census_of

GOLDEN = TESTS / "golden" / "topology"
URL = "postgresql://app:p%40ss@127.0.0.1:17001/fairground_trial"
POOLER = {
    "address": "127.0.0.1", "port": 18101, "size": 50, "clients": 500, "workers": 2, "host": "127.0.0.1", "database_port": 17001,
    "database": "fairground_trial", "user": "app", "admin": "fairground_lab", "auth_type": "scram-sha-256",
    "password": "(hidden)", "admin_password": "(hidden)",
}  # fmt: skip

# ---------------------------------------------------------------- words


def test_names_are_those_of_the_model() -> None:
    """What a suite may name is what can be started."""
    assert tuple(name for name, one in topology.KINDS.items() if one.role == "proxy") == PROXIES
    assert tuple(name for name, one in topology.KINDS.items() if one.role == "pooler") == POOLERS


@pytest.mark.parametrize(
    ("one", "id"),
    [
        (Topology(), "direct"),
        (Topology("nginx"), "nginx"),
        (Topology("nginx-close", "pgbouncer-tx"), "nginx-close+pgbouncer-tx"),
        (Topology(pooler="pgcat-session", pooler_size=20), "pgcat-session-20"),
        (Topology(pooler="pgbouncer-tx", pooler_size=20, pooler_clients=90), "pgbouncer-tx-20-c90"),
        (Topology("nginx", pooler_size=20), "nginx"),
        (Topology(wire=PathWire(0.2, 5.0)), "wire-server-0.2ms+wire-database-5ms"),
    ],
)
def test_id_of_a_topology(one: Topology, id: str) -> None:
    """A topology is named by its hops, and by sizes that are not the usual ones."""
    assert one.id == id


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Callable[[str, str], str]]:
    """Make a program that prints something, and return the PATH that has it and nothing else."""

    def make(name: str, script: str) -> str:
        (tmp_path / "bin").mkdir(exist_ok=True)
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(tmp_path / "bin")

    kind.version.cache_clear()
    yield make
    kind.version.cache_clear()


def test_what_is_lacking_is_said(programs: Callable[[str, str], str], tmp_path: Path) -> None:
    """A program that is not on PATH, or says no version, leaves its topologies out with the sentence that mends it."""
    path = programs("nginx", "echo 'nginx version: nginx/1.22.1' >&2")
    assert topology.lacking(Topology("nginx"), path) is None
    assert topology.lacking(Topology(), "/nowhere") is None
    assert topology.lacking(Topology("nginx", "pgbouncer-tx"), path) == (
        "`pgbouncer-tx` needs `pgbouncer` on PATH",
        "apt-get install -y pgbouncer",
    )
    programs("pgcat", "echo who knows")
    lacking = topology.lacking(Topology(pooler="pgcat-tx"), path)
    assert lacking is not None and lacking[0] == "`pgcat` does not say its version, so nobody knows what it is"


def test_versions_of_what_is_needed(programs: Callable[[str, str], str]) -> None:
    """Only programs that a topology names are asked, and what is not here has no version."""
    programs("nginx", "echo 'nginx version: nginx/1.22.1' >&2")
    path = programs("pgbouncer", "printf 'PgBouncer 1.18.0\\nlibevent 2.1.12-stable\\n'")
    assert topology.versions([Topology("nginx"), Topology("nginx-close", "pgbouncer-tx")], path) == {
        "nginx": "1.22.1",
        "pgbouncer": "1.18.0",
    }
    assert topology.versions([Topology(), Topology(pooler="pgcat-tx")], path) == {}


def test_address_behind_a_pooler() -> None:
    """The server's URL keeps user, password and database, and changes host and port."""
    assert topology.at(URL, "10.0.0.5", 18101) == "postgresql://app:p%40ss@10.0.0.5:18101/fairground_trial"
    assert topology.at("postgresql://one@db.example:6000/x", "::1", 1) == "postgresql://one@[::1]:1/x"


# ---------------------------------------------------------------- configuration


@pytest.mark.parametrize("keep_alive", [True, False])
def test_nginx_configuration(golden: Callable[[Path, str], None], keep_alive: bool) -> None:
    """The proxy's configuration, with upstream connections that are kept and that are not."""
    text = start.render("nginx.conf", listen="127.0.0.1:18102", server="127.0.0.1:18103", workers=2, keep_alive=keep_alive)
    golden(GOLDEN / f"nginx-{'keep-alive' if keep_alive else 'close'}.conf", text)


@pytest.mark.parametrize(("mode", "prepared"), [("session", False), ("transaction", False), ("transaction", True)])
@pytest.mark.parametrize("template", ["pgbouncer.ini", "pgcat.toml"])
def test_pooler_configuration(golden: Callable[[Path, str], None], template: str, mode: str, prepared: bool) -> None:
    """The poolers' configuration in each mode, with prepared statements followed where the version can."""
    name, _, ending = template.partition(".")
    text = start.render(template, mode=mode, prepared=prepared, **POOLER)
    golden(GOLDEN / f"{name}-{mode}{'-prepared' if prepared else ''}.{ending}", text)


# ---------------------------------------------------------------- the console


def test_census_of_pgbouncer() -> None:
    """Clients are all who are connected, waiting or not; of connections to the database each state counts, once."""
    columns = [
        "database",
        "user",
        "cl_active",
        "cl_waiting",
        "cl_cancel_req",
        "sv_active",
        "sv_idle",
        "sv_used",
        "sv_tested",
        "sv_login",
    ]
    rows = [("fairground_trial", "app", 7, 3, 1, 4, 2, 1, 1, 1), ("pgbouncer", "pgbouncer", 1, 0, 0, 0, 0, 0, 0, 0)]
    assert census_of(columns, rows, "fairground_trial") == Census(10, 3, 9)


def test_census_of_pgcat() -> None:
    """PgCat counts idle clients apart."""
    columns = [
        "database",
        "user",
        "pool_mode",
        "cl_idle",
        "cl_active",
        "cl_waiting",
        "sv_active",
        "sv_idle",
        "sv_used",
        "sv_login",
    ]
    rows = [("fairground_trial", "app", "transaction", 5, 2, 1, 2, 3, 0, 0)]
    assert census_of(columns, rows, "fairground_trial") == Census(8, 1, 5)
    assert census_of(columns, [], "fairground_trial") == Census(0, 0, 0)


# ---------------------------------------------------------------- programs


@pytest.fixture
def pooler(keeper: Keeper, database: Database, tmp_path: Path) -> Iterator[Callable[[str], Pooler]]:
    """Start a pooler on the session's database; all are stopped at the end."""
    database.reset(SEEDS.data(1))
    started: list[Pooler] = []

    def make(name: str, size: int = 2) -> Pooler:
        topology_ = Topology(pooler=name, pooler_size=size, pooler_clients=5)
        started.append(topology.start_pooler(keeper, topology_, database.server_url(), tmp_path, None, 2))
        return started[-1]

    yield make
    for one in started:
        one.stop()
        assert not listens("127.0.0.1", one.port)


def needs(program: str) -> None:
    """Skip where the program is not installed."""
    if kind.version(program, os.environ.get("PATH")) is None:
        pytest.skip(f"{program} is not installed here")


@pytest.mark.live
@pytest.mark.parametrize("name", ["pgbouncer-session", "pgbouncer-tx"])
def test_pgbouncer_runs(pooler: Callable[[str], Pooler], database: Database, tmp_path: Path, name: str) -> None:
    """PgBouncer runs for any user, passes queries on, counts its connections, and writes no password down."""
    needs("pgbouncer")
    running = pooler(name)
    with psycopg.connect(topology.at(database.server_url(), running.host, running.port)) as client:
        assert client.execute("SELECT 41 + 1").fetchone() == (42,)
        with running.connect() as console:
            seen = running.census(console)
        assert (seen.clients, seen.waiting, seen.servers) == (1, 0, 1)
    assert "process up" in running.log_end()
    kept = (tmp_path / "pgbouncer.ini").read_text() + running.log_end()
    assert database.app.password not in kept and running.admin.password not in kept


@pytest.mark.live
def test_transaction_pooling_shares_connections(pooler: Callable[[str], Pooler], database: Database) -> None:
    """Three clients of a pool of two are all served, and the database never sees a third connection."""
    needs("pgbouncer")
    running = pooler("pgbouncer-tx")
    url = topology.at(database.server_url(), running.host, running.port)
    clients = [psycopg.connect(url, autocommit=True) for _ in range(3)]
    try:
        assert [client.execute("SELECT 1").fetchone() for client in clients] == [(1,)] * 3
        assert len(database.backends()) <= 2
        with running.connect() as console:
            assert running.census(console).clients == 3
    finally:
        for client in clients:
            client.close()


@pytest.mark.live
@pytest.mark.parametrize("listening", [True, False])
@pytest.mark.parametrize("role", ["proxy", "pooler"])
def test_port_that_is_taken(
    keeper: Keeper, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, listening: bool
) -> None:
    """A hop whose port is taken is one sentence with the program's own words; who has the port is not taken for the hop."""
    needs("nginx" if role == "proxy" else "pgbouncer")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        if listening:
            holder.listen()
        monkeypatch.setattr(start, "free_port", lambda **_: holder.getsockname()[1])
        monkeypatch.setattr(start, "START_TIMEOUT_S", 5.0)
        with pytest.raises(LabError, match=rf"^the {role} `[a-z-]+` ended with exit code \d+: .*in use") as caught:
            if role == "proxy":
                topology.start_proxy(keeper, "nginx", 18104, tmp_path, None, 1)
            else:
                topology.start_pooler(keeper, Topology(pooler="pgbouncer-tx"), database.server_url(), tmp_path, None, 1)
    assert caught.value.exit_code == 3
    assert not keeper.orphans()


@pytest.mark.live
def test_program_that_is_not_there(tmp_path: Path, programs: Callable[[str, str], str]) -> None:
    """A hop without its program is a LabError that says what to do, and leaves no file behind."""
    with Keeper({"PATH": str(tmp_path)}) as keeper, pytest.raises(LabError, match="^`pgcat-tx` needs `pgcat` on PATH$"):
        topology.start_pooler(keeper, Topology(pooler="pgcat-tx"), URL, tmp_path, None, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.live
def test_program_that_ends_at_once(tmp_path: Path, programs: Callable[[str, str], str]) -> None:
    """A program that refuses its configuration is quoted, with the end of what it said."""
    path = programs("pgbouncer", "case $1 in --version) echo 'PgBouncer 9.9';; *) echo 'no such option' >&2; exit 7;; esac")
    with (
        Keeper({"PATH": path}) as keeper,
        pytest.raises(LabError, match="^the pooler `pgbouncer-tx` ended with exit code 7: no such option$"),
    ):
        topology.start_pooler(keeper, Topology(pooler="pgbouncer-tx"), URL, tmp_path, None, 1)
