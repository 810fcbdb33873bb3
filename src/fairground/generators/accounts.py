"""The accounts of `contract/seed.sql`, computed from their numbers as the seed does: what `POST /lookup` must answer."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta

COUNT = 10_000
FIRST_ID = 100_000_001
PLANS = ("basic", "super", "ultra")
CURRENCIES = ("EUR", "USD", "JPY", "GBP")
REGIONS = ("eu-west-1", "us-east-2", "ap-east-1")
FIRST_DAY = datetime(2020, 1, 1)


@functools.cache
def accounts() -> Mapping[str, Mapping[str, object]]:
    """Each account by its id."""
    return {str(FIRST_ID - 1 + number): _account(number) for number in range(1, COUNT + 1)}


def _account(number: int) -> Mapping[str, object]:
    return {
        "account_id": str(FIRST_ID - 1 + number),
        "name": f"Account holder {number:05}",
        "email": f"account{number:05}@example.com",
        "plan": PLANS[number % 3],
        "currency": CURRENCIES[number % 4],
        "balance_cents": 1_000_000 + number * 7919 % 9_000_000,
        "active": True,
        "created_at": (FIRST_DAY + timedelta(hours=number)).isoformat() + "Z",
        "region": REGIONS[number % 3],
        "note": hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest() * 8,
    }
