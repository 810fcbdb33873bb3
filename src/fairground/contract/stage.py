"""The things that a procedure needs of the lab beyond a URL: the server's process and the database beneath it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fairground.contract.case import ProcedureSettings
from fairground.model import LabError


class NotStaged(LabError):
    """This stage cannot do what the case needs (the lab does not restart a given database): the case is not tried."""


@dataclass(frozen=True)
class Exit:
    """The end of a server after SIGTERM. `forced`: it had to be killed, or left a child behind."""

    seconds: float
    code: int | None
    forced: bool


class Hold(Protocol):
    """A transaction of the lab's own that has locked rows; leaving its context rolls it back. `row`: the SELECT of one."""

    def is_free(self, row: str) -> bool:
        """True if no other transaction holds the row (`… FOR UPDATE SKIP LOCKED`)."""

    def take(self, row: str) -> bool:
        """Lock one more row, waiting as long as it takes. False: the database ended this transaction for a deadlock."""


class Stage(Protocol):
    """A server that can be started with other settings, on a database that can be disturbed. LabError when it cannot."""

    def start(self, settings: ProcedureSettings) -> tuple[str, int]:
        """A server with these settings, that is ready: its host and port. One that runs with others is stopped first.

        A server that has these settings goes on: cases that ask for the same ones one after the other share a start.
        """

    def stop(self) -> Exit:
        """Send SIGTERM, then wait; kill after 5 s and some grace."""

    def alive(self) -> bool:
        """True if the process that `start` began still runs (the first process, not a successor)."""

    def connections(self) -> int:
        """The connections to the database that the server holds at this moment, without those that are still ending."""

    def waiting(self) -> int:
        """Count the server's connections that wait for a lock (`wait_event_type = 'Lock'`)."""

    def holding(self, *rows: str) -> AbstractContextManager[Hold]:
        """Open a transaction that has locked these rows, each said by its SELECT."""

    def restart_database(self) -> None:
        """Stop the database at once (open connections are cut), start it, return when it answers."""

    def sever_connections(self) -> None:
        """Cut the server's connections to the database (`pg_terminate_backend`)."""
