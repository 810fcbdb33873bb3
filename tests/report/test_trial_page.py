"""A trial's own page: everything that is known of it, nothing that it has not, and how to measure it again."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from functools import cache

import pytest

from builders.pages import text_of
from fairground.model import Control, Run, Trial, Verdict
from fairground.report.charts.palette import LIGHT
from fairground.report.run import evidence, page
from fairground.report.text import words
from fairground.report.trial import sketch, trial_page
from report import fixture, golden


@cache
def pages() -> dict[str, str]:
    """The pages of the run with controls, by place."""
    return dict(trial_page.pages(fixture.six_blocks()))


def chosen(run: Run, stack: str, workload: str) -> Trial:
    """The first trial of a cell."""
    return next(one for one in run.trials if (one.cell.stack, one.cell.workload) == (stack, workload))


def test_text_of_a_trials_page_is_the_golden_one() -> None:
    """Everything that the page of a rejected trial says: evidence without a number."""
    trial = chosen(fixture.six_blocks(), "cedar:plain", "transfer")
    golden.check("trial.txt", text_of(pages()[words.trial_page(trial)]))


def test_every_trial_has_a_page() -> None:
    """Results, repeated attempts and controls have pages of their own."""
    run = fixture.six_blocks()
    assert len(pages()) == len(run.trials) + len(run.controls) == len({words.trial_page(one) for one in run.everything})
    repeated = [words.trial_page(one) for one in run.trials if one.attempt == 2]
    assert len(repeated) == 1 and repeated[0].endswith("-2.html") and repeated[0] in pages()


@pytest.mark.parametrize("home", [None, "../index.html"])
def test_every_link_of_a_run_leads_to_a_place(home: str | None) -> None:
    """Pages of a folder, which may stand in a site, link one another, and each anchor that is named is there once."""
    run = fixture.six_blocks()
    there = {"report.html": page.html(run, home=home), evidence.PAGE: page.details(run, home), **pages()}
    ids = {place: re.findall(r'\bid="([^"]*)"', markup) for place, markup in there.items()}
    for place, markup in there.items():
        assert len(ids[place]) == len(set(ids[place])), place
        for link in set(re.findall(r'href="([^"]*)"', markup)) - {"data:,", home}:
            file, _, anchor = link.partition("#")
            if not file.startswith("https://"):
                to = posixpath.normpath(posixpath.join(posixpath.dirname(place), file)) if file else place
                assert to in there and (not anchor or anchor in ids[to]), (place, link)


def test_everything_is_one_click_from_the_first_page() -> None:
    """Each section of the evidence has a link there, and so has the trial that stands for each cell; all trials are two clicks away."""
    run = fixture.six_blocks()
    first, second = page.html(run), page.details(run)
    sections = {name for name in re.findall(r'<section id="([^"]*)"', second) if name != "contents"}
    assert len(sections) > 8
    assert sections == set(re.findall(r'href="details.html#([^"]*)"', first)) == set(re.findall(r'<a href="#([\w-]+)">', second))
    assert set(re.findall(r'href="(trials/[^"]*)"', second)) == set(pages())


def test_pages_are_small_and_ask_nothing_of_the_network() -> None:
    """A page has no script, refers to nothing outside its run, and stays under 40 kB."""
    for place, markup in pages().items():
        assert len(markup.encode()) < 40_000, place
        assert "<script" not in markup.replace("&lt;script", "")
        assert not re.search(r'(?:src|xlink:href)="(?!data:)|href="(?!\.\./|#|data:)', markup), place


def test_instructions_are_shown_where_they_were_counted() -> None:
    """For each good answer, beside the CPU; elsewhere nothing is said of them."""
    run = fixture.six_blocks()
    trial = next(one for one in run.trials if one.goodput_per_s and one.result)
    assert "instructions" not in text_of(pages()[words.trial_page(trial)])
    assert trial.result is not None and trial.instructions_per_answer is None
    counted = trial.roles | {"server": replace(trial.roles["server"], instructions=trial.result.completed_ok * 123)}
    told = replace(run, trials=tuple(replace(one, roles=counted) if one is trial else one for one in run.trials))
    page_of = dict(trial_page.pages(told))[words.trial_page(trial)]
    assert "123 instructions in user space" in text_of(page_of)


def test_a_trial_without_a_number_shows_none() -> None:
    """A rejected trial has its reason and its counts, and neither a rate nor a cost for each answer."""
    trial = chosen(fixture.six_blocks(), "cedar:plain", "transfer")
    said = text_of(pages()[words.trial_page(trial)])
    assert "✗ rejected · no number" in said and "✗ does not hold" in said
    assert "good answers a second" not in said and "µs per good answer" not in said
    assert "evidence only, the trial has no number" in said


def test_a_generator_that_tells_little_leaves_notes_instead_of_charts() -> None:
    """Without seconds and histogram the page says so, and dashes stand for what is not known."""
    trial = chosen(fixture.six_blocks(), "elm:async", "ping")
    said = text_of(pages()[words.trial_page(trial)])
    assert "The generator told no numbers by second." in said
    assert "Too few answers, or no histogram, for a curve." in said
    assert "timeout\n–" in said
    assert sketch.seconds(trial) is None and sketch.latencies(trial) is None


def test_text_from_outside_cannot_become_markup() -> None:
    """What a server printed is text on its page."""
    for trial in fixture.six_blocks().trials:
        if trial.verdict is Verdict.REJECTED:
            markup = pages()[words.trial_page(trial)]
            assert "<script>alert" not in markup and "&lt;script&gt;alert(" in markup and "\x1b" not in markup


def test_a_control_says_that_it_is_none_of_the_results() -> None:
    """The page of a slowed control names it, and its command plants nothing."""
    control = next(one for one in fixture.six_blocks().controls if one.control is Control.SLOWED)
    said = text_of(pages()[words.trial_page(control)])
    assert "A control, no result: the anchor slowed down on purpose." in said
    assert "without the planted slowdown" in said


def test_seconds_are_drawn_to_scale_with_the_rest_on_top() -> None:
    """Each second is one bar with its counts as label; what was not good is a part of its own above it."""
    trial = chosen(fixture.six_blocks(), "alder:inline", "ping")
    assert trial.result is not None
    drawn = sketch.seconds(trial)
    assert drawn is not None
    assert drawn.count('role="img" aria-label="second ') == len(trial.result.seconds) == 5
    assert drawn.count(f'fill="{LIGHT["rejected"]}"') == sum(one.not_ok > 0 for one in trial.result.seconds)
    for one in trial.result.seconds:
        assert f"second {one.second}: {one.ok:,} good, {one.not_ok:,} other" in drawn
    few, some = (replace(trial.result.seconds[0], ok=ok, p99_us=5000) for ok in (900, 1000))
    told = sketch.seconds(replace(trial, result=replace(trial.result, seconds=(few, some))))
    assert told is not None and told.count("p99 ") == 1 and "p99 ~5.00 ms" in told
    empty = replace(
        trial, result=replace(trial.result, seconds=tuple(replace(one, ok=0, not_ok=0) for one in trial.result.seconds))
    )
    assert sketch.seconds(empty) is not None


def test_the_latency_curve_never_falls() -> None:
    """From the first that is drawn to the last with a hundred samples beyond, the line rises."""
    drawn = sketch.latencies(chosen(fixture.six_blocks(), "alder:inline", "ping"))
    assert drawn is not None
    line = re.search(rf'd="M([^"]*)" stroke="{LIGHT["server"]}"', drawn)
    assert line is not None
    points = [tuple(map(float, point.split())) for point in line[1].split("L")]
    assert all(after[0] > before[0] and after[1] <= before[1] for before, after in zip(points, points[1:], strict=False))
