"""The lifetime of the database server that an arm is measured with."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from fairground.judge import blame
from fairground.model import Finding
from fairground.model.cause import DatabaseLifetime
from fairground.postgres import Database


@dataclass
class LifetimeWatch:
    """Notices a crash. `known`: the lifetime at the last `begin`; None: it is not known."""

    database: Database
    known: DatabaseLifetime | None = None

    def begin(self) -> None:
        """Take the server as it is: the arm's data are fresh, or the lab has started it anew."""
        self.known = self.database.lifetime()

    def crash(self) -> Finding | None:
        """The finding where the server is not the one that it was; None where it is. DatabaseEnded where there is none."""
        if self.known is None:
            return None
        try:
            now = self.database.lifetime()
        except psycopg.Error:  # it recovers at this moment, or has ended
            self.database.require()
            now = self.database.lifetime()
        return blame.crash(self.known, now)
