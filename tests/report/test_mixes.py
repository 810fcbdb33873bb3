"""The requests of a mix, on the page, on a trial's own page and in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from fairground.cli import streams
from fairground.cli.board import Table
from fairground.model import RequestResult, Run, Trial
from fairground.report.boards import boards
from fairground.report.run import mixes, page
from fairground.report.text import words
from fairground.report.trial import trial_page
from report import fixture


def mixed() -> Run:
    """A run whose `tx` is a mix: three of four good answers are pages, and some entries got none."""
    run = fixture.two_blocks()
    return replace(run, trials=tuple(map(_mixed, run.trials)))


def _mixed(trial: Trial) -> Trial:
    result = trial.result
    if trial.cell.workload != "tx" or result is None or result.latency_ok is None or result.latency_ok.v2 is None:
        return trial
    window = replace(result.window, ok=3 * result.window.ok // 4, shed=0, status={}, timeout=0)
    entries = replace(window, ok=result.window.ok - window.ok, status={500: 7})
    requests = {
        "page": RequestResult(window, window, result.latency_ok),
        "<add>": RequestResult(entries, entries, result.latency_ok),
    }
    return replace(trial, result=replace(result, requests=requests))


def test_goodput_of_the_requests_adds_up_to_that_of_the_mix() -> None:
    """Each request has its part of the mean, by its share of the good answers; failures are counted beside it."""
    (board,) = (one for one in boards(mixed()) if one.workload == "tx")
    (row,) = (one for one in board.rows if one.stack == "alder:inline")
    page_row, add_row = (one for one in mixes.mix_rows(board) if one.stack == "alder:inline")
    rates = [trial.goodput_per_s or 0.0 for trial in row.numbered]
    assert abs(page_row.goodput_per_s + add_row.goodput_per_s - sum(rates) / len(rates)) < 1e-6
    assert 0.749 < page_row.share < 0.751 and page_row.not_ok == 0 and add_row.not_ok == 7 * len(rates)
    assert page_row.p50_us and page_row.p99_us and page_row.p50_us < page_row.p99_us


def test_the_page_names_the_contract() -> None:
    """Its title stands in the head of the page, once for all of its workloads."""
    run = fixture.two_blocks()
    named = replace(run, workloads={id: {**told, "contract": "Lists & <more>"} for id, told in run.workloads.items()})
    assert page.html(named).count("Contract: Lists &amp; &lt;more&gt;") == 1
    assert "Contract: " not in page.html(run)


def test_a_percentile_of_few_answers_is_on_no_page() -> None:
    """250 answers of a trial, 500 of a stack, have no 99th percentile: on the run's pages, on a trial's and in the terminal."""
    few = fixture.latency_of(250, 400_000.0, 0.5)
    run = fixture.two_blocks()
    kept = [one for one in run.trials if one.result and one.result.latency_ok and one.result.latency_ok.v2]
    short = [replace(one, result=replace(one.result, latency_ok=few)) for one in kept if one.result]
    run = replace(run, trials=tuple(map(_mixed, short)))
    trial = next(one for one in run.trials if one.result and one.result.requests and one.goodput_per_s is not None)
    sink = io.StringIO()
    streams.Terminal(file=sink, width=160, color_system=None).print(Table(boards(run), None))
    shown = [page.html(run), page.details(run), trial_page.html(run, trial, (trial,)), sink.getvalue()]
    p99 = words.milliseconds(few.p99_us)
    assert len(p99) > 4 and not any(p99 in text for text in shown)
    assert "No stack has enough good answers for a 99th percentile." in shown[1] and "p99 — ms" in shown[3]
    assert f"~{words.milliseconds(few.p90_us)}" in shown[2] and "<dt>p99.9</dt><dd>—</dd>" in shown[2]


def test_what_is_void_or_rejected_has_no_numbers() -> None:
    """A mix whose trials all fail has no row, and a workload of one request none either."""
    for board in boards(mixed()):
        told = {row.stack for row in mixes.mix_rows(board)}
        assert told <= {row.stack for row in board.rows if row.numbered}
        assert board.workload == "tx" or not told


def test_everybody_is_told_of_the_requests() -> None:
    """Page, terminal and the trial's page name them; what a request is called is text there, and no markup."""
    run = mixed()
    html = page.details(run)
    assert "Requests of tx. CPU is that of the whole mix." in html and "&lt;add&gt;" in html and "<add>" not in html
    sink = io.StringIO()
    streams.Terminal(file=sink, width=160, color_system=None).print(Table(boards(run), None))
    assert "alder:inline: page " in sink.getvalue() and "14 not ok" in sink.getvalue()
    trial = next(one for one in run.trials if one.result and one.result.requests and one.goodput_per_s is not None)
    assert "Requests of the mix" in trial_page.html(run, trial, (trial,))
    assert "Requests of the mix" not in trial_page.html(run, run.trials[0], (run.trials[0],))
