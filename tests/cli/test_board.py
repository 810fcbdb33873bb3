"""The end of a run on a terminal: readable at any width, a line for each cell, in the page's order, what is said first."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.cli import board, say, streams
from fairground.model import Run, Topology, Verdict
from fairground.report.boards import Board, boards
from fairground.report.text import words
from fairground.report.text.rows import half_text, half_width, letters, percentile_text
from fairground.stats.intervals import Interval
from report import fixture


def drawn(width: int, run: Run | None = None, tried: dict[tuple[str, str], str] | None = None) -> list[str]:
    """The lines of a run's table on a terminal of this width."""
    shown, sink = boards(run or fixture.two_blocks()), io.StringIO()
    streams.Terminal(file=sink, width=width, color_system=None).print(board.Table(shown, tried))
    return [line.rstrip() for line in sink.getvalue().splitlines()]


def lines_of(lines: list[str], one: Board) -> list[str]:
    """Those below the title of a board."""
    start = lines.index(f"  {one.workload}") + 1
    ends = [number for number, line in enumerate(lines) if line.startswith("  ") and line[2:3].strip() and number > start]
    return lines[start : min(ends, default=len(lines))]


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 100, 140])
def test_no_number_loses_a_digit(width: int) -> None:
    """Goodput, its interval, percentiles and CPU stand whole at any width, nothing reaches beyond it, every diagnosis is whole."""
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    for one in boards(fixture.two_blocks()):
        said = Counter(" ".join(lines_of(lines, one)).replace(",", " ").split())
        for row in one.numbered:
            half = half_width(row.interval)
            told = [words.number(row.middle), "" if half is None else words.percent(half)]
            told += [percentile_text(row, share) for share in (0.5, 0.99)]
            told += [words.number(row.cpu_us(role)) for role in ("server", "database")]
            assert not Counter(set(" ".join([*told, *row.diagnoses]).replace(",", " ").split())) - said, row.stack


def test_a_line_for_each_cell() -> None:
    """Two blocks of a stack are one line: the page's geometric mean, half of its interval, and the mark of the gravest trial."""
    run = fixture.two_blocks()
    lines = drawn(140)
    for one in boards(run):
        mine = [line for line in lines_of(lines, one) if line[0] in "✓!○✗"]
        tiers = {} if one.goodput is None else words.group_names(one.goodput)
        said = [f"{letters(tiers.get(row.stack, ''))} {row.stack}".strip() for row in one.rows]
        assert any(tiers.values()) and all(
            f" {name} " in f" {' '.join(line.split())} " for name, line in zip(said, mine, strict=True)
        )
        for line, row in zip(mine, one.rows, strict=True):
            assert row.verdict is not None and line[0] == board.MARK[row.verdict]
            half = half_width(row.interval)
            number = words.NO_NUMBER if row.middle is None else words.number(row.middle)
            interval = "" if half is None else f" ± {words.percent(half)}"
            assert f" {number}{interval} " in f"{' '.join(line.split())} " and ("±" in line) == (half is not None)


@pytest.mark.parametrize(
    ("low", "high", "said"), [(50.0, 200.0, "± 100 %"), (49.0, 200.0, "± >100 %"), (1.0, 1e6, "± >100 %"), (0.0, 10.0, "")]
)
def test_an_interval_wider_than_its_value_is_said_to_be_so(low: float, high: float, said: str) -> None:
    """By how much it is wider says nothing: four digits of it would be read as news."""
    assert half_text(Interval(100.0, low, high, 2, 0.95)) == said


def test_one_block_has_no_interval() -> None:
    """Its column stays, and is empty."""
    lines = drawn(140, fixture.one_block())
    assert "95 %" in lines[0] and not any("±" in line for line in lines)
    assert board.TIED not in lines and drawn(140)[-1] == board.TIED  # nothing is ranked by one block either


def test_what_is_said_of_a_cell() -> None:
    """The reason with what an experiment made of it, the share of answers that were not ok, and how many trials were not valid."""
    run = fixture.two_blocks()
    first = boards(run)[0].rows[0].trials
    assert len(first) == 2 and {trial.verdict for trial in first} == {Verdict.VALID}
    trial = first[0]
    assert trial.result is not None and first[1].result is not None
    bad = replace(trial.result.window, shed=1_000)
    turned = replace(trial, verdict=Verdict.WARNED, diagnosis="db-lock", result=replace(trial.result, window=bad))
    changed = replace(run, trials=tuple(turned if one is trial else one for one in run.trials))
    share = (bad.not_ok + first[1].result.window.not_ok) / (bad.total + first[1].result.window.total)
    tried = {(trial.cell.id, "db-lock"): "withdrawn"}
    line = next(line for line in drawn(200, changed, tried) if trial.cell.stack in line)
    assert line.startswith("! ")
    assert line.endswith(f"  db-lock 1 withdrawn, {first[1].diagnosis} 1, {words.percent(share)} not ok, 1 of 2 warned")
    whole = next(line for line in drawn(200, run, tried) if trial.cell.stack in line)
    assert whole.startswith("✓ ") and " of 2" not in whole


