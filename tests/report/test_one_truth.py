"""Two stacks are told apart everywhere on a page, or nowhere: letters, ranks, rows, sentences, the terminal and the grid's ratios."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from builders.trials import CELL, trial
from fairground.cli.board import Table
from fairground.model import Control, PlanSlot, Run, Trial
from fairground.model.memory import RememberedSpread
from fairground.model.window import WindowTally
from fairground.report.boards import Board, boards
from fairground.report.run import grid, story, table
from fairground.report.run.controls import Controls
from fairground.report.run.headline import headline
from fairground.report.text import words
from fairground.report.text.rows import letters
from fairground.stats.comparisons import Comparison, Quantity, way_of
from fairground.stats.differences import CALLED, DifferenceWord
from report import fixture

NAMES = ("ash:plain", "beech:plain", "cherry:plain", "damson:plain", "elder:plain", "fig:plain")
WORKLOADS = ("ping", "tx")
NAME = re.compile(r"[a-z]+:plain")
ALIKE = re.compile(r"cannot be told apart|no stack can be told|makes no difference|are equivalent|can be told from the others")


def random_run(seed: int) -> Run:
    """Any rates, spreads and memory, blocks with holes, turns that disagree with whole windows, and A/A pairs."""
    draw = numpy.random.default_rng(seed)
    stacks, blocks = NAMES[: draw.integers(2, len(NAMES) + 1)], int(draw.integers(1, 6))
    results, controls, slots = list[Trial](), list[Trial](), list[PlanSlot]()
    for workload in WORKLOADS:
        steps = draw.choice([0.0, 0.02, 0.1, 0.4], len(stacks))
        spreads = 0.08 * numpy.exp(draw.normal(0, 1.0, len(stacks)))
        apart, in_turns = draw.normal(0, 0.15, len(stacks)), draw.random() < 0.7
        for block in range(1, blocks + 1):
            pace = math.exp(draw.normal(0, 0.3))
            for place, stack in enumerate(stacks):
                rates = [1e4 * pace * math.exp(steps[place] + draw.normal(0, spreads[place])) for _ in range(2)]
                one = trial(stack, block, rates[0], 1e6 / rates[0])
                cell = replace(one.cell, workload=workload)
                good = round(rates[1] * math.exp(apart[place]))
                turns = (WindowTally(good, 0, 1.0, 1e6),) if in_turns and draw.random() < 0.9 else ()
                if draw.random() < 0.9:
                    results.append(replace(one, cell=cell, number=len(results) + 1, turns=turns))
                    slots.append(PlanSlot(len(slots) + 1, block, cell, 1))
            if draw.random() < 0.5:
                rate = 1e4 * pace * math.exp(steps[0] + draw.normal(0, 0.03))
                one = trial(stacks[0], block, rate, 1e6 / rate, Control.AGAIN)
                controls.append(replace(one, cell=replace(one.cell, workload=workload)))
                slots.append(PlanSlot(len(slots) + 1, block, replace(CELL, stack=stacks[0], workload=workload), 1, Control.AGAIN))
    bare = fixture.two_blocks()
    known = [RememberedSpread(quantity, turns, way_of(CELL), 0.1**2, 4.0, 3) for quantity in Quantity for turns in (True, False)]
    plan = replace(
        bare.plan,
        slots=tuple(slots),
        blocks=blocks,
        anchor=stacks[0],
        skipped={},
        memory=tuple(known) if draw.random() < 0.5 else (),
    )
    return replace(bare, plan=plan, trials=tuple(results), controls=tuple(controls), limits=())


def better_of(found: Comparison) -> set[tuple[str, str]]:
    """The pairs that are told apart, the better stack first."""
    called = [(pair, row.word) for pair, row in found.words.items() if row.word in CALLED]
    return {pair if word is DifferenceWord.FASTER else pair[::-1] for pair, word in called}


def sharing(groups: dict[str, str]) -> set[tuple[str, str]]:
    """The pairs of stacks that share a letter, either first."""
    return {(a, b) for a, b in itertools.permutations(groups, 2) if set(groups[a].split()) & set(groups[b].split())}


def said_of(run: Run, shown: tuple[Board, ...]) -> Iterator[str]:
    """Every sentence of a page and of the terminal on who gives more."""
    yield from story.story(shown, ())
    yield from headline(run, shown, Controls.of(run), {})
    yield from table.precision(run, shown)
    for board in shown:
        yield from (f"`{board.workload}` {sentence}" for sentence in words.verdicts(board, ()))


def hold_sentence(sentence: str, shown: tuple[Board, ...]) -> None:
    """A sentence that calls stacks alike names none that are told apart; one that calls them different has the better one first."""
    every = {one.workload: one.goodput for one in shown if one.goodput is not None and not one.goodput.withdrawn}
    for part in re.split(r"; |\. ", sentence):
        told = [one for one in every if re.search(rf"\b{one}\b", part)]
        told = told or [one for one in every if re.search(rf"\b{one}\b", sentence)] or list(every)
        judged = [every[one] for one in told]
        names = NAME.findall(part)
        if ALIKE.search(part):
            for one in judged:
                assert not set(itertools.permutations(names or [row.stack for row in one.rows], 2)) & better_of(one), part
        if "cannot be told from it" in part:
            head = NAME.findall(sentence[: sentence.index(part)])[-1]
            assert not {(head, name) for name in names} & better_of(judged[0]), sentence
        if found := re.search(r"(\S+:plain) gives the most", part):
            assert not [pair for pair in better_of(judged[0]) if pair[1] == found[1]], part
        if found := re.search(r"(less than|more than|as much as) (\S+:plain) \(95", part):
            beside = [name for name in names if name != found[2]]
            pairs = {(found[2], name) if found[1] == "less than" else (name, found[2]) for name in beside}
            assert pairs <= better_of(judged[0]), part


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_page_tells_two_stacks_apart_everywhere_or_nowhere(seed: int) -> None:
    """Of any layout, in goodput and in CPU."""
    run = random_run(seed)
    shown = boards(run)
    for found in (one for board in shown for one in (board.goodput, board.cost) if one is not None and not one.withdrawn):
        better, alike = better_of(found), sharing(words.group_names(found))
        stacks = {stack for group in found.groups for stack in group}
        told = better | {pair[::-1] for pair in better}
        assert alike == set(itertools.permutations(stacks, 2)) - told
        assert not any(pair[::-1] in better for pair in better)
        for one, other in alike:
            (low, high), (least, most) = found.ranks[one], found.ranks[other]
            assert low <= most and least <= high
        for one, other in better:
            assert found.ranks[one] < found.ranks[other]
        for row in found.rows:
            assert (row.difference.word in CALLED) == ((row.stack, found.anchor) in told)
        assert {row for row in found.leading if any((other, found.leading[0]) in better for other in stacks)} == set()
        assert {tier: place.letters for tier, place in grid.tiers(found).items()} == words.group_names(found)
        for one, other in better:
            ratios = [grid.tiers(found)[stack].ratio for stack in (one, other)]
            assert None in ratios or (ratios[0] > ratios[1]) is (found.quantity is Quantity.GOODPUT)
    for sentence in said_of(run, shown):
        hold_sentence(sentence, shown)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_the_terminal_has_the_letters_of_the_page(seed: int) -> None:
    """The letters before the stacks of the terminal's table are those of the grid, and withdrawn comparisons have none."""
    run = random_run(seed)
    shown = boards(run)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(Table(shown))
    lines = [line for line in console.export_text().splitlines() if NAME.search(line)]
    named = [(board, words.group_names(board.goodput) if board.goodput else {}) for board in shown]
    rows = [(row.stack, letters(names.get(row.stack, ""))) for board, names in named for row in board.rows]
    assert [(line[2 : line.index(stack)].strip(), stack) for line, (stack, _) in zip(lines, rows, strict=True)] == [
        (group, stack) for stack, group in rows
    ]


def test_rates_of_stacks_with_different_blocks_are_to_each_other_as_they_are() -> None:
    """Two of three stacks go on while the machine is slow: their rates are told as if the third had been beside them."""
    rates = {"a:plain": 1000.0, "b:plain": 1100.0, "c:plain": 1050.0}
    made = [trial(stack, block, rate) for block in (1, 2) for stack, rate in rates.items()]
    made += [trial(stack, block, rates[stack] / 2) for block in (3, 4, 5) for stack in ("a:plain", "b:plain")]
    bare = fixture.two_blocks()
    plan = replace(bare.plan, slots=(), skipped={}, anchor="a:plain")
    (board,) = boards(replace(bare, plan=plan, trials=tuple(made), controls=(), limits=()))
    middles = {row.stack: row.middle or 0.0 for row in board.rows}
    for stack, rate in rates.items():
        assert middles[stack] / middles["a:plain"] == pytest.approx(rate / rates["a:plain"])
        interval = next(row.interval for row in board.rows if row.stack == stack)
        assert interval is not None and interval.low <= middles[stack] <= interval.high
