"""The right answers: values of the database, turned into what a server must say of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Row = tuple[Any, ...]
Probe = Callable[[str], Sequence[Row]]
"""Runs one SQL statement in the trial's database, on a connection of the lab's own, and returns its rows."""

USER_KEYS = ("id", "username", "name", "sex", "address", "mail", "birthdate")
ACCOUNT_KEYS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
ACCOUNT_IDS = ("100000001", "100000002", "100010000")
"""The accounts that the cases look up."""


@dataclass(frozen=True)
class KnownData:
    """The right answers. `clock_offset_s` is the database's clock minus the lab's; times may be off by `tolerance_s`."""

    users: Sequence[Mapping[str, object]]
    accounts: Mapping[str, Mapping[str, object]]
    clock_offset_s: float = 0.0
    tolerance_s: float = 2.0


def facts_from(probe: Probe) -> KnownData:
    """Read the facts from the database of a trial."""
    users = expected_users(probe(f"SELECT {', '.join(USER_KEYS)} FROM users ORDER BY id"))
    wanted = ", ".join(f"'{account_id}'" for account_id in ACCOUNT_IDS)
    accounts = probe(f"SELECT {', '.join(ACCOUNT_KEYS)} FROM accounts WHERE account_id IN ({wanted})")
    (clock,) = probe("SELECT extract(epoch from clock_timestamp())::float8")
    return KnownData(
        users=users,
        accounts={row[0]: dict(zip(ACCOUNT_KEYS, row, strict=True)) for row in accounts},
        clock_offset_s=float(clock[0]) - time.time(),
    )


def expected_users(rows: Sequence[Row]) -> tuple[Mapping[str, object], ...]:
    """Return what `GET /users` must answer, given rows of `USER_KEYS` in that order. `birthdate` is a datetime with a zone."""
    return tuple(
        {
            **dict(zip(USER_KEYS, row, strict=True)),
            "address": caesar(row[USER_KEYS.index("address")]),
            "birthdate": iso_milliseconds(row[USER_KEYS.index("birthdate")]),
        }
        for row in rows
    )


def caesar(text: str, by: int = 14) -> str:
    """Rotate A–Z and a–z inside their case by `by`; everything else stays."""
    return "".join(_rotated(letter, by) for letter in text)


def iso_milliseconds(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as `1956-01-09T00:00:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rotated(letter: str, by: int) -> str:
    for first in "Aa":
        place = ord(letter) - ord(first)
        if 0 <= place < 26:
            return chr(ord(first) + (place + by) % 26)
    return letter
