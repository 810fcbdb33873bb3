"""What distances did: the best pool of each stack and distance, the order of the stacks, and the part of the manual's page."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from builders.trials import CELL
from fairground.model import Finding, PathWire, Severity, Topology
from fairground.report.boards import Board
from fairground.report.run import distances
from fairground.stats.intervals import Interval
from report import fixture

NEAR, FAR = None, PathWire(database_ms=5.0)


def board(rates: dict[tuple[str, int, PathWire | None], float], workload: str = "tx", error: float | None = 0.05) -> Board:
    """Rows of one workload: stack, pool and distance → goodput, known to so large a share; None: one block."""
    rows = [
        SimpleNamespace(
            cell=replace(CELL, stack=stack, settings=replace(CELL.settings, pool_size=pool), topology=Topology(wire=wire)),
            middle=rate,
            interval=None if error is None else Interval(rate, rate * (1 - error), rate * (1 + error), 3, 0.95),
        )
        for (stack, pool, wire), rate in rates.items()
    ]
    return cast(Board, SimpleNamespace(workload=workload, numbered=rows))


RATES = {
    ("a", 5, NEAR): 900.0, ("a", 25, NEAR): 1000.0, ("a", 5, FAR): 100.0, ("a", 25, FAR): 400.0,
    ("b", 5, NEAR): 700.0, ("b", 25, NEAR): 600.0, ("b", 5, FAR): 120.0, ("b", 25, FAR): 500.0,
    ("c", 5, NEAR): 680.0, ("c", 25, NEAR): 300.0, ("c", 5, FAR): 90.0, ("c", 25, FAR): 380.0,
}  # fmt: skip


def test_the_best_pool_and_the_order() -> None:
    """a and b change places at a distance; b and c are too near each other beside the database, a and c at the distance."""
    (found,) = distances.distances([board(RATES)])
    assert (found.wires, found.pools) == ((NEAR, FAR), (5, 25))
    assert [found.best(stack, NEAR) for stack in "abc"] == [(25, 1000.0), (5, 700.0), (5, 680.0)]
    assert (found.pool_of(NEAR), found.pool_of(FAR)) == ({25: 1, 5: 2}, {25: 3})
    assert found.order(FAR) == (0, 1, 2)
    assert [round(found.spread(wire) or 0, 2) for wire in found.wires] == [1.47, 1.32]


def test_what_it_says() -> None:
    """How far the stacks lie apart, which pairs change places, and the best pool at each distance."""
    (found,) = distances.distances([board(RATES)])
    assert list(distances.sentences(found)) == [
        "The fastest stack over the slowest, each with its best pool: 1.47 × beside the database, 1.32 × at 5 ms.",
        "Pairs of stacks at 5 ms: 1 the other way round than beside the database, 0 in the same order, and 2 whose intervals overlap"
        " in one of both places.",
        "The best pool beside the database: 5 for 2, 25 for 1.",
        "The best pool at 5 ms: 25 for 3.",
    ]


def test_one_block_draws_no_conclusion() -> None:
    """Without intervals there are numbers, and neither an order nor a best pool; where intervals overlap no pool is the best."""
    (found,) = distances.distances([board(RATES, error=None)])
    assert list(distances.sentences(found)) == [
        "One block: no number here has an interval, so neither an order of the stacks nor a best pool is told."
    ]
    text = distances.markdown(fixture.run(), [board(RATES, error=None)])
    assert text is not None and "**" not in text
    (wide,) = distances.distances([board(RATES, error=0.2)])
    assert wide.pool_of(NEAR) == {None: 2, 5: 1} and wide.pool_of(FAR) == {25: 3}


def test_a_number_that_is_lacking() -> None:
    """It is in no order, and shows as none; one distance alone is nothing."""
    rates = {key: rate for key, rate in RATES.items() if key not in {("b", 5, FAR), ("b", 25, FAR)}}
    (found,) = distances.distances([board(rates)])
    assert found.best("b", FAR) is None and found.order(FAR) == (0, 0, 1)
    text = distances.markdown(fixture.run(), [board(rates)])
    assert text is not None and "| b | 5 | **700** | — |" in text and "| a | 25 | **1,000** | **400** |" in text
    near = {key: rate for key, rate in RATES.items() if key[2] is NEAR}
    assert distances.markdown(fixture.run(), [board(near)]) is None


def test_a_distance_before_the_server_is_named() -> None:
    """That to the database is the usual one."""
    both: Any = PathWire(server_ms=0.2, database_ms=1.0)
    text = distances.markdown(fixture.run(), [board({("a", 5, NEAR): 10.0, ("a", 5, both): 5.0})])
    assert text is not None and "| stack | pool | beside the database | 0.2 ms (server), 1 ms |" in text


def test_what_wires_added_stands_beside_what_was_asked() -> None:
    """It is the median over trials, with its extremes, each length by itself; other findings say nothing of it."""

    def measured(asked_us: float, added_us: float) -> Finding:
        return Finding("distance", Severity.NOTE, "so", {"side": "database", "asked_us": asked_us, "added_us": added_us})

    made = fixture.run()
    readings = [measured(5000.0, 5200.0), measured(200.0, 290.0), measured(200.0, 250.0), measured(200.0, 270.0)]
    trials = [replace(made.trials[0], findings=(one, Finding("warm-up", Severity.WARN, "so", {}))) for one in readings]
    run = replace(made, trials=tuple(trials))
    told = [
        "The wire to the database added 0.270 ms to a round trip where 0.200 ms were asked (median of 3 trials, 0.250 to 0.290 ms).",
        "The wire to the database added 5.20 ms to a round trip where 5.00 ms were asked (median of 1 trial, 5.20 to 5.20 ms).",
    ]
    assert list(distances.added_by_wires(run)) == told
    text = distances.markdown(run, [board(RATES)])
    assert text is not None and all(f"- {one}" in text for one in told)
