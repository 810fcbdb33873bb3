"""A lab whose preparation starts nothing: what would be started and stopped is noted, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from fairground.host import awake, build
from fairground.host.build import BuiltServer, Unavailable
from fairground.lab import preparation, setup
from fairground.model import Stack
from fairground.model.contract import ContractData
from fairground.postgres import databases


class FakeServer:
    """Stands in for a database server of a version."""

    remarks, child = (), None

    def __init__(self, version: int | None, note: Callable[[str], None]) -> None:
        self.number, self._note = version or 18, note

    def prepare(self, data: ContractData) -> None:
        """Make nothing."""
        with_sql = "" if data.before is None else f" with {data.before.name}"
        self._note(f"data of scale {data.scale}{with_sql} on {self.number}")

    def version(self) -> str:
        return f"{self.number}.1"

    def settings(self) -> dict[str, str]:
        return {"fsync": "off", "io_method": "worker" if self.number == 18 else "sync"}


def start_nothing(monkeypatch: pytest.MonkeyPatch, absent: Collection[str] = (), slows: bool = True) -> list[str]:
    """In place of keeper, builds and database servers; what would be started. Servers that are `absent` cannot be built."""
    log = list[str]()

    @contextmanager
    def keeper(*_: object, front: str | None) -> Iterator[Any]:
        log.append("keeper")
        groups = SimpleNamespace(version=2 if slows else None)
        yield SimpleNamespace(awake=False, groups=groups, environ={}, guard=lambda _: None)
        log.append("keeper ends")

    def made(_: object, stacks: Sequence[Stack], *__: object) -> BuiltServer | Unavailable:
        server = stacks[0].server
        log.append(f"build {server.id}")
        if server.id in absent:
            return Unavailable(server, "no such program", "install it")
        return BuiltServer(server, "a hash", {stack.version: "a receipt" for stack in stacks}, 0.0)

    @contextmanager
    def database(*given: Any) -> Iterator[FakeServer]:
        version = given[4]
        log.append(f"database {version}")
        yield FakeServer(version, log.append)
        log.append(f"database {version} ends")

    @contextmanager
    def spinning(*_: object) -> Iterator[None]:
        log.append("awake")
        yield
        log.append("awake ends")

    monkeypatch.setattr(preparation, "Keeper", keeper)
    monkeypatch.setattr(build, "build", made)
    monkeypatch.setattr(build, "find_built", lambda *_: {})
    monkeypatch.setattr(databases, "open_database", database)
    monkeypatch.setattr(awake, "wants_awake", lambda _: True)
    monkeypatch.setattr(awake, "keep_awake", spinning)
    monkeypatch.setattr(setup, "versions_with", lambda _, releases: {"fairground": "1", **releases})
    return log
