"""What is said of requests that got no good answer, and what makes a load a broken one. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.capacity.service import drive, failures
from fairground.capacity.service.failures import CURVE
from fairground.capacity.service.values import Closed, Conduct, LoadTally, Visit
from fairground.model import BadAnswer, Finding, Outcomes, Severity
from fairground.report import visit

NONE = Outcomes(0, 0, {}, 0, 0, 0, 0, 0, 0, 0)
LIMITED = BadAnswer("status", 429, "status 429 instead of 200", "GET /x", "slow\ndown")


def told(load: str = "10 connections", **outcomes: object) -> LoadTally:
    """A load with so many requests of each kind."""
    return LoadTally(load, replace(NONE, **outcomes))  # type: ignore[arg-type]


def only(*tallies: LoadTally, id: str = "failures") -> Finding | None:
    """The finding of this id on these loads; None where there is none."""
    return next((one for one in failures.findings(tallies) if one.id == id), None)


@pytest.mark.parametrize(
    ("outcomes", "severity", "says"),
    [
        (
            {"ok": 598, "status": {429: 130_259}},
            Severity.REJECT,
            "of 130,857 requests of the closed loops 130,259 got no good answer: ",
        ),
        ({"ok": 0, "shed": 7}, Severity.REJECT, "of 7 requests of the closed loops none got a good answer: 7 × 503"),
        ({"ok": 99_999, "timeout": 1}, Severity.REJECT, "1 got no good answer: 1 × timeout"),
        ({"ok": 99_999, "in_flight": 1}, Severity.REJECT, "1 × unanswered"),
        ({"ok": 99_999, "connect": 1}, Severity.REJECT, "1 × could not connect"),
        ({"ok": 900, "reset": 20}, Severity.REJECT, "20 × reset"),
        ({"ok": 9_990, "wrong_body": 10}, Severity.REJECT, "10 × wrong body"),
        ({"ok": 99_900, "reset": 100}, Severity.WARN, "100 × reset"),
        ({"ok": 900, "status": {500: 90, 404: 10}}, Severity.WARN, "10 × status 404, 90 × status 500"),
    ],
)
def test_what_failed_is_named(outcomes: dict[str, object], severity: Severity, says: str) -> None:
    """Each kind by its count; what nobody answered and what is most of all is broken, some errors are a warning."""
    found = only(told(**outcomes))
    assert found is not None and found.severity is severity and says in found.sentence


def test_nothing_failed() -> None:
    """Good answers alone are no finding, nor is what the generator never sent."""
    assert failures.findings([told(ok=10), told(CURVE, ok=10, unsent=5)]) == ()


def test_beyond_its_limit_a_service_may_refuse() -> None:
    """A load curve goes beyond the limit: timeouts there are said; only more of them than good answers are broken."""
    some, most = only(told(CURVE, ok=100, timeout=20)), only(told(CURVE, ok=10, timeout=20))
    assert some is not None and some.severity is Severity.WARN and "of 120 requests of the load curve 20 got" in some.sentence
    assert most is not None and most.severity is Severity.REJECT


def test_a_sample_is_of_the_most_frequent_kind() -> None:
    """One request with what came, on one line; loads of one kind add up."""
    other = BadAnswer("timeout", None, "no whole answer within 5000 ms", "GET /x", None)
    tallies = [replace(told(ok=1, timeout=1), samples=(other,)), replace(told(status={429: 9}), samples=(LIMITED,))]
    found = only(*tallies)
    assert (
        found is not None
        and "9 × status 429, 1 × timeout; for instance `GET /x`: status 429 instead of 200 with the body" in found.sentence
    )
    assert "\n" not in found.sentence


def test_what_the_machine_or_the_generator_did_is_not_the_services() -> None:
    """Silence on a disturbed machine is a warning, an answer that is wrong is not; ports that ran out are the generator's."""
    silent = only(replace(told(ok=9, timeout=1), void="steal"))
    lying = only(replace(told(ok=9, wrong_body=1), void="steal"))
    assert silent is not None and silent.severity is Severity.WARN and "the machine was disturbed: steal" in silent.sentence
    assert lying is not None and lying.severity is Severity.REJECT
    own = replace(told(ok=9, connect=3), own="no local port is free")
    assert only(own) is None and only(own, id="generator-errors") is not None


def test_kept_connections_that_are_closed_are_told() -> None:
    """How often, and whether it was announced; without any there is nothing to say."""
    silently = only(replace(told(ok=9_990, reset=10), closed=10, dropped=10), id="closed")
    announced = only(replace(told(ok=9_990), closed=10, dropped=0), id="closed")
    assert silently is not None and announced is not None
    assert silently.sentence == (
        "under load the service closed 10 kept connections in 10,000 requests; "
        "10 of them without a word before, and 10 requests were lost"
    )
    assert announced.sentence == "under load the service closed 10 connections in 9,990 requests, as its answers announced"
    assert (silently.severity, announced.severity) == (Severity.WARN, Severity.NOTE)
    assert only(replace(told(ok=9), closed=0, dropped=0), id="closed") is None


def test_bodies_that_nobody_compared_are_counted() -> None:
    """All, some or none of them; wrong ones were compared."""
    assert only(replace(told(ok=90, wrong_body=10), compared=100), id="compared") is None
    found = only(replace(told(ok=90), compared=0), id="compared")
    assert found is not None and found.sentence == "of 90 good answers under load the body of 90 was not compared"


@pytest.mark.parametrize(
    ("looks", "warming"),
    [
        ([273, 280, 290, 300], True),
        ([588, 600, 626, 667], True),
        ([400, 401, 399, 402], False),
        ([400, 300, 400, 410], False),
        ([500, 400, 410, 405], False),
        ([0, 0, 0, 0], False),
        ([100, 200, 400, 401, 399, 402], False),
    ],
)
def test_a_service_is_warm_when_it_does_not_get_faster(looks: list[float], warming: bool) -> None:
    """The later looks lie above the earlier ones, all of them and by more than a little."""
    assert drive.is_warming(looks) is warming


def test_words_follow_what_is_counted() -> None:
    """CPU of mostly bad answers is for any answer; what is no good answer is not called one; failures are broken."""
    conduct = Conduct(302, None, None, 0, True, ())
    one = Closed(10, 300.0, None, None, 100, 90, 50.0, 0.5, None, per_any=True)
    found = Visit("u", "GET", "p99<50ms", 50_000.0, conduct, "x", closed=(one,), findings=(Finding("a", Severity.WARN, "odd"),))
    assert "It gives 300 answers with status 302 a second to 10 connections" in " ".join(visit.sentences(found))
    assert "It gives 300 good answers a second" in " ".join(visit.sentences(replace(found, of_file=True)))
    assert "50.0 µs of CPU for an answer of any kind, since most are not good" in " ".join(visit.sentences(found))
    assert found.broken == () and replace(found, findings=(Finding("a", Severity.REJECT, "odd"),)).broken
    none = replace(found, closed=(replace(one, goodput_per_s=0.0),))
    assert "It gives no good answer to 10 connections" in " ".join(visit.sentences(none))
