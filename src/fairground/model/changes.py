"""The differences of two tables, in words."""

from __future__ import annotations

from collections.abc import Mapping


def changes(before: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, ...]:
    """The differences, as `name was X and is Y`. Tables inside are compared by their own keys."""
    found: list[str] = []
    for name in dict.fromkeys([*before, *now]):
        was, is_now = before.get(name), now.get(name)
        if isinstance(was, Mapping) and isinstance(is_now, Mapping):
            found += changes(was, is_now)
        elif was != is_now:
            found.append(f"{name} was {_shown(was)} and is {_shown(is_now)}")
    return tuple(found)


def _shown(value: object) -> str:
    return "unknown" if value is None else f"`{value}`"
