"""What keeping the processors awake changes: the same trials with and without, in turns; a table as Markdown.

    bench/awake.py --stack SERVER:VARIANT --rounds 5 --write docs/evidence.md

Each round is a `./fairground run` with FAIRGROUND_AWAKE=no and one with =yes, in changing order. All attempts count, void ones
too. It measures, and asserts nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import frame
from fairground import records
from fairground.model import Trial, Verdict
from fairground.model.record import RecordKind

ABOUT = """\
# Idle processors of a virtual machine

A hypervisor takes an idle processor away and gives it back when its neighbours let it. An answer waits for a processor that was
idle a moment ago, so that this wait is in every number. While the lab measures in a virtual machine it therefore keeps the
processors from idling (`fairload awake`, docs/reference/trial.md). `bench/awake.py` runs the same trials without and with it, in
turns, void attempts included; medians, in brackets the least and the most.

| stack, workload | idle processors | attempts | void | steal | goodput/s | p50 ms | p99 ms | server CPU, µs per answer |
|--|--|--:|--:|--:|--:|--:|--:|--:|
"""
WORDS = {"no": "left to the kernel", "yes": "kept awake"}


def main() -> None:
    """Measure in turns, and print or write the table."""
    parser = frame.parser(__doc__)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--workload", action="append", help="repeatable (default: ping and db-ping)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=4.0, help="seconds")
    options = parser.parse_args()
    workloads = options.workload or ["ping", "db-ping"]
    found: dict[str, list[Trial]] = {"no": [], "yes": []}
    for number in range(options.rounds):
        for choice in ("no", "yes") if number % 2 == 0 else ("yes", "no"):
            frame.tell(f"round {number + 1} of {options.rounds}: {WORDS[choice]}")
            found[choice] += measured(options.stack, workloads, options.window, choice)
    text = ABOUT + "".join(
        row(f"`{options.stack}`, {workload}", WORDS[choice], [one for one in found[choice] if one.cell.workload == workload])
        for workload in workloads
        for choice in found
    )
    frame.publish(text, options.write, "awake")


def measured(stack: str, workloads: Sequence[str], window_s: float, choice: str) -> Sequence[Trial]:
    """All attempts of one run; exit code 3, every trial void, is a result here."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", "-s", stack, "--window", str(window_s), "--results", folder, "--quiet"]
        words += [word for workload in workloads for word in ("-w", workload)]
        subprocess.run([frame.LAB, *words], stdout=subprocess.DEVNULL, env={**os.environ, "FAIRGROUND_AWAKE": choice})
        return [trial for one in records.of_kind(Path(folder), RecordKind.RUN) for trial in records.run_of(one).everything]


def row(cell: str, idle: str, trials: Sequence[Trial]) -> str:
    """One line of the table."""
    void = sum(trial.verdict is Verdict.VOID for trial in trials)
    cells = [
        cell,
        idle,
        str(len(trials)),
        str(void),
        spread(
            trials, lambda one: one.host.steal_share * 100 if one.host and one.host.steal_share is not None else None, ".1f", " %"
        ),
        spread(trials, lambda one: one.result.goodput_per_s if one.result else None, ",.0f"),
        spread(trials, lambda one: one.result.latency_ok.p50_us / 1000 if one.result and one.result.latency_ok else None, ".2f"),
        spread(trials, lambda one: one.result.latency_ok.p99_us / 1000 if one.result and one.result.latency_ok else None, ".1f"),
        spread(trials, cost_us, ".1f"),
    ]
    return "| " + " | ".join(cells) + " |\n"


def cost_us(trial: Trial) -> float | None:
    """CPU of the server for each good answer, in µs."""
    used = trial.roles["server"].cpu_us if "server" in trial.roles else None
    return used / trial.result.completed_ok if used and trial.result and trial.result.completed_ok else None


def spread(trials: Sequence[Trial], of: Callable[[Trial], float | None], form: str, unit: str = "") -> str:
    """Median, least and most of what is known."""
    values = sorted(value for trial in trials if (value := of(trial)) is not None)
    if not values:
        return "–"
    return f"{statistics.median(values):{form}}{unit} ({values[0]:{form}}–{values[-1]:{form}})"


if __name__ == "__main__":
    main()
