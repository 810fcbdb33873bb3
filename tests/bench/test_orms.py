"""The table of object mappers: each is held against the SQL by hand of its group, and above 1 it costs more."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders.bench import bench
from fairground.model import Finding, Severity
from report import fixture

ORMS = bench("orms")
ONE, OTHER = "alder:inline", "birch:pool"
TIMES = re.compile(r"\| ([\d.]+) \(([\d.]+) to ([\d.]+)\)")


def found(by_hand: str, mapper: str) -> list[list[tuple[float, ...]]]:
    """CPU and goodput of each test: the ratio with its interval."""
    lines = ORMS.rows(fixture.six_blocks(), [(by_hand, mapper)])
    return [[tuple(map(float, each)) for each in TIMES.findall(line)] for line in lines]


def test_a_mapper_is_held_against_the_sql_by_hand_of_its_group() -> None:
    """What costs half as much again, the other way round costs two thirds; an interval holds its middle."""
    there, back = found(ONE, OTHER), found(OTHER, ONE)
    assert there and len(there) == len(back)
    for one, other in zip(there, back, strict=True):
        assert len(one) == 2, "CPU and goodput"
        for (middle, low, high), (inverse, *_) in zip(one, other, strict=True):
            assert low <= middle <= high and middle * inverse == pytest.approx(1, rel=0.03)


def test_what_costs_more_is_above_one() -> None:
    """The sign of a ratio is the one of the costs beside it."""
    run = fixture.six_blocks()
    for workload in {trial.cell.workload for trial in run.trials}:
        cost = ORMS.cost_us(run, workload)
        if ONE in cost and OTHER in cost and cost[OTHER] > 1.3 * cost[ONE]:
            ((cpu, _),) = [
                pair
                for pair, line in zip(found(ONE, OTHER), ORMS.rows(run, [(ONE, OTHER)]), strict=True)
                if f"| {workload} |" in line
            ]
            assert cpu[0] > 1
            return
    pytest.fail("no workload in which one costs more")


def test_a_stack_without_a_number_is_said_to_have_none() -> None:
    """It is not left out."""
    lines = list(ORMS.rows(fixture.six_blocks(), [(ONE, "nobody:here")]))
    assert lines and all("none: no valid trial" in line and "not comparable" in line for line in lines)


def test_what_is_asked_beside_is_told_where_most_trials_saw_it() -> None:
    """With its middle share; what one trial of many saw is no habit of a mapper."""
    run = fixture.six_blocks()
    (workload, *_) = {trial.cell.workload for trial in run.trials}
    mine = [one for one in run.trials if (one.cell.stack, one.cell.workload) == (ONE, workload)]

    def told(seen: int) -> str:
        """The row where so many of the stack's trials saw a ping, in a share of their own."""
        by_number = {
            one.number: replace(one, findings=(*one.findings, ping(place / 100)), diagnosis="app-cpu")
            for place, one in enumerate(mine[:seen], 30)
        }
        trials = tuple(by_number.get(one.number, one) for one in run.trials)
        (line,) = [row for row in ORMS.limits_of(replace(run, trials=trials), [(ONE,)]) if f"| {workload} |" in row]
        return str(line)

    assert "% a ping of the connection, `select ?` |" in told(len(mine)) and "the server's processors are full" in told(len(mine))
    assert told(1).endswith("| – |")


def ping(share: float) -> Finding:
    """What a trial says of a pool that asks before it lends."""
    sentence = f"{share:.0%} of the backends' last statements were a ping of the connection: select ?"
    return Finding("statement-ping", Severity.NOTE, sentence, {"share": share, "of": 100, "statement": "select ?"})
