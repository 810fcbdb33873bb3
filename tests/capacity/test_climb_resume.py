"""A capacity's phases on a server that is simulated: interrupted after any part, it goes on without measuring a part twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.steps import step
from builders.trials import trial
from fairground import measure
from fairground.capacity import drive, objective
from fairground.capacity.drive import Climb
from fairground.capacity.loadcurve import CurvePoint, StepJudgement, StepWord
from fairground.capacity.parts import CapacityPart, Phase
from fairground.capacity.search import Goal, Pace
from fairground.judge.validity.generator import CHECKS
from fairground.model import BadAnswer, Cell, CellSettings, Finding, Load, Severity, Stack, Topology, Verdict, Workload
from fairground.report.capacity import sentences

KEEPS_PER_S = 1000.0
GOAL = Goal(width=0.1, initial_s=0.5, final_s=1.0, sum_s=2.0, least_requests=10, longest_s=5)
PACE = Pace(GOAL, search_until_s=60, confirm_window_s=1.0, warmup_s=0.5, step_s=1, overload_s=1)

LATE = BadAnswer("timeout", None, "no whole answer within 2000 ms", "GET /ping", None)


class Simulated:
    """A server that stays up and keeps every rate up to `KEEPS_PER_S`. `asked` notes every load that counts."""

    void, failed = None, False

    def __init__(self, asked: list[float], fault: str | None) -> None:
        self.asked, self.rejected = asked, fault

    def __enter__(self) -> Simulated:
        return self

    def __exit__(self, *_: object) -> None:
        """Its audit is what `rejected` says."""

    def load(self, shape: Load, seed: int, rates: Sequence[tuple[float, float]] = ()) -> Any:
        """Steps that are kept or missed by their rate; a closed loop without steps."""
        self.asked.extend(rate for rate, _ in rates if shape.warmup_min_s == drive.LEAD_S)
        late = sum(rate > KEEPS_PER_S for rate, _ in rates)
        made = tuple(
            replace(step(round(rate * seconds) or 1, timeout=late), rate_per_s=rate, duration_s=seconds)
            for rate, seconds in rates
        )
        whole = SimpleNamespace(seconds=(), samples=(LATE,) * late)
        return SimpleNamespace(ok=900, rate_per_s=900.0, whole=whole, steps=made, void=None)

    def limits(self, *_: object) -> tuple[()]:
        """Nothing is known of it."""
        return ()

    def settle(self, *_: object) -> None:
        """There is nothing to wait for."""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Climb, list[float]]]:
    """Climbs on the simulated server, with what they asked of it; `parts` exist already, `fault` is found at the server's end."""
    asked = list[float]()

    def judge(one: Any, *_: object) -> StepJudgement:
        return StepJudgement(StepWord.KEPT if one.rate_per_s <= KEEPS_PER_S else StepWord.MISSED, "")

    def fresh(self: Climb, load: Load, rate: float, number: int) -> CapacityPart:
        asked.append(rate)
        at = replace(step(10), rate_per_s=rate)
        return self._part(Phase.CONFIRM, points=(CurvePoint("confirm", number, at, judge(at)),), rate_per_s=rate, duration_s=1.0)

    monkeypatch.setattr(drive.loadcurve, "judge", judge)
    monkeypatch.setattr(Climb, "_fresh", fresh)

    def make(parts: Sequence[CapacityPart] = (), fault: str | None = None) -> tuple[Climb, list[float]]:
        monkeypatch.setattr(Climb, "_up", lambda *_: Simulated(asked, fault))
        cell = Cell("one:a", "ping", Topology(), Load(200, model="open"), CellSettings())
        stack, workload = cast(Stack, SimpleNamespace(id="one:a")), cast(Workload, SimpleNamespace(id="ping"))
        bench = cast(measure.Bench, SimpleNamespace(cores=2))
        kept = objective.parse("p99<50ms")
        return Climb(bench, cell, stack, workload, kept, PACE, 600.0, tmp_path, 7, 1, list(parts)), asked

    return make


def test_an_interrupted_climb_goes_on_without_repeating(made: Callable[..., tuple[Climb, list[float]]]) -> None:
    """Wherever it is interrupted, the parts that follow are those of a climb that was not, and finished loads are not repeated."""
    whole, asked = made()
    parts = list(whole.run())
    wanted, steps = list(asked), [(part.phase, part.rate_per_s, part.ended) for part in parts]
    assert whole.found.confirmed_per_s is not None and whole.found.confirmed_per_s <= KEEPS_PER_S
    assert whole.found.over is not None and len(whole.found.curve) == 3 * 8
    for count in range(len(parts) + 1):
        asked.clear()
        first, _ = made()
        kept = list(itertools.islice(first.run(), count))
        later, _ = made(kept)
        rest = list(later.run())
        assert [(part.phase, part.rate_per_s, part.ended) for part in (*kept, *rest)] == steps
        assert asked == wanted, count
        assert [part.loads for part in later.parts] == sorted(part.loads for part in later.parts)
        assert later.found.confirmed_per_s == whole.found.confirmed_per_s


