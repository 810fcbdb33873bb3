"""A capacity's and a visit's texts, tables and charts: what was confirmed, what was not, and what is not known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from builders.pages import runs_only_its_own_script, text_of
from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.search import Capacity, Confirmed, RateBounds
from fairground.report import capacity, visit
from report import golden
from report.subjects import CURVE, LIMIT, OVER, VISIT, WHOLE

CASES: Mapping[str, Capacity] = {
    "confirmed": WHOLE,
    "nothing recovered": replace(WHOLE, over=replace(OVER, recovery_s=None, shed=0, shed_p99_us=None)),
    "nothing missed": replace(WHOLE, found=RateBounds(2000, None), confirmations=(Confirmed(2000, 3, 3),), over=None, curve=(),
                              ended="the generator was the limit: its busiest thread was 95% busy"),
    "not confirmed": replace(WHOLE, confirmations=(Confirmed(2100, 1, 2),), over=None, curve=(), limited_by=()),
    "none kept": replace(WHOLE, found=RateBounds(None, 1), confirmations=(), over=None, curve=(), limited_by=(), fresh=(),
                         ended="the lowest rate misses the objective"),
    "none found": replace(WHOLE, found=RateBounds(None, 2200), confirmations=(), over=None, curve=(), limited_by=(), fresh=(),
                          ended="its share of the budget was used up"),
    "rejected": replace(WHOLE, rejected="`one:plain` is rejected: 3 of 412 transfers are lost"),
    "not measured": Capacity("one:plain", "ping", "p99<50ms", 50_000.0, ended="other processes used 71% of a core"),
}  # fmt: skip


def test_sentences_are_the_golden_ones() -> None:
    """Confirmed, not confirmed, nothing kept, rejected, not measured: each in its words, and the curve in letters."""
    lines = [line for name, one in CASES.items() for line in (f"# {name}", *capacity.sentences(one))]
    golden.check("capacity.txt", "\n".join([*lines, "# curve", *capacity.text_curve(CURVE), ""]))


def test_an_interval_has_two_ends_from_evidence() -> None:
    """The lower end is what fresh trials kept, the upper the lowest rate seen to miss; what is not confirmed has no lower end."""
    assert (WHOLE.confirmed_per_s, WHOLE.missed_from_per_s) == (2000, 2100)
    assert CASES["not confirmed"].confirmed_per_s is None and CASES["not confirmed"].base_per_s == 2100
    lowered = replace(WHOLE, confirmations=(Confirmed(2100, 0, 1), Confirmed(1900, 2, 2)))
    assert (lowered.confirmed_per_s, lowered.base_per_s) == (None, 1900)
    assert CASES["rejected"].confirmed_per_s is None
    assert not CASES["not measured"].measured and CASES["rejected"].measured


def test_a_rate_has_the_digits_of_the_search() -> None:
    """No sentence claims more than was kept, and the two ends of a narrow bracket are two numbers, on chart and page as well."""
    narrow = replace(WHOLE, found=RateBounds(1836, 1842), confirmations=(Confirmed(1842, 2, 3), Confirmed(1836, 3, 3)))
    headline, html = capacity.sentences(narrow)[0], capacity.html([narrow], [], "Fairground 1")
    assert "up to 1,836 requests a second" in headline and "from 1,842/s on it was missed" in headline
    assert "2 of 3 kept the objective at 1,842/s; 3 of 3 kept the objective at 1,836/s" in text_of(html)
    assert ">kept 1,836<" in html and ">missed 1,842<" in html
    curve = tuple(replace(point, step=replace(point.step, rate_per_s=1836)) for point in CURVE[:1])
    assert " 1,836/s  " in capacity.text_curve(curve)[0] and "up to 1,836 requests" in " ".join(
        visit.sentences(replace(VISIT, curve=curve))
    )


def test_rows_are_json_and_unknown_is_null() -> None:
    """`--json` has the interval, each step and why; where nothing is known it says null."""
    rows = json.loads(json.dumps([capacity.rows(one) for one in CASES.values()]))
    assert (rows[0]["capacity_per_s"], rows[0]["missed_from_per_s"]) == (2000, 2100)
    assert [one["judgement"] for one in rows[0]["curve"]][-2:] == ["missed", "UNSTABLE"]
    assert rows[0]["curve"][0]["cpu_us_per_answer"] == {"server": 100.0}
    assert rows[7]["capacity_per_s"] is None and rows[7]["knee_per_s"] is None and rows[7]["overload"] is None


def test_the_page_is_escaped_and_fetches_nothing() -> None:
    """Words from a server are escaped, only the page's own script runs, an unstable step has no percentile."""
    odd = replace(WHOLE, stack="<b>x</b>", limited_by=(replace(LIMIT, sentence="<i>y</i>"),))
    html = capacity.html([odd, *CASES.values()], ["2 <cores>"], "Fairground 1")
    assert "<b>x" not in html and "<i>y" not in html and "2 &lt;cores&gt;" in html
    assert runs_only_its_own_script(html) and "http" not in html.replace("http-equiv", "")
    row = next(line for line in html.splitlines() if line.startswith("<tr>") and "UNSTABLE" in line)
    assert row.count("<td>—</td>") == 2


