"""The load curve of a service: one step that missed by chance does not decide, and one that misses every time does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from builders.full import full
from builders.steps import step
from fairground.capacity import objective
from fairground.capacity.loadcurve import CurvePoint, StepJudgement, StepWord
from fairground.capacity.service import drive
from fairground.capacity.service.parts import Ahead, ServicePart, Unit
from fairground.capacity.service.values import Visit, doubtful, kept_by_rate
from fairground.cli.attempt import exit_code
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.lab.service import _wrong
from fairground.measure.arm import Ended
from fairground.measure.schedule import Rates
from fairground.model import Finding, Gap, LabError, Load, RateStep, Result, Severity, Verdict
from fairground.report.visit import sentences

SERVICE: Any = SimpleNamespace(label="the service")
Answer = Callable[[float, int], RateStep]
"""The rate, and how often it was measured before → what comes of it."""


def kept(rate: float) -> RateStep:
    """All answers are in time."""
    return step(9900, rate=rate)


def missed(rate: float) -> RateStep:
    """Half of the answers are late."""
    return step(5000, 5000, rate=rate)


def kept_always(rate: float, _: int) -> RateStep:
    """A service without a limit."""
    return kept(rate)


def untold(rate: float) -> RateStep:
    """There are too few requests to tell."""
    return step(3, rate=rate)


def curve(
    answer: Answer,
    asked: list[Rates] | None = None,
    best_per_s: float = 1000.0,
    at_least_per_s: float | None = None,
    confirmations: int = 0,
) -> Visit:
    """The visit whose curve came of a service that answers so; `asked` gets the rates of each load."""
    seen: dict[float, int] = {}
    loads = list[Rates]() if asked is None else asked

    def load(shape: Load, _seed: int, rates: Rates) -> Any:
        assert shape.threads == 3
        steps = []
        for rate, _ in rates:
            steps.append(answer(rate, seen.get(rate, 0)))
            seen[rate] = seen.get(rate, 0) + 1
        loads.append(rates)
        return SimpleNamespace(steps=steps, void=None, whole=full(Result))

    effort = drive.ServiceEffort(
        objective.parse("p99<50ms"), 2, 5000, threads=3, at_least_per_s=at_least_per_s, confirmations=confirmations
    )
    *ahead, part = drive._curve(load, best_per_s, effort)
    assert isinstance(part, ServicePart) and all(isinstance(one, Ahead) for one in ahead)
    lasts_s = [sum(seconds for _, seconds in rates) + drive.LEAD_S for rates in loads]
    assert confirmations or [one.load_s for one in ahead if isinstance(one, Ahead)] == lasts_s
    assert isinstance(ahead[0], Ahead) and lasts_s[0] <= ahead[0].left_s <= effort.curve_s + 1e-9
    doubts = [one for one in ahead if isinstance(one, Ahead) and one.what.startswith("rates in doubt")]
    assert all(one.left_s == pytest.approx(one.load_s + effort.later_s) for one in doubts)
    return Visit("u", "GET", "p99<50ms", 50_000.0, None, None, curve=part.curve or (), at_least_per_s=at_least_per_s)


def test_one_missed_step_does_not_decide() -> None:
    """A rate that missed once while a higher one kept the objective is measured twice more, and kept it."""
    asked = list[Rates]()
    found = curve(lambda rate, before: missed(rate) if rate == 100 and not before else kept(rate), asked)
    assert asked[1] == ((100.0, 2.0), (100.0, 2.0))
    assert found.kept_per_s == 1200 and found.repeated_per_s == (100,)
    rates = [point.step.rate_per_s for point in found.curve]
    assert rates == sorted(rates) and [point.trial for point in found.curve[:3]] == [1, 2, 3]
    assert "At first 100/s did not keep it, although a higher rate did" in " ".join(sentences(found))


@pytest.mark.parametrize(
    ("answer", "enough", "said"),
    [
        (
            lambda rate, _: kept(rate),
            True,
            "It keeps p99<50ms at the 600 requests a second that are asked for, in 3 of 3 measurements",
        ),
        (
            lambda rate, before: missed(rate) if rate == 600 and before else kept(rate),
            False,
            "It does not keep p99<50ms at the 600 requests a second that are asked for, in 2 of 3 measurements: "
            "50.00% of the requests missed p99<50ms",
        ),
        (
            lambda rate, before: untold(rate) if rate == 600 and before == 1 else kept(rate),
            True,
            "It keeps p99<50ms at the 600 requests a second that are asked for, in 2 of 2 measurements, and 1 cannot be judged",
        ),
        (
            lambda rate, _: untold(rate),
            None,
            "Whether it keeps p99<50ms at the 600 requests a second that are asked for cannot be told: ",
        ),
        (
            lambda rate, _: missed(rate) if rate == 250 else kept(rate),
            False,
            "It does not keep p99<50ms at the 600 requests a second that are asked for: it did in 3 of 3 measurements, "
            "and missed it below: at 250/s 50.00% of the requests missed p99<50ms",
        ),
    ],
)
def test_a_rate_that_is_asked_for(answer: Answer, enough: bool | None, said: str) -> None:
    """It is one of the curve's rates, measured three times, and most of them decide; the first sentence says so."""
    asked = list[Rates]()
    found = curve(answer, asked, at_least_per_s=600.0)
    assert [rate for rate, _ in asked[0]] == [100, 250, 500, 600, 700, 850, 1000, 1200]
    assert sum(rate == 600 for rates in asked for rate, _ in rates) == 3
    assert found.keeps_enough is enough and sentences(found)[0].startswith(said)
    assert exit_code(found) == {True: 0, False: BAD_ANSWER, None: NOTHING_MEASURED}[enough]
    assert 600 not in found.repeated_per_s and not any("At first 600/s" in one for one in sentences(found))
    assert curve(kept_always).keeps_enough is None


