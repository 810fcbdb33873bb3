"""Latencies of a generator that tells how often each one occurred, in the form that the engine's have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from fairground.model import Latency, hdr

HIGHEST_US = 120_000_000
SHAPE = hdr.HdrShape(1, HIGHEST_US, 3)


def of_counts(counts: Mapping[int, int]) -> Latency:
    """µs → how often, as a histogram of three digits between 1 µs and 120 s; what lies beyond counts at its end."""
    buckets = Counter[int]()
    for value_us, count in counts.items():
        buckets[SHAPE.place_of(min(max(value_us, 1), HIGHEST_US))] += count
    packed, total = hdr.encode(SHAPE, buckets), buckets.total()
    if not total:
        return Latency(0, None, None, None, None, None, None, None, packed)
    mean = sum(value_us * count for value_us, count in counts.items()) / total
    p50, p75, p90, p95, p99, p999 = (_percentile(buckets, total * share) for share in (0.5, 0.75, 0.9, 0.95, 0.99, 0.999))
    seen = [value_us for value_us, count in counts.items() if count]
    return Latency(total, min(seen), mean, max(seen), p50, p90, p99, p999, packed, p75, p95)


def _percentile(buckets: Mapping[int, int], rank: float) -> int:
    """The end of the bucket in which the value of this rank lies, as HdrHistogram rounds it."""
    places = sorted(place for place, count in buckets.items() if count)
    reached = accumulate(buckets[place] for place in places)
    return SHAPE.end_of(next(place for place, sum_of in zip(places, reached, strict=True) if sum_of >= max(int(rank + 0.5), 1)))
