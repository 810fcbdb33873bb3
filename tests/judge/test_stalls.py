"""Stalls: pauses are counted and named, what only looks like one is not, and the machine's are not the server's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from builders.trials import CELL
from fairground.judge import stalls, thresholds
from fairground.model import Cell, Finding, Gap, Latency, Load, Look, Outcomes, Result, Severity

RULES = thresholds.standard().rules
CLOSED = replace(CELL, load=Load(64, window_s=10.0))
OPEN = replace(CELL, load=Load(64, window_s=10.0, model="open", rate_per_s=1000.0))
BEGAN_S = 1_789_000_000.0


def result(gaps: Iterable[Gap] | None, answers: int = 10_000, p50_us: int = 6_000, p99_us: int = 6_100) -> Result:
    """Ten seconds of so many answers, with these gaps."""
    outcomes = Outcomes(answers, 0, {}, 0, 0, 0, 0, 0, 0, 0)
    latency = Latency(answers, 1, 5.0, 300_000, p50_us, 1, p99_us, 1, None)
    plain = ("engine", (), 10.0, outcomes, outcomes, answers, answers, 1, 1, None, None, latency, None, None, (), {}, (), 1, 0.5)
    return Result(*plain, started_unix_us=int(BEGAN_S * 1e6), gaps=None if gaps is None else tuple(gaps))


def every(period_s: float, for_ms: int, own_ms: int = 0) -> list[Gap]:
    """A server that stands still for so long in each period of ten seconds."""
    starts = [number * period_s for number in range(int(10 / period_s))]
    return [Gap(int((start + period_s / 2) * 1e6), for_ms * 1000, own_ms * 1000) for start in starts]


def looks(gaps: Iterable[Gap], inside: float, outside: float, database: float = 0.1, stolen: float = 0.0) -> list[Look]:
    """Five looks a second at a server that uses so many cores in the gaps and outside; `stolen`: cores taken in them."""
    found, spans = [], [(gap.start_us / 1e6, (gap.start_us + gap.duration_us) / 1e6) for gap in gaps]
    for number in range(51):
        at_s = number * 0.2
        in_gaps_s = sum(min(max(at_s - start_s, 0.0), end_s - start_s) for start_s, end_s in spans)
        used_s = inside * in_gaps_s + outside * (at_s - in_gaps_s)
        cpu_us = {"server": used_s * 1e6, "database": database * at_s * 1e6}
        found.append(Look(BEGAN_S + at_s, 30_000_000, cpu_us, stolen * in_gaps_s * 1e6))
    return found


def found(
    gaps: Iterable[Gap] | None, seen: Iterable[Look] = (), cell: Cell = CLOSED, diagnosis: str | None = None, **told: int
) -> dict[str, Finding]:
    """The findings by id."""
    of = stalls.findings(cell, result(gaps, **told), tuple(seen), diagnosis, RULES)
    return {one.id: one for one in of}


def test_a_server_that_stands_still_is_named() -> None:
    """Three stalls of 200 ms are counted, with their length and what the closed loop hides; that is doubt, and warned of."""
    gaps = every(3.0, 200)
    stall = found(gaps)["stalls"]
    assert stall.severity is Severity.WARN
    assert (stall.evidence["count"], stall.evidence["total_s"], stall.evidence["longest_ms"]) == (3, 0.6, 200.0)
    assert (
        "3 times no answer came while requests were open, for 0.60 s of 10.0 s in all and 200 ms at the longest" in stall.sentence
    )
    assert "(coordinated omission): requests that come evenly would have a p99 of about 167 ms, not 6.1 ms" in stall.sentence


def test_in_the_open_loop_nothing_is_hidden() -> None:
    """The same stalls in the open loop are named without a word of what percentiles hide: they show it."""
    stall = found(every(3.0, 200), cell=OPEN)["stalls"]
    assert stall.severity is Severity.WARN and "omission" not in stall.sentence


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        (None, {}),
        ([], {}),
        (every(3.0, 49), {}),
        (every(0.1, 55), {"answers": 180, "p50_us": 30_000}),
        (every(0.1, 99), {"answers": 100, "p50_us": 99_000}),
        (every(0.2, 100), {"answers": 3200, "p50_us": 100_000}),
        (every(3.0, 200), {"answers": 0}),
    ],
)
def test_what_is_no_stall(gaps: list[Gap] | None, told: dict[str, int]) -> None:
    """Unknown gaps, short ones, few answers, slow answers, and requests that are answered all together are not named."""
    assert found(gaps, **told) == {}


def test_many_connections_do_not_hide_a_stall() -> None:
    """Latency grows with the connections of a closed loop; a stall is held against the time between answers, too."""
    assert "stalls" in found(every(3.0, 200), p50_us=60_000)


def test_rare_stalls_are_a_note() -> None:
    """Where less than a hundredth of the window stood still, no p99 lies inside of it: a fact, not a doubt."""
    stall = found([Gap(5_000_000, 80_000, 0)])["stalls"]
    assert stall.severity is Severity.NOTE and stall.sentence.startswith("once no answer came")
    assert stall.sentence.endswith("percentiles hide them (coordinated omission)")
    assert stall.evidence["unhidden_p99_us"] is None


def test_a_single_stall_is_a_fact_and_no_doubt() -> None:
    """However long: one pause may be chance, and two are warned of."""
    one, two = Gap(2_000_000, 400_000, 0), Gap(7_000_000, 400_000, 0)
    assert found([one])["stalls"].severity is Severity.NOTE
    assert found([one, two])["stalls"].severity is Severity.WARN


@pytest.mark.parametrize("diagnosis", ["deadlock", "throttled", "backlog"])
def test_stalls_that_a_limit_explains(diagnosis: str) -> None:
    """Deadlocks, a quota, dropped connections make everybody wait: the limit is said, and the stalls are its consequence."""
    stall = found(every(3.0, 200), diagnosis=diagnosis)["stalls"]
    assert stall.severity is Severity.NOTE and stall.sentence.endswith(f"`{diagnosis}` explains them")
    assert found(every(3.0, 200), diagnosis="app-serial")["stalls"].severity is Severity.WARN


def test_the_engines_own_pauses_are_not_the_servers() -> None:
    """A gap for most of which the engine had no processor is said apart, as a note; the others are still the server's."""
    assert list(found(every(3.0, 200, own_ms=150))) == ["stalls-machine"]
    mixed = found([*every(3.0, 200), Gap(9_000_000, 300_000, 290_000)])
    assert mixed["stalls"].evidence["count"] == 3 and mixed["stalls-machine"].evidence["count"] == 1
    assert mixed["stalls-machine"].severity is Severity.NOTE
    assert list(found(every(3.0, 200, own_ms=20))) == ["stalls"]


