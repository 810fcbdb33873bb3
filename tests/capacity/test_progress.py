"""What `try` says of the time left: planned seconds of load at the pace of those that are done, and nothing where paces differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.full import full
from builders.stored import START
from fairground import model, records
from fairground.capacity import objective
from fairground.capacity.service import drive
from fairground.capacity.service.parts import Ahead, ServicePart, Unit
from fairground.lab import service
from fairground.lab.events import Going
from fairground.lab.recording import record_units
from fairground.measure.schedule import Whole
from fairground.model import Machine
from fairground.model.record import Head, Record, RecordKind, TryAsked

WINDOW_S = 2
LOOP_S, CURVE_S = 1.0 + WINDOW_S, drive.LEAD_S + 7 * WINDOW_S


@pytest.fixture
def record(tmp_path: Path) -> Record[TryAsked, ServicePart]:
    """A try that has begun."""
    asked = TryAsked("http://127.0.0.1:1/", "GET", (), None, "p99<50ms", WINDOW_S, 5000, True, False, None)
    head = Head(model.SCHEMA_VERSION, RecordKind.TRY, "", "command", START, full(Machine), {"fairground": "1"}, {}, {}, asked)
    return records.create(tmp_path, "try", head)


def told(record: Record[TryAsked, ServicePart], took: Sequence[float]) -> list[float | None]:
    """The time left before each load, where the loads take `took` seconds: three closed loops and a curve."""
    moment = [0.0]

    def measure() -> Iterator[Ahead | ServicePart]:
        yield ServicePart(Unit.SERVICE)
        left_s = 3 * LOOP_S + CURVE_S
        for load_s, took_s in zip((LOOP_S, LOOP_S, LOOP_S, CURVE_S), took, strict=True):
            yield Ahead("load", load_s, left_s)
            moment[0] += took_s
            left_s -= load_s
            yield ServicePart(Unit.SERVICE)

    events = record_units(record, service.missing_parts(measure(), lambda: moment[0]))
    return [event.left_s for event in events if isinstance(event, Going)]


def test_time_left_follows_the_pace(record: Record[TryAsked, ServicePart]) -> None:
    """After two loads it is told, and is right to within 15 % where starts and last answers take what they took before."""
    said = told(record, (3.3, 3.4, 3.3, 15.0))
    assert said[:2] == [None, None]
    assert said[2:] == [pytest.approx(18.3, rel=0.15), pytest.approx(15.0, rel=0.15)]


def test_no_time_is_told_where_loads_differ(record: Record[TryAsked, ServicePart]) -> None:
    """A load that waited for answers makes a forecast that could be wrong by more than 30 %: it is none."""
    assert told(record, (3.3, 8.3, 3.3, 15.0)) == [None] * 4


def test_each_load_is_told_with_what_is_left() -> None:
    """Closed loops and the curve are announced with their planned seconds; what a record holds already is not counted."""

    def load(whole: Whole) -> list[Any]:
        quiet = replace(full(model.Result), completed=200, completed_ok=200, window_s=2.0, latency_ok=None, samples=())
        if whole.rates:
            return [SimpleNamespace(steps=[], void=None, whole=quiet)]
        limits: tuple[model.Finding, ...] = ()
        window = {
            "whole": quiet,
            "window_s": 2.0,
            "load": whole.load,
            "roles": {},
            "host": None,
            "void": None,
            "handshakes": None,
            "looks": (),
            "database": None,
        }
        return [SimpleNamespace(**window, limits=lambda *_: limits)]

    session: Any = SimpleNamespace(load=load)
    effort = drive.ServiceEffort(objective.parse("p99<50ms"), WINDOW_S, 5000)
    whole = list(drive.measure((), session, "the service", effort, 2))
    ahead = [one for one in whole if isinstance(one, Ahead)]
    assert [one.what for one in ahead] == [
        "warm-up", "closed loop, 1 connection", "closed loop, 10 connections", "closed loop, 100 connections", "load curve, 7 steps"
    ]  # fmt: skip
    warm_s = drive.WARM_LOOKS * drive.WARM_S
    assert ahead[0].left_s == pytest.approx(warm_s + CURVE_S + 3 * LOOP_S)
    assert [one.left_s for one in ahead[1:]] == [pytest.approx(CURVE_S + rest * LOOP_S) for rest in (3, 2, 1, 0)]
    done = [one for one in whole if isinstance(one, ServicePart)][:3]
    rest = [one for one in drive.measure(done, session, "the service", effort, 2) if isinstance(one, Ahead)]
    assert [one.left_s for one in rest[1:]] == [pytest.approx(CURVE_S + LOOP_S), pytest.approx(CURVE_S)]
