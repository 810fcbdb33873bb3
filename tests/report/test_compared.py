"""What a run says of differences: the claim box, the forest plot, groups, and what its controls take back."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import pytest

from builders.pages import section, text_of
from fairground.model import Control, Finding, Severity
from fairground.report.boards import boards
from fairground.report.charts import forest
from fairground.report.run import page
from fairground.report.run.controls import Controls, sentence
from fairground.report.run.headline import beside, headline, leaders
from fairground.report.text import rows, words
from fairground.stats.comparisons import Comparison, HeldStack, Quantity
from fairground.stats.differences import PRACTICAL, differences_of, of_pairs
from fairground.stats.fit import Estimate
from fairground.stats.precision import more_to_decide
from report import fixture, golden


@cache
def markup() -> str:
    """The page of the run with controls."""
    return page.html(fixture.six_blocks())


@cache
def evidence() -> str:
    """The second page of the same run."""
    return page.details(fixture.six_blocks())


def said(run: fixture.Run) -> tuple[str, str, str]:
    """The claim box of a run."""
    return headline(run, boards(run), Controls.of(run), {})


def test_differences_and_controls_are_the_golden_ones() -> None:
    """Everything that the page says about differences in a run with controls that was ended by its budget."""
    head = text_of(markup().split('<div class="claim"')[1].split("<nav")[0])
    golden.check("compared.txt", f"{head}\n{section(markup(), 'verdict')}\n{section(evidence(), 'controls')}")


def test_the_claim_box_says_what_was_found_why_and_how_far_to_believe_it() -> None:
    """Three sentences, counted from the tables below them."""
    found, limits, belief = said(fixture.six_blocks())
    assert (
        found == "alder:inline and birch:pool are each among the fastest on 3 of 3 workloads. "
        "31 of 31 pairs of stacks are decided in goodput, and 19 of 19 in server CPU."
    )
    assert limits.startswith("Suspected limits: db-cpu (5 cells), app-cpu (4 cells) and db-lock (3 cells)")
    assert "1 cell has no number: rejected" in limits
    assert re.fullmatch(r"The anchor, measured twice, is not told apart .*; a planted slowdown of 10 % was found\.", belief)


def test_one_stack_with_a_number_is_told_from_one_stack() -> None:
    """Where the others are rejected or void nothing can be compared, though several were measured."""
    run = fixture.two_blocks()
    stacks = ("alder:inline", "cedar:plain", "dogwood:orm")

    def of(some: tuple[str, ...]) -> str:
        slots = tuple(one for one in run.plan.slots if one.cell.workload == "transfer" and one.cell.stack in some)
        trials = tuple(one for one in run.trials if one.cell.workload == "transfer" and one.cell.stack in some)
        return said(replace(run, trials=trials, plan=replace(run.plan, slots=slots)))[0]

    assert of(stacks) == "No workload has two stacks with a number: there is nothing to compare."
    assert of(stacks[:1]) == "One stack was measured: there is nothing to compare it with."


def test_the_first_sentence_names_who_leads() -> None:
    """One stack that leads, and where it does so alone; and the workloads on which nobody can be told from another."""

    def of(*groups: tuple[str, ...]) -> Comparison:
        return Comparison(Quantity.GOODPUT, "a", (), groups, {}, None, withdrawn=False)

    apart = {"ping": of(("a",), ("b", "c")), "users": of(("a", "b"), ("c",)), "tx": of(("a", "b", "c"))}
    assert leaders(apart) == ("a is among the fastest on 2 of 3 workloads, alone on 1; on tx no stack can be told from another.")
    assert leaders({"ping": of(("a",), ("b",)), "users": of(("b",), ("a",))}) == (
        "a and b are each among the fastest on 1 of 2 workloads."
    )
    tied = {"tx": of(("a", "b")), "transfer": of(("b", "a"))}
    assert leaders(tied) == "On tx and transfer no stack can be told from another."


def held(stack: str, estimate: Estimate, floor: float = 0.0, tested: int = 1) -> HeldStack:
    """A stack beside the anchor, judged beside others of which nothing is known."""
    rows = {str(number): Estimate(0.0, 0.1, 9.0, 4) for number in range(tested - 1)} | {stack: estimate}
    found = differences_of(rows, floor)[stack]
    return HeldStack(stack, (1.0, 1.0), estimate, found, more_to_decide(estimate, PRACTICAL, tested, floor))


def comparison(row: HeldStack, floor: float | None, tested: int = 1) -> Comparison:
    """The goodput of a field in which one stack is held against `a`."""
    pairs = {("x", str(number)): row.difference for number in range(tested)}
    return Comparison(Quantity.GOODPUT, "a", (row,), (), {}, floor, False, words=pairs)


def test_what_the_noise_floor_hides_is_told_by_the_floor() -> None:
    """An interval off 1 whose middle lies inside what identical stacks differ by: the floor is named, and no number of blocks."""
    far = Estimate(0.0488, 0.013, 9.0, 4)
    (said,) = words.against(comparison(held("b", far, 0.06), 0.06))
    assert said.startswith("This run cannot tell b from a: the interval of their ratio reaches from +2.0 to +8.1 %. ")
    assert said.endswith("Identical stacks of this run differ by up to 6.0 %, which hides it; more blocks narrow that, too.")


def test_what_the_number_of_pairs_holds_back_is_told_of_them() -> None:
    """An interval off 1 that is not called among ten pairs says that it is not corrected for them."""
    near = Estimate(0.0296, 0.0027, 2.0, 3)
    (said,) = words.against(comparison(held("b", near, tested=10), None, 10))
    assert " reaches from +1.8 to +4.2 %, before it is corrected for 10 pairs of stacks. About " in said
    (called,) = words.against(comparison(held("b", near), None))
    assert called.startswith("b gives 3.0 % more than a") and "corrected" not in called


def test_a_long_text_of_the_evidence_is_cut_in_sight() -> None:
    """A statement of kilobytes is shown by its beginning, with a mark; one of a line is shown whole."""
    said = words.evidence(Finding("x", Severity.NOTE, "", {"statement": "SELECT " + "a" * 2000, "other": "b"}))
    assert "aaa … · other b" in said and len(said) < 600


def test_nearly_all_is_not_all() -> None:
    """Beside a goodput no share of failures is 100 %."""
    assert [words.percent(share) for share in (0.934, 0.994, 0.996, 0.9996, 1.0)] == ["93 %", "99 %", "99.6 %", "99.9 %", "100 %"]
    assert words.percent(1.234) == "120 %"


def test_one_block_claims_no_difference() -> None:
    """Without a second block the box says that nothing can be judged, and no rank or group is on the page."""
    found, _, belief = said(fixture.one_block())
    assert found.startswith("Differences between stacks cannot be judged")
    assert belief.startswith("The run holds no controls")
    one = page.html(fixture.one_block())
    assert "There is one block: differences between stacks cannot be judged, and no ranks are shown." in section(one, "verdict")
    assert 'class="compared"' not in one


def test_a_failed_a_a_pair_takes_the_comparisons_back() -> None:
    """When the anchor differs from itself by 30 %, no stack is called anything, anywhere on the page."""
    run = fixture.controlled(again=1.3)
    found, _, belief = said(run)
    assert (
        found == "The run compares nothing: its A/A pairs, identical stacks, were told apart, so its differences are withdrawn."
    )
    assert "was told apart from itself on ping (goodput)" in belief and "are withdrawn" in belief
    shown = page.html(run)
    text = text_of(shown)
    assert not re.search(r"[▲▼]|\d % (less|more) than|cannot be told apart and give", text)
    assert text.count("Withdrawn: the A/A pair of alder:inline was told apart") == 3
    assert "that is more than chance and more than would be equivalent" in section(page.details(run), "controls")


def test_a_slowdown_that_is_not_detected_is_said() -> None:
    """A control that was slowed, and shows nothing of it, says what the run could have missed."""
    run = fixture.controlled(slowed=1.0)
    assert "a planted slowdown of 10 % was not detected on ping, tx and transfer" in said(run)[2]
    assert "not detected" in section(page.details(run), "controls")


def test_a_slowdown_in_too_few_blocks_was_planted() -> None:
    """One block of it tells nothing, and is not as if there were none."""
    run = fixture.six_blocks()
    few = tuple(one for one in run.controls if one.control is not Control.SLOWED or one.block == 1)
    assert said(replace(run, controls=few))[2].endswith("; too few blocks hold the planted slowdown.")
    slots = tuple(one for one in run.plan.slots if one.control is not Control.SLOWED)
    assert said(replace(run, plan=replace(run.plan, slots=slots)))[2].endswith("; no slowdown was planted.")


def test_controls_stand_in_no_table_of_results() -> None:
    """The anchor has one row and six trials in each table of results; the page has its controls in their own section."""
    row = re.search(r'(?s)id="t-tx".*?>alder:<wbr>inline</a></th>(.*?)</tr>', markup())
    assert row is not None and "✓ valid 6" in " ".join(text_of(row[1]).split())
    assert section(evidence(), "controls").count(" again, ") == 18
    assert "again" not in " ".join(re.findall(r"(?s)<tr data-row.*?</tr>", markup()))


def test_every_cell_has_its_verdict_and_its_limit() -> None:
    """Each row of a result names its verdict, and what limited it or that nothing does; both lead to a trial's page."""
    rows = re.findall(r"(?s)<tr data-row.*?</tr>", markup())
    assert len(rows) == 17
    for row in rows:
        text = " ".join(text_of(row).split())
        assert re.search(r"✓ valid|! warned|✗ rejected|○ void", text), text
        assert re.search(r"app-cpu|db-cpu|db-lock|none named|— [✗○]", text), text
        assert 'href="trials/' in row


