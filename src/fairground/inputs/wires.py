"""Wires as a person writes them, `database=1ms` or `server=200us+database=1ms`. Pure."""

from __future__ import annotations

import re

from fairground.inputs import numbers
from fairground.model import LabError, PathWire

NONE = "none"
SIDES = ("server", "database")
UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
DELAY = re.compile(r"(-?\d+(?:\.\d+)?)(us|ms|s)?")
LEAST_MS, MOST_MS = 0.001, 1000.0
EXAMPLE = "for instance database=1ms, or server=200us+database=1ms"


def parse(option: str, text: str) -> list[PathWire | None]:
    """Wires separated by commas, each a topology of its own; `none`: the path without one."""
    return [None if name == NONE else one(option, name) for name in numbers.names(text)] or [None]


def one(where: str, text: str) -> PathWire:
    """The wires of one path, joined by `+`. LabError with `where` it stands for what cannot be meant."""
    found: dict[str, float] = {}
    for part in text.split("+"):
        side, _, delay = part.partition("=")
        if side not in SIDES:
            raise LabError(f"`{where}`: there is no side `{side}` for a wire", f"choose among {', '.join(SIDES)}; {EXAMPLE}")
        if side in found:
            raise LabError(f"`{where}`: `{text}` names the side `{side}` twice", "a path has one wire on each side")
        found[side] = _delay_ms(where, part, delay)
    return PathWire(found.get("server"), found.get("database"))


def _delay_ms(where: str, part: str, text: str) -> float:
    read = DELAY.fullmatch(text)
    if read is None:
        raise LabError(f"`{where}`: `{part}` does not say how long a round trip takes", EXAMPLE)
    if read[2] is None:
        raise LabError(f"`{where}`: `{part}` lacks the unit", f"write {part}ms, or us or s")
    delay_ms = round(float(read[1]) * UNITS_MS[read[2]], 6)
    if not LEAST_MS <= delay_ms <= MOST_MS:
        raise LabError(f"`{where}`: `{part}` should be 1us at least, and 1s at most", EXAMPLE)
    if abs(delay_ms * 1000 - round(delay_ms * 1000)) > 1e-6:
        raise LabError(f"`{where}`: `{part}` is not a whole number of microseconds", EXAMPLE)
    return delay_ms
