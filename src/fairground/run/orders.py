"""Order-balanced sequences from a seed: who comes when, in each block. Pure: no clock, and no chance that is not the seed's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def williams(count: int) -> list[list[int]]:
    """Rows that hold 0…count−1 each once: `count` rows for an even count, twice as many for an odd one.

    Each half is a Latin square (every number once in every place), and all rows together are balanced for what stands before.
    """
    zigzag = [0]
    low, high = 1, count - 1
    while low <= high:
        zigzag.append(low)
        if high > low:
            zigzag.append(high)
        low, high = low + 1, high - 1
    rows = [[(number + shift) % count for number in zigzag] for shift in range(count)]
    return rows if count % 2 == 0 else rows + [row[::-1] for row in rows]


def orders_of(items: Sequence[Item], blocks: int, seed: str) -> list[list[Item]]:
    """One order of the items for each block: the rows of a Williams design, its numbers and rows shuffled.

    The rows of an odd design are shuffled inside its two halves, so that any `len(items)` blocks in a row from a multiple of
    that number give every item every place.
    """
    names = _shuffled(items, f"{seed}/names")
    rows, half = williams(len(items)), len(items)
    rows = _shuffled(rows[:half], f"{seed}/rows") + _shuffled(rows[half:], f"{seed}/reversed")
    return [[names[number] for number in rows[block % len(rows)]] for block in range(blocks)]


def _shuffled(items: Sequence[Item], seed: str) -> list[Item]:
    """A shuffle that is the same on every machine and in every version of the language."""
    return [item for _, item in sorted(enumerate(items), key=lambda pair: digest_of(f"{seed}/{pair[0]}"))]


def digest_of(text: str) -> int:
    """A number of 256 bits that stands for a text, the same everywhere."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