def test_stacks_that_cannot_be_told_apart_share_a_letter() -> None:
    """alder and birch are group A on tx; ranks are intervals, and the anchor stands among them."""
    board = boards(fixture.six_blocks())[1]
    assert board.goodput is not None
    letters = words.group_names(board.goodput)
    assert (letters["alder:inline"], letters["birch:pool"], letters["cedar:plain"]) == ("A", "A", "B")
    assert rows.rank_text(board.goodput, "fir:raw") == "6"
    assert rows.rank_text(board.goodput, "nobody") == "—"


def test_cost_is_told_in_its_own_terms() -> None:
    """31 % more CPU for an answer is +31 % and costlier, although its ratio stands to the left of 1."""
    board = boards(fixture.six_blocks())[1]
    assert board.cost is not None
    birch = board.cost.of("birch:pool")
    assert birch is not None and birch.difference.ratio is not None and birch.difference.ratio.middle < 1
    assert words.change_texts(birch, Quantity.CPU)[0].startswith("+3")
    assert words.verdict_word(birch, Quantity.CPU) == "costlier"


def test_forest_shows_what_lies_beyond_its_edge_as_an_arrow() -> None:
    """A ratio of eight is outside a scale of three: an arrow at the right edge, and no dot in the wrong place."""
    ratios = [8.0, 8.1, 7.9]
    drawn = forest.forest(ratios, of_pairs(ratios), 0.02, math.log(3))
    assert 'class="beyond"' in drawn and 'class="m"' not in drawn and 'class="t"' not in drawn
    assert forest.reach([(ratios, of_pairs(ratios))]) == math.log(3)
    assert forest.reach([([1.0, 1.0], of_pairs([1.0, 1.0]))]) == math.log1p(forest.LEAST)
    inside = forest.forest([1.1, 1.2], of_pairs([1.1, 1.2]), None, math.log(3))
    assert 'class="m"' in inside and 'class="floor"' not in inside


