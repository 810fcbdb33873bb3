"""The view that a person has of a run while it goes on. Progress goes to stderr; stdout is for results.

Inside a window the live lines are redrawn once a second at most: the screen must not disturb what is measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from fairground import records
from fairground.cli.board import MARK, STYLE, reason
from fairground.model import OWN_MAJOR, Cell, Plan, PlanSlot, Progress, Trial, Verdict
from fairground.run.plan import estimate_s
from fairground.stats import forecast
from fairground.stats.intervals import significant

REDRAW_S = 1.0
STILL_RUNNING_S = 60.0
BAR_CELLS = 24


class Screen:
    """Follows one run. On a terminal: finished trials scroll, two lines at the bottom live. Else: plain lines."""

    def __init__(
        self,
        plan: Plan,
        done: Sequence[Trial],
        console: Console,
        live: bool,
        quiet: bool = False,
        later_s: float = 0.0,
        hosts: int = 1,
    ) -> None:
        """`later_s`: what the runs after this one are expected to take, by their loads alone. `hosts` measure side by side."""
        self._plan, self._console, self._quiet, self._later_s, self._hosts = plan, console, quiet, later_s, hosts
        parts = [_conditions(slot.cell) for slot in plan.slots]
        self._varies = [len(set(some)) > 1 for some in zip(*parts, strict=True)]
        self._expected: list[float] = []
        self._done = {trial.number for trial in done if trial.verdict is not Verdict.VOID}
        self._counts = {verdict: sum(trial.verdict is verdict for trial in done) for verdict in Verdict}
        self._spent: list[float] = []
        self._spent_before_s = sum(trial.duration_s for trial in done)
        self._drawn = self._spoken = time.monotonic()
        self._live = Live(console=console, auto_refresh=False, transient=True) if live and not quiet else None

    def __enter__(self) -> Screen:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def progress(self, now: Progress) -> None:
        """A trial moved on. Redraw when the last drawing is old enough; in a log say once a minute that all is well."""
        moment = time.monotonic()
        if self._live and moment - self._drawn >= REDRAW_S:
            self._drawn = moment
            self._live.update(self._lines(now), refresh=True)
        elif not self._live and not self._quiet and moment - self._spoken >= STILL_RUNNING_S:
            self._spoken = moment
            cell = now.slot.cell
            self._console.print(
                f"{_clock()} running trial {now.slot.number}/{len(self._plan.slots)} {cell.stack} {self._what(cell)},"
                f" {now.phase} {now.elapsed_s:.0f} s{self.left}",
                soft_wrap=True,
            )

    def show_trial(self, trial: Trial) -> None:
        """A trial ended: one line that stays."""
        self._counts[trial.verdict] += 1
        self._spent.append(trial.duration_s)
        self._expected.append(estimate_s(slot for slot in self._plan.slots if slot.number == trial.number))
        if trial.verdict is not Verdict.VOID or trial.attempt >= records.ATTEMPTS:
            self._done.add(trial.number)
        if not self._quiet:
            self._spoken = time.monotonic()
            slots, what = len(self._plan.slots), self._what(trial.cell)
            shown = _trial_text(trial, slots, what) if self._live else Text(_trial_line(trial, slots, what))
            self._console.print(shown, soft_wrap=True)

    def _what(self, cell: Cell) -> str:
        """The workload, and what of path, load and version is not the same for all cells of the run: `WORKLOAD nginx c100`."""
        return " ".join([cell.workload, *itertools.compress(_conditions(cell), self._varies)])

    def _lines(self, now: Progress) -> Group:
        cell, slots = now.slot.cell, len(self._plan.slots)
        share = len(self._done) / slots
        filled = round(share * BAR_CELLS)
        where = f"{now.phase} {now.elapsed_s:.0f}" + (f" of {now.total_s:.0f} s" if now.total_s else " s")
        seen = "" if now.ok is None else f"   {now.ok:,}/s" + ("" if now.p99_us is None else f"  p99 {milliseconds(now.p99_us)}")
        errors = "" if not now.not_ok else f"  {now.not_ok:,} not ok"
        bar = Text.assemble(
            (f"block {now.slot.block} of {self._plan.blocks} ", "bold"),
            ("━" * filled, "blue"),
            ("━" * (BAR_CELLS - filled), "dim"),
            f" {share:4.0%}   trial {now.slot.number}/{slots}  {cell.stack}{_control(now.slot)}"
            f"  {self._what(cell)}   {where}{seen}",
            (errors, "red"),
        )
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self._counts.items() if count)
        foot = Text(f"{counts or 'nothing finished yet'}{self.left} · Ctrl-C keeps everything", style="dim")
        return Group(bar, foot)

    @property
    def left(self) -> str:
        """`, about 4 min left`, as far as trials tell; at most what a budget leaves; nothing where neither is known."""
        of_one_s = forecast.left_s(self._spent, len(self._plan.slots) - len(self._done))
        left_s = None if of_one_s is None else of_one_s / self._hosts
        budget_s, spent_s = self._plan.budget_s, (self._spent_before_s + sum(self._spent)) / self._hosts
        most_s = None if budget_s is None else max(0.0, budget_s - spent_s)
        if most_s is not None and (left_s is None or most_s < left_s):
            return f", at most {duration(most_s)} left{self._in_all}"
        return self._in_all if left_s is None else f", about {duration(left_s)} left{self._in_all}"

    @property
    def _in_all(self) -> str:
        """`, about 2 h 10 min with the runs after it`; nothing where there are none, or trials do not tell."""
        if not self._later_s:
            return ""
        rest_s = self._later_s + estimate_s(slot for slot in self._plan.slots if slot.number not in self._done)
        left_s = forecast.scaled_s(self._spent, self._expected, rest_s)
        return "" if left_s is None else f", about {duration(left_s)} with the runs after it"


def milliseconds(microseconds: float | None) -> str:
    """Such as `9.10 ms`; `–` where nothing was measured."""
    return "–" if microseconds is None else f"{significant(microseconds / 1000)} ms"


def duration(seconds: float) -> str:
    """Such as `1 h 44 min`, `4 min`, `35 s`."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _conditions(cell: Cell) -> tuple[str, ...]:
    """Return the conditions that may set a cell apart from others of its stack and workload."""
    return cell.topology.id, cell.load.id, f"PostgreSQL {cell.settings.postgres_version or OWN_MAJOR}"


