"""Rows that requests of a load draw values from, as the load engine takes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rows:
    """The rows of one table: each has a text or a number for each column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
