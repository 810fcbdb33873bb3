"""A comparison's texts: sentences, Markdown and page say the same, in the quantity's own direction."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders.pages import runs_only_its_own_script
from fairground.model.pair import Round, WindowPair
from fairground.model.window import WindowTally
from fairground.report import comparison
from fairground.report.charts import effects
from fairground.report.charts.effects import EffectRow
from fairground.report.comparison import ComparisonLine, Sides
from fairground.stats.rounds import decide
from report import golden
from report.subjects import LINES, line


def test_markdown_is_the_golden_one() -> None:
    """Faster, costlier, equivalent, inconclusive, and too little: each in its words."""
    sentences = [comparison.sentence(one, "old|one", "new") for one in LINES]
    golden.check("comparison.md", comparison.markdown("new against old", "old|one", "new", LINES, sentences))


def test_instructions_have_a_line_where_they_were_counted() -> None:
    """The third quantity, of which more is worse; without counts there are two."""
    a, b = WindowTally(1000, 0, 1.0, 5e5, instructions=1_000_000), WindowTally(1000, 0, 1.0, 5e5, instructions=1_100_000)
    rounds = [Round(number, (WindowPair(number, 1, "a", a, b),), 10.0, {}) for number in range(1, 7)]
    found = comparison.lines("ping", rounds, decide([pair for one in rounds for pair in one.pairs], 0.01), 0.01)
    assert [one.quantity for one in found] == ["goodput", "server CPU", "server instructions"]
    assert (found[2].a, found[2].b) == (pytest.approx(1000), pytest.approx(1100))
    assert found[2].change is not None and found[2].change[0] == pytest.approx(0.1) and found[2].worse_at_least is not None
    bare = [replace(one, pairs=tuple(replace(pair, b=replace(b, instructions=None)) for pair in one.pairs)) for one in rounds]
    assert len(comparison.lines("ping", bare, decide([pair for one in bare for pair in one.pairs], 0.01), 0.01)) == 2


def test_more_cpu_is_a_slowdown_and_more_answers_are_none() -> None:
    """The same change is good in one quantity and bad in the other."""
    assert LINES[0].worse_at_least is None
    change = LINES[1].change
    assert change is not None and change[1] < change[0] < change[2]
    assert LINES[1].worse_at_least == change[1] < change[0] == pytest.approx(0.05, abs=0.002)


def test_a_ratio_of_thousands_is_written_as_people_do() -> None:
    """An index may give a thousand times the goodput; no number has an exponent, with an interval and without."""
    many = comparison.sentence(line("goodput", [1234.0, 1240.0, 1228.0], True), "old", "new")
    assert "new is faster than old: 1,230 times the goodput of old (1,220 to 1,250, 95 % CI)" in many
    once = replace(line("goodput", [1234.0], True), a=1.0, b=1234.0)
    assert " new has 1,230 times the goodput of old, from one" in comparison.sentence(once, "old", "new")


def test_page_is_escaped_and_fetches_nothing() -> None:
    """Names from outside are escaped, only the page's own script runs, every start has its dot in each picture."""
    html = comparison.html("<b>new</b>", Sides("old", "<i>new</i>"), LINES, ["a <note>"], "Fairground 1")
    assert "<b>new" not in html and "<i>new" not in html and "a &lt;note&gt;" in html
    assert runs_only_its_own_script(html) and "http" not in html.replace("http-equiv", "")
    assert html.count('h0"') + html.count("h0M") == 3 * sum(len(one.ratios) for one in LINES) + sum(
        one.change is not None for one in LINES
    )


def test_to_the_right_is_better() -> None:
    """More answers lie to the right of no change, and more CPU to the left, on one scale whose rules the page holds."""
    html = comparison.html("new", Sides("old", "new"), LINES[:2], [], "Fairground 1")
    faster, costlier = re.findall(r'<svg class="dots forest (?:more|less)".*?</svg>', html)
    middles = [float(re.search(r'class="m" d="M([\d.]+)', one)[1]) for one in (faster, costlier)]  # type: ignore[index]
    (upright,) = {float(re.search(r'class="one" d="M([\d.]+)', one)[1]) for one in (faster, costlier)}  # type: ignore[index]
    assert middles[1] < upright < middles[0]
    assert html.count('class="dots forest axis"') == 1 and ".forest .one{" in html


