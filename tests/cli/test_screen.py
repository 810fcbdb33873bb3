"""The screen of a run: time left where trials tell it, what a budget leaves, and nothing where neither is known."""

from __future__ import annotations

import io
from dataclasses import replace

from fairground.cli.screen import Screen, duration
from fairground.cli.streams import Terminal
from fairground.run import plan
from report import fixture


def left(budget_s: float | None, *took_s: float, later_s: float = 0.0, hosts: int = 1) -> str:
    """What is said of the time left after trials that took so long, where `later_s` more are expected after the run."""
    run = fixture.one_block()
    planned, terminal = replace(run.plan, budget_s=budget_s), Terminal(file=io.StringIO())
    shown = Screen(planned, (), terminal, live=False, later_s=later_s, hosts=hosts)
    for trial, duration_s in zip(run.trials, took_s, strict=False):
        shown.show_trial(replace(trial, duration_s=duration_s))
    return shown.left


def test_time_left_is_told_where_trials_tell_it() -> None:
    """Two equal trials of seventeen tell it; none, one, and two that differ by much do not."""
    assert left(None, 10.0, 10.0) == ", about 2 min left"
    assert left(None) == left(None, 10.0) == left(None, 1.0, 60.0) == ""


def test_a_budget_bounds_it() -> None:
    """What a budget leaves is told where it ends the run earlier, or where trials do not tell."""
    assert left(60.0) == ", at most 60 s left"
    assert left(60.0, 10.0, 10.0) == ", at most 40 s left"
    assert left(900.0, 10.0, 10.0) == ", about 2 min left"


def test_hosts_share_it() -> None:
    """Two hosts measure side by side: what is left takes half as long, and so did what was."""
    assert left(None, 10.0, 10.0, hosts=2) == ", about 75 s left"
    assert left(60.0, 10.0, 10.0, hosts=2) == ", at most 50 s left"


def test_runs_after_this_one_are_in_the_time_left() -> None:
    """What is left of this run and of those after it, as far as trials tell how wrong expectations are."""
    run = fixture.one_block()
    each_s = plan.estimate_s(run.plan.slots[:1])
    rest_s = 3600.0 + plan.estimate_s(run.plan.slots[3:])
    said = left(None, each_s, each_s, each_s, later_s=3600.0)
    assert said.endswith(f" left, about {duration(rest_s)} with the runs after it")
    assert left(None, each_s, later_s=3600.0) == ""


def test_lines_tell_cells_of_one_stack_apart() -> None:
    """A path, a load or a version of which the run has several stands behind the workload; what all share is not repeated."""
    run = fixture.one_block()
    first = run.trials[0]
    loads = [replace(first.cell, load=replace(first.cell.load, connections=count)) for count in (10, 100)]
    cells = [replace(one, settings=replace(one.settings, postgres_version=major)) for one in loads for major in (16, 17)]
    slots = tuple(replace(run.plan.slots[0], number=number, cell=cell) for number, cell in enumerate(cells, 1))
    told = io.StringIO()
    shown = Screen(replace(run.plan, slots=slots), (), Terminal(file=told), live=False)
    for slot in slots:
        shown.show_trial(replace(first, number=slot.number, cell=slot.cell))
    lines = [line.partition(" goodput=")[0].partition(f"{first.cell.stack} ")[2] for line in told.getvalue().splitlines()]
    assert lines == [f"{one.workload} {one.load.id} PostgreSQL {one.settings.postgres_version}" for one in cells]
    alone = io.StringIO()
    Screen(run.plan, (), Terminal(file=alone), live=False).show_trial(first)
    assert f"{first.cell.stack} {first.cell.workload} goodput=" in alone.getvalue()
