"""A start of an experiment: which windows count, and when it is void. The session is made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairground.measure import experiment
from fairground.measure.arm import ArmWindow
from fairground.model import Cell, CellSettings, Finding, Load, Severity, Topology
from fairground.model.experiment import AS_IT_WAS, ArmChange, Direction, Experiment, WhyAsked

CELL = Cell("one:a", "ping", Topology(), Load(), CellSettings())
FASTER = ArmChange("more", "with more", CELL)
SPOILED = (Finding("foreign-cpu", Severity.VOID, "other processes used a core"),)


class Played:
    """A session that gives these windows."""

    windows: Sequence[ArmWindow] = ()
    void = None

    def __init__(self, *_: object) -> None:
        self.ended = {}

    def __enter__(self) -> Played:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def play(self, _: object) -> Iterator[ArmWindow]:
        yield from self.windows


def window(label: str, machine: tuple[Finding, ...] = (), warm_up: bool = False) -> ArmWindow:
    """A second of a hundred answers."""
    return ArmWindow(label, 1, Load(), 100, 0, 1.0, {}, None, machine, warm_up=warm_up)


@pytest.mark.parametrize(
    ("windows", "counted", "void"),
    [
        ([window(AS_IT_WAS), window("more")], (1, 1), None),
        ([window(AS_IT_WAS, SPOILED), window("more", SPOILED)], (0, 0), "other processes used a core"),
        ([window(AS_IT_WAS), window("more", SPOILED)], (1, 0), "other processes used a core"),
        ([window(AS_IT_WAS), window("more"), window("more", SPOILED)], (1, 1), None),
        ([window(AS_IT_WAS, SPOILED, warm_up=True), window(AS_IT_WAS), window("more")], (1, 1), None),
    ],
)
def test_a_start_without_a_sound_window_is_void(
    windows: list[ArmWindow], counted: tuple[int, int], void: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its reason is the machine's: else nobody would know why nothing could be measured."""
    monkeypatch.setattr(experiment, "ArmSession", type("Made", (Played,), {"windows": windows}))
    asked = WhyAsked("run", CELL, "pool", "the pool was full", Experiment(Direction.MORE, (FASTER,)), 1, 60.0, 2, 0.1)
    bench = SimpleNamespace(thresholds=SimpleNamespace(rules=None))
    workloads = {AS_IT_WAS: None, "more": None}
    start = experiment.one_start(bench, asked, None, workloads, tmp_path, 1)
    assert (len(start.windows[AS_IT_WAS]), len(start.windows["more"])) == counted
    assert start.void == void
