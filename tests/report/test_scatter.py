"""What a page and a terminal say of a run's scatter: what was foretold, whether it counts, and which block was bad."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy
import pytest

from builders.trials import CELL, trial
from fairground.model import Plan, PlanSlot, Run
from fairground.model.memory import RememberedSpread
from fairground.report.boards import boards
from fairground.report.run import evidence, page
from fairground.report.run.scatter import Scatter
from fairground.stats import comparisons
from report import fixture

STACKS = ("ash:plain", "beech:plain", "cherry:plain")


def scattered(sd: float, bad: float = 1.0, stacks: tuple[str, ...] = STACKS) -> Run:
    """Equal stacks in eight blocks; in block 3 all scatter so many times as much."""
    draw = numpy.random.default_rng(5)
    rates = {
        (stack, block): 1e4 * math.exp(draw.normal(0, sd * (bad if block == 3 else 1)))
        for block in range(1, 9)
        for stack in stacks
    }
    trials = [trial(stack, block, rate, 1e6 / rate) for (stack, block), rate in rates.items()]
    slots = [PlanSlot(place, one.block, one.cell, 1) for place, one in enumerate(trials, start=1)]
    numbered = tuple(replace(one, number=place) for place, one in enumerate(trials, start=1))
    bare = fixture.run(1)
    plan = Plan("t", 1, 8, tuple(slots), {}, "c", stacks[0])
    return replace(bare, plan=plan, trials=numbered, workloads={CELL.workload: bare.workloads["tx"]})


def knowing(run: Run, sd: float, runs: int = 4) -> Run:
    """The same, with what earlier runs foretold of its goodput."""
    one = RememberedSpread("goodput", False, comparisons.way_of(CELL), sd**2, 4.0, runs)
    return replace(run, plan=replace(run.plan, memory=(one,)))


def test_memory_that_counts_is_told() -> None:
    """With what it is worth, and how to leave it out."""
    run = knowing(scattered(0.05), 0.06)
    (said,) = Scatter.of(run).sentences
    assert said == (
        "Intervals lean on what 4 earlier runs on this machine scattered by (worth 4.0 degrees of freedom);"
        " `--no-prior` leaves that out"
    )
    assert Scatter.of(run).rows[0][0] == "goodput" and Scatter.of(run).rows[0][-1] == "yes"


def test_memory_that_today_contradicts_is_told() -> None:
    """By how many times today scatters more than was foretold; the numbers are those without it."""
    run = scattered(0.1)
    found = Scatter.of(knowing(run, 0.02, 1))
    assert found.sentences[0].endswith("as 1 earlier run on this machine foretells: this run is judged by itself")
    assert found.rows[0][-1] == "no: judged by itself" and not found.readings[0].used
    assert boards(knowing(run, 0.02)) == boards(run)


def test_a_run_that_knows_too_little_says_so() -> None:
    """Two blocks of two stacks cannot tell whether today is like before."""
    run = knowing(scattered(0.05, stacks=STACKS[:2]), 0.06)
    short = replace(run, trials=tuple(one for one in run.trials if one.block < 3))
    assert Scatter.of(short).sentences[0].startswith("Too few starts tell whether today is like 4 earlier runs")


def test_the_weak_prior_is_told_as_one() -> None:
    """A first run on a machine."""
    assert "the weak prior of a first run" in Scatter.of(knowing(scattered(0.05), 0.06, 0)).sentences[0]


def test_a_bad_block_is_told() -> None:
    """In the quantities that scattered, with how many times as much."""
    found = Scatter.of(scattered(0.03, bad=10.0))
    assert set(found.spoilt) == {"goodput", "server CPU"} and set(found.spoilt["goodput"]) == {3}
    assert found.sentences[0].startswith("In block 3 goodput scattered ")


def test_nothing_is_told_of_a_run_by_itself() -> None:
    """No section, no sentence."""
    run = scattered(0.05)
    assert Scatter.of(run).sentences == () and 'id="scatter"' not in page.details(run)
    assert "scatter" not in {one.id for one in evidence.contents(run, boards(run))}


@pytest.mark.parametrize("runs", [0, 4])
def test_the_details_have_a_section_of_it(runs: int) -> None:
    """One click from the top, with a table; for machines the same."""
    run = knowing(scattered(0.05), 0.06, runs)
    shown = page.details(run)
    assert 'href="#scatter"' in shown and 'id="t-scatter"' in shown and "6.0 %" in shown
    document = json.loads(json.dumps(Scatter.of(run).document))
    assert document["prior"][0]["foretold_sd"] == pytest.approx(0.06) and document["prior"][0]["used"]
    assert document["spoilt_blocks"] == {}


def test_memory_moves_the_interval_of_a_rate_and_of_a_ratio() -> None:
    """Both come from one fit: what is known counts for both."""
    run = scattered(0.05, stacks=STACKS[:2])
    wide, narrow = (boards(one)[0] for one in (run, knowing(run, 0.05)))
    for one, other in zip(wide.rows, narrow.rows, strict=True):
        assert one.interval is not None and other.interval is not None and one.middle == other.middle
        assert one.interval != other.interval
    assert wide.goodput is not None and narrow.goodput is not None
    assert wide.goodput.rows[0].estimate.freedom < narrow.goodput.rows[0].estimate.freedom