def effect(of: ComparisonLine, cell: str = "ping c100") -> EffectRow:
    """What the picture shows of a line."""
    return EffectRow(cell, of.quantity, of.better, of.difference, of.margin, comparison.verdict(of))


def test_the_picture_holds_each_interval_against_its_margin() -> None:
    """Each quantity has its shaded margin, its interval and its word; what lies beyond the scale is an arrow at its edge."""
    drawn = effects.draw_effects([effect(one) for one in LINES], 880)
    assert drawn.count('opacity="0.55"') == 5 and drawn.count('r="6"') == 4
    assert all(word in drawn for word in ("faster ▲", "costlier ▼", "equivalent =", "inconclusive ?"))
    assert "shaded: equivalent, ± 1 %" in drawn
    far = line("goodput", [8.0, 8.1, 7.9], True)
    drawn = effects.draw_effects([effect(far)], 360)
    assert 'r="6"' not in drawn and f"L{360 - effects.EDGE_PX} " in drawn


def test_the_picture_escapes_names() -> None:
    """A cell of hostile words is text in the picture, and begins no line of its own."""
    drawn = effects.draw_effects([effect(LINES[0], '<script>"x"\n\x1b[31m')], 880)
    assert "<script" not in drawn and "\x1b" not in drawn and "&lt;script&gt;&#34;x&#34;" in drawn


def test_a_comparison_without_lines_says_why() -> None:
    """What was rejected is the page's heading, and there is no picture and no table."""
    html = comparison.html("new against old", Sides("old", "new"), (), ("`new` is rejected: 3 answers are lost",), "Fairground 1")
    assert "<h1>`new` is rejected: 3 answers are lost.</h1>" in html and "<figure" not in html and "<table" not in html


def test_rows_for_machines() -> None:
    """`--json` has the change with its limits, and None where nothing is known."""
    rows = comparison.rows(LINES)
    assert rows[1]["verdict"] == "costlier" and rows[0]["verdict"] == "faster"
    assert rows[4]["change"] is None and rows[4]["verdict"] == "inconclusive"


@pytest.mark.parametrize(
    ("each_s", "margin", "says"),
    [
        (0.01, 0.02, "; about 7 more seconds would settle whether it is 2 %; what was measured settles 31 %"),
        (0.5, 0.02, "; about 6 more minutes would settle whether it is 2 %; what was measured settles 31 %"),
        (20.0, 0.02, "; about 4 more hours would settle whether it is 2 %; what was measured settles 31 %"),
        (20.0, 0.005, "; about 3 more days would settle whether it is 0.5 %; what was measured settles 31 %"),
        (20.0, 1e-5, "; no realistic number of starts would settle whether it is 0.001 %; what was measured settles 31 %"),
        (None, 0.02, "; about 637 more blocks would settle whether it is 2 %; what was measured settles 31 %"),
    ],
)
def test_inconclusive_says_what_would_decide(each_s: float | None, margin: float, says: str) -> None:
    """In time where a start has a length, else in blocks; and which margin needs more than anybody measures."""
    one = replace(LINES[3], each_s=each_s, margin=margin, each="start" if each_s else "block")
    assert comparison.sentence(one, "old", "new").endswith(says)
    (row,) = comparison.rows([one])
    assert one.need is not None and row["needs"] == {
        "margin": margin, "settled": one.need.settled, "more": one.need.more, "more_s": one.need.more_s
    }  # fmt: skip


def test_few_starts_settle_no_margin() -> None:
    """Where fewer starts than may decide are there, the time says how long those take that are missing."""
    few = replace(LINES[3], ratios=LINES[2].ratios[:3], each_s=10.0, least=5)
    assert comparison.sentence(few, "old", "new").endswith("; about 20 more seconds would settle whether it is 1 %")


def test_what_is_decided_needs_nothing() -> None:
    """A word that was found comes with no time; that of a tie with its margin."""
    assert [row["needs"] for row in comparison.rows(LINES[:3])] == [None, None, None]
    assert "are equivalent within ± 1 %: " in comparison.sentence(LINES[2], "old", "new")
