"""What readers of a replication ask: the card, the forest plot, and three tables that say what was not measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders.claims import suite, trial
from builders.pages import section
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, SizeAnswer, VerdictGrade
from fairground.model import CellSettings, Claim, CostStep, Lesson, Load, Topology, Trial
from fairground.report import card, readers, replication
from fairground.report.charts import claimplot, waterfall
from fairground.report.charts.claimplot import ClaimLine
from fairground.report.charts.waterfall import WaterfallStep
from report.subjects import replicated

HOLDS, FAILS, CLEAR = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, VerdictGrade.CLEAR
CLOSED = Load(keep_alive=False, window_s=5.0)
KEPT = Load(window_s=5.0)
OPEN = replace(KEPT, model="open", rate_per_s=1200.0)


def judged(name: str, verdict: ClaimVerdict, grade: VerdictGrade | None = CLEAR, says: str = "") -> ClaimJudgement:
    """A claim that came to this."""
    return ClaimJudgement(Claim(name, says or f"{name} is so"), verdict, "1.5 (1.4 to 1.6)", grade=grade)


LESSON = Lesson("it waits", "nodelay = false", "set it", ("waits", "not fine"))


def test_a_card_has_what_is_clear_and_what_lessons_are_shown() -> None:
    """Leaning verdicts and sentences of ours are not on it; a lesson needs each of its claims as it asks."""
    own = judged("ours", HOLDS, says="(our explanation) it waits")
    found = [judged("waits", HOLDS), judged("fine", FAILS), judged("leans", HOLDS, VerdictGrade.LEANING), own]
    made = card.of_suite(replace(suite(), lessons=(LESSON,)), found)
    assert made.holds == ("waits is so: 1.5 (1.4 to 1.6)",)
    assert made.wrong == ("it waits: `nodelay = false` (waits, not fine)", "fine is so: 1.5 (1.4 to 1.6)")
    assert made.do == ("set it (waits, not fine)",)
    text = "\n".join(card.markdown(made))
    assert text.startswith("**What holds.**\n\n- waits is so: 1.5 (1.4 to 1.6).\n") and "**What to do.**" in text


def test_a_lesson_that_a_run_does_not_show_is_no_advice() -> None:
    """It is said that the run does not show it; one that nothing tests is not measured."""
    made = card.of_suite(replace(suite(), lessons=(LESSON,)), [judged("waits", HOLDS), judged("fine", HOLDS)])
    assert made.do == () and made.wrong == ("it waits: `nodelay = false` (this run does not show it)",)
    untested = card.of_suite(replace(suite(), lessons=(replace(LESSON, shown_by=()),)), [])
    assert untested.do == ("set it (not measured here)",)
    assert "Nothing that this run is clear about." in "\n".join(card.markdown(untested))


def test_a_card_names_a_few_and_counts_the_rest() -> None:
    """Claims whose size was found come first."""
    found = [judged(f"c{place}", HOLDS) for place in range(6)]
    found[5] = replace(found[5], size=SizeAnswer.FOUND)
    made = card.of_suite(suite(), found)
    assert made.holds[0].startswith("c5") and len(made.holds) == card.MOST and made.rest == (2, 0)
    assert "- 2 more hold clearly, below." in list(card.markdown(made))
    one_more = card.of_suite(suite(), [*found[1:], judged("wrong", FAILS)])
    assert one_more.more == ("1 more holds clearly, below.", "") and "- 1 more holds clearly, below." in list(
        card.markdown(one_more)
    )


def used(one: Trial, cpu_us: float) -> Trial:
    """The trial with so much CPU of the server for each answer, and none of others."""
    assert one.result is not None
    server = replace(one.roles["server"], cpu_us=round(cpu_us * one.result.completed_ok))
    return replace(one, roles={"server": server})


def pairs(through: Load | Topology, costs: tuple[float, ...] = (10.0, 12.0), more: float = 30.0) -> list[Trial]:
    """A stack without something, and through it, in as many blocks as there are costs."""
    load, topology = (through, None) if isinstance(through, Load) else (KEPT, through)
    return [
        used(
            trial("a:x", 1000 - 100 * bool(added), block, load=load if added else KEPT, topology=topology if added else None),
            cost + added,
        )
        for block, cost in enumerate(costs, 1)
        for added in (0.0, more)
    ]


@pytest.mark.parametrize(
    ("through", "what"),
    [(CLOSED, readers.CLOSED), (Topology("nginx"), "nginx"), (Topology(pooler="pgbouncer-tx"), "pgbouncer-tx")],
)
def test_what_stands_between_costs_what_it_adds(through: Load | Topology, what: str) -> None:
    """Two cells that differ in one hop, or in the closing of connections, paired by block."""
    (step,) = readers.step_costs(suite(), pairs(through))
    assert (step.what, step.stack, step.rate) == (what, "a:x", (1000.0, 900.0))
    assert step.added_us is not None and step.added_us.middle == pytest.approx(30.0, abs=0.01)
    assert (step.without_us, step.through_us) == (pytest.approx(11.0, abs=0.01), pytest.approx(41.0, abs=0.01))


def test_both_sides_of_a_step_are_of_the_same_blocks() -> None:
    """What one side was measured for in further blocks is in none of its numbers, so that they differ by what is added."""
    more = [used(trial("a:x", 400, block, load=CLOSED), 90.0) for block in (3, 4)]
    (plain,), (longer,) = (readers.step_costs(suite(), trials) for trials in (pairs(CLOSED), [*pairs(CLOSED), *more]))
    assert plain == longer


def test_a_step_of_the_suite_is_between_two_stacks() -> None:
    """What is not there is not measured, and one block has no interval."""
    named = (CostStep("a framework", "a:x ping", "b:x ping"), CostStep("a driver", "a:x ping", "gone:x ping"))
    trials = [used(trial("a:x", 1000), 10.0), used(trial("b:x", 900), 25.0)]
    step, absent = readers.step_costs(suite(steps=named), trials)
    assert step.added_us is not None and (step.added_us.middle, step.added_us.count) == (pytest.approx(15.0, abs=0.01), 1)
    assert absent.added_us is None and absent.without_us is not None
    (table, *_) = readers.questions(suite(steps=named), trials)
    assert [row[5] for row in table.rows] == ["15.0, one block", "not measured"]


def test_pools_stand_beside_the_pooler() -> None:
    """Cells of one stack and load that differ in their pool, the pooler last; other differences make no row."""
    pooled = {
        "settings": CellSettings(pool_size=500, prepared=False),
        "topology": Topology(pooler="pgbouncer-tx", pooler_size=180),
    }
    trials = [
        trial("a:x", 700, settings=CellSettings(pool_size=2000)),
        trial("a:x", 900, **pooled),  # type: ignore[arg-type]
        trial("a:x", 1000, settings=CellSettings(pool_size=25)),
        trial("b:x", 1000, settings=CellSettings(pool_size=25)),
        trial("a:x", 300, load=CLOSED),
    ]
    rows = readers.pool_rows(trials)
    assert [(one.stack, one.pool, one.pooler, one.rate_per_s) for one in rows] == [
        ("a:x", 25, None, 1000.0),
        ("a:x", 2000, None, 700.0),
        ("a:x", 500, "pgbouncer-tx, 180 connections", 900.0),
    ]
    _, table, _ = readers.questions(suite(), trials)
    assert table.rows[1][:6] == ("a:x", "ping", "100", "2,000", "none", "700")


def test_whether_to_refuse_is_asked_of_open_loops_alone() -> None:
    """A closed loop does not answer it, and the page says so; cells with a rate do."""
    made = trial("a:x", 900, load=OPEN, settings=CellSettings(pool_wait_ms=10))
    assert made.result is not None
    shed = replace(made, result=replace(made.result, window=replace(made.result.window, ok=750, shed=250)))
    *_, table = readers.questions(suite(), [shed])
    assert table.rows == (("a:x", "ping", "10 ms", "1,200", "900", "25 %", table.rows[0][-1]),)
    *_, none = readers.questions(suite(), pairs(CLOSED))
    assert not none.rows and none.lacking.startswith("Not measured: all cells of this suite are closed loops")
    assert none.lacking in list(readers.markdown([none]))


def test_a_claim_is_a_tick_and_an_interval_on_one_axis() -> None:
    """Ends that are beyond the axis stand at it; a hostile name is text; nothing to draw is no picture."""
    lines = [ClaimLine("<b>far", 82.0, 25.0, 22.0, 28.0, "holds"), ClaimLine("near", 1.0, 1.3, 1.2, 1.4, "does not hold")]
    drawn = claimplot.picture(lines)
    assert drawn is not None and "<b>" not in drawn and drawn.count("<circle") == 2
    assert "published 82.0, here 25.0 (22.0 to 28.0), holds" in drawn
    places = [float(place) for place in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert places[0] > places[1]
    assert claimplot.picture([]) is None and not claimplot.is_drawn(0.0, 1.0) and not claimplot.is_drawn(None, 1.0)


def test_a_waterfall_has_a_bar_for_each_step() -> None:
    """What saves goes to the left of nothing; more steps than fit are left to the table."""
    drawn = waterfall.picture(
        [WaterfallStep("Express", 40.0, 30.0, 50.0), WaterfallStep("chi", -2.0, -3.0, -1.0)], "it adds", "µs"
    )
    assert drawn is not None and "Express: 40.0 µs (30.0 to 50.0)" in drawn and "chi: −2.00 µs" in drawn
    many = waterfall.picture([WaterfallStep(f"s{place}", 1.0, 1.0, 1.0) for place in range(waterfall.MOST + 3)], "it adds", "µs")
    assert many is not None and many.count('role="img" aria-label="s') == waterfall.MOST
    saves = waterfall.picture([WaterfallStep("chi", -200.0, -300.0, -100.0)], "it adds", "calls")
    assert saves is not None and ">it adds<" in saves and ">−200<" in saves and "chi: −200 calls" in saves
    assert waterfall.picture([], "it adds", "µs") is None


def test_an_interval_in_a_waterfall_is_drawn_to_its_ends_or_has_an_arrow() -> None:
    """One that includes nothing goes past it to the left; one that is far wider than the bars goes on beyond the edge."""

    def drawn(low: float, high: float) -> tuple[float, float, float, int]:
        markup = str(waterfall.picture([WaterfallStep("chi", 5.0, low, high)], "it adds", "µs"))
        bar = re.search(r'<path d="M([\d.]+) [\d.]+H[^"]*" fill="[^"]*" opacity', markup)
        span = re.search(r'<path d="M([\d.]+) 23L([\d.]+) 23" stroke', markup)
        assert bar is not None and span is not None
        return float(bar[1]), float(span[1]), float(span[2]), len(re.findall(r'd="M[\d.]+ 19L', markup))

    zero, left, right, arrows = drawn(-4.0, 9.0)
    assert left < zero < right < waterfall.WIDTH_PX - waterfall.NUMBERS_PX and not arrows
    _, left, right, arrows = drawn(-900.0, 900.0)
    assert (left, right, arrows) == (waterfall.NAMES_PX, waterfall.WIDTH_PX - waterfall.NUMBERS_PX, 2)


def test_the_page_begins_with_the_card_and_has_the_plot_and_the_questions() -> None:
    """Card, plot and tables are on the page and in the Markdown, each with its own place."""
    found = replicated()
    html, text = replication.html(found, "quick"), replication.markdown(found, "quick")
    assert html.index('id="card"') < html.index('id="forest"') < html.index('id="claims"')
    assert "Nothing that this run is clear about" in section(html, "card")
    assert "![Published and measured ratios of the claims](pictures/claims-fable.svg)" in text
    assert text.index("**What holds.**") < text.index("| claim |")
    for one in readers.questions(found.suite, found.run.trials):
        assert one.question in html and f"### {one.question}" in text
