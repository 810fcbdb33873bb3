"""Ratios from whole windows: their spread is that of the statement's own value from block to block."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest

from builders.claims import trial, verdict_of
from fairground.claims.cells import cell_of
from fairground.claims.statement import parse
from fairground.claims.verdict import ClaimVerdict, VerdictGrade
from fairground.claims.windows import WindowSpreads, ratio
from fairground.model import Load, Suite, Trial

SUITE = Suite("one", "One", "", 3, 1, ())


def rate_and_wait(stack: str, rps: float, block: int, wait_us: float) -> Trial:
    """A trial with a rate and a mean latency."""
    made = trial(stack, rps, block)
    assert made.result is not None and made.result.latency_ok is not None
    latency = replace(made.result.latency_ok, mean_us=wait_us, p50_us=round(wait_us))
    sent = round(rps * 5)
    return replace(made, result=replace(made.result, latency_ok=latency, completed=sent, bytes_received=954 * sent))


def littles(seed: int, blocks: int) -> list[Trial]:
    """Stacks whose rate wanders by a tenth, and whose latency is what Little's law makes of it and of 100 connections."""
    draw, made = numpy.random.default_rng(seed), list[Trial]()
    for stack in "abcdefgh":
        for block in range(1, blocks + 1):
            rps = 1000 * math.exp(draw.normal(0, 0.1))
            made.append(rate_and_wait(f"{stack}:x", rps, block, 100 / rps * 1e6 * math.exp(draw.normal(0, 0.001))))
    return made


def test_an_identity_has_no_spread() -> None:
    """Rate times latency is the number of connections, and the size of an answer a constant: both are known to a hundredth."""
    trials = littles(1, 2)
    requests = verdict_of("rps(a:x ping) * mean(a:x ping) ~ 100k", trials)
    assert (requests.verdict, requests.grade) == (ClaimVerdict.HOLDS, VerdictGrade.CLEAR)
    assert requests.measured is not None and requests.measured.high / requests.measured.low < 1.02
    size = "bytes(a:x ping) / answers(a:x ping) ~ bytes(b:x ping) / answers(b:x ping)"
    told = verdict_of(size, trials)
    assert (told.verdict, told.grade) == (ClaimVerdict.HOLDS, VerdictGrade.CLEAR)
    assert told.measured is not None and told.measured.high / told.measured.low < 1.01


def test_intervals_of_few_blocks_hold_the_truth() -> None:
    """Of equal stacks in three blocks, about one interval in twenty lies beside 1: as many as it says."""
    beside = tested = 0
    for seed in range(12):
        trials = littles(seed, 3)
        seen = WindowSpreads(trials)
        for one, other in zip("aceg", "bdfh", strict=True):
            parsed = parse(f"rps({one}:x ping) / rps({other}:x ping) > 1")
            cells = {term: cell_of(term, SUITE, trials) for term in parsed.terms}
            found = ratio(parsed, cells, seen)
            tested += 1
            beside += not found.estimate.interval().low <= 0 <= found.estimate.interval().high
    assert tested == 48 and beside <= 6


def test_what_a_block_does_to_all_cancels_only_in_ratios() -> None:
    """A rate that is held against a number has the spread of the blocks, too; the ratio of two stacks has not."""
    paces = {1: 0.7, 2: 1.0, 3: 1.3}
    trials = [
        trial(f"{stack}:x", rps * paces[block] * (1 + 0.002 * ((place + block) % 3)), block)
        for place, (stack, rps) in enumerate(zip("abcdefgh", range(900, 1700, 100), strict=True))
        for block in (1, 2, 3)
    ]
    seen = WindowSpreads(trials)
    errors = {}
    for test in ("rps(a:x ping) / rps(b:x ping) > 1", "rps(a:x ping) > 500"):
        parsed = parse(test)
        errors[test] = ratio(parsed, {term: cell_of(term, SUITE, trials) for term in parsed.terms}, seen).estimate.error
    against_one, against_number = errors.values()
    assert against_one < 0.01 < 0.1 < against_number


