"""Counted work: what weighs how much, when it has settled, and when two arms differ."""

from __future__ import annotations

import random

import pytest

from fairground.model.count import CountedStart, CountedWindow, WorkCount
from fairground.stats import counts
from fairground.stats.counts import CountWord


def start(instructions: list[int], answers: int = 100, warm: int = 0) -> CountedStart:
    """A start with windows of so many instructions; the first `warm` are its warm-up."""
    windows = [CountedWindow(answers, WorkCount(one, {"read": answers}), place < warm) for place, one in enumerate(instructions)]
    return CountedStart("a", "ping", 1, 3200, tuple(windows), True, (), 1.0)


def collected(phase: int) -> list[int]:
    """Windows of 1,000 instructions an answer, of which every fifth holds a collection of as many as all its answers need."""
    return [200_000 if place % 5 == phase else 100_000 for place in range(32)]


def test_a_collection_at_the_edge_moves_nothing() -> None:
    """Whichever windows hold collections, an answer needs the same to a thousandth; the plain mean moves by tens of them."""
    found = [counts.instructions(start(collected(phase))) or 0.0 for phase in range(5)]
    plain = [sum(collected(phase)) / 3200 for phase in range(5)]
    assert max(found) / min(found) < 1.001 < 1.01 < max(plain) / min(plain)
    assert found[0] == pytest.approx(1200, rel=0.001)


def test_between_collections_their_number_moves_nothing() -> None:
    """One window with a collection or ten: the middle one is the same, and a change of the other windows is all there."""
    few, many = (start([300_000] * dear + [100_000] * (32 - dear)) for dear in (1, 10))
    assert counts.between_collections(few) == counts.between_collections(many) == 1000
    assert counts.between_collections(start([300_000, 101_000, 101_000])) == 1010
    assert counts.between_collections(start([90_000, 100_000, 110_000, 300_000])) == 1050
    assert counts.between_collections(start([100_000], warm=1)) is None
    assert (counts.instructions(many) or 0) > 1.1 * (counts.instructions(few) or 0)


def looked(random_: random.Random, chance: float, cost: int = 60_000, least: int = 2, windows: int = 32) -> CountedStart:
    """A start in whose windows reads find nothing more or less often, each for 1,200 instructions; every sixth holds a collection."""
    made = list[CountedWindow]()
    for place in range(windows):
        empty = round(100 * (least + chance * random_.random()))
        work = 100 * cost + 1_200 * empty + random_.randrange(5_000) + (20_000_000 if place % 6 == 2 else 0)
        made.append(CountedWindow(100, WorkCount(work, {"read": 400 + empty}, empty_reads=empty)))
    return CountedStart("a", "db-ping", 1, 100 * windows, tuple(made), True, (), 1.0)


def test_chance_looks_in_vain_and_is_levelled() -> None:
    """Starts differ by how often reads found nothing. With that levelled they hardly do, and a per cent of the code shows."""
    random_ = random.Random(5)
    a, b, costlier = ([looked(random_, chance, cost) for chance in (0.1, 1.4, 0.6)] for cost in (60_000, 60_000, 60_600))
    raw = [counts.between_collections(one) or 0.0 for one in (*a, *b)]
    level_a, level_b = counts.at_equal_reads(a, b)
    assert (counts.spread(raw) or 0) > 0.005 > 0.001 > (counts.spread([*level_a, *level_b]) or 1)
    assert counts.change(level_a, level_b).word is CountWord.ALIKE
    more = counts.change(*counts.at_equal_reads(a, costlier))
    assert more.word is CountWord.MORE and more.ratio is not None and more.ratio.low < 1.0095 < more.ratio.high
    assert counts.change(raw[:3], [counts.between_collections(one) or 0.0 for one in costlier]).word is CountWord.UNKNOWN


def test_reads_that_nobody_counted_are_not_none() -> None:
    """An older record beside a new one: nothing is levelled, for what its reads met is not known."""
    reads = [[20, 80, 40, 60], [30, 70, 50, 50], [10, 90, 45, 55]]
    a = [start([5_000_000] * 4) for _ in reads]
    b = [
        CountedStart("b", "ping", 1, 400, tuple(
            CountedWindow(100, WorkCount(5_000_000 + 1_000 * (one - 50), {"read": 100}, empty_reads=one)) for one in some
        ), True, (), 1.0)
        for some in reads
    ]  # fmt: skip
    level_a, level_b = counts.at_equal_reads(a, b)
    assert level_a == [50_000.0] * 3 and level_b == [counts.between_collections(one) for one in b]
    assert counts.change(level_a, level_b).word in (CountWord.ALIKE, CountWord.UNKNOWN)


def test_a_server_that_looks_in_vain_more_often_costs_more() -> None:
    """Where the code itself reads too early, that is its own cost, and is not levelled away."""
    random_ = random.Random(6)
    a, b = ([looked(random_, chance, least=least) for chance in (0.1, 0.3, 0.2)] for least in (2, 3))
    assert counts.reads_differ(a, b) and not counts.reads_differ(a, a) and not counts.reads_differ(a)
    level_a, level_b = counts.at_equal_reads(a, b)
    assert level_a == [counts.between_collections(one) for one in a]
    found = counts.change(level_a, level_b)
    assert found.word is CountWord.MORE and found.ratio is not None and found.ratio.middle == pytest.approx(1.0192, abs=0.003)


