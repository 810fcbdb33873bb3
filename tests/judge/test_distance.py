"""What a wire adds, held against what was asked; and where the distance is what limits a trial."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import bottleneck, distance, thresholds
from fairground.model import (
    Cell,
    CellSettings,
    DatabaseUse,
    Finding,
    Latency,
    Load,
    Outcomes,
    PathWire,
    Result,
    RoleUse,
    Severity,
    Topology,
)

RULES, REASONS = thresholds.standard().rules, thresholds.standard().reasons
WINDOW_S = 10.0
FAR = Topology(wire=PathWire(database_ms=1.0))
CELL = Cell("one:plain", "tx", FAR, Load(connections=64, window_s=WINDOW_S), CellSettings(workers=2, pool_size=10))


@pytest.mark.parametrize(
    ("asked_ms", "over_us", "severity"),
    [
        (1.0, (1080, 1090, 1100, 1110, 1120), Severity.NOTE),
        (1.0, (1250, 1251, 1252, 1253, 9000), Severity.NOTE),
        (1.0, (1252, 1253, 1254, 1255, 1256), Severity.WARN),
        (1.0, (900, 920, 940, 960, 980), Severity.WARN),
        (0.2, (300, 330, 370, 371, 380), Severity.NOTE),
        (0.2, (300, 330, 373, 374, 380), Severity.WARN),
    ],
)
def test_what_is_added_is_held_against_what_was_asked(asked_ms: float, over_us: tuple[int, ...], severity: Severity) -> None:
    """The medians' difference may be off by a tenth and 50 µs; one slow round trip among many is none of it."""
    found = distance.finding("database", asked_ms, over_us, (99, 100, 102, 102, 500), RULES)
    assert (found.id, found.severity) == ("distance", severity)
    assert found.evidence["added_us"] == over_us[2] - 102
    assert found.evidence["round_trips"] == 5


def test_the_spread_is_told() -> None:
    """The sentence has the added time, what was asked, and the middle half."""
    found = distance.finding("server", 1.0, (1100, 1110, 1120, 1130, 1140), (100, 100), RULES)
    assert found.sentence == (
        "the wire to the server added 1.020 ms to a round trip where 1 ms were asked (half of 5: 1.010–1.030 ms)"
    )


def limits(cell: Cell, rate: float, mean_ms: float, events: dict[str, int], cpu_cores: float = 0.2) -> list[Finding]:
    """What a trial names; `events` are sums over 50 samples."""
    count = round(rate * WINDOW_S)
    outcomes = Outcomes(count, 0, {}, 0, 0, 0, 0, 0, 0, 0)
    latency = Latency(count, 1, mean_ms * 1000, 99_000, round(mean_ms * 1000), 1, 1, 1, None)
    result = Result(
        generator="engine", command=(), window_s=WINDOW_S, window=outcomes, life=outcomes, completed=count, completed_ok=count,
        in_flight_start=0, in_flight_end=0, bytes_received=None, bodies_checked=None, latency_ok=latency, latency_all=None,
        connect=None, seconds=(), ledgers={}, samples=(), cpu_us=1, busiest_thread_share=0.2,
    )  # fmt: skip
    roles = {"server": RoleUse(cpu_cores * WINDOW_S * 1e6, None, None, "cgroup2")}
    database = DatabaseUse(count, 0, count, 0, 0, 10, events, 50)
    return list(bottleneck.limits(cell, result, roles, None, database, 4, REASONS))


def test_a_pool_that_waits_for_round_trips() -> None:
    """Ten connections, four round trips of 1 ms for each answer: 2,400 a second, and a larger pool would give more."""
    (found,) = limits(CELL, rate=2400.0, mean_ms=26.6, events={"idle in transaction": 300, "running": 20, "idle": 180})
    assert found.id == "wire"
    assert found.evidence["round_trips"] == pytest.approx(4.0, abs=0.05)
    assert "A larger pool than 10 would have more of them under way at once" in found.sentence


def test_without_a_wire_the_same_is_no_distance() -> None:
    """Where nobody put a distance, none is named."""
    cell = replace(CELL, topology=Topology())
    assert "wire" not in [one.id for one in limits(cell, 2400.0, 26.6, {"idle in transaction": 300, "running": 20, "idle": 180})]


def test_a_database_at_work_is_no_distance() -> None:
    """Where most connections that are held have a statement at work, the distance is not what takes the time."""
    found = limits(CELL, rate=2400.0, mean_ms=26.6, events={"running": 450, "idle": 50})
    assert [one.id for one in found] == ["pool"]


def test_a_short_wire_explains_no_long_silence_with_few_trips() -> None:
    """Less than one round trip an answer cannot be: the silence is another's."""
    slow = replace(CELL, topology=Topology(wire=PathWire(database_ms=1000.0)))
    assert "wire" not in [one.id for one in limits(slow, 2400.0, 26.6, {"idle": 500})]


@pytest.mark.parametrize(
    ("delay_ms", "keep_alive", "mean_ms", "named"),
    [(5.0, True, 6.0, True), (5.0, True, 11.0, False), (5.0, False, 11.0, True)],
)
def test_the_way_to_the_server(delay_ms: float, keep_alive: bool, mean_ms: float, named: bool) -> None:
    """Half of an answer's time on the wire is the limit; a new connection for each request goes twice."""
    load = replace(CELL.load, keep_alive=keep_alive)
    cell = replace(CELL, topology=Topology(wire=PathWire(server_ms=delay_ms)), load=load)
    found = limits(cell, rate=64 / mean_ms * 1000, mean_ms=mean_ms, events={"idle": 500})
    assert ("wire" in [one.id for one in found]) is named


def test_full_processors_come_first() -> None:
    """What keeps the cores busy is named, however far the database is."""
    found = limits(CELL, 2400.0, 26.6, {"idle in transaction": 300, "idle": 200}, cpu_cores=3.9)
    assert [one.id for one in found] == ["app-cpu"]


def test_a_server_at_work_is_no_distance() -> None:
    """Where a seat is nearly full, connections are silent since the server is busy: that is not called distance."""
    cell = replace(CELL, settings=replace(CELL.settings, pin=(("server", (0,)),)))
    assert limits(cell, 2400.0, 26.6, {"idle in transaction": 300, "idle": 200}, cpu_cores=0.88) == []


def test_a_full_wire_is_named_as_such() -> None:
    """The relay is one thread for each of its wires: at the end of it the instrument is the limit."""
    cell = replace(CELL, settings=replace(CELL.settings, pool_size=100))
    result_roles = {"wire": RoleUse(0.95 * WINDOW_S * 1e6, None, None, "cgroup2")}
    outcomes = Outcomes(1000, 0, {}, 0, 0, 0, 0, 0, 0, 0)
    result = Result(
        generator="engine", command=(), window_s=WINDOW_S, window=outcomes, life=outcomes, completed=1000, completed_ok=1000,
        in_flight_start=0, in_flight_end=0, bytes_received=None, bodies_checked=None, latency_ok=None, latency_all=None,
        connect=None, seconds=(), ledgers={}, samples=(), cpu_us=1, busiest_thread_share=0.2,
    )  # fmt: skip
    assert [one.id for one in bottleneck.limits(cell, result, result_roles, None, None, 4, REASONS)] == ["wire-cpu"]
