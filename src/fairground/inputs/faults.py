"""Faults as a person writes them, `database-restart@3s` or `stall=500ms@3s`, and whether a load can have them. Pure."""

from __future__ import annotations

import re

from fairground.inputs import numbers
from fairground.model import Fault, FaultKind, LabError, Load

NONE = "none"
FORM = re.compile(r"([a-z-]+)(?:=(\d+(?:\.\d+)?)(ms|s))?@(\d+(?:\.\d+)?)s")
MOST_STALL_MS = 60_000
LEAST_AROUND_S = 1.0
"""The seconds of the window that must lie before a fault, and behind it: there is no recovery without a rate on both sides."""


def parse(option: str, text: str) -> list[Fault | None]:
    """Faults separated by commas; `none`: the window without one."""
    return [None if name == NONE else one(option, name) for name in numbers.names(text)] or [None]


def one(where: str, text: str) -> Fault:
    """One fault. LabError with `where` it stands for what cannot be meant."""
    found = FORM.fullmatch(text)
    kind = found[1] if found else re.split("[=@]", text)[0]
    if kind not in set(FaultKind):
        raise LabError(f"`{where}`: there is no fault `{kind}`", f"choose among {NONE}, {', '.join(FaultKind)}")
    if found is None or (found[2] is not None) is not (kind == FaultKind.STALL):
        example = f"{kind}=500ms@3s" if kind == FaultKind.STALL else f"{kind}@3s"
        raise LabError(f"`{where}`: `{text}` does not say what happens when", f"for instance {example}")
    for_ms = None if found[2] is None else float(found[2]) * (1000 if found[3] == "s" else 1)
    if for_ms is not None and not 0 < for_ms <= MOST_STALL_MS:
        raise LabError(f"`{where}`: the stall of `{text}` should be above 0 ms, and {MOST_STALL_MS} ms at most")
    return Fault(FaultKind(kind), float(found[4]), for_ms)


def wrong(load: Load) -> tuple[str, str] | None:
    """Say why a load cannot have its fault, and what to do; None where it can."""
    fault = load.fault
    if fault is None:
        return None
    if load.generator != Load.generator or load.requests is not None:
        return f"`{fault}` needs the lab's own engine and a window", "it alone tells the answers of each tenth of a second"
    if fault.at_s < LEAST_AROUND_S:
        return f"`{fault}` comes too early: the rate before it is not known", f"let it come {LEAST_AROUND_S:g} s into the window"
    over_s = fault.at_s + (fault.for_ms or 0.0) / 1000
    if over_s + LEAST_AROUND_S > load.window_s:
        words = f"`{fault}` leaves less than {LEAST_AROUND_S:g} s of the window of {load.window_s:g} s behind it"
        return words, f"make the window {over_s + LEAST_AROUND_S:g} s long or longer"
    return None


def check(load: Load) -> Load:
    """The load of a command line; LabError where it cannot have its fault."""
    if (found := wrong(load)) is not None:
        raise LabError(f"`--fault`: {found[0]}", found[1])
    return load
