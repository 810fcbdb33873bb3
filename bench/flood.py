"""What a flood of requests to `serve` does to what is measured beside it: numbers, and what is said. A table as Markdown.

    bench/flood.py --stack SERVER:VARIANT --rounds 15 --keep results/bench-flood.jsonl --write docs/evidence.md

One session of a stack, an arm for each workload, and beside it `./fairground serve`. In each round every arm has a window in
peace and one during the flood, one right after the other in changing order, on the same processes. The flood is an open loop of
the lab's engine, with the token in the URL. Void windows count, too. It measures, and asserts nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

import frame
import stack_sessions
from fairground.lab.places import Places
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Whole
from fairground.measure.session import ArmSession
from fairground.model import Load, Severity
from fairground.stats import differences
from fairground.stats.intervals import Interval

QUANTITIES = {"goodput": "goodput_per_s", "CPU per answer": "cost_us"}
LONGEST_S, TIMEOUT_MS, RISE_S = 600, 2000, 1.0
QUIET_SHARE, QUIET_S = 0.01, 20.0
ABOUT = """\
# A flood of requests to `serve` beside a measurement

`make bench-flood STACK=SERVER:VARIANT`. The lab in a browser serves pages while a stack is measured. A process of the lab's
engine sends it requests, due at a fixed rate whether they are answered or not, during every second window. What pages may use of
a processor is bounded (`serve/allowance.py`): what is beyond that waits.

*Ratio* is the flooded window over the one in peace, on the same processes, with its 95 % interval. *Other processes* is what they
used of a core, the flood's own sender among them; median, in peace and flooded. *Said* are windows of which the lab itself warns
of other processes (V9), and *void* those that it throws away for them.

| stack, workload | rounds | goodput, ratio | CPU per answer, ratio | other processes | said | void |
|--|--:|--:|--:|--:|--:|--:|
"""


def main() -> None:
    """Measure in turns, and print or write the table."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--workload", action="append", help="repeatable (default: ping and db-ping)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rate", type=int, default=1000, help="requests of the flood a second")
    parser.add_argument("--window", type=float, default=2.0, help="seconds")
    options = parser.parse_args()
    workloads = options.workload or ["ping", "db-ping"]
    rows = frame.load_rows(options.keep)
    first = max((row["round"] for row in rows), default=0) + 1
    with (
        tempfile.TemporaryDirectory() as folder,
        frame.serving(Path(folder)) as (pid, address),
        stack_up(options, workloads) as (session, load),
    ):
        served = Served(psutil.Process(pid), address, Path(folder))
        for number in range(first, first + options.rounds):
            frame.tell(f"round {number}, to {first + options.rounds - 1}")
            for workload in workloads:
                for flooded in (False, True) if number % 2 else (True, False):
                    seen = measured(session, Whole(workload, load, number), served, options.rate if flooded else 0)
                    if seen is not None:
                        rows.append({"cell": f"`{options.stack}`, {workload}", "round": number, "flooded": flooded} | seen)
                        frame.append_rows(options.keep, rows[-1:])
    last = f"The last window is of {frame.here()}."
    text = ABOUT + "".join(f"{line}\n" for line in (*table(rows), "", *sentences(rows), "", last))
    frame.publish(text, options.write, "flood")


@contextlib.contextmanager
def stack_up(options: argparse.Namespace, workloads: Sequence[str]) -> Iterator[tuple[ArmSession, Load]]:
    """A session with the stack once for each workload, warm, and the load of its windows."""
    load = replace(Load(), connections=32, warmup_min_s=0.5, warmup_max_s=0.5, window_s=options.window)
    asked = [(options.stack, name) for name in workloads]
    with stack_sessions.session(asked, load, lambda cell: cell.workload) as (session, labels):
        for label in labels:
            session.load(Whole(label, replace(load, warmup_min_s=2.0, warmup_max_s=2.0), 1))
        yield session, load


class Served:
    """The lab in a browser: its process, its address with the token, and a record that seems to go on in its results."""

    def __init__(self, process: psutil.Process, address: str, results: Path) -> None:
        self.process, self.address = process, address
        self._entries = results / "measured" / "entries.jsonl"
        self._entries.parent.mkdir(exist_ok=True)

    def is_measured_beside(self) -> None:
        """As a run does whose trial is finished: `serve` spares what is measured."""
        self._entries.touch()

    def cpu_s(self) -> float:
        """CPU that it has used so far."""
        used = self.process.cpu_times()
        return used.user + used.system

    def settle(self) -> None:
        """Wait until requests of an earlier flood are answered; the bound is for one that never is."""
        until = time.monotonic() + QUIET_S
        while time.monotonic() < until:
            before_s = self.cpu_s()
            time.sleep(0.5)
            if self.cpu_s() - before_s <= QUIET_SHARE * 0.5:
                return