def test_what_is_found_at_the_servers_end_is_a_part(made: Callable[..., tuple[Climb, list[float]]]) -> None:
    """A server whose audit does not hold has no capacity, the reason is a finding, and nothing more is measured."""
    climb, _ = made(fault="`one:a` is rejected: 3 rows are lost")
    parts = list(climb.run())
    assert [one.sentence for one in parts[-1].findings] == ["`one:a` is rejected: 3 rows are lost"]
    assert {part.phase for part in parts} == {Phase.SEARCH} and climb.found.confirmed_per_s is None
    assert climb.found.rejected == "`one:a` is rejected: 3 rows are lost"
    assert list(made(parts)[0].run()) == [], "it is not tried again"


def test_what_failed_is_said_with_one_of_it(made: Callable[..., tuple[Climb, list[float]]]) -> None:
    """Each part keeps the first failed request of each kind, and the sentence shows one; where nothing failed there is none."""
    climb, _ = made()
    parts = list(climb.run())
    missed = [part for part in parts if part.points and part.points[0].judgement.word is StepWord.MISSED]
    assert missed and all(part.samples == (LATE,) for part in missed)
    said = climb.found.failed
    assert said is not None and said.endswith("timeout; for instance `GET /ping`: no whole answer within 2000 ms"), said
    kept = [part for part in parts if part.phase is Phase.SEARCH and part not in missed]
    assert kept and all(part.samples == () for part in kept)


def test_what_failed_in_a_spoiled_step_is_nobodys(made: Callable[..., tuple[Climb, list[float]]]) -> None:
    """Requests that the end of the database cost are not said of the server; those of its own are."""
    climb, _ = made()
    parts = list(climb.run())
    spoiled = [
        replace(part, points=tuple(replace(one, judgement=StepJudgement(StepWord.VOID, "it crashed")) for one in part.points))
        for part in parts
    ]
    assert made(parts)[0].found.failed is not None
    assert made(spoiled)[0].found.failed is None and made(spoiled)[0].found.samples == ()


@pytest.mark.parametrize(
    ("point", "void", "said"),
    [
        (StepWord.VOID, None, "the generator was the limit"),
        (None, "others worked", "others worked"),
        (StepWord.UNKNOWN, None, None),
        (StepWord.MISSED, None, None),
    ],
)
def test_fresh_trials_that_are_all_void_say_nothing_of_the_server(
    made: Callable[..., tuple[Climb, list[float]]], monkeypatch: pytest.MonkeyPatch, point: StepWord | None, void: str | None,
    said: str | None,
) -> None:  # fmt: skip
    """What a search saw is no evidence by itself: nothing was measured, and the sentence says what spoiled the fresh trials."""

    def fresh(self: Climb, load: Load, rate: float, number: int) -> CapacityPart:
        at = replace(step(10), rate_per_s=rate)
        points = (
            () if point is None else (CurvePoint("confirm", number, at, StepJudgement(point, "the generator was the limit")),)
        )
        return self._part(Phase.CONFIRM, points=points, rate_per_s=rate, duration_s=1.0, void=void)

    monkeypatch.setattr(drive.time, "sleep", lambda _: None)
    climb, _ = made()
    monkeypatch.setattr(Climb, "_fresh", fresh)
    climb.budget_s = 0.0
    list(climb.run())
    found = climb.found
    assert (found.confirmed_per_s, found.spoiled, found.measured) == (None, said, said is None)
    ended = f"every fresh trial was void: {said}"
    assert (ended in found.notes) is (said is not None) and sentences(found)[0].endswith(ended) is (said is not None)


def test_a_full_generator_spoils_no_fresh_trial() -> None:
    """Its step is judged: what was kept beside one is kept. What else made the trial void is told."""
    full, others = (Finding(id, Severity.VOID, id) for id in (drive.OF_A_FULL_GENERATOR, "others worked"))
    made = replace(trial("a:plain", 1, 100.0), verdict=Verdict.VOID, findings=(full,))
    assert drive._gravest(made) is None and drive._gravest(replace(made, findings=(full, others))) == "others worked"
    assert drive.OF_A_FULL_GENERATOR in [one.id for one in CHECKS]
