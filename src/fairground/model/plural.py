"""Numbers with what they count, in the words of a sentence. This module imports nothing of the lab."""

from __future__ import annotations


def plural(amount: int, noun: str) -> str:
    """`1 stack`, `12 stacks`, `2 tries`, `3 processes`."""
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{amount:,} {noun if amount == 1 else several}"


def with_verb(amount: int, noun: str, one: str = "is", several: str = "are") -> str:
    """`1 stack is`, `12 stacks are`: with the verb that follows."""
    return f"{plural(amount, noun)} {one if amount == 1 else several}"
