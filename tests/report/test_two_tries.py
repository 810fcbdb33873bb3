"""Tries that are held against each other: what one each says, what several say, and what is never called."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from fairground.capacity.loadcurve import StepWord
from fairground.capacity.service import known
from fairground.capacity.service.values import Closed, Visit
from fairground.model import LabError
from fairground.model.record import TryAsked
from fairground.report import comparison, two_tries
from fairground.report.comparison import ComparisonLine
from fairground.stats.differences import DifferenceWord
from report.subjects import point

LOOP = Closed(10, 1000.0, None, None, 10_000, 0, 100.0, None, None)
EMPTY = Visit("http://127.0.0.1:3000/x", "GET", "p99<50ms", None, None, None)


def tried(goodput_per_s: float, **fields: object) -> Visit:
    """A try whose one closed loop gave so much."""
    return replace(EMPTY, closed=(replace(LOOP, goodput_per_s=goodput_per_s, **fields),))  # type: ignore[arg-type]


def line(a: list[Visit], b: list[Visit], quantity: str = "goodput") -> ComparisonLine:
    """What two sides say of one quantity."""
    return next(one for one in two_tries.compare_tries(a, b)[0] if one.quantity == quantity)


def test_several_tries_have_an_interval() -> None:
    """Twice as many answers are told as a multiple with its interval."""
    found = line([tried(1000), tried(1010), tried(990)], [tried(2000), tried(2030), tried(1970)])
    assert found.difference.word is DifferenceWord.FASTER
    said = comparison.sentence(found, "A", "B")
    assert said.startswith("10 connections: B is faster than A: 2 times the goodput of A (1.9") and said.endswith("95 % CI)")


def test_a_side_that_failed_at_times_is_not_judged_by_the_rest() -> None:
    """The tries that gave an answer are its best ones; what failed is told."""
    good, none = [tried(1000), tried(1010), tried(990)], tried(0)
    lines, notes = two_tries.compare_tries(good, [tried(2000), tried(2030), tried(1970), none])
    assert {one.difference.word for one in lines if one.cell == "10 connections"} == {DifferenceWord.INCONCLUSIVE}
    assert {one.need for one in lines} == {None}, "no further try settles what the failed one left open"
    assert notes.count("10 connections: B gave no good answer in 1 of 4 tries, so nothing is called of it") == 1
    missed = (point("curve", 100.0, 0, 500, StepWord.MISSED),)
    kept, told = two_tries.compare_tries(good, [replace(one, curve=missed) for one in good])
    assert "p99<50ms: B kept no rate in 3 of 3 tries, so nothing is called of it" in told
    assert {one.quantity for one in kept} == {"goodput", "server CPU"}


def test_one_try_each_has_a_ratio_and_no_interval() -> None:
    """Nothing is called, and what would tell is named."""
    found, notes = two_tries.compare_tries([tried(1000)], [tried(1900)])
    assert found[0].change is None
    said = comparison.sentence(found[0], "A", "B")
    assert said == "10 connections: B has 1.9 times the goodput of A, from one measurement each, so without an interval"
    assert any("--against" in one for one in notes) and any("compare A1,A2,A3 B1,B2,B3" in one for one in notes)


def test_what_would_settle_it_is_more_tries() -> None:
    """A try has no blocks, and no start of a lab's server."""
    found = line([tried(1000), tried(1200), tried(900)], [tried(1010), tried(1100), tried(1000)])
    assert re.search(r"; about [\d,]+ more tries would settle whether it is 3 %", comparison.sentence(found, "A", "B"))
    hopeless = comparison.sentence(replace(found, margin=1e-5), "A", "B")
    assert "; no realistic number of tries would settle" in hopeless


def test_what_is_needed_is_held_to_all_comparisons() -> None:
    """One interval off 1 among ten such is not called: what would settle it is of the same ten, and a note says so."""

    def loads(goodput_per_s: float) -> Visit:
        loop = replace(LOOP, goodput_per_s=goodput_per_s, server_us_per_answer=None)
        return replace(EMPTY, closed=tuple(replace(loop, connections=at) for at in range(1, 11)))

    b = [loads(1030 * math.exp(by)) for by in (-0.0047, 0.0, 0.0047)]
    found, notes = two_tries.compare_tries([loads(1000)] * 3, b)
    said = comparison.sentence(found[0], "A", "B")
    assert len(found) == 10 and ": inconclusive between B and A: +3.0 % goodput (+1.8 % to +4.2 %, 95 % CI); " in said
    assert said.endswith("; about 2 more tries would settle whether it is 3 %; what was measured settles 7.9 %")
    assert "each difference that is called is held to all 10 comparisons together, and each interval is of its own alone" in notes
    assert not any("together" in one for one in two_tries.compare_tries([loads(1000)], [loads(1000)])[1])


@pytest.mark.parametrize("asks", ["POST /x\n\nother", "GET /y"])
def test_what_was_not_asked_for_the_same_is_told(asks: str) -> None:
    """Another path, body or file of requests: the ratios are of different requests."""
    one, other = (replace(tried(1000), asks=text) for text in ("POST /x\n\nbody", asks))
    said = "A and B were not asked for the same: the ratios are of different requests"
    assert said in two_tries.compare_tries([one], [other])[1]
    assert said not in two_tries.compare_tries([one], [one])[1]


def test_two_tries_of_a_side_call_nothing() -> None:
    """Two values can agree by chance."""
    assert line([tried(1000), tried(1000)], [tried(1900), tried(1901)]).difference.word is DifferenceWord.INCONCLUSIVE


def test_costlier_is_worse() -> None:
    """More CPU for an answer is costlier; so little that the clock's steps would be compared is left out."""
    a, b = ([tried(1000, server_us_per_answer=us + step) for step in (-1, 0, 1)] for us in (100.0, 120.0))
    assert line(a, b, "server CPU").difference.word is DifferenceWord.SLOWER
    little = [replace(one, closed=tuple(replace(loop, due=100) for loop in one.closed)) for one in b]
    assert {one.quantity for one in two_tries.compare_tries(a, little)[0]} == {"goodput"}


def test_what_the_machine_spoiled_is_left_out() -> None:
    """Without a sound load in common there is nothing to compare."""
    with pytest.raises(LabError, match="no load in common"):
        two_tries.compare_tries([tried(1000, void="stolen")], [tried(1000)])
    with pytest.raises(LabError, match="no load in common"):
        two_tries.compare_tries([EMPTY], [EMPTY])


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"url": "http://other:3001/x?a=1"}, True),
        ({"seconds": 9}, True),
        ({"url": "http://here:3000/y"}, False),
        ({"body": "{}"}, False),
        ({"headers": (("accept", "text/html"),)}, False),
        ({"requests": "3 requests of shop.toml (sha256 other)"}, False),
    ],
)
def test_what_is_asked_is_all_but_where_and_how_long(changes: dict[str, Any], same: bool) -> None:
    """Two services asked for the same by other addresses are comparable."""
    asked = TryAsked("http://here:3000/x?a=1", "get", (), None, "p99<50ms", 1, 2000, True, False, None, requests="(sha256 one)")
    assert (known._asks(asked) == known._asks(replace(asked, **changes))) is same


def test_headers_of_one_name_are_asked_in_any_order() -> None:
    """The value of one of them may be a secret, which no record keeps."""
    asked = TryAsked("http://here:3000/", "get", (("x", None), ("x", "b")), None, "p99<50ms", 1, 2000, True, False, None)
    assert known._asks(asked) == known._asks(replace(asked, headers=asked.headers[::-1]))
