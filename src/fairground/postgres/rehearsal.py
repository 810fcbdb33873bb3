"""The rehearsal on a given server: sessions as the lab and servers under test have them, before anything is measured.

No message is read for it, since servers word theirs in many languages, and what stands before them in words of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from fairground.model import Durability, LabError, foreign
from fairground.postgres import session
from fairground.postgres.database import HOME, Database
from fairground.postgres.libpq import open_session
from fairground.postgres.names import APPLICATION_NAME, ROLE
from fairground.postgres.work import WAITS, first_value_of

ENDS_S = 5.0
"""How long a session may outlive its connection: an ordinary one ends within milliseconds."""
PLAIN = "allow `host` beside `hostssl` for them in pg_hba.conf"
DIRECT = "give the address of PostgreSQL itself; `--pooler` puts one in between, and measures it"
BEGAN_US = "(extract(epoch FROM backend_start) * 1000000)::bigint"
BACKEND = f"SELECT pid, {BEGAN_US} FROM pg_stat_activity WHERE pid = pg_backend_pid()"
STILL = f"SELECT 1 FROM pg_stat_activity WHERE pid = %s AND {BEGAN_US} = %s"


def require_sessions(database: Database) -> None:
    """Raise LabError where a session outlives its connection: then a pooler answers at the given address."""
    with database.connect(HOME, options="") as one:
        backend = one.execute(BACKEND.encode()).fetchone()
    deadline = time.monotonic() + ENDS_S
    with database.connect(HOME, options="") as other:
        other.prepare_threshold = None
        while other.execute(STILL.encode(), backend).fetchone():
            if time.monotonic() > deadline or other.execute(BACKEND.encode()).fetchone() == backend:
                sentence = "a pooler answers at the given address, and hides which connections a server has"
                raise LabError(sentence, DIRECT)
            time.sleep(0.02)


def rehearse(database: Database) -> tuple[str, ...]:
    """Log in as a server under test will, and give its role the settings that it needs. What is to be said of that.

    The arm's database and role are there afterwards. LabError where servers could not log in, or a setting cannot be had.
    """
    database.make_empty()
    if (said := _refused(database.connect)) is not None:
        sentence = f"the given server does not let the lab into the database `{database.name}`, which it made: {said}"
        raise LabError(sentence, "see pg_hba.conf")
    _require_plain(database)
    with _login(database) as connection:
        found = session.other(connection)
    wanted = ("client_encoding", *found, session.MESSAGES)  # our own session has its encoding whatever the role's is
    database.settled = [name for name in wanted if _can_be_set(database, name)]
    with _login(database) as connection:
        _require(session.other(connection))
        language = str(first_value_of(connection, f"SHOW {session.MESSAGES}"))
    return (*_changed(found), *_worded(language, database.admin.user))


def of_durability(database: Database, wanted: Durability | None) -> tuple[str, ...]:
    """Tell where commits of servers wait for the disk, and nobody asked for it. LabError where they were to wait, and do not.

    The settings are those of the role that servers log in as. None: nobody said whether they are to wait.
    """
    with _login(database) as connection:
        waits = bool(first_value_of(connection, f"SELECT {WAITS}"))
    if wanted is Durability.DURABLE and not waits:
        sentence = "commits do not wait for the disk on the given server: `fsync` or `synchronous_commit` is off"
        raise LabError(sentence, "set both on there, or leave out `--durable`")
    told = wanted is Durability.RELAXED and waits
    return ("commits wait for the disk on the given server: `fsync` and `synchronous_commit` are on",) if told else ()


def role_refusal(database: Database) -> str | None:
    """The reason why an arm can have no role of its own here; None where it can. It is found by making one and logging in."""
    try:
        database.make_empty()
    except psycopg.Error as error:
        return _words(error)
    plain = _refused(lambda: _login(database))
    return plain if plain is not None and _refused(lambda: _login(database, encrypted=True)) is not None else None


def _require_plain(database: Database) -> None:
    """Raise LabError if servers under test, whose address of the database knows no TLS, could not log in without it."""
    said = _refused(lambda: _login(database))
    if said is None:
        return
    who = f"`{database.app.user}`" if database.shared else f"the roles `{ROLE}…`"
    sentence = f"the given server takes no plain connections, and servers under test log in plainly as {who}: {said}"
    raise LabError(sentence, PLAIN)


def _login(database: Database, encrypted: bool = False) -> psycopg.Connection[Any]:
    """A session as of a server under test. Encrypted as the lab's own are: what servers cannot have."""
    own = dict(database.admin.libpq) if encrypted else {}
    words: dict[str, Any] = {**own, "sslmode": "require" if encrypted else "disable"}
    words |= {"connect_timeout": 10, "application_name": APPLICATION_NAME, "options": ""}
    return open_session(database.server_url(), **words)


def _can_be_set(database: Database, name: str) -> bool:
    """Give the arm's role a setting. False where the lab may not."""
    try:
        with database.connect(HOME) as connection:
            session.settle(connection, database.app.user, database.name, (name,))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def _require(other: Mapping[str, str]) -> None:
    """Raise LabError where a setting still is another than servers need, although their role was to be given it."""
    if not other:
        return
    kept = ", ".join(f"`{name} = {value}`" for name, value in other.items())
    needed = ", ".join(f"`{name} = {session.VALUES[name]}`" for name in other)
    statements = [f"ALTER SYSTEM SET {name} = {session.OF_SUPERUSERS[name]}" for name in other if name in session.OF_SUPERUSERS]
    hint = f"as a superuser: {'; '.join(statements)}" if statements else "look for what sets it when a role logs in"
    raise LabError(f"the given server keeps {kept}, and sessions of servers under test need {needed}", hint)


def _changed(found: Mapping[str, str]) -> tuple[str, ...]:
    if not found:
        return ()
    theirs = ", ".join(f"`{name} = {value}`" for name, value in found.items())
    return (f"sessions on the given server have {theirs}; those of servers under test get what the contract relies on",)


def _worded(language: str, user: str) -> tuple[str, ...]:
    if not session.is_foreign(language):
        return ()
    give = f'since PostgreSQL 15: GRANT SET ON PARAMETER {session.MESSAGES} TO "{user}"'
    return (f"the given server's messages are in the language of `{language}`, which `{user}` may not change ({give})",)


def _refused(connect: Callable[[], psycopg.Connection[Any]]) -> str | None:
    """The reason why a connection was refused, in the words of who refused it; None where it was not."""
    try:
        connect().close()
    except psycopg.Error as error:
        return _words(error)
    return None


def _words(error: psycopg.Error) -> str:
    return foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