@pytest.mark.parametrize(("rate", "seconds"), [(500.0, 2.0), (20.0, 18.0), (1.0, 60.0)])
def test_a_rate_that_is_asked_for_is_measured_until_it_can_tell(rate: float, seconds: float) -> None:
    """A p99 needs some 300 requests; a minute is the most."""
    asked = list[Rates]()
    curve(kept_always, asked, at_least_per_s=rate)
    lasted = [s for rates in asked for one, s in rates if one == rate]
    assert lasted == [seconds] * 3 and {s for rates in asked for one, s in rates if one != rate} == {2.0}


def test_the_time_left_counts_what_is_asked_for() -> None:
    """A rate of 20 a second takes three times 18 s beside the seven rates of the curve, and each confirmation a load of its own."""
    asked = list[Rates]()
    effort = drive.ServiceEffort(objective.parse("p99<50ms"), 2, 5000, at_least_per_s=20.0, confirmations=2)
    curve(kept_always, asked, at_least_per_s=20.0)
    steps_s = sum(seconds for rates in asked for _, seconds in rates)
    assert steps_s == 7 * 2 + 3 * 18
    assert effort.curve_s == pytest.approx(steps_s + 2 * drive.LEAD_S + 2 * (2 + drive.LEAD_S))


def test_the_rate_that_is_told_is_confirmed() -> None:
    """It is measured anew, each time by a load of its own; one that then misses gives way to a lower one, which is confirmed, too."""
    asked = list[Rates]()
    found = curve(kept_always, asked, confirmations=3)
    assert asked[1:] == [((1200.0, 2.0),)] * 3 and (found.kept_per_s, found.kept_times) == (1200, 4)
    found = curve(lambda rate, before: missed(rate) if rate == 1200 and before else kept(rate), confirmations=3)
    assert (found.kept_per_s, found.kept_times) == (1000, 4)


def test_a_rate_that_was_never_offered_is_not_kept() -> None:
    """Where no load got so far, nothing tells."""
    found = replace(curve(kept_always), curve=(), at_least_per_s=600.0)
    assert found.keeps_enough is None and sentences(found)[0].endswith("cannot be told: no load had this rate")
    broken = replace(found, findings=(Finding("server-exit", Severity.REJECT, "it ended"),))
    assert (exit_code(found), exit_code(broken)) == (NOTHING_MEASURED, BAD_ANSWER)


def test_a_step_that_misses_every_time_decides() -> None:
    """Where the repetitions miss, too, nothing above that rate counts."""
    found = curve(lambda rate, _: missed(rate) if rate == 250 else kept(rate))
    assert found.kept_per_s == 100 and found.repeated_per_s == (250,)


def test_a_curve_that_falls_once_is_not_repeated() -> None:
    """Kept up to some rate and missed from there on: there is nothing to doubt."""
    asked = list[Rates]()
    found = curve(lambda rate, _: kept(rate) if rate < 800 else missed(rate), asked)
    assert len(asked) == 1 and found.kept_per_s == 700 and found.repeated_per_s == ()
    assert not any("measured three times" in sentence for sentence in sentences(found))


def test_large_rates_are_written_out() -> None:
    """No rate is told with an exponent, and none is rounded up."""
    text = " ".join(sentences(curve(lambda rate, _: kept(rate), best_per_s=63_625.0)))
    assert "76,350 requests a second" in text and "e+" not in text


def test_a_limit_above_all_rates_is_said_to_be_higher() -> None:
    """Where the highest rate kept the objective, the limit was not reached; where a rate missed, it was."""
    rising = " ".join(sentences(curve(lambda rate, _: kept(rate))))
    ended = " ".join(sentences(curve(lambda rate, _: kept(rate) if rate < 1000 else missed(rate))))
    assert "up to 1,200 requests a second, measured once: the highest rate offered, so its limit is higher" in rising
    assert "up to 850 requests a second, measured once" in ended and "highest rate offered" not in ended


