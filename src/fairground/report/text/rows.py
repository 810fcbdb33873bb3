"""Numbers as text for a page, its Markdown and the terminal: a row's interval, its percentiles, what limits it, offered rates."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairground.report.boards import BoardRow, add_histograms
from fairground.report.text import words
from fairground.stats import intervals
from fairground.stats.comparisons import Comparison
from fairground.stats.intervals import Interval


def interval_text(row: BoardRow) -> str:
    """`1,880–1,950`, or the dash that says that there is none."""
    if row.interval is None:
        return words.NO_NUMBER
    return f"{words.number(row.interval.low)}–{words.number(row.interval.high)}"


def rate_text(rate_per_s: float | None) -> str:
    """An offered rate with the four digits that a search gives it: rounded, it would be another rate than was kept."""
    return words.UNKNOWN if rate_per_s is None else intervals.brief(rate_per_s, 4)


def half_width(found: Interval | None) -> float | None:
    """Half of the interval of a geometric mean or a ratio, as a share of its middle; None where there is none."""
    return None if found is None or found.low <= 0 else math.sqrt(found.high / found.low) - 1


def half_text(found: Interval | None) -> str:
    """`± 3.1 %`; empty where there is no interval. What is wider than the value itself says no more than that."""
    half = half_width(found)
    return "" if half is None else f"± {words.percent(half)}" if half <= 1 else "± >100 %"


def rank_text(found: Comparison, stack: str) -> str:
    """`2`, or `2–5`: where a stack may stand; a dash where nothing is ranked."""
    low, high = found.ranks.get(stack, (None, None))
    return words.NO_NUMBER if low is None else str(low) if low == high else f"{low}–{high}"


def diagnosis_text(row: BoardRow, tried: Mapping[tuple[str, str], str] | None = None) -> str:
    """`db-lock`, or all with their counts where trials disagree.

    `tried`: a cell's id and a reason → what an experiment made of it, which then stands behind the reason.
    """
    found, tests = row.diagnoses.most_common(), tried or {}
    counts = {name: str(amount) if len(found) > 1 else "" for name, amount in found}
    said = [" ".join(filter(None, (name, many, tests.get((row.cell.id, name), "")))) for name, many in counts.items()]
    return ", ".join(said) or words.UNKNOWN


def percentile_us(row: BoardRow, share: float) -> float | None:
    """A percentile of the row's good answers, from its histograms added; None without them."""
    histogram = add_histograms(row.numbered)
    return intervals.percentile(histogram.values_us, histogram.counts, share) if histogram else None


def percentile_text(row: BoardRow, share: float) -> str:
    """A percentile in ms from added histograms, as `tail_text` shows it; a range without histograms."""
    histogram = add_histograms(row.numbered)
    if histogram is not None:
        return tail_text(percentile_us(row, share), histogram.total, share)
    field = {0.5: "p50_us", 0.99: "p99_us"}[share]
    known = [getattr(trial.result.latency_ok, field) for trial in row.numbered if trial.result and trial.result.latency_ok]
    if not known or None in known:
        return words.UNKNOWN
    low, high = words.milliseconds(min(known)), words.milliseconds(max(known))
    return low if low == high else f"{low}–{high}"


def tail_text(value_us: float | None, count: int, share: float) -> str:
    """A percentile of so many samples in ms; `~` before it where few of them lie beyond it, and a dash where hardly any do."""
    if value_us is None:
        return words.UNKNOWN
    beyond = round(count * (1 - share))
    if beyond < words.LEAST_TAIL_SAMPLES:
        return words.NO_NUMBER
    return f"{'' if beyond >= words.FEW_TAIL_SAMPLES else '~'}{words.milliseconds(value_us)}"


def letters(names: str) -> str:
    """`C D E F` → `C–F`, for a stack of three groups and more that follow each other."""
    found = names.split()
    if len(found) < 3 or any(len(name) > 1 for name in found) or ord(found[-1]) - ord(found[0]) != len(found) - 1:
        return names
    return f"{found[0]}–{found[-1]}"