def charts(capacities: Sequence[Capacity]) -> dict[str, str]:
    """The charts that a page of capacities shows, by the name of the figure and the width."""
    shown = capacity.html(capacities, [], "Fairground 1")
    return {
        f"{name}.{width}": drawn
        for name, figure in re.findall(r'<figure id="([^"]+)">(.*?)</figure>', shown, re.DOTALL)
        for width, drawn in re.findall(r'<div class="px(\d+)">(<svg.*?</svg>)', figure, re.DOTALL)
    }


def test_the_charts_are_drawn() -> None:
    """Curve and overload in two widths: every trial a dot with its words, a cross where the queue grew, no late percentile of it."""
    drawn = charts([WHOLE, CASES["not measured"]])
    assert set(drawn) == {"curve-1.880", "curve-1.360", "curve-1-overload.880", "curve-1-overload.360"}
    for picture in drawn.values():
        assert ElementTree.fromstring(picture)[0].text
    curve = drawn["curve-1.880"]
    assert curve.count("p99 80.06 ms") == 1 and 'aria-label="curve 1: offered 3,000/s, good 2,380/s, UNSTABLE"' in curve
    assert "offered 2,400/s" in curve


def test_knee_objective_and_overload_are_named_on_the_curve() -> None:
    """Each mark beside the steps has its word: the rates kept and missed, the knee, the deadline, and what an overload left."""
    curve = charts([WHOLE])["curve-1.880"]
    for word in ("kept 2,000", "missed 2,100", "knee", "objective: 50.0 ms", "overload"):
        assert f">{word}</text>" in curve, word
    assert "overload 1: offered 3,000/s" in curve and "overload 1: offered 1,000/s" not in curve
    bare = charts([replace(WHOLE, over=None, curve=CURVE[:1], deadline_us=None)])["curve-1.880"]
    assert not re.search(r">(knee|objective|overload)", bare)


def test_the_page_tells_the_first_cells_above_the_picture() -> None:
    """Three sentences at most stand before the first picture; each cell's other sentences stand with it, and none twice."""
    html = capacity.html([WHOLE] * 5, [], "Fairground 1")
    head, rest = html.split("<main")
    headline, second, *_ = capacity.sentences(WHOLE)
    assert text_of(head).count(headline) == 3 and "2 more stand below." in head
    assert text_of(rest).count(headline) == 2 and text_of(rest).count(second) == 5


@pytest.mark.parametrize("points", [(), (CURVE[-1],)])
def test_a_curve_without_latencies_is_drawn(points: tuple[CurvePoint, ...]) -> None:
    """Where every queue grew there is goodput and no latency; where there is no step there is no chart."""
    found = charts([replace(WHOLE, curve=points, fresh=(), over_seconds=())])
    assert len(found) == 2 * bool(points)
    assert all("latency, ms" not in picture for picture in found.values())


# ---------------------------------------------------------------- a visit


def test_sentences_of_a_visit() -> None:
    """Checks, the best closed loop, the highest rate that kept the objective with all below it, and what limited it."""
    cases = [VISIT, replace(VISIT, limited_by=(LIMIT,)), replace(VISIT, closed=(), curve=()),
             replace(VISIT, server=None, curve=CURVE[-1:])]  # fmt: skip
    lines = [line for one in cases for line in (*visit.sentences(one), "")]
    golden.check("visit.txt", "\n".join([*visit.lines(VISIT), "", *lines]))
    assert VISIT.kept_per_s == 2000 and replace(VISIT, curve=CURVE[-1:]).kept_per_s is None


def test_the_page_of_a_visit_is_escaped_and_fetches_nothing() -> None:
    """What a service says is text on the page, and its numbers are all there."""
    html = visit.html(VISIT, ["2 cores"], "Fairground 1")
    assert "/<x>" not in html and "<no>" not in html and "\x1b" not in html and runs_only_its_own_script(html)
    assert "2,100" in html and "<svg" in html
    assert json.loads(json.dumps(visit.rows(VISIT)))["closed"][1]["p99_us"] is None


def test_the_page_says_how_often_rates_were_measured() -> None:
    """What was confirmed was measured more than once, and no page says otherwise; without a curve no rate is spoken of."""
    once = tuple(one for one in CURVE if one.trial == 1)
    pages = [visit.html(replace(VISIT, curve=curve), [], "") for curve in (once, CURVE, ())]
    assert ["Each rate was measured once" in one for one in pages] == [True, False, False]
    assert ["Some rates were measured more than once" in one for one in pages] == [False, True, False]
    assert all("offered once" not in one and "no interval, and no claim of a difference" in one for one in pages)
