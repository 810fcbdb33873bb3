"""The owner of a server: who runs it tells its process and its log, and restarts and ends it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from fairground.host import Child, Keeper, Meter
from fairground.model import Durability
from fairground.postgres.errorlog import Refusals


class Owner(Protocol):
    """The owner of a database server that we started."""

    @property
    def child(self) -> Child | None:
        """The postmaster; None: it is on another host."""

    @property
    def log(self) -> Path | None:
        """The file of what it says, where that is here."""

    @property
    def ended(self) -> str | None:
        """The clause that says why it is there no more; None while it is, as far as that can be seen."""

    def meter(self) -> Meter:
        """A meter of what it uses."""

    def restart(self, keeper: Keeper, durability: Durability, pause_s: float = 0.0, crash: bool = False) -> None:
        """Stop it as its manual calls fast, or kill it, and start it again on its port."""

    def stop(self) -> None:
        """Stop it."""


class Errors(Protocol):
    """The errors that a server logs of each arm (`ErrorLog`)."""

    def take(self, database: str) -> str:
        """The beginning of what was logged of one database since the last call for it."""

    def refusals(self, role: str) -> Refusals:
        """Count the connections of one role that were refused since the last call for it."""
