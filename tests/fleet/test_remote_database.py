"""The database server on another host: Dask's own worker in this process, and a PostgreSQL that it starts for real."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psutil
import psycopg
import pytest

from builders.contracts import SEEDS
from builders.fleet import alive
from builders.waiting import eventually
from fairground.fleet import remote_database
from fairground.fleet.remote_database import RemoteDatabaseHost
from fairground.host import Keeper, Moment
from fairground.model import Durability, LabError, MachineError
from fairground.postgres import Database, DatabaseAddress
from fleet.conftest import There
from fleet.made import host

TOO_MANY = "too many connections for role"


@pytest.fixture
def far(there: There) -> Iterator[RemoteDatabaseHost]:
    """The host as the lab sees it."""
    with remote_database.database_on(there.client, there.member) as found:
        yield found


def started(far: RemoteDatabaseHost) -> Database:
    """A server there, with the data of the smallest scale in the first arm's database."""
    database = far.start(Durability.RELAXED, {"work_mem": "8MB"}, None)
    database.reset(SEEDS.data(1))
    return database


@pytest.mark.live
def test_a_database_from_there(far: RemoteDatabaseHost, keeper: Keeper) -> None:
    """It is the lab's own: settings, roles of arms with a limit that its log tells of, what it uses, and a restart."""
    database = started(far)
    assert database.child is None and database.settings()["work_mem"] == "8MB"
    assert database.query("SELECT count(*) FROM pgbench_accounts") == [(100_000,)]
    meter = database.meter()
    assert meter is not None
    before = meter.clock()
    database.query("SELECT sum(abalance) FROM pgbench_accounts")
    use, moment = meter.use(before, meter.clock()), far.moment()
    assert use.cpu_us and use.host == "rack-2" and use.cores == host("rack-2").machine.cores
    assert isinstance(moment["rack-2"], Moment)
    assert far.free_bytes() > 0
    assert eventually(lambda: meter.use(before, meter.clock()).memory_peak_bytes, 20)  # the host looks, not the lab
    database.limit_connections(1)
    with psycopg.connect(database.server_url()), pytest.raises(psycopg.OperationalError, match=TOO_MANY):
        psycopg.connect(database.server_url())
    assert (database.refusals(), database.refusals()) == ((1, 0), (0, 0))
    assert database.owner is not None
    database.owner.restart(keeper, Durability.RELAXED)
    assert database.query("SELECT 1") == [(1,)] and meter.clock().cpu_ns > before.cpu_ns
    database.stop()
    with pytest.raises(psycopg.OperationalError):
        database.query("SELECT 1")


@pytest.mark.live
def test_what_its_server_logs_comes_here(far: RemoteDatabaseHost) -> None:
    """The errors of an arm's database, once they are asked for."""
    database = started(far)
    database.log_errors()
    with pytest.raises(psycopg.errors.UndefinedTable):
        database.query("SELECT nothing FROM nowhere")
    assert 'relation "nowhere" does not exist' in database.take_errors()
    assert database.take_errors() == ""


@pytest.mark.live
def test_a_setting_that_it_does_not_have(far: RemoteDatabaseHost) -> None:
    """It is refused there in the words of here."""
    with pytest.raises(LabError, match="PostgreSQL has no setting `work_men`") as caught:
        far.start(Durability.RELAXED, {"work_men": "8MB"}, None)
    assert "did you mean work_mem" in str(caught.value.hint)


def servers() -> set[psutil.Process]:
    """Processes of PostgreSQL below this one; another test's server may be among them."""
    return {one for one in alive(psutil.Process().children(recursive=True)) if one.name() == "postgres"}


@pytest.mark.live
def test_nothing_stays_when_the_lab_lets_go(there: There) -> None:
    """The server ends, and its folder is free for another lab; each has a password of its own."""
    passwords = list[str]()
    before = servers()
    for _ in range(2):
        with remote_database.database_on(there.client, there.member) as far:
            passwords.append(far.start(Durability.RELAXED, {}, None).admin.password)
            assert (theirs := servers() - before)
        deadline = time.monotonic() + 40
        while alive(list(theirs)):
            assert time.monotonic() < deadline, theirs
            time.sleep(0.05)
    assert len(set(passwords)) == 2


class Near(RemoteDatabaseHost):
    """A host that answers what it is told to."""

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        return {"clock_s": time.time(), "process": 77, "remark": "its clock jumps"}[method]


def test_what_a_person_is_told_of_it() -> None:
    """Where it is, and whom it lets in."""
    first, second = Near(host("rack-2"), "10.0.0.1", None, "10.0.0.2").remarks
    assert first.startswith("the database is on host rack-2, and lets 10.0.0.1 connect to it; a question to it takes")
    assert second == "host rack-2: its clock jumps"


class Telling(Near):
    """A host that tells whatever it likes of the server which it has started."""

    def __init__(self, told: object) -> None:
        self.told = told
        super().__init__(host("rack-3"), "10.0.0.1", None, "10.0.0.3")

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        return self.told if method == "start" else super().ask(method, *words)


@pytest.mark.parametrize(
    "told",
    [
        DatabaseAddress("10.0.0.66", 5432, "me", "word"),
        DatabaseAddress("10.0.0.3", 5432, "me", ""),
        DatabaseAddress("10.0.0.3", 5432, "", "word"),
        DatabaseAddress("10.0.0.3", "5432", "me", "word"),  # type: ignore[arg-type]
        DatabaseAddress("10.0.0.3", 5432, "me", None),  # type: ignore[arg-type]
        ("10.0.0.3", 5432, "me", "word"),
        None,
    ],
)
def test_a_server_that_is_none_of_the_host_s_is_refused(told: object) -> None:
    """Elsewhere, or without a password of its own: libpq would look for one of this user's, and send it there."""
    with pytest.raises(MachineError, match="`rack-3` tells of a database server that is none of its own"):
        Telling(told).start(Durability.RELAXED, {}, None)


def test_options_of_a_host_are_not_the_lab_s() -> None:
    """What else is told of an honest address is left out: it could lead elsewhere, or read files of this user's."""
    told = DatabaseAddress("10.0.0.3", 5432, "me", "word", (("hostaddr", "10.0.0.66"),), "-c log_statement=all")
    database = Telling(told).start(Durability.RELAXED, {}, None)
    assert database.admin == DatabaseAddress("10.0.0.3", 5432, "me", "word")
