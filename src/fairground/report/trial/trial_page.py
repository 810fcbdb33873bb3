"""A page of one trial: everything that is known of it, its charts, and the command that measures it again. Pure.

It has no script and no chart runtime; the style is made once for all pages of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from fairground.model import Run, Severity, Trial
from fairground.report import frame
from fairground.report.run import mixes
from fairground.report.text import words
from fairground.report.trial import again, sketch


@dataclass(frozen=True)
class BarShare:
    """One line of a bar table: `share` of the longest bar, 0 to 1."""

    name: str
    text: str
    share: float


def pages(run: Run) -> Iterator[tuple[str, str]]:
    """(place in the run's folder, text) of every trial's page, controls included, one at a time."""
    same: dict[object, list[Trial]] = {}
    for trial in run.everything:
        same.setdefault((trial.cell, trial.control), []).append(trial)
    for trial in run.everything:
        yield words.trial_page(trial), html(run, trial, same[trial.cell, trial.control])


def html(run: Run, trial: Trial, siblings: Sequence[Trial] = ()) -> str:
    """One trial's page; `siblings` are the trials of the same cell, itself among them."""
    return frame.render(
        "trial.html",
        run=run,
        trial=trial,
        siblings=siblings,
        style=_style(),
        command=again.command(trial),
        seconds=sketch.seconds(trial),
        curve=sketch.latencies(trial),
        limits=[one for one in trial.findings if trial.diagnosis is not None and one.id == trial.diagnosis],
        findings=[one for one in trial.findings if one.id != trial.diagnosis],
        roles=_roles(trial, run.machine.cores),
        waits=_waits(trial),
        mixed=mixes.trial_rows(trial),
        severities={Severity.REJECT: "✗", Severity.VOID: "○", Severity.WARN: "!", Severity.NOTE: "·"},
    )


@cache
def _style() -> Markup:
    """The report's style sheet and what a trial's page adds to it."""
    return Markup(frame.render("page.css") + frame.render("sketch.css"))


def _roles(trial: Trial, cores: int) -> tuple[BarShare, ...]:
    """Processors used by each role over the window, of those that the machine has."""
    window_us = trial.result.window_s * 1e6 if trial.result else 0.0
    if not window_us:
        return ()
    used = {role: use.cpu_us / window_us for role, use in trial.roles.items() if use.cpu_us is not None}
    return tuple(
        BarShare(role, f"{words.number(amount)} of {words.plural(cores, 'core')}", min(1.0, amount / cores))
        for role, amount in used.items()
    )


def _waits(trial: Trial) -> tuple[BarShare, ...]:
    """List what the database's backends were doing, most often first: seen, and on average at once."""
    use = trial.database
    if use is None or not use.wait_samples:
        return ()
    most = max(use.wait_events.values(), default=1)
    return tuple(
        BarShare(event, f"{seen / use.wait_samples:.1f} at once", seen / most)
        for event, seen in sorted(use.wait_events.items(), key=lambda item: -item[1])
    )