@pytest.mark.parametrize("bound", [math.log1p(0.06), 0.2, 0.5, math.log(3)])
def test_ticks_do_not_cover_each_other(bound: float) -> None:
    """Whatever the scale, 1 is marked, and the ticks keep 26 px apart."""
    drawn = forest.axis(bound, Quantity.CPU)
    places = sorted(float(place) for place in re.findall(r'<text x="([\d.]+)"', drawn))
    assert ">1<" in drawn and "cheaper" in drawn
    assert all(after - before >= 26 for before, after in zip(places, places[1:], strict=False))


def test_a_control_without_blocks_says_nothing() -> None:
    """With controls in one block only there is no interval, no floor and no pass."""
    run = fixture.six_blocks()
    single = replace(run, controls=tuple(one for one in run.controls if one.block == 1))
    found = Controls.of(single)
    assert found.pairs == () and found.slowed == ()
    assert {sentence(one) for one in found.readings} == {"fewer than two blocks have both: nothing is known"}
    assert said(single)[2].startswith("Too few blocks hold the anchor and its controls")


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ((), "A is among the fastest on 2 of 3 workloads; on tx no stack can be told from another. 4 of 9 are decided."),
        (("A is among the fastest on 2 of 3 workloads.",), "On tx no stack can be told from another. 4 of 9 are decided."),
        (("A is among the fastest on 1 of 3 workloads.", "Something else."), None),
    ],
)
def test_below_the_story_nothing_is_said_twice(told: tuple[str, ...], left: str | None) -> None:
    """What the story has told is left out, and so is how far to believe a run that has nothing to tell it by."""
    first = "A is among the fastest on 2 of 3 workloads; on tx no stack can be told from another. 4 of 9 are decided."
    nothing = Controls.of(fixture.two_blocks())
    assert beside(told, (first, "Limited by locks.", "No controls."), nothing) == (left or first, "Limited by locks.")
    some = Controls.of(fixture.six_blocks())
    assert beside(told, (first, "Limited by locks.", "Noise floor 1 %."), some)[2] == "Noise floor 1 %."
