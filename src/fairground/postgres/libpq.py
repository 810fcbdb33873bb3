"""Sessions by libpq, deaf to what a person's shell tells every program of PostgreSQL.

A shell is set up for other databases: its variables would lead the lab's sessions elsewhere, or change settings after the lab has
asked for its own. For a given database it may say the password, and what is to be done about TLS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader

from fairground.model import LabError

HEARD = frozenset(["PGPASSWORD", "PGPASSFILE"])
OF_TLS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslsni", "ssl_min_protocol_version",
          "ssl_max_protocol_version", "channel_binding", "gssencmode")  # fmt: skip
"""What the shell may say of TLS, in libpq's words."""
OF_SESSIONS = ("PGDATESTYLE", "PGTZ", "PGGEQO")
"""Variables that libpq knows beside those of its own words."""
WORD = re.compile(r"(?:^|&)([A-Za-z_]\w*)=")
"""The name of a parameter in a URL's query."""
TEXTS = ("text", "varchar", "bpchar", "name")


def _words() -> Mapping[str, tuple[str, str | None]]:
    """Each variable of libpq's, with the word that it stands for, and the value where it has one."""
    known = [one for one in psycopg.pq.Conninfo.get_defaults() if one.envvar is not None]
    return {
        one.envvar.decode(): (one.keyword.decode(), one.val.decode() if one.val not in (None, one.compiled) else None)
        for one in known
        if one.envvar is not None
    }


_SHELL = _words()
SHELL_TLS: Mapping[str, str] = {word: value for word, value in _SHELL.values() if word in OF_TLS and value is not None}
"""What the shell says of TLS, for a given database: it was read before libpq could not hear it any more."""
UNHEARD = (*(name for name in _SHELL if name not in HEARD), *OF_SESSIONS)


class TextOfAnybody(Loader):
    """Read a text in which bytes may be none of UTF-8: names and statements of other databases are in their encoding."""

    def load(self, data: Buffer) -> str:
        """The text; what cannot be read is replaced."""
        return bytes(data).decode(errors="replace")


def read_url(url: str, form: str) -> Mapping[str, Any]:
    """Read what a connection URL says, in libpq's words. LabError where it is none, with the `form` of one.

    A word of other clients, such as Prisma's `schema`, is named: it is no secret, and libpq's own sentence may hold one.
    """
    try:
        return psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        said = url.partition("?")[2] if url.startswith(("postgres://", "postgresql://")) else ""
        known = {"ssl", *(one.keyword.decode() for one in psycopg.pq.Conninfo.get_defaults())}
        may_be_secret = "@" in said or "password" in said  # a `?` of its own, or an `&`, may be in a password
        others = [] if may_be_secret else [name for name in WORD.findall(said) if name not in known]
    if others:
        raise LabError(f"`--database` says `{others[0]}`, which libpq does not know", "leave it out of the URL")
    raise LabError("`--database` is not a connection URL", form)


def close_ears() -> None:
    """Take the shell's variables from libpq. `os.environ` keeps them, and with it what the lab starts for a person."""
    for name in UNHEARD:
        os.unsetenv(name)


def open_session(conninfo: str = "", **words: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """A session that commits each statement and speaks UTF-8. `words` are libpq's, beside or in place of those in `conninfo`."""
    close_ears()
    return open_as_told(conninfo, **words)


def open_as_told(conninfo: str, **words: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """The same, with all that the shell says: for a person's own database."""
    told: dict[str, Any] = {"autocommit": True, "client_encoding": "UTF8", **words}
    connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(conninfo, **told)
    for kind in TEXTS:
        connection.adapters.register_loader(kind, TextOfAnybody)
    return connection
