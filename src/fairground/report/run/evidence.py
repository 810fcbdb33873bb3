"""The second page of a run: all that its first page rests on, in sections of which each is one click away. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairground.model import Run, Severity
from fairground.report.boards import ROLES, Board, stack_colours
from fairground.report.charts import figures, forest
from fairground.report.charts.svg import WIDTHS_PX
from fairground.report.run import controls, crossing, faults, hops, sections
from fairground.report.run.controls import Controls
from fairground.report.run.scatter import Scatter
from fairground.report.text import seats, windows, words
from fairground.stats import window_sizes
from fairground.stats.order_effects import campaign

PAGE = "details.html"
"""Its place in the folder of the run, beside the first page."""


@dataclass(frozen=True)
class EvidencePart:
    """One section of the page: its anchor, its title, and what a reader finds there."""

    id: str
    title: str
    says: str


def contents(run: Run, shown: Sequence[Board]) -> tuple[EvidencePart, ...]:
    """The sections of the page, in their order; those of which the run has nothing are left out."""
    found = [
        ("lock-order", "Lock order", "what the order of two row locks costs", bool(crossing.crossings(run, shown))),
        ("controls", "Controls", _controls(run), True),
        ("scatter", "Scatter", "what earlier runs foretell, and which blocks count for less", _scatters(Scatter.of(run))),
        ("hops", "Hops", "what a proxy, a pooler or a wire costs", bool(hops.hop_costs(shown))),
        ("faults", "Faults", "what happened when something was made to go wrong", bool(faults.rows(run))),
        ("latency", "Latency", "every percentile of every stack, to the far tail", True),
        ("cpu", "CPU", "what a good answer costs the server, the database and all between", True),
        ("outcomes", "Outcomes", _outcomes(shown), True),
        ("steadiness", "Steadiness", "good answers in each second of each window", True),
        ("audit", "Audit", _audit(shown), True),
        ("checks", "Checks", _checks(run), True),
        ("disclosure", "What ran", "machine, versions, settings, seats of cores, receipts of the stacks", True),
        ("trials", "Trials", f"{words.plural(len(run.everything), 'trial')}, each on a page of its own", True),
    ]
    return tuple(EvidencePart(name, title, says) for name, title, says, there in found if there)


def values(run: Run, shown: Sequence[Board], short: bool) -> dict[str, Any]:
    """All that the page's template shows. `short`: the run is so large that what is as expected is added up."""
    held, costs = Controls.of(run), hops.hop_costs(shown)
    return {
        "run": run,
        "boards": shown,
        "short": short,
        "colours": stack_colours(shown),
        "windows": [windows.cost(one) for one in window_sizes.of(run.everything)],
        "contents": contents(run, shown),
        "controls": held,
        "control_bound": forest.reach([(one.ratios, one.difference) for one in held.readings]),
        "order": controls.order_sentences(campaign(run)),
        "scatter": Scatter.of(run),
        "crossings": crossing.crossings(run, shown),
        "pgbench_said": crossing.pgbench_words(run),
        "roles": [role for role in (*ROLES, "generator") if any(role in trial.roles for trial in run.trials)],
        "held": sections.held_roles(run),
        "seats": seats.draw_seats(run.plan),
        "hop_costs": costs,
        "hop_roles": [role for role in ROLES if any(role in cost.cpu_us() for cost in costs)],
        "hop_sentence": hops.sentence,
        "fault_rows": faults.rows(run),
        "fault_heads": faults.HEADS,
        "charts": figures.pictures(run),
        "widths": WIDTHS_PX,
    }


def _scatters(found: Scatter) -> bool:
    """True if there is something to tell of the scatter."""
    return bool(found.shown or found.sentences)


def _controls(run: Run) -> str:
    """`18 trials of the anchor beside itself`, or that there are none."""
    if not run.controls:
        return "this run has none"
    return f"{words.plural(len(run.controls), 'trial')} that measure the run itself"


def _outcomes(shown: Sequence[Board]) -> str:
    rows = [row for board in shown for row in sections.outcome_rows(board, short=False)]
    return f"{sum(row.total for row in rows):,} requests, {sum(row.bad for row in rows):,} without a good answer"


def _audit(shown: Sequence[Board]) -> str:
    """Count the lines of the audit that hold, and those that do not."""
    tables = [table for board in shown if (table := sections.audit_table(board, short=True)) is not None]
    lines, held = sum(one.lines for one in tables), sum(one.held for one in tables)
    if not lines:
        return "nothing of this run was to be audited"
    if held == lines:
        return f"all {words.plural(lines, 'line')} hold"
    unchecked = sum(one.unchecked for one in tables)
    parts = [f"{unchecked:,} could not be checked"] if unchecked else []
    parts += [f"{lines - held - unchecked:,} do not hold"] if lines > held + unchecked else []
    return f"{held:,} of {words.plural(lines, 'line')} hold, {words.join_names(parts)}"


def _checks(run: Run) -> str:
    """Count the trials in which a check was worse than a note, which even a valid one has."""
    worse = sum(any(one.severity is not Severity.NOTE for one in trial.findings) for trial in run.trials)
    every = words.plural(len(run.trials), "trial")
    return f"warnings and worse in {worse:,} of {every}" if worse else f"no warning in {every}"
