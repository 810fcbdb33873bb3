"""The rows that the reference server serves, and the facts that follow from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairground.contract.facts import ACCOUNT_IDS, ACCOUNT_KEYS, KnownData, expected_users

BORN = datetime(1956, 1, 9, tzinfo=UTC)
USERS = [
    (i, f"user{i}", f"Ann Böb {i}", "F", f"{i} Zebra Quay\nÅkersberga", f"u{i}@example.com", BORN + timedelta(days=i))
    for i in range(1, 101)
]
ACCOUNTS = {
    key: dict(zip(ACCOUNT_KEYS, (key, "N", "e", "basic", "EUR", 7, True, "2020", "eu", key * 9), strict=True))
    for key in ACCOUNT_IDS
}
FACTS = KnownData(expected_users(USERS), ACCOUNTS)
