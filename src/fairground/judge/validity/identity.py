"""The check that a trial was measured on the machine, and with the programs, that its run names (V20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from fairground.model import Finding, Machine, Severity

NAMED_AT_MOST = 3


def identity(run: Machine | None, now: Machine) -> tuple[Finding, ...]:
    """Void a trial on another machine than its run's, or under other settings of the kernel. `run` None: it names none."""
    if run is None or not (found := changes(asdict(run), asdict(now))):
        return ()
    words = ", ".join(found[:NAMED_AT_MOST]) + (" …" if len(found) > NAMED_AT_MOST else "")
    sentence = f"the machine is not as it was when the run began: {words}"
    return (Finding("identity", Severity.VOID, sentence, {"changes": len(found)}),)


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