def test_what_the_hypervisor_took_is_not_the_servers() -> None:
    """A gap in which the hypervisor had taken a processor for most of the time is the machine's; elsewhere taken time is no excuse."""
    gaps = every(3.0, 200)
    assert list(found(gaps, looks(gaps, 0.0, 0.9, stolen=0.9))) == ["stalls-machine"]
    assert list(found(gaps, looks(gaps, 0.0, 0.9, stolen=0.2))) == ["stalls"]
    short = every(2.0, 60)
    always = [replace(one, stolen_us=0.16e6 * 0.2 * number) for number, one in enumerate(looks(short, 0.0, 0.9))]
    assert list(found(short, always)) == ["stalls"]
    elsewhere = looks([Gap(500_000, 600_000, 0)], 0.0, 0.9, stolen=0.9)
    assert list(found([Gap(7_000_000, 200_000, 0)], elsewhere)) == ["stalls"]


@pytest.mark.parametrize(
    ("inside", "outside", "database", "said"),
    [
        (0.0, 0.9, 0.1, "the server used 0.00 cores in them (0.90 otherwise): it was stopped, or waited"),
        (1.0, 0.6, 0.1, "the server used 1.00 cores in them (0.60 otherwise): it was at work, as during garbage collection"),
        (0.0, 0.5, 0.8, "(0.50 otherwise), and the database 0.80: the database was at work"),
    ],
)
def test_who_was_at_work(inside: float, outside: float, database: float, said: str) -> None:
    """Looks that are as long as the stalls are enough to tell who worked in them."""
    gaps = every(2.5, 200)
    stall = found(gaps, looks(gaps, inside, outside, database))["stalls"]
    assert said in stall.sentence
    assert stall.evidence["server_cores_in_stalls"] == pytest.approx(inside, abs=0.01)
    assert stall.evidence["server_cores_otherwise"] == pytest.approx(outside, abs=0.01)


def test_one_short_stall_tells_nobody_s_work() -> None:
    """A server that slept and then caught up within the same look is not said to have been at work; two stalls tell."""
    one, two = [Gap(500_000, 200_000, 0)], [Gap(500_000, 200_000, 0), Gap(1_500_000, 200_000, 0)]
    assert "cores" not in found(one, looks(one, 0.55, 0.25))["stalls"].sentence
    assert "cores in them" in found(two, looks(two, 0.0, 0.25))["stalls"].sentence


def test_who_was_at_work_is_not_known() -> None:
    """Without looks, or where each holds a stall, nobody says who worked."""
    gaps = every(0.2, 60)
    assert "cores" not in found(every(3.0, 200))["stalls"].sentence
    assert "cores" not in found(gaps, looks(gaps, 0.0, 0.9), answers=20_000)["stalls"].sentence


def test_p99_beside_the_calculation() -> None:
    """With a stall S in each period T the p99 of evenly due requests is S − T / 100; of mixed stalls the longer ones decide."""
    assert stalls.unhidden_p99_us(every(2.0, 500), 10.0) == pytest.approx(480_000)
    assert stalls.unhidden_p99_us([Gap(0, 99_000, 0)], 10.0) is None
    mixed = [Gap(0, 1_000_000, 0), Gap(0, 100_000, 0), Gap(0, 50_000, 0)]
    assert stalls.unhidden_p99_us(mixed, 10.0) == pytest.approx(900_000)
    assert stalls.unhidden_p99_us([Gap(0, 100_000, 0)] * 4, 10.0) == pytest.approx(75_000)
