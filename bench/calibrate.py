"""What each validity check reads where nothing is wrong: trials of one and the same stack, as a table beside the thresholds.

    bench/calibrate.py --blocks 8 --window 4 --write docs/evidence.md

It runs `fairground run` in closed and in open loop on two workloads, and judges what was stored by today's thresholds. All
attempts count, void ones too: leaving them out would show only what passed. Then it runs the demo, whose servers take turns as
those of every run that compares do, and counts its verdicts. With `--runs FOLDER` it measures nothing and reads the runs in that
folder, and those of the demo in `demo` below it. It asserts nothing: whether a threshold is to be moved is for a person to
decide, before a campaign and never after it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import frame
from fairground import records
from fairground.judge import thresholds, validity
from fairground.judge.validity import TrialFacts, ValidityCheck
from fairground.judge.validity.check import bounds_for
from fairground.model import Run, Severity, Trial, Verdict
from fairground.model.record import RecordKind
from fairground.stats import intervals

WORKLOADS = ("ping", "db-ping")
DEMO = "demo"
BUSY = "Most of them are void: the table shows a machine that others worked on, and says nothing about where a bound should lie."


def main() -> None:
    """Measure, or read what was measured, and write the page."""
    parser = frame.parser(__doc__)
    parser.add_argument("--stack", default="go-nethttp:pgx")
    parser.add_argument("--blocks", type=int, default=8, help="trials of each workload in each loop")
    parser.add_argument("--window", type=float, default=4.0, help="seconds")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--rate", type=float, default=500.0, help="requests per second of the open loop")
    parser.add_argument("--runs", type=Path, help="read the runs in this folder instead")
    parser.add_argument("--keep", type=Path, help="an empty folder in which the runs are kept (default: they are not)")
    options = parser.parse_args()
    loads = [float(text) for text in Path("/proc/loadavg").read_text().split()[:2]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.runs or options.keep or Path(scratch)
        if options.runs is None:
            measure(options, folder)
        runs, demos = ([records.run_of(one) for one in records.of_kind(some, RecordKind.RUN)] for some in (folder, folder / DEMO))
    text = page(runs, None if options.runs else condition(loads[0])) + of_demos(demos)
    frame.publish(text, options.write, "calibration")


def measure(options: argparse.Namespace, folder: Path) -> None:
    """One run in closed and one in open loop, and the demo."""
    for loop in ((), ("--rate", str(options.rate))):
        words = ["run", "-s", options.stack, "--blocks", str(options.blocks)]
        words += [word for workload in WORKLOADS for word in ("-w", workload)]
        words += ["--window", str(options.window), "--warmup", "1,3", "--connections", str(options.connections), *loop]
        lab(words, folder)
    lab([DEMO], folder / DEMO)


def lab(words: Sequence[str], results: Path) -> None:
    """A command of the lab's; exit code 3, every trial void, is a result here."""
    command = [sys.executable, "-m", "fairground", *words, "--results", str(results), "--quiet"]
    done = subprocess.run(command, cwd=frame.ROOT, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        sys.exit(f"`{' '.join(command)}` ended with exit code {done.returncode}")


def condition(load: float) -> str:
    """How busy the machine was before, and whether we had to give way to whoever else used it."""
    lowest = os.sched_getscheduler(0) == os.SCHED_IDLE or os.nice(0) > 0
    words = f"The load average was {load:.2f} when it began"
    return words + (", and all of it ran at lowest priority beside others' work." if lowest else ".")


def page(runs: Sequence[Run], how: str | None) -> str:
    """The page: what was measured, and a table for each loop."""
    trials = [trial for run in runs for trial in run.trials if TrialFacts.of_trial(trial) is not None]
    if not trials:
        sys.exit("no trial was measured")
    machine, stacks = runs[0].machine, sorted({trial.cell.stack for trial in trials})
    starts = sorted(trial.started_unix_s for trial in trials)
    lines = [
        "# What the checks read where nothing is wrong",
        "",
        "Made by `make calibrate`, which writes this section anew. Every trial below is of one stack (A/A), so that nothing",
        "in them is a difference between servers: what a check reads here is this machine and this instrument. All attempts",
        "count, void ones too; *beyond* is how many of them were beyond the first bound.",
        "",
        f"**{len(trials)} trials** of {', '.join(stacks)} on {', '.join(sorted({trial.cell.workload for trial in trials}))},"
        f" {statistics.median(trial.cell.load.window_s for trial in trials):g} s each,"
        f" within {(starts[-1] - starts[0]) / 60:.0f} minutes,"
        f" on {machine.cores} cores ({machine.cpu_model or 'unknown processor'}, Linux {machine.kernel}).",
        *([how] if how else []),
        f"Verdicts: {verdicts(trials)}. Found: {found(trials)}.",
        "So few trials show where the middle and the rim of a reading are, and nothing about what is rare.",
        *([BUSY] if sum(trial.verdict is Verdict.VOID for trial in trials) > len(trials) / 2 else []),
    ]
    for title, model in (("Closed loop", "closed"), ("Open loop", "open")):
        some = [trial for trial in trials if trial.cell.load.model == model]
        if some:
            lines += ["", f"## {title}, {len(some)} trials", "", *table(some)]
    return "\n".join(lines) + "\n"


def of_demos(runs: Sequence[Run]) -> str:
    """What was found of the demo's trials, whose servers take turns. All attempts count here as well."""
    trials = [trial for run in runs for trial in run.trials]
    if not trials:
        return "\n## The demo\n\nNo trial of it was measured.\n"
    warned = sum(trial.verdict is Verdict.WARNED for trial in trials) / len(trials)
    return (
        f"\n## The demo, {len(trials)} trials\n\n`./fairground demo`: {verdicts(trials)}, so that"
        f" {100 * warned:.1f} % are warned. Found: {found(trials)}.\n"
    )


def verdicts(trials: Iterable[Trial]) -> str:
    """`30 valid, 2 warned`."""
    return ", ".join(f"{count} {word}" for word, count in sorted(Counter(str(trial.verdict) for trial in trials).items()))


def found(trials: Iterable[Trial]) -> str:
    """How often each check warned or made void, as the trials were judged."""
    grave = (Severity.WARN, Severity.VOID)
    counts = Counter(f"{one.severity} `{one.id}`" for trial in trials for one in trial.findings if one.severity in grave)
    return ", ".join(f"{count} × {name}" for name, count in counts.most_common()) or "nothing"


def table(trials: Sequence[Trial]) -> list[str]:
    """A row for each check that was made in one of the trials, and a line that names those that were not."""
    standard = thresholds.standard()
    facts = [made for trial in trials if (made := TrialFacts.of_trial(trial)) is not None]
    readings = [validity.readings(made, standard) for made in facts]
    rows = [row(check, facts, readings) for check in validity.CHECKS if any(check.id in one for one in readings)]
    missing = [check for check in validity.CHECKS if check.meant(facts[0]) and not any(check.id in one for one in readings)]
    names = ("no.", "finding", "trials", "median", "90 %", "most", "warned above", "void above", "beyond")
    head = [f"| {' | '.join(names)} |", "|--|--|--:|--:|--:|--:|--:|--:|--:|"]
    unread = ", ".join(f"`{check.id}` ({check.number})" for check in missing)
    return [*head, *rows, *(["", f"Not shown by this machine: {unread}."] if missing else [])]


def row(check: ValidityCheck, facts: Sequence[TrialFacts], readings: Sequence[Mapping[str, float]]) -> str:
    """One check's readings beside the bounds that held for these trials. Quantiles are nearest ranks."""
    values = [one[check.id] for one in readings if check.id in one]
    bounds = bounds_for(facts[0], check.bounds(thresholds.standard().checks))
    ones = [1] * len(values)
    shown = [intervals.percentile(values, ones, share) for share in (0.5, 0.9, 1.0)]
    texts = ["–" if value is None else check.show(value) for value in (*shown, bounds.warn, bounds.void)]
    first = min((bound for bound in (bounds.warn, bounds.void) if bound is not None), default=float("inf"))
    beyond = sum(value > first for value in values)
    return f"| {check.number} | `{check.id}` | {len(values)} | {' | '.join(texts)} | {beyond or '–'} |"


if __name__ == "__main__":
    main()
