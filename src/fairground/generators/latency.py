"""Latencies of a generator that tells how often each one occurred, in the form that the engine's have."""

from __future__ import annotations

from collections.abc import Mapping

from fairground.model import Latency

HIGHEST_US = 120_000_000


def of_counts(counts: Mapping[int, int]) -> Latency:
    """µs → how often, as a histogram of three digits between 1 µs and 120 s; what lies beyond counts at its end."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, HIGHEST_US, 3)
    for value_us, count in counts.items():
        if count:
            histogram.record_value(min(max(value_us, 1), HIGHEST_US), count)
    total = histogram.get_total_count()
    if not total:
        return Latency(0, None, None, None, None, None, None, None, histogram.encode().decode())
    mean = sum(value_us * count for value_us, count in counts.items()) / total
    p50, p75, p90, p95, p99, p999 = (int(histogram.get_value_at_percentile(one)) for one in (50, 75, 90, 95, 99, 99.9))
    seen = [value_us for value_us, count in counts.items() if count]
    return Latency(total, min(seen), mean, max(seen), p50, p90, p99, p999, histogram.encode().decode(), p75, p95)