def _trial_text(trial: Trial, slots: int, what: str) -> Text:
    return Text.assemble("  ", (MARK[trial.verdict], STYLE[trial.verdict]), " ", _trial_line(trial, slots, what, pretty=True))


def _trial_line(trial: Trial, slots: int, what: str, pretty: bool = False) -> str:
    """One finished trial: aligned for a terminal, `key=value` for a log. `what`: its workload and conditions."""
    rate, stack = trial.goodput_per_s, f"{trial.cell.stack}{_control(trial)}"
    head = f"{_clock()} trial {trial.number}/{slots} block {trial.block} {stack} {what}"
    if pretty:
        head = f"{_clock()}  {trial.number:>3}/{slots}  {stack:<26} {what:<17}"
    if rate is None or trial.result is None:
        repeat = ", may be repeated" if trial.verdict is Verdict.VOID else ""
        return f"{head} {trial.verdict}{repeat}: {reason(trial)}"
    latency = trial.result.latency_ok
    p99 = milliseconds(latency.p99_us if latency else None)
    if pretty:
        notes = reason(trial) if trial.verdict is Verdict.WARNED else ""
        return f"{head} {significant(rate):>9}/s   p99 {p99:>9}   {notes}"
    return f"{head} goodput={significant(rate)}/s p99={p99} {trial.verdict}"


def _control(of: PlanSlot | Trial) -> str:
    return "" if of.control is None else f" ({of.control})"


def _clock() -> str:
    return datetime.now().strftime("%H:%M:%S")
