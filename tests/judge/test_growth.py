"""Memory that grows: leaks are named with their rate, and whatever comes down or settles is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.trials import CELL
from fairground.judge import growth, thresholds
from fairground.model import Finding, Look, Outcomes, Result, Severity

RULES = thresholds.standard().rules
MB = 1_000_000
GB = 1000 * MB
OUTCOMES = Outcomes(100_000, 0, {}, 0, 0, 0, 0, 0, 0, 0)
RESULT = Result(
    "engine", (), 10.0, OUTCOMES, OUTCOMES, 100_000, 100_000, 1, 1, None, None, None, None, None, (), {}, (), 1, 0.5
)  # fmt: skip


def series(used_mb: Callable[[float], float], seconds: float = 10.0) -> list[tuple[float, int]]:
    """Five looks a second at this many MB."""
    return [(number * 0.2, int(used_mb(number * 0.2) * MB)) for number in range(round(seconds * 5) + 1)]


def found(
    seen: Sequence[tuple[float, int | None]], memory_mb: int | None = None, machine_bytes: int | None = 16 * GB
) -> list[Finding]:
    """What is found of a series."""
    looks = [Look(1e9 + at_s, used, {}, 0.0) for at_s, used in seen]
    cell = replace(CELL, settings=replace(CELL.settings, memory_mb=memory_mb))
    return list(growth.findings(cell, RESULT, looks, machine_bytes, RULES))


def test_a_leak_is_named() -> None:
    """50 MB/s are named as such, with what that is for each answer, and when the machine would be full."""
    (grows,) = found(series(lambda at_s: 100 + 50 * at_s))
    assert (grows.id, grows.severity) == ("memory-grows", Severity.WARN)
    assert grows.evidence["mb_per_s"] == pytest.approx(50)
    assert grows.evidence["full_in_s"] == pytest.approx((16 * GB - 600 * MB) / (50 * MB))
    assert "grew by 50.0 MB/s for the whole window, to 600 MB, 5.0 kB for each good answer" in grows.sentence
    assert "the machine's memory of 16,000 MB would be full in 5 minutes at most" in grows.sentence


def test_a_limit_is_full_before_the_machine() -> None:
    """A server with a memory limit is held to that one."""
    (grows,) = found(series(lambda at_s: 100 + 2 * at_s), memory_mb=500)
    assert grows.severity is Severity.WARN and "its limit of 500 MB would be full in 3 minutes at most" in grows.sentence
    assert found(series(lambda at_s: 100 + 2 * at_s))[0].severity is Severity.NOTE


def test_a_machine_that_does_not_tell_its_memory() -> None:
    """The rate is said, and nothing of when it would be full."""
    (grows,) = found(series(lambda at_s: 100 + 50 * at_s), machine_bytes=None)
    assert grows.severity is Severity.NOTE and "would be full" not in grows.sentence


def test_a_leak_below_a_sawtooth() -> None:
    """A collector that leaves more behind each time leaks: what is least in each piece rises."""
    (grows,) = found(series(lambda at_s: 200 + 20 * at_s + 100 * (at_s % 1.0)))
    assert grows.evidence["mb_per_s"] == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize(
    "used_mb",
    [
        lambda at_s: 100.0,
        lambda at_s: 100 + 80 * (at_s % 1.0),
        lambda at_s: 100 + 80 * (at_s % 3.0),
        lambda at_s: 100 + 80 * (at_s % 6.0),
        lambda at_s: 100 + 400 * (1 - math.exp(-at_s / 2)),
        lambda at_s: 100 + 400 * (1 - math.exp(-at_s / 6)),
        lambda at_s: 100 + min(50 * at_s, 300),
        lambda at_s: 100 + (200 if at_s > 4 else 0),
        lambda at_s: 600 - 50 * at_s,
        lambda at_s: 100 + 0.5 * at_s,
        lambda at_s: 4000 + 5 * at_s,
        lambda at_s: 100 + 150 * math.log1p(at_s),
    ],
    ids=["flat", "saw-1s", "saw-3s", "saw-6s", "settles", "settles-slowly", "plateau", "step", "falls", "little", "of-much", "log"],
)  # fmt: skip
def test_what_does_not_grow_for_good(used_mb: Callable[[float], float]) -> None:
    """Flat memory, a sawtooth, growth that settles or stops, one step, less than matters: nothing is said."""
    assert found(series(used_mb)) == []


def test_too_little_to_tell() -> None:
    """A short window, few looks, or memory that nobody read tell nothing."""
    leak = series(lambda at_s: 100 + 50 * at_s)
    assert found(leak[:20]) == [] and found(leak[::4]) == [] and found([]) == []
    assert found([(at_s, None) for at_s, _ in leak]) == []


@given(st.integers(5, 500), st.integers(20, 2000), st.floats(0.0, 0.3))
def test_any_steady_leak_has_its_rate(mb_per_s: int, first_mb: int, wobble: float) -> None:
    """The rate comes out of any steady growth that is large beside what was there, however it wobbles within a look or two."""
    seen = series(lambda at_s: first_mb + mb_per_s * (at_s + wobble * math.sin(at_s * 17)))
    rate = growth.bytes_per_s(seen, RULES)
    matters = seen[-1][1] - seen[0][1] > 0.12 * seen[0][1]
    assert rate is None or rate == pytest.approx(mb_per_s * MB, rel=0.2)
    assert not matters or wobble > 0.05 or rate is not None


@given(st.lists(st.integers(90, 110), min_size=51, max_size=51))
def test_noise_is_no_leak(noise: list[int]) -> None:
    """Memory that goes up and down by a tenth without a trend is not called a leak of more than a fraction of that."""
    rate = growth.bytes_per_s([(number * 0.2, used * MB) for number, used in enumerate(noise)], RULES)
    assert rate is None or rate < 3 * MB


def held(numbers: Callable[[float], int], limit: int | None = 1024, processes: int = 1) -> list[Finding]:
    """What is found of so many descriptors and as many threads at each moment, of all processes together."""
    looks = [Look(1e9 + i * 0.2, None, {}, 0.0, numbers(i * 0.2), numbers(i * 0.2), processes) for i in range(51)]
    return list(growth.held_findings(looks, RESULT, limit, None, RULES))


def test_descriptors_and_threads_that_leak_are_named() -> None:
    """Ten a second, with what that is for each answer; a warning where the limit is near, and a note where nobody knows it."""
    descriptors, threads = held(lambda at_s: 40 + round(10 * at_s))
    assert (descriptors.id, descriptors.severity) == ("descriptors-grow", Severity.WARN)
    assert "open descriptors grew by 10.0 a second for the whole window, to 140, one for 1,0" in descriptors.sentence
    assert "the limit of 1,024 would be reached in 88 s" in descriptors.sentence
    assert (threads.id, threads.severity, threads.evidence["full_in_s"]) == ("threads-grow", Severity.NOTE, None)
    assert held(lambda at_s: 40 + round(10 * at_s), limit=1_000_000)[0].severity is Severity.NOTE
    assert held(lambda at_s: 40 + round(10 * at_s), processes=4)[0].evidence["limit"] == 4 * 1024


@pytest.mark.parametrize(
    "numbers",
    [
        lambda at_s: 60,
        lambda at_s: 40 + round(min(at_s, 3.0) * 20),
        lambda at_s: 60 + round(at_s * 10) % 30,
        lambda at_s: 40 + round(at_s),
    ],
)
def test_a_pool_that_fills_is_no_leak(numbers: Callable[[float], int]) -> None:
    """What stays, settles, comes down again, or grows by a few says nothing."""
    assert held(numbers) == []