def test_levelled_equals_are_hardly_ever_called() -> None:
    """However often they are looked at: of 150 equal pairs, whose reads differ by chance, hardly one is called in seven looks."""
    random_, called = random.Random(7), 0
    for _ in range(150):
        a, b = ([looked(random_, random_.choice((0.1, 0.8, 1.5)), windows=8) for _ in range(8)] for _ in range(2))
        looks = (counts.change(*counts.at_equal_reads(a[:made], b[:made])) for made in range(counts.LEAST_STARTS, 9))
        called += any(one.called for one in looks)
    assert called <= 3


def test_reads_that_nobody_counts_change_nothing() -> None:
    """An emulation sees them, and the processor's counters do not; a server that waits by poll has none."""
    starts = [start(collected(phase)) for phase in range(3)]
    assert counts.at_equal_reads(starts) == [[1000.0] * 3] and counts.empty_reads(starts[0]) is None
    assert counts.at_equal_reads([], starts) == [[], [1000.0] * 3] and counts.empty_reads(start([])) is None


def test_counted_windows_that_fall_are_no_counted_ones() -> None:
    """A compiler that begins late makes the second half far cheaper. A collection, or a per cent, does not."""
    assert counts.is_falling([1300.0] * 8 + [700.0, 400.0, 300.0] + [190.0] * 21)
    assert not counts.is_falling([1360.0] * 16 + [1335.0] * 16)
    assert not counts.is_falling([3000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 3000.0, 1000.0])
    assert not counts.is_falling([1000.0] * 4 + [2000.0] * 4) and not counts.is_falling([])


def test_the_warm_up_counts_for_nothing() -> None:
    """Calls are those of counted windows, too, in all and by name."""
    found = start([9_000_000, 100_000, 100_000], warm=1)
    assert counts.instructions(found) == pytest.approx(1000)
    assert counts.calls(found) == pytest.approx(1) and counts.calls_by_name(found) == pytest.approx({"read": 1})
    assert counts.instructions(start([9_000_000], warm=1)) is None and counts.calls_by_name(start([])) == {}


def test_calls_that_nobody_counted_are_unknown() -> None:
    """The processor's counters tell instructions alone: that is not an answer without a system call."""
    silent = CountedStart("a", "ping", 1, 3200, (CountedWindow(100, WorkCount(100_000), False),), True, (), 1.0)
    assert counts.instructions(silent) == pytest.approx(1000) and counts.calls(silent) is None


@pytest.mark.parametrize(
    ("values", "settled"),
    [
        ([100.0, 100.1, 99.9, 100.0, 100.2, 99.8, 100.1, 99.9], True),
        ([100.0, 100.1, 99.9, 100.0, 100.2, 99.8, 100.1], False),  # too few
        ([104.0, 103.5, 103.0, 102.5, 102.0, 101.5, 101.0, 100.5], False),  # falls evenly
        ([100.0, 320.0, 100.2, 100.1, 99.8, 100.0, 240.0, 99.9], True),  # holds collections of garbage
        ([900.0, 300.0, 1400.0, 350.0, 500.0, 250.0, 180.0, 160.0], False),  # compiles, and scatters by far more than it falls
        ([200.0, 150.0, *[100.0] * 8], True),  # was cold, and is not
        ([500.0, 300.0, 450.0, 310.0, 301.0, 502.0, 309.0, 450.0], False),  # compiles, and halves agree by chance
    ],
)
def test_counts_settle(values: list[float], settled: bool) -> None:
    """What falls has not settled, however evenly or wildly; what only holds some dear windows has."""
    assert counts.has_settled(values, counts.FLOOR) is settled


def test_a_difference_needs_more_than_chance_and_more_than_the_floor() -> None:
    """A per cent beyond the scatter is called, a tenth of a per cent is not worth it, and wide intervals tell nothing."""
    a = [1000.0, 1000.5, 999.5]
    assert counts.change(a, [1010.0, 1010.5, 1009.5]).word is CountWord.MORE
    assert counts.change([1010.0, 1010.5, 1009.5], a).word is CountWord.LESS
    assert counts.change(a, [1001.0, 1001.5, 1000.5]).word is CountWord.ALIKE
    assert counts.change(a, [1002.0, 1050.0, 990.0]).word is CountWord.UNKNOWN
    nothing = counts.change([1000.0], [1010.0, 1010.0])
    assert (nothing.word, nothing.ratio, nothing.half_width) == (CountWord.UNKNOWN, None, None)


@pytest.mark.parametrize("spread", [0.5, 7.0, 12.0])
def test_identical_arms_are_rarely_told_apart(spread: float) -> None:
    """Pairs of up to ten starts, drawn from one source and looked at after each: hardly any is told apart."""
    chance, told, pairs = random.Random(7), 0, 1000
    for _ in range(pairs):
        a, b = ([chance.gauss(1000, spread) for _ in range(10)] for _ in range(2))
        looks = [counts.change(a[:made], b[:made]) for made in range(counts.LEAST_STARTS, 11)]
        ends = next((one for one in looks if one.word is not CountWord.UNKNOWN), looks[-1])
        told += ends.word in (CountWord.MORE, CountWord.LESS)
    assert told / pairs < 0.01


def test_a_difference_that_chance_may_have_made_is_open() -> None:
    """Where 95 % would exclude none and 99.9 % do not, nothing is told yet, and more starts are asked for."""
    maybe = counts.change([1000.0, 1001.0], [1010.0, 1013.0])
    assert maybe.word is CountWord.UNKNOWN and maybe.is_open
    assert maybe.ratio is not None and maybe.ratio.low > 1
    sure = counts.change([1000.0, 1000.2], [1010.0, 1010.2])
    assert sure.word is CountWord.MORE and not sure.is_open
    assert not counts.change([1000.0, 1000.2], [1000.1, 1000.3]).is_open
