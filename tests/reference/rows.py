"""The rows that the reference server serves, and the right answers that follow from them: an oracle beside the contract's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

USER_KEYS = ("id", "username", "name", "sex", "address", "mail", "birthdate")
ACCOUNT_KEYS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
ACCOUNT_IDS = ("100000001", "100000002", "100010000")
BORN = datetime(1956, 1, 9, tzinfo=UTC)
USERS = [
    (i, f"user{i}", f"Ann Böb {i}", "F", f"{i} Zebra Quay\nÅkersberga", f"u{i}@example.com", BORN + timedelta(days=i))
    for i in range(1, 101)
]
ACCOUNTS = {
    key: dict(zip(ACCOUNT_KEYS, (key, "N", "e", "basic", "EUR", 7, True, "2020", "eu", key * 9), strict=True))
    for key in ACCOUNT_IDS
}


def expected_users() -> list[Mapping[str, object]]:
    """The right answer of the list of users."""
    return [
        {**dict(zip(USER_KEYS, row, strict=True)), "address": caesar(row[4]), "birthdate": iso_milliseconds(row[6])}
        for row in USERS
    ]


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
