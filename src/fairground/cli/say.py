"""Print the output of the verbs: results on stdout, talk on stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairground.cli.board import Table
from fairground.cli.columns import table
from fairground.cli.screen import duration
from fairground.cli.streams import document, line, note, out, plain, talk, write
from fairground.model import SCHEMA_VERSION, Finding, Plan, Run, Severity, foreign
from fairground.report.boards import Board, boards
from fairground.report.run import faults, why
from fairground.report.run.controls import Controls
from fairground.report.run.headline import headline, voids
from fairground.report.run.scatter import Scatter
from fairground.report.run.why import TriedBy
from fairground.report.text import windows
from fairground.report.text.words import blocks_of, plural
from fairground.run import plan
from fairground.stats import time_use, window_sizes

__all__ = ["document", "line", "note", "out", "outline", "plain", "talk", "the_check", "the_plan", "the_summary"]


def the_summary(found: Run, path: Path, as_json: bool, tried: TriedBy | None = None) -> None:
    """The end of a run, as its page has it: what is said first, then the table; the count of verdicts, where the page is.

    `tried`: what experiments on its reasons found.
    """
    counts = {
        verdict: sum(trial.verdict == verdict for trial in found.trials) for verdict in ("valid", "warned", "void", "rejected")
    }
    shown, broken, tests = boards(found), faults.rows(found), tried or {}
    sized = window_sizes.of(found.everything)
    sentences, scatter = headline(found, shown, Controls.of(found), tests), Scatter.of(found)
    if as_json:
        spent = time_use.of(found.everything)
        time = {**plain(spent), "overhead_share": spent.overhead_share}
        end = {
            "run": found.id,
            "report": str(path),
            "trials": counts,
            "headline": sentences,
            "voids": voids(found),
            "comparisons": _compared(shown),
            "modes": _modes(shown),
            "scatter": scatter.document,
            "reasons": [one.document for one in why.standings(shown, tests)],
            **({"faults": [row.document for row in broken]} if broken else {}),
            **({"windows": [plain(one) for one in sized]} if sized else {}),
        }
        write(json.dumps({"schema": SCHEMA_VERSION, "event": "end", **end, "time": time}))
        return
    for sentence in sentences:
        line(sentence)
    out.print(Table(shown, {key: one.word for key, one in tests.items()}))
    for text in why.lines(shown, tests):
        line(text)
    if broken:
        for text in table(("what faults did", *faults.HEADS), [(row.cell.id, *row.values) for row in broken]):
            line(text)
    for one in sized:
        line(" ".join(filter(None, (windows.cost(one), windows.shortage(one)))))
    line(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no trial is finished")
    if cause := voids(found):
        line(cause)
    for text in scatter.sentences:
        line(text)
    line(f"report  {path}")


def _compared(shown: Sequence[Board]) -> list[dict[str, Any]]:
    """Every stack against its anchor, for machines: ratios above 1 are better, in cost as in goodput."""
    rows = []
    for board in shown:
        for one in (board.goodput, board.cost):
            for held in one.rows if one is not None else ():
                ratio = held.difference.ratio
                assert one is not None and ratio is not None, "a row of a comparison has two blocks and so an interval"
                rows.append({
                    "board": board.id, "quantity": str(one.quantity), "stack": held.stack, "anchor": one.anchor,
                    "ratio": ratio.middle, "low": ratio.low, "high": ratio.high, "blocks": ratio.count,
                    "p_holm": held.difference.p_holm,
                    "verdict": str(held.difference.word), "rank": one.ranks.get(held.stack), "noise_floor": one.floor,
                    "more_blocks": held.more_blocks,
                    "withdrawn": one.withdrawn,
                })  # fmt: skip
    return rows


def _modes(shown: Sequence[Board]) -> list[dict[str, Any]]:
    """The stacks whose starts are of two groups, for machines; values are those of the quantity, more is better."""
    return [
        {"board": board.id, "quantity": str(one.quantity), **plain(modes)}
        for board in shown
        for one in (board.goodput, board.cost)
        if one is not None
        for modes in one.modes
    ]


def outline(planned: Plan, left_s: float) -> str:
    """`12 stacks, 6 blocks, 144 trials (24 of them controls), about 1 h 52 min, seed 7`."""
    stacks = plural(len({slot.cell.stack for slot in planned.slots}), "stack")
    controls = sum(slot.control is not None for slot in planned.slots)
    most = "" if planned.budget_s is None else f"at most {duration(planned.budget_s)} and "
    blocks = blocks_of(planned)
    held = f" ({controls} of them controls)" if controls else ""
    longest_s = max(slot.cell.load.window_s for slot in planned.slots)
    time = f", windows of {longest_s:g} s" if planned.budget_s is not None else f", about {duration(left_s)}"
    return f"{stacks}, {most}{blocks}, {plural(len(planned.slots), 'trial')}{held}{time}, seed {planned.seed}"


def the_plan(planned: Plan, as_json: bool) -> None:
    """A plan that is not carried out: its slots, what it leaves out, and how long it would take."""
    if as_json:
        document({"estimate_s": plan.estimate_s(planned.slots), "plan": plain(planned)})
        return
    for slot in planned.slots:
        control = f"  control: {slot.control}" if slot.control is not None else ""
        line(f"{slot.number:>4}  block {slot.block}  {slot.cell.id}{control}")
    for what, cause in planned.skipped.items():
        line(f"skipped  {what}: {cause}")
    trials = plural(len(planned.slots), "trial")
    if planned.budget_s is None:
        out.print(f"{trials}, about {duration(plan.estimate_s(planned.slots))} without builds")
    else:
        out.print(f"at most {trials} within {duration(planned.budget_s)} without builds, ended after a whole block")


def the_check(stack: str, findings: Sequence[Finding], verbose: bool, log: Path) -> None:
    """Print what `check` found in one stack: the cases that failed (`verbose`: all of them), and the sum."""
    failed = [finding for finding in findings if finding.severity is Severity.REJECT]
    void = [finding for finding in findings if finding.severity is Severity.VOID]
    untried = [finding for finding in findings if finding.severity is Severity.WARN and finding.id.startswith("case:")]
    warned = [finding for finding in findings if finding.severity is Severity.WARN and finding not in untried]
    skipped = [finding for finding in findings if "skipped" in finding.evidence]
    passed = [one for one in findings if one.severity is Severity.NOTE and one.id.startswith("case:") and one not in skipped]
    for one in findings:
        mark = {Severity.REJECT: "✗", Severity.VOID: "✗", Severity.WARN: "!"}.get(one.severity, "✓" if one in passed else "–")
        if mark in "✗!" or verbose:
            line(f"  {mark} {one.id}  {foreign.line(one.sentence)}")
    counted = ((failed, "failed"), (untried, "not tried"), (skipped, "skipped"), (warned, "warned"))
    words = [f"{plural(len(passed), 'case')} passed", *(f"{len(some)} {word}" for some, word in counted if some)]
    if void:
        words.append("void: the fault is the machine's or the lab's")
    bad = failed or void
    out.print(f"{'✗' if bad else '✓'} {stack}: {', '.join(words)}" + (f"; its output: {log}" if bad else ""))