def test_a_cell_without_a_number_keeps_its_reason() -> None:
    """In the words of the page, on the line below; of a single trial the mark says the verdict."""
    run = fixture.two_blocks()
    lost = next(row for one in boards(run) for row in one.numberless if row.trials)
    lines = drawn(140)
    at = next(number for number, line in enumerate(lines) if line.split()[1:] == [lost.stack, words.NO_NUMBER])
    assert lost.verdict is not None and lines[at].startswith(board.MARK[lost.verdict])
    assert lines[at + 1].startswith(f"    {lost.verdict}: {words.why_no_number(lost)}"[:130])


def test_cells_that_the_run_did_not_come_to() -> None:
    """They share a line below the others of their board; a run without a trial has no table."""
    run = fixture.two_blocks()
    last = boards(run)[-1]
    kept = tuple(trial for trial in run.trials if trial.cell.workload != last.workload)
    lines = drawn(140, replace(run, trials=kept))
    names = words.join_names(sorted(row.stack for row in last.rows))
    assert lines[-3:-1] == [f"  {last.workload}", f"    {names}: not measured: the run ended before its turn"]
    assert drawn(140, replace(run, trials=())) == []


def test_what_differs_within_a_workload_is_in_its_head() -> None:
    """One stack on two paths and two versions is told apart, in the page's words; what is the same for all is not said."""
    run = fixture.two_blocks()
    trial = run.trials[0]
    plain = trial.cell
    cells = (
        plain,
        replace(plain, settings=replace(plain.settings, postgres_version=17)),
        replace(plain, topology=Topology(pooler="pgbouncer-tx")),
    )
    trials = tuple(replace(trial, number=number, cell=cell) for number, cell in enumerate(cells, 1))
    lines = drawn(120, replace(run, plan=replace(run.plan, slots=()), trials=trials))
    assert [line.strip() for line in lines if line.startswith(f"  {plain.workload}")] == [
        f"{plain.workload} · direct · PostgreSQL 18",
        f"{plain.workload} · direct · PostgreSQL 17",
        f"{plain.workload} · pgbouncer-tx · PostgreSQL 18",
    ]


def test_the_bar_goes_first_and_ids_last() -> None:
    """Wide: bars. Narrow: none. Narrower: long words go to their own lines, then all. Narrower than all numbers: ids are cut."""
    numbers = ("31,800", "± 3.1 %", "1.20", "9.80", "152", "20.5")
    row = board.BoardLine(Verdict.VALID, "a-server:some-variant", numbers, "db-cpu", 1.0)
    more = replace(row, words="db-cpu, 1 of 2 warned")
    assert board.fit_widths([row, more], 140).bar == board.MOST_BAR
    narrow = board.fit_widths([row, more], 98)
    assert (narrow.bar, narrow.id, narrow.words) == (0, 21, 21)
    mixed = board.fit_widths([row, more], 90)
    assert (mixed.bar, mixed.id, mixed.words) == (0, 21, 17)
    narrower = board.fit_widths([row, more], 75)
    assert (narrower.id, narrower.words) == (21, None)
    assert board.fit_widths([row, more], 60).id < 21
    assert any("█" in line for line in drawn(140)) and not any("█" in line for line in drawn(70))


def test_bars_are_as_long_as_rates() -> None:
    """The fastest row of a workload has a whole bar, half its rate has half of it, and the slowest row has some."""
    for one in boards(fixture.two_blocks()):
        bars = [line.count("█") for line in lines_of(drawn(140), one) if "█" in line]
        rates = [row.middle / one.numbered[0].middle for row in one.numbered if row.middle and one.numbered[0].middle]
        assert bars == [max(1, round(rate * bars[0])) for rate in rates] and bars[0] == board.MOST_BAR


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_word_is_lost_where_it_is_narrow(width: int) -> None:
    """Words that do not fit behind the numbers stand below them; those that fit stay. All are there that a wide terminal shows."""

    def said(lines: list[str]) -> list[str]:
        return sorted(" ".join(lines[2:]).replace("█", " ").split())

    assert said(drawn(width)) == said(drawn(250))
    below = [line for line in drawn(100) if line.startswith("    ") and "warned" in line]
    beside = [line for line in drawn(100) if line[0] in "✓!" and line.endswith("not ok")]
    assert below and beside


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
    head = next(number for number, line in enumerate(lines) if "goodput" in line and "p50" in line)
    assert head > 0 and lines[0].strip() not in ("", names[0])


def test_one_is_one() -> None:
    """One stack, one block, one trial: no plural."""
    planned = fixture.two_blocks().plan
    slot = replace(planned.slots[0], control=None)
    told = say.outline(replace(planned, slots=(slot,), blocks=1, budget_s=None), 5.0)
    assert told == f"1 stack, 1 block, 1 trial, about 5 s, seed {planned.seed}"


def test_cells_with_more_blocks_than_others_are_told() -> None:
    """The outline of a plan names the least and the most blocks that a cell has."""
    planned = replace(fixture.two_blocks().plan, budget_s=None)
    more = tuple(replace(planned.slots[0], block=block) for block in (3, 4))
    assert ", 2 to 4 blocks, " in say.outline(replace(planned, slots=(*planned.slots, *more), blocks=4), 5.0)
    assert ", 2 blocks, " in say.outline(planned, 5.0)
