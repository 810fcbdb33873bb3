"""The first screen: what the story says, the letters and reasons of the grid, the bars of a workload, and colours to read by."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from collections.abc import Mapping
from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.model import PlanSlot, Run, Trial
from fairground.report import boards
from fairground.report.charts import palette
from fairground.report.run import bars, crossing, grid, story, why
from fairground.stats.comparisons import Comparison, Quantity
from fairground.stats.effects import Outcome
from report import fixture


def told(run: Run) -> tuple[str, ...]:
    """The story of a run."""
    shown = boards.boards(run)
    return story.story(shown, crossing.crossings(run, shown))


def test_with_blocks_the_story_says_who_leads_and_where_it_matters_most() -> None:
    """Ties are counted as ties, and the widest gap is between stacks that share no group."""
    leads, widest = told(fixture.six_blocks())
    assert leads == "alder:inline and birch:pool are each among the fastest on 3 of 3 workloads."
    assert widest.startswith("The choice matters most on `transfer`: alder:inline gives 4.3")
    assert " × as much as fir:raw (95 % CI " in widest


def measured(rates: Mapping[tuple[str, int], Mapping[str, float]]) -> Run:
    """Six blocks of stacks with these rates, by workload and connections; they scatter by 0.5 %."""
    draw, trials = random.Random(1), list[Trial]()
    for block, ((workload, connections), by_stack) in itertools.product(range(1, 7), rates.items()):
        for stack, rate in by_stack.items():
            one = trial(stack, block, rate * math.exp(draw.gauss(0, 0.005)))
            cell = replace(one.cell, workload=workload, load=replace(one.cell.load, connections=connections))
            trials.append(replace(one, cell=cell, number=len(trials) + 1))
    bare = fixture.two_blocks()
    slots = tuple(PlanSlot(one.number, one.block, one.cell, 1) for one in trials)
    plan = replace(bare.plan, slots=slots, blocks=6, anchor="a:x", skipped={})
    return replace(bare, plan=plan, trials=tuple(trials), controls=(), limits=())


def test_two_loads_whose_leaders_differ_have_no_leader_in_common() -> None:
    """Neither leads on a workload of which each leads under one load, and a gap is told of its own load."""
    a, b = {"a:x": 2000.0, "b:x": 1000.0}, {"a:x": 1000.0, "b:x": 3000.0}
    said = told(measured({("ping", 10): a, ("ping", 100): b, ("tx", 10): a, ("tx", 100): b}))
    assert said and not any("among the fastest" in one for one in said)
    alone = told(measured({("ping", 10): a, ("tx", 10): a}))
    assert alone[0] == "a:x is among the fastest on 2 of 2 workloads, alone there."
    assert alone[1].startswith("The choice matters most on `") and " (c10)" not in alone[1]


def test_what_is_told_of_one_load_names_it() -> None:
    """Alike with few connections, and far apart with many: the two sentences are of different loads, and say so."""
    same, apart = {"a:x": 1000.0, "b:x": 1000.0}, {"a:x": 1000.0, "b:x": 2000.0}
    widest, alike = told(measured({("ping", 10): same, ("ping", 100): apart}))
    assert widest.startswith("The choice matters most on `ping` (c100): b:x gives ")
    assert alike.startswith("For `ping` (c10) ")
    one_each = measured({("ping", 10): {"a:x": 10.0}, ("ping", 100): {"a:x": 100.0, "b:x": 90.0}})
    lonely = replace(one_each, trials=tuple(one for one in one_each.trials if one.block == 1))
    assert told(lonely)[0].startswith("On `ping` (c100) 2 stacks give ")


def test_a_small_gap_is_told_in_per_cent() -> None:
    """4.5 % more is not `1 times as much`."""
    (said,) = told(measured({("ping", 10): {"a:x": 1045.0, "b:x": 1000.0}}))
    assert re.fullmatch(r"The choice matters on `ping`: a:x gives 4\.\d % more than b:x \(95 % CI 4\.\d+–5\.\d+ %\)\.", said)


def test_with_one_block_the_story_ranks_nobody() -> None:
    """It says what was measured, and no sentence says only what is not known."""
    assert told(fixture.one_block()) == ("On `tx` 6 stacks give 539 to 2,350 good answers a second.",)


def test_without_a_number_the_story_leads_to_the_reasons() -> None:
    """A run without trials has one sentence."""
    assert told(replace(fixture.one_block(), trials=())) == ("No stack has a number: the reasons stand in the grid.",)


def test_one_group_is_told_as_no_choice_with_the_limit_that_all_share() -> None:
    """alder and birch alone share a group on tx, and the database's processors limit both."""
    run = fixture.six_blocks()
    both = tuple(trial for trial in run.trials if trial.cell.stack in ("alder:inline", "birch:pool"))
    shown = boards.boards(replace(run, trials=both))
    said = story.alike(next(board for board in shown if board.workload == "tx"))
    assert said.startswith("For `tx` ") and said.endswith(
        ": for all of them the database's processors are full (db-cpu, suspected)."
    )
    assert story.alike(next(board for board in boards.boards(run) if board.workload == "tx")) == ""


