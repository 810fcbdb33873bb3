"""Pages, Markdown and CSV of results in which every text is hostile: clean, escaped, and no template of anybody else's."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from builders.hostile import HOSTILE, is_clean, poisoned
from fairground.capacity.search import Capacity
from fairground.capacity.service.values import Conduct, Visit
from fairground.model import Finding, Severity, Suite, Trial, Verdict, foreign
from fairground.report import capacity, comparison, replication, visit
from fairground.report.boards import boards
from fairground.report.comparison import Sides
from fairground.report.run import crossing, page
from fairground.report.run.headline import voids
from fairground.report.trial import trial_page
from report import fixture

RUN = poisoned(fixture.two_blocks())
FINDING = Finding("odd", Severity.WARN, HOSTILE, {"said": HOSTILE})
PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: page.html(RUN),
    "trials": lambda: "".join(text for _, text in trial_page.pages(RUN)),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_clean(name: str) -> None:
    """Nothing on a page steers, hides or runs, and the hostile words are there to be read."""
    made = PAGES[name]()
    assert is_clean(made)
    assert "<script>alert" not in made and "&lt;script&gt;alert(1)" in made
    assert "{{ 7*7 }}" in made


def test_comparison_is_clean() -> None:
    """Labels and notes of a comparison, on its page and in Markdown."""
    made = comparison.html(HOSTILE, Sides(HOSTILE, HOSTILE), (), (HOSTILE,), HOSTILE)
    assert is_clean(made) and "<script>alert" not in made
    text = comparison.markdown(HOSTILE, HOSTILE, HOSTILE, (), (HOSTILE,))
    assert is_clean(text)
    assert [line.count("<") for line in text.splitlines() if line.startswith("- ")] == [0]


def test_visit_is_clean() -> None:
    """A service that says hostile things of itself, and where it is."""
    one = Visit(HOSTILE, "GET", "p99<50ms", 50_000.0, None, HOSTILE, notes=(HOSTILE,), findings=(FINDING,), limited_by=(FINDING,))
    made = visit.html(one, [HOSTILE], HOSTILE)
    assert is_clean(made) and "<script>alert" not in made and "&lt;script&gt;" in made
    assert all(is_clean(line) and "\n" not in line for line in visit.sentences(one))
    checked = replace(one, conduct=Conduct(200, None, None, 0, True, (FINDING,)))
    assert len(visit.lines(checked)) == 1 and all(is_clean(line) for line in visit.lines(checked))


def test_replication_is_clean() -> None:
    """A suite's words on its page and in Markdown."""
    suite = poisoned(Suite("fable", "A fable", "About.", 2, 1, (), "The Garden"))
    found = replication.Replication(suite, RUN, (), ())
    made = replication.html(found, "quick")
    assert is_clean(made) and "<script>alert" not in made and "&lt;script&gt;" in made
    assert is_clean(replication.markdown(found, "quick"))


def test_capacity_is_clean() -> None:
    """A capacity that was rejected in hostile words."""
    one = poisoned(Capacity(stack="one:plain", workload="ping", objective="p99<50ms", deadline_us=50_000.0, rejected="no: "))
    made = capacity.html([one], [HOSTILE], HOSTILE)
    assert is_clean(made) and "<script>alert" not in made
    assert all(is_clean(line) for line in capacity.sentences(one))


def test_markdown_and_csv_are_clean() -> None:
    """Summaries for a spreadsheet and for docs."""
    for text in (page.summary_csv(RUN), crossing.markdown(RUN, boards(RUN))):
        assert is_clean(text)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\u200b=1+1", "\x1b[0m=1+1"])
def test_a_formula_is_a_text_in_a_spreadsheet(text: str) -> None:
    """One is shown, and not computed, also where what does not show stood before it; a number is one."""
    run = fixture.two_blocks()
    one = replace(run.trials[0], cell=replace(run.trials[0].cell, workload=text), seed=-1)
    odd = replace(one, findings=(Finding("odd", Severity.REJECT, text),))
    (row,) = csv.DictReader(io.StringIO(page.summary_csv(replace(run, trials=(odd,)))))
    assert row["workload"] == row["reason"] == "'" + foreign.line(text) and row["seed"] == "-1"


def void(trial: Trial, *causes: str) -> Trial:
    """The trial, void for these causes."""
    return replace(
        trial, verdict=Verdict.VOID, findings=tuple(Finding(one, Severity.VOID, f"because of {one}") for one in causes)
    )


def test_a_void_run_names_its_true_cause() -> None:
    """The cause that most void trials have is said; that something else runs on the machine only where it was that."""
    run = fixture.two_blocks()
    assert voids(run) is None
    instrument = replace(run, trials=tuple(void(one, "instrument") for one in run.trials))
    said = voids(instrument)
    assert said == f"{len(run.trials)} trials of {len(run.trials)} are void, because of instrument."
    alone = replace(run, trials=tuple(void(one, "instrument") for one in run.trials[:1]))
    assert voids(alone) == "1 trial of 1 is void, because of instrument."
    some = tuple(void(one, "steal" if place % 3 else "instrument") for place, one in enumerate(run.trials))
    said = voids(replace(run, trials=some))
    assert said is not None and "of them because of `steal`: because of steal." in said and "End what else runs" in said
    page_text = page.html(instrument)
    assert "are void, because of instrument." in page_text
