"""Numbers and lists as they are typed: what is not of the kind that is meant is an error with an example."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from fairground.model import MAJORS, ROLES, LabError, Until

Above = TypeVar("Above", int, float)
UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
"""A number and its unit, if it has one."""


def counts(option: str, text: str) -> list[int]:
    """Whole numbers from 1, separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise LabError(f"`{option} {text}` should be whole numbers from 1, separated by commas", f"for instance {option} 10,100")
    return [int(part) for part in parts]


def whole(option: str, text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise LabError(f"`{option} {text}` should be a whole number") from None


def number(option: str, text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise LabError(f"`{option} {text}` should be a number") from None


class Seconds(float):
    """Seconds, typed as a number or as a time with its unit."""


def time_s(option: str, text: str) -> float:
    """Seconds, of a number of them or of a time such as 500ms, 2s or 1m."""
    found = TIME.fullmatch(text.strip())
    if found is None:
        raise LabError(f"`{option} {text}` should be seconds", f"for instance {option} 2, {option} 500ms or {option} 1m")
    return float(found[1]) * UNITS_S[found[2] or "s"]


def span(option: str, text: str) -> tuple[float, float]:
    """Least and most seconds, separated by a comma; one number is both."""
    parts = [TIME.fullmatch(part.strip()) for part in text.split(",")]
    found = [float(part[1]) * UNITS_S[part[2] or "s"] for part in parts if part is not None]
    if len(found) < len(parts) or len(found) > 2 or found != sorted(found):
        raise LabError(
            f"`{option} {text}` should be least and most seconds", f"for instance {option} 2,20, or {option} 2 for both"
        )
    return found[0], found[-1]


def wait(value: int | None) -> int | None:
    """`--pool-wait-ms`: 0 or more, or None for no limit."""
    if value is not None and value < 0:
        raise LabError(f"`--pool-wait-ms {value}` should be 0 or more", "leave it out for no limit")
    return value


def positive(option: str, value: Above) -> Above:
    """A number above 0, and not infinite."""
    if not 0 < value < math.inf:
        raise LabError(f"`{option} {value}` should be more than 0")
    return value


MOST_REPEATS = 1_000
"""More repetitions make a plan that no budget carries out."""


def repeats(option: str, value: int) -> int:
    """The number of times that something is measured."""
    if positive(option, value) > MOST_REPEATS:
        raise LabError(f"`{option} {value}` should be {MOST_REPEATS:,} at most", "a budget ends sooner: --budget 1h")
    return value


RATES_PER_S = (0.001, 10_000_000.0)
"""What the load engine can offer."""


def rate(option: str, value: float) -> float:
    """Requests a second that the load engine can offer."""
    low, high = RATES_PER_S
    if not low <= positive(option, value) <= high:
        raise LabError(f"`{option} {value:g}` should be {low:g} to {high:,.0f} requests a second", f"for instance {option} 1000")
    return value


MOST_WAIT_MS = 60_000


def wait_for_answer(option: str, value: int) -> int:
    """The longest wait for an answer that the load engine takes."""
    if positive(option, value) > MOST_WAIT_MS:
        raise LabError(f"`{option} {value}` should be 1 to {MOST_WAIT_MS:,} ms", f"for instance {option} 5000")
    return value


MOST_PAUSE_MS = 60_000


def pause(option: str, value: float) -> float:
    """A pause between requests; 0: none. Longer ones than a minute would fill a window."""
    if not 0 <= value <= MOST_PAUSE_MS:
        raise LabError(f"`{option} {value}` should be 0 to {MOST_PAUSE_MS} ms")
    return value


MOST_TURNS_S = 600.0


def turns(option: str, value: float) -> float:
    """Seconds of load in turns; ten minutes would be a run of their own."""
    if not 0 < value <= MOST_TURNS_S:
        raise LabError(f"`{option} {value:g}` should be more than 0, and {MOST_TURNS_S:g} s at most")
    return value


def seconds(option: str, text: str) -> float:
    """A time such as 90s, 5m or 1h."""
    found = TIME.fullmatch(text.strip())
    if found is None or found[2] is None or float(found[1]) <= 0:
        raise LabError(f"`{option} {text}` should be a time", f"for instance {option} 90s, {option} 5m or {option} 1h")
    return float(found[1]) * UNITS_S[found[2]]


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def split_names(option: str, texts: Sequence[str]) -> list[str]:
    """Names of an option that was given once or several times, each time with names separated by commas; at least one."""
    found = [name for text in texts for name in names(text)]
    if not found:
        raise LabError(f"`{option} {' '.join(texts)}` names nothing", f"for instance {option} NAME, or {option} ONE,OTHER")
    return found


def majors(option: str, text: str) -> tuple[int, ...]:
    """Major versions of PostgreSQL separated by commas, each once."""
    found = dict.fromkeys(names(text))
    for name in found:
        if name not in map(str, MAJORS):
            raise LabError(f"`{option}`: the lab has no PostgreSQL `{name}`", f"choose among {', '.join(map(str, MAJORS))}")
    if not found:
        raise LabError(f"`{option}` names no version", f"choose among {', '.join(map(str, MAJORS))}")
    return tuple(map(int, found))


def spacing(option: str, text: str) -> str:
    """Read how the requests of a rate are spaced: `poisson` or `constant`."""
    if text not in ("poisson", "constant"):
        raise LabError(f"`{option} {text}` should be `poisson` or `constant`")
    return text


def until(option: str, text: str) -> Until:
    """Read what is enough to end before the time is up: `narrow` or `decided`."""
    if text not in list(Until):
        raise LabError(f"`{option} {text}` should be `narrow` or `decided`", "decided: until intervals can decide each pair")
    return Until(text)


def pins(option: str, texts: Sequence[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """`server=0`, `database=1-3` or `generator=1,3` as role → cores."""
    found: dict[str, list[int]] = {}
    for text in texts:
        role, _, cores = text.partition("=")
        try:
            for part in cores.split(","):
                first, dash, last = part.partition("-")
                found.setdefault(role.strip(), []).extend(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            raise LabError(f"`{option} {text}` should be a role and its cores", f"for instance {option} server=0") from None
    return by_role(found)


def assignments(option: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`name=value`, each."""
    pairs = [text.partition("=") for text in texts]
    for (name, equals, _), text in zip(pairs, texts, strict=True):
        if not name or not equals:
            raise LabError(f"`{option} {text}` should be a name and a value", f"for instance {option} work_mem=8MB")
    return overrides({name.strip(): value.strip() for name, _, value in pairs})


def stages(option: str, texts: Sequence[str]) -> tuple[tuple[float, int], ...]:
    """`20=150`: within 20 seconds to 150 connections, each."""
    found = []
    for text in texts:
        seconds, _, ends = text.partition("=")
        try:
            found.append((positive(option, float(seconds)), int(ends)))
        except ValueError:
            raise LabError(f"`{option} {text}` should be seconds and connections", f"for instance {option} 20=150") from None
        if found[-1][1] < 0:
            raise LabError(f"`{option} {text}` should be 0 connections or more")
    return tuple(found)


def by_role(cores: Mapping[str, Sequence[int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Role → cores as a value, in the order of the roles."""
    return tuple((role, tuple(sorted(set(cores[role])))) for role in sorted(cores, key=_place))


def overrides(values: Mapping[str, str | int | float | bool]) -> tuple[tuple[str, str], ...]:
    """PostgreSQL settings as a value, truth as `on` and `off`."""
    words = {name: ("off", "on")[value] if isinstance(value, bool) else str(value) for name, value in values.items()}
    return tuple(sorted(words.items()))


def _place(role: str) -> tuple[int, str]:
    return (ROLES.index(role) if role in ROLES else len(ROLES), role)
