"""Effects of a run's order, and who has its void attempts: each planted, and each left out."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from fairground.model import Run, Trial, Verdict
from fairground.report.run.controls import order_sentences
from fairground.stats.order_effects import Campaign, Voids, _at_least, _predecessors, campaign, measured_order
from report import fixture

STACKS = ("alder:one", "birch:pool", "cedar:plain", "dogwood:orm")
BLOCKS = 6


def made(*, by_place: float = 0.0, by_heat: float = 0.0, noise: float = 0.01, blocks: int = BLOCKS) -> Run:
    """A run in random order whose goodput changes by a share over each block, or after a busy trial; no two levels are alike."""
    chance = random.Random(5)
    busy = dict(zip(STACKS, (0.2, 0.5, 0.8, 1.0), strict=True))
    speed = dict(zip(STACKS, (41_000.0, 9_000.0, 23_000.0, 2_000.0), strict=True))
    template = fixture.run().trials[0]
    assert template.result is not None and template.host is not None
    trials: list[Trial] = []
    for block in range(1, blocks + 1):
        for place, stack in enumerate(chance.sample(STACKS, len(STACKS))):
            before = trials[-1].host.busy_share if trials and trials[-1].host else 0.0
            share = by_place * place / (len(STACKS) - 1) + by_heat * (before or 0.0)
            per_s = speed[stack] * (1 + 0.04 * block) * math.exp(share + chance.gauss(0, noise))
            trials.append(
                replace(
                    template,
                    number=len(trials) + 1,
                    started_unix_s=float(len(trials)),
                    block=block,
                    attempt=1,
                    cell=replace(template.cell, stack=stack),
                    result=replace(template.result, completed_ok=round(per_s * template.result.window_s)),
                    host=replace(template.host, busy_share=busy[stack]),
                    verdict=Verdict.VALID,
                )
            )
    return replace(fixture.run(), trials=tuple(trials), controls=())


def test_an_orderless_run_shows_no_effect() -> None:
    """Levels of stacks and blocks alone make no effect of order."""
    found = campaign(made())
    assert found.position is not None and found.carried is not None
    assert not found.position.shows and not found.carried.shows
    assert all(well for _, well in order_sentences(found))


def test_a_drift_over_the_block_is_found() -> None:
    """What is lost from a block's first place to its last is told, with its size, and not blamed on the trial before."""
    found = campaign(made(by_place=-0.2))
    assert found.position is not None and found.position.shows
    assert found.position.factor.low < math.exp(-0.2) < found.position.factor.high
    said, well = order_sentences(found)[0]
    assert not well and said.startswith("From the first place of a block to its last goodput changes by −1")


def test_what_a_busy_trial_leaves_behind_is_found() -> None:
    """A machine that is slower after work is told."""
    found = campaign(made(by_heat=-0.3))
    assert found.carried is not None and found.carried.shows
    assert found.carried.factor.low < math.exp(-0.3) < found.carried.factor.high


def test_a_round_that_was_repeated_came_after_its_first_attempts() -> None:
    """What went before a trial is what was measured before it, on its own host; numbers alone do not tell."""
    first = made().trials[:3]
    again = [replace(one, attempt=2, started_unix_s=one.started_unix_s + 60) for one in first]
    there = [replace(one, machine="another", number=9) for one in first[:1]]
    order = measured_order([one for both in zip(first, again, strict=True) for one in both] + there)
    assert [(one.number, one.attempt) for one in order] == [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2), (9, 1)]
    assert [trial.number for trial, _ in _predecessors(order)] == [2, 3, 1, 2, 3]
    shares = [one.host.busy_share for one in (*first, *again[:2]) if one.host]
    assert [share for _, share in _predecessors(order)] == shares


def test_a_significant_trifle_is_no_effect() -> None:
    """An effect below what is of practical interest is not held against a run, however sure it is."""
    found = campaign(made(by_place=-0.02, noise=0.0005))
    assert found.position is not None and found.position.factor.high < 1 and not found.position.shows


def test_one_block_tells_nothing() -> None:
    """Without a second block a place cannot be told from the stack in it."""
    found = campaign(made(blocks=1))
    assert found.position is None and found.carried is None
    assert [said for said, _ in order_sentences(found)] == ["None of 4 attempts was void"]


def test_a_machine_that_hides_how_busy_it_is_leaves_that_open() -> None:
    """An unknown busy share is not taken for idle."""
    run = made(by_heat=-0.3)
    found = campaign(replace(run, trials=tuple(replace(trial, host=None) for trial in run.trials)))
    assert found.position is not None and found.carried is None


@pytest.mark.parametrize(("on", "shows"), [(("birch:pool",) * 5, True), ((*STACKS, STACKS[0]), False)])
def test_void_attempts(on: tuple[str, ...], shows: bool) -> None:
    """Five voids on one stack of four are no chance; five spread over all are."""
    run = made()
    void = [
        replace(
            next(trial for trial in run.trials if trial.cell.stack == stack and trial.block == place + 1), verdict=Verdict.VOID
        )
        for place, stack in enumerate(on)
    ]
    found = campaign(replace(run, trials=(*void, *(replace(trial, attempt=2) for trial in run.trials))))
    assert sum(one.void for one in found.voids) == 5
    assert any(one.shows for one in found.voids) is shows
    said, well = order_sentences(found)[-1]
    assert well is not shows and ("birch:pool (5 of 11)" in said) is shows


def test_void_attempts_are_told_in_their_number() -> None:
    """One was void; of two stacks it is their calmer moments that count."""
    worse = [Voids(stack, 5, 11, 1e-6) for stack in ("alder:inline", "birch:pool")]
    some = [order_sentences(Campaign(None, None, tuple(worse[:several]), 44))[0][0] for several in (1, 2)]
    assert ["its calmer" in said for said in some] == [True, False] and "their calmer moments" in some[1]
    one = order_sentences(Campaign(None, None, (replace(worse[0], void=1),), 5))[0][0]
    assert one.startswith("1 of 5 attempts was void, and alder:inline (1 of 11) had more")


@pytest.mark.parametrize(("drawn", "marked", "total"), [(6, 5, 24), (54, 45, 4320), (10, 8, 12), (6, 0, 24), (3, 3, 3)])
def test_the_chance_of_so_many_voids_is_scipys(drawn: int, marked: int, total: int) -> None:
    """The tail of the hypergeometric distribution agrees with scipy's, from nothing found to all of it."""
    from scipy.stats import hypergeom

    for found in range(min(drawn, marked) + 1):
        expected = hypergeom.sf(found - 1, total, marked, drawn)
        assert _at_least(found, drawn, marked, total) == pytest.approx(expected, rel=1e-8)
