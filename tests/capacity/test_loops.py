"""One closed loop of a visit: what it tells beside its numbers."""

from __future__ import annotations

from typing import cast

import pytest

from builders import facts
from fairground.capacity import objective
from fairground.capacity.service import drive
from fairground.capacity.service.parts import ServicePart, Unit
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Whole
from fairground.measure.session import ArmSession
from fairground.model import Finding, Gap, Load, Severity
from fairground.model.record import TryAsked


def said(connections: int, *gaps: Gap, machine: tuple[Finding, ...] = ()) -> list[Finding]:
    """The findings of a closed loop of ten seconds, in which all requests waited so long; `machine`: what others did to it."""
    result = facts.result(facts.outcomes(20_000), gaps=gaps, latency_ok=facts.latency(count=20_000), in_flight_end=connections)
    load = Load(connections, window_s=10.0)
    part, closed = drive._loop(ArmWindow("the service", 1, load, 20_000, 0, 10.0, {}, None, machine, result=result), cores=2)
    assert closed.connections == connections
    return [one for one in part.findings if one.id == "stalls"]


@pytest.mark.parametrize(("connections", "words"), [(1, "1 connection: "), (10, "10 connections: ")])
def test_a_service_that_stands_still_is_told(connections: int, words: str) -> None:
    """A closed loop waits with it, and its percentiles hide that; so the pauses are named, of whichever loop."""
    (found,) = said(connections, Gap(2_000_000, 400_000, 0), Gap(7_000_000, 300_000, 0))
    assert found.sentence.startswith(f"{words}2 times no answer came while requests were open, for 0.70 s of 10.0 s in all")
    assert "its percentiles hide them (coordinated omission)" in found.sentence


def test_pauses_of_the_load_engine_are_not_the_services() -> None:
    """Nor are short ones told."""
    assert said(10, Gap(2_000_000, 400_000, 390_000), Gap(7_000_000, 9_000, 0)) == []


def test_a_machine_that_others_keep_busy_says_nothing_of_the_service() -> None:
    """The load is void then: a service without a processor stands still, too."""
    busy = Finding("foreign-cpu", Severity.VOID, "other processes used the machine")
    assert said(10, Gap(2_000_000, 400_000, 0), Gap(7_000_000, 300_000, 0), machine=(busy,)) == []


@pytest.mark.parametrize(
    ("most", "loops"), [(None, [1, 10, 100]), (2, [1, 2]), (1, [1]), (50, [1, 10, 50]), (5_000, [1, 10, 100])]
)
def test_no_load_opens_more_connections_than_may_be(most: int | None, loops: list[int]) -> None:
    """A service with room for two is loaded with two, in the closed loops and in the curve."""
    asked = TryAsked("http://127.0.0.1/", "GET", (), None, "p99<50ms", 2, 5000, True, False, None, connections=most)
    effort = drive.ServiceEffort.of(asked, 100, 1_000)
    assert drive.loops_within(effort.connections) == loops and effort.connections == min(1_000, most or 1_000)


def test_a_loop_has_no_more_threads_than_connections() -> None:
    """The load engine refuses others. Loops with enough connections have all threads that are asked for."""
    shapes = list[Load]()

    class Recorded:
        def load(self, part: Whole) -> tuple[ArmWindow]:
            shapes.append(part.load)
            result = facts.result(facts.outcomes(100))
            return (ArmWindow("the service", 1, part.load, 100, 0, 1.0, {}, None, (), result=result),)

    effort = drive.ServiceEffort(objective.parse("p99<50ms"), 1, 5000, threads=3)
    done = (ServicePart(Unit.CURVE, curve=()),)
    list(drive.measure(done, cast(ArmSession, Recorded()), "the service", effort, cores=2))
    loops = [(one.connections, one.threads) for one in shapes if one.warmup_min_s]
    assert loops == [(1, 1), (10, 3), (100, 3)]
