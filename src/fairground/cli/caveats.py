"""What is to be known beside the numbers of a comparison: how much was measured, on which terms, and what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fairground import duel
from fairground.cli.screen import duration
from fairground.model import Settings

WIDE = 0.02
"""A half-width from which on it is said what would narrow the interval."""


def of_fight(
    decision: duel.Decision, seconds: float, arms: tuple[duel.Arm, duel.Arm], awake: bool, settings: Settings
) -> tuple[str, ...]:
    """Sentences, what was measured first; `awake`: whether the processors were kept from idling."""
    return tuple(_of_fight(decision, seconds, arms, awake, settings))


def _of_fight(
    decision: duel.Decision, seconds: float, arms: tuple[duel.Arm, duel.Arm], awake: bool, settings: Settings
) -> Iterator[str]:
    yield f"{decision.pairs} pairs of windows, in turns, over {decision.rounds} starts of both servers, in {duration(seconds)}"
    for arm, share in zip(arms, decision.failed, strict=True):
        if share:
            yield f"`{arm.label}` gave no good answer to {share:.2%} of its requests, and only good ones count"
    if decision.void_pairs:
        yield f"{decision.void_pairs} more pairs were spoiled by the machine and count for nothing"
    if arms[1].planted:
        yield f"B was slowed down on purpose, by {arms[1].planted:.1%} of its CPU"
    if awake:
        yield "the processors of this virtual machine were kept from idling meanwhile"
    if settings.pin:
        yield f"pinned to cores: {', '.join(f'{role} {_cores(cores)}' for role, cores in settings.pin)}"
    if decision.rounds < duel.JUDGED_ROUNDS:
        yield f"fewer than {duel.JUDGED_ROUNDS} starts: nothing is called; give it a larger --budget"
    else:
        yield from _narrower(decision.half_width, settings)


def _narrower(half_width: float | None, settings: Settings) -> Iterator[str]:
    """What meets less of the machine's other users, where an interval is wide and there are cores to choose among."""
    cores = sorted(os.sched_getaffinity(0))
    if half_width is not None and half_width > WIDE and not settings.pin and len(cores) > 1:
        options = f"--workers 1 --connections 16 --turn 0.02 --pin server={cores[0]} --pin generator={cores[1]}"
        yield f"± {half_width:.1%} is wide: `{options}` meets less of what slows single cores down for a while"


def _cores(cores: tuple[int, ...]) -> str:
    return "+".join(map(str, cores))
