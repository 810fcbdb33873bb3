"""Little's law, of which connections, and where it is not asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders.facts import CLOSED, MILLION, OPEN, STANDARD, facts, latency, outcomes, second, severities
from fairground.judge import validity
from fairground.model import (
    Gap,
    Severity,
)


@pytest.mark.parametrize(
    ("count", "mean_us", "max_us", "found"),
    [
        (1_000_000, 1000.0, 1, []),
        (1_000_000, 1100.0, 1, [Severity.VOID]),
        (900_000, 1000.0, 1, [Severity.VOID]),
        (960_000, 1000.0, 1, [Severity.WARN]),
        (900_000, 1000.0, 800_000, []),
        (900_000, 1000.0, 600_000, [Severity.WARN]),
    ],
)
def test_littles_law(count: int, mean_us: float, max_us: int, found: list[Severity]) -> None:
    """100 connections in 10 s have 1,000 s of latency between them, but for what the longest request does at the ends."""
    assert severities("little", facts(CLOSED, latency_all=latency(count=count, mean_us=mean_us, max_us=max_us))) == found


@pytest.mark.parametrize(
    ("mean_us", "found"), [(500, [Severity.VOID]), (1000, []), (7000, []), (16_000, []), (19_000, [Severity.VOID])]
)
def test_littles_law_of_pipelined_requests(mean_us: float, found: list[Severity]) -> None:
    """Of sixteen requests at once one at least is under way and all at most, so that latencies add up to something in between."""
    seen = facts(CLOSED, latency_all=latency(count=MILLION, mean_us=mean_us, max_us=20_000))
    assert seen.result is not None
    assert severities("little", replace(seen, result=replace(seen.result, pipeline=16))) == found


def test_littles_law_counts_pauses() -> None:
    """With pauses of 4 ms after answers of 1 ms, 200,000 answers fill 100 connections for 10 s; as many as without pauses do not."""
    pausing = replace(CLOSED, load=replace(CLOSED.load, think_ms=4.0))
    for count, found in ((200_000, []), (1_000_000, [Severity.VOID]), (170_000, [Severity.VOID])):
        assert severities("little", facts(pausing, latency_all=latency(count=count, mean_us=1000, max_us=1))) == found
    (said,) = (
        one for one in validity.findings(facts(pausing, latency_all=latency(count=1_000_000, mean_us=1000)), STANDARD)
        if one.id == "little"
    )  # fmt: skip
    assert "the latencies and pauses add up to +400.0% of that" in said.sentence


def test_littles_law_asks_nothing_of_stages() -> None:
    """Where connections come and go, their number at a moment is not known, and latencies that add up to less are no fault."""
    ramp = replace(CLOSED, load=replace(CLOSED.load, stages=((10.0, 5),)))
    few = latency(count=170_000, mean_us=1000, max_us=1)
    assert severities("little", facts(CLOSED, latency_all=few)) == [Severity.VOID]
    assert severities("little", facts(ramp, latency_all=few)) == []


def test_a_request_from_before_the_window_may_hold_a_connection_in_it() -> None:
    """Connections that wait for what was asked before the window are no fault of the counting; the seconds show them, and it is said."""
    lacking = facts(CLOSED, latency_all=latency(count=670_000, mean_us=1000, max_us=5000))
    assert severities("little", lacking) == [Severity.VOID]
    shown = facts(CLOSED, latency_all=latency(count=670_000, mean_us=1000, max_us=5000), seconds=(second(max_us=7_000_000),))
    assert severities("little", shown) == []
    (said,) = (one for one in validity.findings(shown, STANDARD) if one.id == "starved")
    assert said.severity is Severity.WARN
    assert "held 33% of the connections' time in it, the longest was 7.0 s old" in said.sentence
    assert severities("starved", lacking) == []
    surplus = facts(CLOSED, latency_all=latency(count=1_330_000, mean_us=1000, max_us=5000), seconds=(second(max_us=7_000_000),))
    assert severities("little", surplus) == [Severity.VOID], "what began before the window adds nothing to its latencies"


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (Gap(0, 3_400_000, 0), "7.0 s old: the server stalls: once no answer came while requests were open, for 3400 ms"),
        (Gap(0, 300_000, 0), "7.0 s old: some wait while others are served again and again"),
    ],
    ids=["a stall of all", "a shorter one"],
)
def test_a_stall_of_all_is_no_favour_to_some(gap: Gap, said: str) -> None:
    """Where nobody was answered for as long as the connections were held, none was served in place of another."""
    slow = latency(count=670_000, mean_us=1000, max_us=5000)
    shown = facts(CLOSED, latency_all=slow, seconds=(second(max_us=7_000_000),), gaps=(gap,))
    (found,) = (one for one in validity.findings(shown, STANDARD) if one.id == "starved")
    assert said in found.sentence


@pytest.mark.parametrize(("paused_us", "told"), [(3_400_000, []), (2_700_000, [Severity.WARN])])
def test_what_waited_while_the_engine_stood_still_is_the_machines(paused_us: int, told: list[Severity]) -> None:
    """No answer can be read then; what requests waited beyond that is the server's."""
    slow = latency(count=670_000, mean_us=1000, max_us=5000)
    gap = Gap(0, paused_us, paused_us * 9 // 10)
    shown = facts(CLOSED, latency_all=slow, seconds=(second(max_us=7_000_000),), gaps=(gap,))
    assert severities("starved", shown) == told


@pytest.mark.parametrize(
    "changed",
    [
        {"cell": OPEN},
        {"cell": replace(CLOSED, load=replace(CLOSED.load, generator="wrk"))},
        {"window": outcomes(connect=1)},
        {"window": outcomes(in_flight=1)},
    ],
)
def test_littles_law_is_not_asked_of_pauses(changed: dict[str, Any]) -> None:
    """Schedules, tools that think between requests, and connections that could not be opened leave gaps that are no fault."""
    made = facts(**({"cell": CLOSED, "latency_all": latency(count=1)} | changed))
    assert severities("little", made) == []
    assert "little" not in (validity.unmade(made, STANDARD)[0].evidence["checks"] or "")
