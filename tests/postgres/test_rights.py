"""What a given server's user may not do is said in one sentence each, with the statement that gives the right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest

from fairground import postgres
from fairground.model import LabError
from fairground.postgres import rights
from fairground.postgres.database import Database
from fairground.postgres.given import _address, _require
from fairground.postgres.rights import Rights

ALL = Rights("lab", 18, databases=True, roles=True, statistics=True, checkpoint=True)


def test_who_may_everything_is_told_nothing() -> None:
    """With all rights nothing is lost."""
    assert rights.remarks(ALL) == () and rights.without_roles(ALL) is None


@pytest.mark.parametrize(
    ("lacking", "gives", "lost"),
    [
        ({"statistics": False}, 'GRANT pg_monitor TO "lab"', "whether anybody else keeps the database busy stays unknown"),
        ({"checkpoint": False}, 'GRANT pg_checkpoint TO "lab"', "so one may fall into a measurement"),
        ({"checkpoint": False, "major": 14}, "before PostgreSQL 15 a superuser may", "so one may fall into a measurement"),
    ],
)
def test_each_right_has_a_sentence(lacking: dict[str, Any], gives: str, lost: str) -> None:
    """The sentence names the user, what gives the right, and what is lost without it."""
    (said,) = rights.remarks(replace(ALL, **lacking))
    assert said.startswith("the given user `lab` may not ") and gives in said and said.endswith(lost)


def test_without_roles_the_arms_share_one() -> None:
    """The right to create roles is told apart, since every trial says what its lack costs."""
    lacking = replace(ALL, roles=False)
    assert rights.remarks(lacking) == ()
    assert 'ALTER ROLE "lab" CREATEROLE' in str(rights.without_roles(lacking))


def test_only_the_labs_own_connections_are_told_of_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a URL says of TLS and of a password file goes to libpq, and into no server's `DATABASE_URL`."""
    asked = list[dict[str, Any]]()
    monkeypatch.setattr(psycopg, "connect", lambda *_, **words: asked.append(words) or Mock())
    address = _address("postgresql://u:p@h:5433/x?sslmode=verify-full&sslrootcert=/ca.pem&passfile=/pass")
    database = Database(address, None)
    database.connect()
    assert asked[0].items() >= {"sslmode": "verify-full", "sslrootcert": "/ca.pem", "passfile": "/pass", "port": 5433}.items()
    for one in (database, Database(address, None, shared="for a reason")):
        assert "?" not in one.server_url()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@w0rd@h/x",
        "postgresql://u:w0/rd@h/x",
        "postgresql://u:1/w0rd@h/x",
        "postgresql://u:%zzw0rd@h/x",
        "host=h w0rd",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    """A special character in a password ends it early: what libpq takes the rest for is no word of an error."""
    with pytest.raises(LabError) as raised:
        _address(url)
    assert "`--database`" in raised.value.message and "USER:PASSWORD" in str(raised.value.hint)
    assert "w0" not in f"{raised.value.message}{raised.value.hint}" and "rd" not in raised.value.message.replace("word", "")
    assert _address("postgresql://u:p%40w%2F0rd@h/x").password == "p@w/0rd"


def test_without_a_password_libpq_looks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty password would be one: none is told, and libpq reads `PGPASSWORD` and its file."""
    asked = list[dict[str, Any]]()
    monkeypatch.setattr(psycopg, "connect", lambda *_, **words: asked.append(words) or Mock())
    for url in ("postgresql://u@h/x", "postgresql://u:p@h/x"):
        Database(_address(url), None).connect()
    assert [words["password"] for words in asked] == [None, "p"]


def test_a_url_says_nothing_that_is_passed_over() -> None:
    """A word that the lab would not pass on is refused, rather than dropped unseen."""
    with pytest.raises(LabError, match="`--database` says `options`, which the lab does not pass on"):
        postgres.given_database("postgresql://u:p@h/x?options=-csearch_path%3Dmine")


@pytest.mark.parametrize(("sessions", "refused"), [(-1, False), (rights.LEAST_SESSIONS, False), (3, True), (0, True)])
def test_a_limit_of_the_users_sessions_is_said(sessions: int, refused: bool) -> None:
    """The lab has several sessions at once: a limit that it would meet in a trial is refused before, with the statement."""
    found = replace(ALL, sessions=sessions)
    if not refused:
        _require(found, None)
        return
    with pytest.raises(LabError, match=f"the given user `lab` may have {sessions} sessions at once") as caught:
        _require(found, None)
    assert caught.value.hint == 'as a superuser: ALTER ROLE "lab" CONNECTION LIMIT -1'