@pytest.mark.parametrize(
    ("outcomes", "limit"),
    [
        (("confirmed", "confirmed"), ": for all of them the database's processors are full (db-cpu, confirmed)."),
        (("confirmed", "open"), ": for all of them the database's processors are full (db-cpu)."),
        (("confirmed", "withdrawn"), " which of the two you take."),
    ],
)
def test_a_limit_is_as_sure_as_the_experiments_on_it(outcomes: tuple[str, str], limit: str) -> None:
    """The heading does not suspect what the box below calls confirmed, or withdrawn."""
    run = fixture.six_blocks()
    both = tuple(trial for trial in run.trials if trial.cell.stack in ("alder:inline", "birch:pool"))
    board = next(one for one in boards.boards(replace(run, trials=both)) if one.workload == "tx")
    cells = [row.cell.id for row in board.rows if row.trials]
    tests = {
        (cell, "db-cpu"): why.ReasonTest("db-cpu", Outcome(outcome), "", cell, "", {})
        for cell, outcome in zip(cells, outcomes, strict=True)
    }
    assert story.alike(board, tests).endswith(limit)
    alone = replace(board, rows=tuple(row for row in board.rows if row.cell.id == cells[0]))
    assert story.spans([alone], tests).endswith("the database's processors are full (db-cpu, confirmed).")


def test_each_cell_of_the_grid_has_its_letter_or_its_reason() -> None:
    """Letters are those of the comparison; a rejected, a void and an unmeasured cell have a reason and no letter."""
    found = grid.grid(fixture.two_blocks(), boards.boards(fixture.two_blocks()))
    cells = {(line.stack, cell.board.workload): cell for line in found.lines for cell in line.cells}
    assert [cells["fir:raw", "tx"].goodput.letters, cells["fir:raw", "tx"].cost.letters] == ["E", "E"]
    marks = {stack: cells[stack, "transfer"].mark for stack in ("cedar:plain", "dogwood:orm")}
    assert marks == {"cedar:plain": "rejected", "dogwood:orm": "void"}
    assert cells["fir:raw", "ping"].mark == "absent" and cells["fir:raw", "ping"].why == "speaks only to the database"
    for cell in cells.values():
        assert (cell.mark == "number") == (cell.row is not None and cell.row.middle is not None)
        assert cell.mark == "number" or (cell.why and not cell.goodput.letters and not cell.cost.letters)
    assert found.lines[0].stack == "alder:inline"


def test_a_cell_that_was_never_tried_is_absent_and_not_void() -> None:
    """An interrupted run did not come to it: it says so, and no trial of it was disturbed."""
    run = fixture.two_blocks()
    left = tuple(one for one in run.trials if (one.cell.stack, one.cell.workload) != ("birch:pool", "tx"))
    found = grid.grid(replace(run, trials=left, finished=False), boards.boards(replace(run, trials=left, finished=False)))
    (cell,) = (one for line in found.lines for one in line.cells if (line.stack, one.board.workload) == ("birch:pool", "tx"))
    assert (cell.mark, cell.why) == ("absent", "not measured: the run ended before its turn")


def test_names_that_look_alike_have_addresses_of_their_own() -> None:
    """Signs that no address holds become dashes, and no two stacks share one."""
    found = grid.slugs_of(["a:b", "a/b", "::", "a-b"])
    assert len(set(found.values())) == 4 and found["a:b"] == "a-b" and found["::"] == "stack"


def test_a_ceiling_far_beyond_the_bars_does_not_shrink_them() -> None:
    """Near, it sets the scale's end; far, it is said to lie beyond the picture."""
    board = boards.boards(fixture.two_blocks())[0]
    assert board.ceiling is not None
    near = bars.picture(board)
    assert near.ceiling is not None and not near.beyond and near.right > board.ceiling.rate_per_s
    far = bars.picture(replace(board, limit=replace(board.ceiling, rate_per_s=1e9)))
    assert far.ceiling is None and far.beyond
    assert max(bar.width for bar in far.bars) == pytest.approx(100 / 1.02, rel=0.02)


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_tier(colours: dict[str, str]) -> None:
    """WCAG 2.2 AA: 4.5 to 1 for text on paper and on each colour of the grid."""
    grounds = ["paper", "wash", *(f"tier-{place}" for place in range(1, palette.TIERS + 1))]
    for ground in grounds:
        assert contrast(colours["ink"], colours[ground]) >= 4.5, ground
    for text in ("soft", "link", "valid", "warned", "void", "rejected"):
        assert contrast(colours[text], colours["paper"]) >= 4.5, text


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG 2.2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of `#rrggbb`."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_stack_of_all_groups_has_the_colour_of_the_middle_one() -> None:
    """The less is known of a stack, the more groups it is in: it is not coloured as the best."""
    found = Comparison(Quantity.GOODPUT, "a", (), (("a", "wide"), ("b", "wide"), ("c", "wide")), {}, None, withdrawn=False)
    assert {stack: (tier.letters, tier.colour) for stack, tier in grid.tiers(found).items()} == {
        "a": ("A", 1), "wide": ("A B C", 2), "b": ("B", 2), "c": ("C", 3),
    }  # fmt: skip


def test_stacks_stand_by_what_they_give() -> None:
    """By the mean share of the best of each board, and not by letters."""
    lines = grid.grid(fixture.two_blocks(), boards.boards(fixture.two_blocks())).lines
    means = []
    for line in lines:
        numbers = [(cell.row.middle, cell.board.numbered[0].middle) for cell in line.cells if cell.row and cell.row.middle]
        means.append(statistics.geometric_mean([mine / best for mine, best in numbers if best]))
    assert len(means) > 3 and means == sorted(means, reverse=True)
    tiers = [grid.Tier("A", 1) if line is lines[-1] else grid.Tier("B", 2) for line in lines]
    lettered = [
        replace(line, cells=tuple(replace(one, goodput=tier) for one in line.cells))
        for line, tier in zip(lines, tiers, strict=True)
    ]
    assert sorted(lettered, key=grid._order) == lettered