def test_cells_of_other_settings_are_not_mixed_up() -> None:
    """Two pools of one stack are two cells, though their names are the same: how far they are apart is no spread."""
    small, large = (
        [replace(one, cell=replace(one.cell, settings=replace(one.cell.settings, pool_size=pool))) for one in made]
        for pool, made in ((25, STEADY), (500, [fast(one) for one in STEADY]))
    )
    parsed = parse("rps(a:x ping pool=25) / rps(b:x ping pool=25) > 1")
    trials = [*small, *large]
    cells = {term: cell_of(term, SUITE, trials) for term in parsed.terms}
    assert ratio(parsed, cells, WindowSpreads(trials)).estimate.error < 0.01


STEADY = [
    trial(stack, rps + block % 2, block, load=Load(window_s=5.0))
    for stack, rps in (("a:x", 1000), ("b:x", 500))
    for block in (1, 2, 3)
]


def fast(one: Trial) -> Trial:
    """The trial with ten times its answers."""
    assert one.result is not None
    return replace(one, result=replace(one.result, completed_ok=10 * one.result.completed_ok))


@pytest.mark.parametrize(
    ("joined", "hardest"),
    [
        ("rps(a:x ping) > rps(b:x ping) and rps(a:x ping) > 2000", "by rps(a:x ping)"),
        ("rps(b:x ping) / rps(a:x ping) > 1 and rps(a:x ping) > 1", "by rps(b:x ping) / rps(a:x ping)"),
        ("2 * rps(b:x ping) / rps(a:x ping) > 3 and rps(a:x ping) > 1", "by 2 * rps(b:x ping) / rps(a:x ping)"),
        ("rps(* ping) > 800", "against b:x"),
        ("rps(a:x ping) > 100k and rps(b:x ping) > 600", "by rps(a:x ping)"),
        ("rps(a:x ping) > 100k and rps(b:x ping) < 400", "by rps(a:x ping)"),
        ("rps(b:x ping) ~ 100k and rps(a:x ping) ~ 800", "by rps(b:x ping)"),
    ],
)
def test_all_parts_of_a_claim_must_hold(joined: str, hardest: str) -> None:
    """Statements that are joined by `and`, or meant by a pattern, are all claimed: one that fails decides."""
    told = verdict_of(joined, STEADY)
    assert told.verdict is ClaimVerdict.FAILS and f"{hardest}, the hardest of 2: " in told.sentence
    assert verdict_of("rps(* ping) > 300", STEADY).verdict is ClaimVerdict.HOLDS
    lacking = verdict_of("rps(a:x ping) > 1 and rps(c:x ping) > 1", STEADY)
    assert (lacking.verdict, lacking.sentence) == (ClaimVerdict.UNTESTED, "c:x ping was not measured")


def test_a_stack_that_was_asked_something_else_is_no_rival() -> None:
    """It lacks in each part of a claim that means all stacks; a part that no stack was asked leaves the claim untested."""
    elsewhere = [replace(one, cell=replace(one.cell, stack="d:x", workload="time")) for one in STEADY[:3]]
    told = verdict_of("rps(* ping) > 300 and rps(* ping) > 200", [*STEADY, *elsewhere])
    assert told.verdict is ClaimVerdict.HOLDS and "the hardest of 4" in told.sentence
    lacking = verdict_of("rps(* ping) > 300 and rps(* page) > 1", STEADY)
    assert (lacking.verdict, lacking.sentence) == (ClaimVerdict.UNTESTED, "a:x page was not measured")


def test_what_another_machine_decides_is_not_refuted() -> None:
    """The claim keeps what was measured beside it, and the reason why that refutes nothing."""
    told = verdict_of("rps(a:x ping) < 100", STEADY, not_refuted_by="this processor is another one")
    assert told.verdict is ClaimVerdict.UNTESTED and told.sentence.startswith("this processor is another one; measured here")
    assert verdict_of("rps(a:x ping) > 100", STEADY, not_refuted_by="x").verdict is ClaimVerdict.HOLDS
