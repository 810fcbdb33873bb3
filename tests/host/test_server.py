"""How a server under test is started: a database that it has compiled in is found at the one of the run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground.host import server
from fairground.model import CellSettings, MachineError


def hosts_of(database_url: str, tmp_path: Path) -> str:
    """The first line of the file of hosts that such a server sees."""
    keeper = SimpleNamespace(environ={}, spawn=lambda words, *, view, **_: view.hosts.read_text().splitlines()[0])
    its = SimpleNamespace(database=SimpleNamespace(host="its-database"), folder=tmp_path, told={})
    stack = SimpleNamespace(serve=(), server=its, variant=SimpleNamespace(env={}))
    return str(server.start(cast(Any, keeper), cast(Any, stack), CellSettings(), "127.0.0.1", 1, database_url, tmp_path / "log"))


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("localhost", "127.0.0.1")])
def test_a_compiled_in_database_is_found_at_any_address(host: str, address: str, tmp_path: Path) -> None:
    """Of either version; a name that has both leads to version 4."""
    assert hosts_of(f"postgresql://a:b@{host}:5432/c", tmp_path) == f"{address} its-database"


def test_a_name_that_leads_nowhere_is_no_fault_of_the_server(tmp_path: Path) -> None:
    """It is a sentence with the name, and what to give in its place."""
    with pytest.raises(MachineError, match="^`nowhere.invalid`, the database's host, has no address: ") as refused:
        hosts_of("postgresql://a:b@nowhere.invalid:5432/c", tmp_path)
    assert refused.value.hint == server.GIVE_ADDRESS
