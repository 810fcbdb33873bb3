"""Tell whether load generators agree on a server that each of them loaded in the same way, in turns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairground.model import Trial
from fairground.stats import differences, intervals

MEASURES: Mapping[str, Callable[[Trial], float | None]] = {
    "goodput": lambda trial: trial.goodput_per_s,
    "median latency": lambda trial: trial.result.latency_ok.p50_us if trial.result and trial.result.latency_ok else None,
    "server CPU per answer": lambda trial: trial.cpu_us_per_answer("server"),
}
"""What generators must agree in when they load the same server in the same way."""
FAMILY = 0.95
"""Confidence of all comparisons together: so seldom does one call a difference where there is none."""

TOLERANCE = 0.02
"""A difference of generators below this share does not matter."""
KNOWN = 0.10
"""An interval that holds "no difference" and reaches beyond this share tells nothing: one that matters may be in it."""


@dataclass(frozen=True)
class Agreement:
    """One number of one generator beside the first one's; `ratio` is None where fewer than two rounds have both.

    `agrees` is None where that cannot be told: without a ratio, and where its interval is too wide.
    """

    measure: str
    reference: str
    other: str
    ratio: intervals.Interval | None
    agrees: bool | None

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        if self.ratio is None:
            return f"{self.measure}: fewer than two rounds have a number of both {self.reference} and {self.other}"
        amount, low, high = (f"{(value - 1) * 100:+.1f}".replace("-", "−") for value in (
            self.ratio.middle, self.ratio.low, self.ratio.high))  # fmt: skip
        both = f"{self.reference} and {self.other}"
        said = {
            True: f"{both} agree",
            False: f"{both} differ beyond their noise",
            None: f"whether {both} agree cannot be told",
        }[self.agrees]
        return f"{self.measure}: {said}, {amount} % ({low} to {high} %, {self.ratio.count} rounds)"


def of_generators(trials: Sequence[Trial], names: Sequence[str]) -> tuple[Agreement, ...]:
    """Every measure of every generator but the first against the first, by rounds that have both.

    The confidence of each interval is Bonferroni's share of `FAMILY`.
    """
    pairs = [(name, other) for other in names[1:] for name in MEASURES]
    confidence = 1 - (1 - FAMILY) / max(1, len(pairs))
    found = []
    for name, other in pairs:
        ours, theirs = (_by_round(trials, generator, MEASURES[name]) for generator in (names[0], other))
        ratio = differences.paired_interval_of(theirs, ours, confidence)
        found.append(Agreement(name, names[0], other, ratio, None if ratio is None else agree(ratio)))
    return tuple(found)


def agree(ratio: intervals.Interval) -> bool | None:
    """Tell whether two instruments that measured the same thing in the same rounds agree within their noise.

    They do when the interval of their ratio lies within TOLERANCE of 1: a sure difference is too small to matter then.
    They do as well when it holds 1. But one that reaches beyond KNOWN is of too few or too noisy rounds: None.
    """
    if _is_within(ratio, TOLERANCE):
        return True
    if not ratio.low <= 1 <= ratio.high:
        return False
    return True if _is_within(ratio, KNOWN) else None


def _is_within(ratio: intervals.Interval, share: float) -> bool:
    return ratio.low >= 1 / (1 + share) and ratio.high <= 1 + share


def _by_round(trials: Sequence[Trial], name: str, value_of: Callable[[Trial], float | None]) -> dict[int, float]:
    """Round → value, of trials that have a number above zero; of a repeated trial the last."""
    known = {trial.block: value_of(trial) for trial in trials
             if trial.cell.load.generator == name and trial.goodput_per_s is not None}  # fmt: skip
    return {at: value for at, value in known.items() if value}
