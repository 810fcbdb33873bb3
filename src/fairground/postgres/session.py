"""The settings that sessions on a given server rely on, whatever its owner has set for databases and roles.

The lab's own sessions ask for all of them when they connect. Servers under test get those that differ, for their role in the
trial's database alone: nothing else on the server changes, and both go with the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

NEEDED: Mapping[str, str] = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "xmlbinary": "base64",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "default_text_search_config": "pg_catalog.english",
    "search_path": '"$user", public',
    "row_security": "on",
    "client_min_messages": "notice",
    "password_encryption": "scram-sha-256",
    "default_table_access_method": "heap",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
}
"""What any session may set for itself, in each version that the lab measures with."""
LATER: Mapping[int, Mapping[str, str]] = {17: {"transaction_timeout": "0"}}
"""What came with a major version."""
OF_SUPERUSERS: Mapping[str, str] = {"track_counts": "on", "track_activities": "on", "session_replication_role": "origin"}
"""What servers under test need, too, and only a superuser may set: else the audit sees nothing of what they do, or triggers and
foreign keys do not hold."""
MESSAGES = "lc_messages"
"""The language of the server's messages, which a superuser may set. People read them, and nothing of the lab depends on it."""
VALUES: Mapping[str, str] = {
    **NEEDED,
    **{name: value for one in LATER.values() for name, value in one.items()},
    **OF_SUPERUSERS,
    MESSAGES: "C",
}
"""The values that lab and servers need, of all settings and versions."""
ALIKE: Mapping[str, Sequence[str]] = {"TimeZone": ("UTC", "Etc/UTC", "UCT", "Zulu"), "client_encoding": ("UTF8", "UNICODE")}
"""Values that mean the same."""


def options(major: int | None = None, superuser: bool = False) -> str:
    """The `options` of libpq with which a session of the lab's begins; `major` None: the version is not known."""
    wanted = {**of_version(major or 0), **({**OF_SUPERUSERS, MESSAGES: "C"} if superuser else {})}
    return " ".join(f"-c {name}={_escaped(value)}" for name, value in wanted.items())


def of_version(major: int) -> Mapping[str, str]:
    """The settings that any session may ask for on a server of a major version, with their values."""
    later = [more for since, more in LATER.items() if major >= since]
    return {**NEEDED, **{name: value for more in later for name, value in more.items()}}


def other(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Each needed setting that has another value in a session, with that value. What a server does not know is left out."""
    wanted = {**of_version(connection.info.server_version // 10_000), **OF_SUPERUSERS}
    rows = connection.execute(
        "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name = ANY(%s) ORDER BY name",
        [list(wanted)],
    ).fetchall()
    return {name: value for name, value in rows if not _is_alike(name, wanted[name], value)}


def settle(connection: psycopg.Connection[Any], user: str, database: str, names: Sequence[str]) -> None:
    """Give a role in a database the values that it needs of these settings, from its next session on."""
    for name in names:
        form = "ALTER ROLE {} IN DATABASE {} SET {} TO {}"
        to = _value(name, VALUES[name])
        connection.execute(sql.SQL(form).format(sql.Identifier(user), sql.Identifier(database), sql.Identifier(name), to))


def is_foreign(language: str) -> bool:
    """True for a value of `lc_messages` with which messages may be in another language than English."""
    return not language.startswith(("C", "POSIX", "en"))


def _value(name: str, value: str) -> sql.Composable:
    """A value as a statement has it: of a list each part by itself, or the server would take all of it for one name."""
    if name != "search_path":
        return sql.Literal(value)
    return sql.SQL(", ").join(sql.Literal(part.strip().strip('"')) for part in value.split(","))


def _is_alike(name: str, wanted: str, value: str) -> bool:
    return value in ALIKE.get(name, (wanted,)) or value.replace(" ", "").lower() == wanted.replace(" ", "").lower()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
