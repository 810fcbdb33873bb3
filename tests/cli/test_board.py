"""The end of a run on a terminal: readable at any width, in the page's order, what is said first."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.cli import board, say, streams
from fairground.model import Topology, Verdict
from fairground.stats.intervals import significant
from report import fixture


def drawn(width: int) -> list[str]:
    """The lines of a run's table on a terminal of this width."""
    run, sink = fixture.two_blocks(), io.StringIO()
    streams.Terminal(file=sink, width=width, color_system=None).print(board.Table(run.trials, run.workloads))
    return sink.getvalue().splitlines()


@pytest.mark.parametrize("width", [70, 80, 100, 140])
def test_no_number_loses_a_digit(width: int) -> None:
    """Goodput, percentiles and CPU stand whole at any width, nothing reaches beyond it, and every diagnosis is whole."""
    lines, run = drawn(width), fixture.two_blocks()
    assert max(map(len, lines)) <= width
    last = {(trial.cell.workload, trial.number): trial for trial in run.trials}.values()
    words = set(" ".join(lines).replace(",", " ").split())
    for trial in last:
        if trial.goodput_per_s is None or trial.result is None or trial.result.latency_ok is None:
            continue
        latency = trial.result.latency_ok
        told = [trial.goodput_per_s, latency.p50_us / 1000, latency.p99_us / 1000]
        told += [use for role in ("server", "database") if (use := trial.cpu_us_per_answer(role)) is not None]
        assert {part for value in told for part in significant(value).split(",")} <= words
        assert not trial.diagnosis or set(trial.diagnosis.split()) <= words


def test_what_differs_within_a_workload_is_in_its_head() -> None:
    """One stack on two paths and two versions is told apart; what is the same for all is not said."""
    trial = fixture.two_blocks().trials[0]
    plain = trial.cell
    cells = (
        plain,
        replace(plain, settings=replace(plain.settings, postgres_version=17)),
        replace(plain, topology=Topology(pooler="pgbouncer-tx")),
    )
    sink = io.StringIO()
    trials = [replace(trial, number=number, cell=cell) for number, cell in enumerate(cells, 1)]
    streams.Terminal(file=sink, width=120, color_system=None).print(board.Table(trials))
    heads = [line.strip() for line in sink.getvalue().splitlines() if line.startswith(f"  {plain.workload}")]
    assert heads == [
        f"{plain.workload} direct PostgreSQL 18",
        f"{plain.workload} direct PostgreSQL 17",
        f"{plain.workload} pgbouncer-tx PostgreSQL 18",
    ]


def test_the_bar_goes_first_and_ids_last() -> None:
    """Wide: bars. Narrow: none, the ids are whole. Narrower than all numbers: then ids are cut, and say so."""
    row = board.Row(Verdict.VALID, "a-server:some-variant", ("31,800", "1.20", "9.80", "152", "20.5"), "db-cpu", 1.0)
    assert board.fitted([row], 140).bar == board.MOST_BAR
    narrow = board.fitted([row], 85)
    assert (narrow.bar, narrow.id, narrow.words) == (0, 21, 6)
    narrower = board.fitted([row], 75)
    assert (narrower.id, narrower.words) == (21, None)
    assert board.fitted([row], 60).id < 21
    assert any("█" in line for line in drawn(140)) and not any("█" in line for line in drawn(70))


def test_the_order_is_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads stand as on the page, whatever was measured first; what is said comes before the table."""
    run, sink = fixture.two_blocks(), io.StringIO()
    names = [name for name in run.workloads if any(trial.cell.workload == name for trial in run.trials)]
    turned = replace(run, trials=run.trials[::-1])
    monkeypatch.setattr(streams, "out", streams.Terminal(file=sink, width=120, color_system=None))
    monkeypatch.setattr(say, "out", streams.out)
    say.the_summary(turned, Path("report.html"), as_json=False)
    lines = sink.getvalue().splitlines()
    assert [line.strip() for line in lines if line.strip() in names] == names and len(names) > 1
    head = next(number for number, line in enumerate(lines) if "goodput/s" in line and "p50 ms" in line)
    assert head > 0 and lines[0].strip() not in ("", names[0])


def test_one_is_one() -> None:
    """One stack, one block, one trial: no plural."""
    planned = fixture.two_blocks().plan
    slot = replace(planned.slots[0], control=None)
    assert say.outline(replace(planned, slots=(slot,), blocks=1, budget_s=None), 5.0).startswith("1 stack, 1 block, 1 trial, ")