@pytest.mark.parametrize(
    ("said", "kept_word", "again"),
    [
        ((StepWord.MISSED,), False, (1.0,)),
        ((StepWord.MISSED, StepWord.KEPT, StepWord.KEPT), True, ()),
        ((StepWord.MISSED, StepWord.KEPT), False, (1.0,)),
        ((StepWord.VOID,), None, (1.0,)),
        ((StepWord.UNKNOWN,), None, ()),
    ],
)
def test_most_steps_decide(said: tuple[StepWord, ...], kept_word: bool | None, again: tuple[float, ...]) -> None:
    """Steps that tell nothing have no vote; a rate with too few requests is not measured again, since it would have too few again."""
    points = [CurvePoint("curve", number, kept(1.0), StepJudgement(word, "")) for number, word in enumerate(said, 1)]
    points.append(CurvePoint("curve", 1, kept(2.0), StepJudgement(StepWord.KEPT, "")))
    assert kept_by_rate(points) == {1.0: kept_word, 2.0: True} and doubtful(points) == again


def test_what_cannot_be_told_is_no_miss() -> None:
    """Rates with too few requests neither kept the objective nor missed it; those beside them decide."""
    (none,) = [line for line in sentences(curve(lambda rate, _: untold(rate))) if "p99<50ms" in line]
    assert none.startswith("Whether it keeps p99<50ms cannot be told of any rate: ") and "are too few to judge" in none
    some = curve(lambda rate, _: untold(rate) if rate < 500 else missed(rate))
    (said,) = [line for line in sentences(some) if "p99<50ms" in line]
    assert said.startswith("No rate of the load curve kept p99<50ms; of rates up to 250/s it cannot be told: ")
    (all_missed,) = [line for line in sentences(curve(lambda rate, _: missed(rate))) if "p99<50ms" in line]
    assert all_missed == "No rate of the load curve kept p99<50ms: at 100/s 50.00% of the requests missed p99<50ms"


@pytest.mark.parametrize(
    ("answer", "code"),
    [(kept_always, 0), (lambda rate, _: missed(rate), BAD_ANSWER), (lambda rate, _: untold(rate), NOTHING_MEASURED)],
)
def test_a_capacity_without_a_rate_is_no_success(answer: Answer, code: int) -> None:
    """The rate is the answer there. A try of which nobody asks for one ends with 0."""
    assert exit_code(curve(answer, confirmations=3), is_capacity=True) == code and exit_code(curve(answer)) == 0


def test_a_server_that_stalls_is_said_to() -> None:
    """The rate that missed says why: here the server gave no answer for a while. One that answers all the time is only slow."""

    def stalled(rate: float, _: int) -> RateStep:
        return replace(missed(rate), gaps=(Gap(500_000, 400_000, 1_000),)) if rate > 500 else kept(rate)

    said = " ".join(sentences(curve(stalled)))
    assert (
        "up to 500 requests a second, measured once; at 700/s 50.00% of the requests missed p99<50ms; the server stalls" in said
    )
    slow = " ".join(sentences(curve(lambda rate, _: missed(rate) if rate > 500 else kept(rate))))
    assert "at 700/s 50.00% of the requests missed p99<50ms" in slow and "stalls" not in slow


@pytest.mark.parametrize("loads", [0, 1, 2])
def test_what_is_measured_of_a_curve_is_kept_where_a_later_load_fails(loads: int) -> None:
    """A service that ends after some loads has the steps of those; after none it has no curve."""
    made = list[Rates]()

    def load(_shape: Load, _seed: int, rates: Rates) -> Any:
        if len(made) == loads:
            raise drive.Over
        made.append(rates)
        steps = [missed(rate) if rate == 100 else kept(rate) for rate, _ in rates]
        return SimpleNamespace(steps=steps, void=None, whole=full(Result))

    effort = drive.ServiceEffort(objective.parse("p99<50ms"), 2, 5000, at_least_per_s=600.0)
    steps = drive._curve(load, 1000.0, effort)
    with pytest.raises(StopIteration) as end:
        while True:
            assert isinstance(next(steps), Ahead)
    part = end.value.value
    if not loads:
        assert part is None
        return
    asked = sorted(rate for rates in made for rate, _ in rates)
    assert [point.step.rate_per_s for point in part.curve] == asked and len(part.tallies) == loads
    assert 600 in asked


def test_a_curve_that_was_cut_short_is_told_before_why() -> None:
    """Where the service did it. Where the instrument failed, nothing is kept: the curve is measured anew."""
    part = ServicePart(Unit.CURVE, curve=())
    ended = Finding("server-exit", Severity.REJECT, "it ended")
    told = list(_wrong(Ended(SERVICE, Verdict.REJECTED, (ended,)), part))
    assert told == [part, ServicePart(Unit.SERVICE, findings=(ended,))]
    failed = Finding("instrument", Severity.VOID, "the load engine ended")
    with pytest.raises(LabError, match="the load engine ended"):
        list(_wrong(Ended(SERVICE, Verdict.VOID, (failed,)), part))