def measured(session: ArmSession, ask: Whole, served: Served, rate: int) -> dict[str, Any] | None:
    """One window, with a flood of `rate` requests a second or in peace; None where the arm has failed."""
    served.settle()
    served.is_measured_beside()
    with flood(served.address, rate) if rate else contextlib.nullcontext() as counts:
        time.sleep(RISE_S)
        before_s, began = served.cpu_s(), time.monotonic()
        windows = session.load(ask)
        share = (served.cpu_s() - before_s) / (time.monotonic() - began)
    return row(windows[0]) | {"serve_share": share, "flood": counts} if windows else None


def row(window: ArmWindow) -> dict[str, Any]:
    """What is kept of a window; numbers are None where nothing was measured."""
    said = [finding.severity for finding in window.machine if finding.id == "foreign-cpu"]
    foreign_us = window.host.foreign_cpu_us if window.host else None
    return {
        "goodput_per_s": window.rate_per_s,
        "cost_us": window.server_cpu_us / window.ok if window.server_cpu_us and window.ok else None,
        "foreign_cores": None if foreign_us is None else foreign_us / 1e6 / window.window_s,
        "said": bool(said),
        "void": Severity.VOID in said,
    }


@contextlib.contextmanager
def flood(address: str, rate: int) -> Iterator[dict[str, int]]:
    """Requests that are due at a fixed rate; their counts are there once the block has ended."""
    words = ["--rate", str(rate), "--constant", "-c", str(rate), "-d", str(LONGEST_S), "--timeout-ms", str(TIMEOUT_MS)]
    words += ["--expect-status", "303", "--json"]
    sender = subprocess.Popen(
        [str(Places.of(os.environ).engine), "run", address, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    counts: dict[str, int] = {}
    try:
        yield counts
    finally:
        sender.terminate()
        said, _ = sender.communicate()
    window = json.loads(said)["window"]
    counts.update(due=window["sent"] + window["outcomes"]["unsent"], answered=window["outcomes"]["ok"])


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each cell."""
    for cell in dict.fromkeys(row["cell"] for row in rows):
        ours = [row for row in rows if row["cell"] == cell]
        rounds = len({row["round"] for row in ours})
        shown = [_words(ratio(ours, key)) for key in QUANTITIES.values()]
        shown.append("; ".join(foreign(ours, flooded) for flooded in (False, True)))
        counts = [f"{_of(ours, key, flooded=False)}; {_of(ours, key, flooded=True)}" for key in ("said", "void")]
        yield f"| {cell} | {rounds} | {' | '.join([*shown, *counts])} |"


def ratio(rows: Sequence[Mapping[str, Any]], key: str) -> Interval | None:
    """Flooded over in peace, paired by round. None with fewer than two rounds that have both."""
    found: dict[bool, dict[int, float]] = {False: {}, True: {}}
    for one in rows:
        if one[key]:
            found[one["flooded"]][one["round"]] = one[key]
    return differences.of_pairs(differences.pair_ratios(found[True], found[False])).ratio


def sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What came of the flood's requests, and what `serve` used meanwhile."""
    floods = [row["flood"] for row in rows if row["flooded"]]
    due = sum(counts["due"] for counts in floods)
    if due:
        good = sum(counts["answered"] for counts in floods)
        yield f"Of the flood's {due:,} requests {good:,} were answered ({good / due:.1%}); the others waited, or were given up."
    for flooded, words in ((False, "in peace"), (True, "flooded")):
        shares = [row["serve_share"] for row in rows if row["flooded"] is flooded]
        if shares:
            yield f"`serve` used {statistics.fmean(shares):.1%} of a core on average {words}, {max(shares):.1%} at most."


def foreign(rows: Sequence[Mapping[str, Any]], flooded: bool) -> str:
    """What other processes used of a core, the median of windows; a dash where nobody knows."""
    known = [row["foreign_cores"] for row in rows if row["flooded"] is flooded and row["foreign_cores"] is not None]
    return f"{statistics.median(known):.1%}" if known else "–"


def _of(rows: Sequence[Mapping[str, Any]], key: str, flooded: bool) -> str:
    ours = [row for row in rows if row["flooded"] is flooded]
    return f"{sum(row[key] for row in ours)} of {len(ours)}"


def _words(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.middle:.3f} ({interval.low:.3f} to {interval.high:.3f})"


if __name__ == "__main__":
    main()
