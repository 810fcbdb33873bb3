"""The address of a PostgreSQL server, and the user of a session."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fairground.postgres import session


@dataclass(frozen=True)
class DatabaseAddress:
    """The server to connect to, and as whom."""

    host: str
    port: int
    user: str
    password: str
    libpq: tuple[tuple[str, str], ...] = ()
    """What else libpq is told in the lab's own connections (`sslmode`, `passfile` …): servers under test make plain ones."""
    options: str = session.options()
    """The settings with which the lab's own sessions begin, as `options` of libpq."""

    def url(self, database: str) -> str:
        """A connection URL, the form that servers get."""
        user, password = quote(self.user, safe=""), quote(self.password, safe="")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{user}:{password}@{host}:{self.port}/{quote(database, safe='')}"
