"""What an experiment says of its reason: confirmed, withdrawn or open, over starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairground.model import Cell, CellSettings, Load, Topology
from fairground.model.experiment import AS_IT_WAS, ArmChange, Direction, Experiment, Start, WhyAsked
from fairground.model.window import WindowTally
from fairground.run import stopping
from fairground.stats import effects
from fairground.stats.effects import Outcome

CELL = Cell("a:b", "tx", Topology(), Load(), CellSettings())


def asked(*labels: str, direction: Direction = Direction.MORE, budget_s: float = 60.0) -> WhyAsked:
    """A question with one change of each label."""
    changes = tuple(ArmChange(label, f"with {label}", CELL) for label in labels)
    return WhyAsked("run", CELL, "pool", "", Experiment(direction, changes), 1, budget_s, 3, 0.1)


def started(ratios: Sequence[float], *more: Sequence[float], void: str | None = None, took_s: float = 10.0) -> list[Start]:
    """Starts whose changed arms give so much of what the plain one gives; its own rate moves from start to start."""
    made = []
    for number, some in enumerate(zip(ratios, *more, strict=True), 1):
        plain = 1000 * number
        rates = {AS_IT_WAS: plain, **{f"change {place}": plain * ratio for place, ratio in enumerate(some)}}
        windows = {
            label: (WindowTally(round(rate), 0, 1.0, None), WindowTally(round(rate), 0, 1.0, None))
            for label, rate in rates.items()
        }
        made.append(Start(number, windows, took_s, {}, void))
    return made


@pytest.mark.parametrize(
    ("ratios", "direction", "expected"),
    [
        ([1.8, 1.9, 1.85], Direction.MORE, Outcome.CONFIRMED),
        ([1.00, 1.01, 0.99], Direction.MORE, Outcome.WITHDRAWN),
        ([1.3, 0.9, 1.1], Direction.MORE, Outcome.OPEN),
        ([0.80, 0.81, 0.79], Direction.LESS, Outcome.CONFIRMED),
        ([0.80, 0.81, 0.79], Direction.MORE, Outcome.WITHDRAWN),
        ([1.8, 1.9, 1.85], Direction.LESS, Outcome.WITHDRAWN),
        ([1.8, 1.8], Direction.MORE, Outcome.OPEN),
        ([], Direction.MORE, Outcome.OPEN),
    ],
)
def test_the_interval_decides(ratios: list[float], direction: Direction, expected: Outcome) -> None:
    """Surely beyond 5 % the predicted way, surely not, or neither; fewer than three starts say nothing."""
    assert effects.outcome(asked("change 0", direction=direction), started(ratios)) is expected


def test_what_refutes_nothing_is_never_withdrawn() -> None:
    """A server may not share its work out among more workers: no gain leaves the reason open, and a gain confirms it."""
    plain = asked("change 0")
    weak = replace(plain, experiment=replace(plain.experiment, refutes=False))
    assert effects.outcome(weak, started([1.00, 1.01, 0.99])) is Outcome.OPEN
    assert effects.outcome(weak, started([1.8, 1.9, 1.85])) is Outcome.CONFIRMED


def test_one_change_of_several_confirms_and_all_must_fail_to_withdraw() -> None:
    """What a pool of 10 does not show a pool of 20 may; each interval is held to the number of changes."""
    both = asked("change 0", "change 1")
    still, more, rough = [1.0, 1.01, 0.99], [1.5, 1.51, 1.52], [1.2, 0.9, 1.1]
    assert effects.outcome(both, started(still, more)) is Outcome.CONFIRMED
    assert effects.outcome(both, started(still, still)) is Outcome.WITHDRAWN
    assert effects.outcome(both, started(still, rough)) is Outcome.OPEN
    first, _ = effects.effects(both, started(still, more))
    assert first.ratio is not None and first.ratio.confidence == pytest.approx(0.975)
    assert (first.ratio.middle, first.starts) == (pytest.approx(1.0, abs=0.001), 3)


def test_a_spoiled_start_counts_for_nothing() -> None:
    """Void starts leave no ratio, nor does an arm without a window."""
    (one,) = effects.effects(asked("change 0"), started([1.8, 1.8, 1.8], void="the machine"))
    assert (one.ratio, one.starts) == (None, 0)
    (other,) = effects.effects(asked("missing"), started([1.8, 1.8, 1.8]))
    assert (other.ratio, other.starts) == (None, 0)


def test_an_experiment_ends_by_width_or_by_its_time_and_never_by_its_answer() -> None:
    """Three starts that agree are enough whatever they say; two are not; wide ones go on until the next would be too late."""
    assert stopping.experiment_end([], asked("change 0")) is None
    assert stopping.experiment_end(started([1.8, 1.8]), asked("change 0")) is None
    assert "narrow" not in str(found := stopping.experiment_end(started([1.0, 1.001, 0.999]), asked("change 0"))) and found
    assert stopping.experiment_end(started([1.9, 1.2, 1.5]), asked("change 0")) is None
    assert "budget of 35 s" in str(stopping.experiment_end(started([1.9, 1.2, 1.5]), asked("change 0", budget_s=35.0)))
