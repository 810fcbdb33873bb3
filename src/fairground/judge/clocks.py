"""CPU clocks that were read at each second of a window: what was used in between. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairground.model import RateStep


def with_cpu(steps: Sequence[RateStep], clocks: Sequence[Mapping[str, float]]) -> tuple[RateStep, ...]:
    """The steps with the CPU of each, from `clocks`: µs by role at the window's start and at the end of each of its seconds.

    The generator's busiest thread is its only one, so its share of a step is known.
    """
    found, at_s = [], 0.0
    for step in steps:
        first, last = round(at_s), round(at_s + step.duration_s)
        whole = abs(step.duration_s - round(step.duration_s)) < 0.05 and last < len(clocks)
        used = {role: clocks[last][role] - clocks[first][role] for role in clocks[first]} if whole else {}
        busy = used["generator"] / 1e6 / step.duration_s if "generator" in used else step.busiest_thread_share
        found.append(replace(step, cpu_us=used, busiest_thread_share=busy))
        at_s += step.duration_s
    return tuple(found)


def differences_us(clocks: Sequence[Mapping[str, float]], role: str) -> tuple[float, ...]:
    """CPU of a role in each second, in µs."""
    at = [clock[role] for clock in clocks if role in clock]
    return tuple(after - before for before, after in itertools.pairwise(at))
