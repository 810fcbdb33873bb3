"""The checks that the window was one and the same from its beginning to its end (V15, V16)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from fairground.judge.thresholds import Rules
from fairground.judge.validity.check import CheckReading, TrialFacts, ValidityCheck
from fairground.stats import intervals


def _steadiness(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V15. Good answers of the second half against those of the first."""
    rates = [second.ok for second in facts.result.seconds] if facts.result else []
    return _halves("gave", rates, statistics.fmean, rules)


def _steady_median(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V15. The same of the latency: the median of a half's seconds stands for it."""
    medians = [second.p50_us for second in facts.result.seconds if second.p50_us is not None] if facts.result else []
    return _halves("had a median latency of", medians, statistics.median, rules)


def _steady_cost(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V15. The same of the server's CPU per good answer."""
    use = facts.roles.get("server")
    if use is None or facts.result is None:
        return None
    costs = [cpu / one.ok for cpu, one in zip(use.cpu_us_by_second, facts.result.seconds, strict=False) if one.ok]
    return _halves("cost in CPU per good answer", costs, statistics.fmean, rules)


def _halves(verb: str, values: Sequence[float], middle: object, rules: Rules) -> CheckReading | None:
    if len(values) < rules.steadiness_seconds:
        return None
    half = len(values) // 2
    first, second = (middle(part) for part in (values[:half], values[-half:]))  # type: ignore[operator]
    if not first:
        return None
    drift = second / first - 1
    return CheckReading(abs(drift), f"the window's second half {verb} {drift:+.0%} against the first", {"drift": drift})


def _unstable(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V16. In open loop what is in flight must not grow; what was due and could not be sent has grown, too.

    Growth is that of a straight line through the seconds' ends, counted where the interval of its slope lies above 0.
    """
    result = facts.result
    seen = [one.in_flight for one in result.seconds if one.in_flight is not None] if result else []
    slope = intervals.slope_interval(seen, rules.growth_confidence)
    if result is None or slope is None:
        return None
    grown = slope.middle * len(seen) if slope.low > 0 else 0.0
    waiting = (result.window.unsent or 0) if facts.capped else 0
    mean, per_s = max(statistics.fmean(seen), 1.0), (grown + waiting) / facts.window_s
    words = f"unstable: requests in flight or waiting grew by {per_s:,.1f} a second: latencies grow with the window's length"
    return CheckReading((grown + waiting) / mean, words, {"growth_per_s": per_s, "in_flight_mean": mean, "unsent": waiting})


def _is_open(facts: TrialFacts) -> bool:
    return facts.open


CHECKS = (
    ValidityCheck("steadiness", "V15", "window", "answers of both halves", "share", _steadiness),
    ValidityCheck("steady-median", "V15", "window", "latency of both halves", "share", _steady_median),
    ValidityCheck("steady-cost", "V15", "window", "CPU per answer of both halves", "share", _steady_cost),
    ValidityCheck("unstable", "V16", "window", "growth of what is in flight", "share", _unstable, _is_open),
)
