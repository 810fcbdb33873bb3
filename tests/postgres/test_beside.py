"""A service's own database: it is read, never written to, and what its backends do is seen."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import psycopg
import pytest

from fairground import postgres
from fairground.model import LabError
from fairground.postgres import Database, DatabaseBeside

pytestmark = pytest.mark.live


def test_it_is_read_and_never_written(database: Database) -> None:
    """Its name is known, its server is found, and a write is refused."""
    found = postgres.open_beside(database.admin.url("postgres"))
    assert found.name == "postgres" and not found.hidden and found.process is not None
    with found.connect() as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("CREATE TABLE spoiled (id int)")


@contextmanager
def forwarded(host: str, port: int) -> Iterator[int]:
    """A port of this process at which somebody else's server answers."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                near, far = listening.accept()[0], socket.create_connection((host, port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join()


def test_what_forwards_its_port_is_not_the_server(database: Database) -> None:
    """The process that listens is then a tunnel's: it does none of the database's work."""
    address = database.admin
    with forwarded(address.host, address.port) as port:
        found = postgres.open_beside(replace(address, host="127.0.0.1", port=port).url("postgres"))
        assert found.name == "postgres" and found.process is None


def test_statements_that_cannot_be_read_any_more_are_none(database: Database) -> None:
    """A load may fill the server's connections, and an old extension has other columns."""
    gone = DatabaseBeside("postgresql://127.0.0.1:1/x", "x", None, hidden=False, counts=True)
    assert gone.statements() == {}
    with database.connect("postgres") as connection:
        connection.execute("CREATE VIEW pg_stat_statements AS SELECT 'SELECT 1' AS query, 1 AS calls, 1.0 AS total_time")
        try:
            assert not postgres.open_beside(database.admin.url("postgres")).counts
        finally:
            connection.execute("DROP VIEW pg_stat_statements")


def test_what_its_backends_do_is_seen(database: Database) -> None:
    """A backend that sleeps is one that waits; the lab's own is not among them."""
    found = postgres.open_beside(database.admin.url("postgres"))
    with psycopg.connect(database.admin.url("postgres"), autocommit=True) as other, found.connect() as connection:
        sleeping = threading.Thread(target=lambda: other.execute("SELECT pg_sleep(2)"))
        sleeping.start()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            seen = postgres.activity_beside(connection).get("postgres")
            if seen is not None and "Timeout:PgSleep" in seen.waits:
                break
            time.sleep(0.02)
        sleeping.join()
    assert seen is not None and seen.waits["Timeout:PgSleep"] == 1
    assert ("Timeout:PgSleep", "SELECT pg_sleep(2)") in seen.statements


@pytest.mark.parametrize(
    ("url", "says"), [("postgresql://127.0.0.1:1/x", "cannot be read"), ("nonsense", "is not a connection URL")]
)
def test_what_is_none_is_refused(url: str, says: str) -> None:
    """One sentence and how to write it, before anything is loaded."""
    with pytest.raises(LabError, match=says) as refused:
        postgres.open_beside(url)
    assert refused.value.hint is not None and "--database postgresql://" in refused.value.hint
