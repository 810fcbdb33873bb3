"""The warm-up of one load: what was counted in each of its seconds, and whether it is over."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from fairground.judge import answers
from fairground.judge.thresholds import Rules
from fairground.measure.schedule import Whole


@dataclass
class WarmUp:
    """The warm-up of a load so far. `settled`: whether it had settled when it was last asked."""

    ask: Whole
    rules: Rules
    rates: list[int] = field(default_factory=list)
    """Good answers of each second."""
    spent_us: list[tuple[float, float]] = field(default_factory=list)
    """CPU so far of all that is tested, and of the generator, at its start and at each of its seconds."""
    settled: bool = True

    def is_over(self, elapsed_s: float, given_s: float | None) -> bool:
        """True if it is over after so long: it has settled, or its time is up."""
        if given_s is not None:
            return elapsed_s >= given_s
        load = self.ask.load
        spent = [(now[0] - was[0], now[1] - was[1]) for was, now in itertools.pairwise(self.spent_us)]
        self.settled = answers.has_settled(self.rates, self.rules, spent, self._steady_s)
        return elapsed_s >= load.warmup_max_s or (elapsed_s >= load.warmup_min_s and self.settled)

    @property
    def _steady_s(self) -> int:
        """The number of seconds that must be alike to end it."""
        return self.rules.settled_before_turns if self.ask.before_turns else self.rules.settled_last

    def given_s(self) -> float | None:
        """Return how long it lasts where nothing is judged of it, not always whole seconds; None: until it has settled.

        A pilot lasts whole seconds, since they are counted.
        """
        load = self.ask.load
        if not self.ask.trial:
            return load.warmup_min_s
        too_short = load.warmup_max_s < self._steady_s
        self.settled = self.ask.again or not too_short
        return load.warmup_max_s if too_short else None
