"""What a flood of requests to `serve` does to a run that goes on beside it: numbers, and what the run says. A table as Markdown.

    bench/flood.py --stack SERVER:VARIANT --rounds 10 --keep results/bench-flood.jsonl --write docs/flood.md

`./fairground serve` runs all the time. Each round is a `./fairground run` in peace and one during the flood, in changing order.
The flood is an open loop of the lab's engine, with the token in the URL, over as many connections as it needs. All attempts
count, void ones too. It measures, and asserts nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from awake import cost_us
from fairground.model import Severity, Trial
from fairground.run import store
from fairground.stats import differences
from fairground.stats.intervals import Interval

ROOT = Path(__file__).resolve().parents[1]
LAB = str(ROOT / "fairground")
ENGINE = str(ROOT / "engine" / "target" / "release" / "fairload")
QUANTITIES = {"goodput": "goodput_per_s", "CPU per answer": "cost_us"}
LONGEST_S, TIMEOUT_MS, QUIET_S = 3600, 2000, 60.0
ABOUT = """\
# A flood of requests to `serve` beside a run

`make bench-flood STACK=SERVER:VARIANT`. The lab in a browser serves pages while a run is measured. A process of the lab's engine
sends it requests, due at a fixed rate whether they are answered or not, during every second run. What pages may use of a
processor is bounded (`serve/allowance.py`): what is beyond that waits.

*Ratio* is the flooded run over the one in peace, paired by round, with its 95 % interval. *Said* are attempts in which the run
itself warns of other processes (V9), and *void* those that it throws away for it; in peace and flooded.

| stack, workload | rounds | goodput, ratio | CPU per answer, ratio | said | void |
|--|--:|--:|--:|--:|--:|
"""


def main() -> None:
    """Measure in turns, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--workload", action="append", help="repeatable (default: ping and db-ping)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=1000, help="requests of the flood a second")
    parser.add_argument("--window", type=float, default=4.0, help="seconds")
    parser.add_argument("--keep", type=Path, help="JSON lines: add each attempt, and count the earlier ones too")
    parser.add_argument("--write", type=Path, help="put the table into this Markdown file")
    options = parser.parse_args()
    workloads = options.workload or ["ping", "db-ping"]
    rows = [json.loads(line) for line in options.keep.read_text().splitlines()] if options.keep and options.keep.exists() else []
    first = max((row["round"] for row in rows), default=0) + 1
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (process, address):
        for number in range(first, first + options.rounds):
            for flooded in (False, True) if number % 2 else (True, False):
                print(f"round {number}: {'flooded' if flooded else 'in peace'}", file=sys.stderr)
                seen = measured(process, address, Path(folder), options, workloads, flooded)
                rows += [row | {"round": number, "flooded": flooded} for row in seen]
            if options.keep:
                options.keep.parent.mkdir(parents=True, exist_ok=True)
                options.keep.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = ABOUT + "".join(f"{line}\n" for line in (*table(rows), "", *sentences(rows)))
    print(text, end="")
    if options.write:
        options.write.write_text(text)


@contextlib.contextmanager
def serving(results: Path) -> Iterator[tuple[psutil.Process, str]]:
    """The lab in a browser on the folder of the runs: its process, and its address with the token."""
    words = [LAB, "serve", "--port", "0", "--json", "--results", str(results)]
    served = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None, "it is a pipe"
    text = ""
    while "}" not in text:
        line = served.stdout.readline()
        if not line:
            raise SystemExit("`serve` has ended before it told its address")
        text += line
    try:
        yield psutil.Process(served.pid), json.loads(text)["address"]
    finally:
        served.terminate()
        served.wait()


def measured(
    process: psutil.Process, address: str, results: Path, options: Any, workloads: Sequence[str], flooded: bool
) -> Iterator[dict[str, Any]]:
    """One run, with or without the flood: its attempts and the flood's own counts."""
    until_no_page_is_drawn(process)
    before, cpu_s, began = set(results.glob("*/plan.json")), _cpu_s(process), time.monotonic()
    words = ["run", "-s", options.stack, "--connections", "32", "--window", str(options.window), "--blocks", "1", "--no-controls"]
    words += [word for workload in workloads for word in ("-w", workload)]
    with flood(address, options.rate) if flooded else contextlib.nullcontext() as counts:
        done = subprocess.run([LAB, *words, "--results", str(results), "--quiet"], stdout=subprocess.DEVNULL)
    share = (_cpu_s(process) - cpu_s) / (time.monotonic() - began)
    made = set(results.glob("*/plan.json")) - before
    if len(made) != 1:
        raise SystemExit(f"the run kept no record (exit code {done.returncode})")
    for trial in store.load(made.pop().parent).everything:
        yield row(trial) | {"serve_share": share, "flood": counts}


def row(trial: Trial) -> dict[str, Any]:
    """What is kept of an attempt; numbers are None where nothing was measured."""
    said = [finding.severity for finding in trial.findings if finding.id == "foreign-cpu"]
    return {
        "cell": f"`{trial.cell.stack}`, {trial.cell.workload}",
        "goodput_per_s": trial.result.goodput_per_s if trial.result else None,
        "cost_us": cost_us(trial),
        "said": bool(said),
        "void": Severity.VOID in said,
    }


@contextlib.contextmanager
def flood(address: str, rate: int) -> Iterator[dict[str, int]]:
    """Requests that are due at a fixed rate; their counts are there once the block has ended."""
    words = ["--rate", str(rate), "--constant", "-c", str(rate), "-d", str(LONGEST_S), "--timeout-ms", str(TIMEOUT_MS)]
    words += ["--expect-status", "303", "--json"]
    sender = subprocess.Popen(
        [ENGINE, "run", address, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    counts: dict[str, int] = {}
    try:
        yield counts
    finally:
        sender.terminate()
        said, _ = sender.communicate()
    window = json.loads(said)["window"]
    counts.update(due=window["sent"] + window["outcomes"]["unsent"], answered=window["outcomes"]["ok"])


def until_no_page_is_drawn(process: psutil.Process) -> None:
    """Pages of finished runs are drawn by a process of its own, which must not lie in a run; the bound is for one that hangs."""
    deadline, quiet = time.monotonic() + QUIET_S, 0
    while quiet < 4 and time.monotonic() < deadline:  # a record is looked for every half second
        quiet = 0 if process.children() else quiet + 1
        time.sleep(0.5)


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each cell."""
    for cell in dict.fromkeys(row["cell"] for row in rows):
        ours = [row for row in rows if row["cell"] == cell]
        rounds = len({row["round"] for row in ours})
        shown = [_words(ratio(ours, key)) for key in QUANTITIES.values()]
        counts = [f"{_of(ours, key, flooded=False)}; {_of(ours, key, flooded=True)}" for key in ("said", "void")]
        yield f"| {cell} | {rounds} | {' | '.join([*shown, *counts])} |"


def ratio(rows: Sequence[Mapping[str, Any]], key: str) -> Interval | None:
    """Flooded over in peace, paired by round; attempts of one run are averaged. None with fewer than two rounds."""
    found: dict[bool, dict[int, list[float]]] = {False: {}, True: {}}
    for one in rows:
        if one[key]:
            found[one["flooded"]].setdefault(one["round"], []).append(one[key])
    means = {
        flooded: {number: math.exp(statistics.fmean(map(math.log, values))) for number, values in rounds.items()}
        for flooded, rounds in found.items()
    }
    return differences.of_pairs(differences.paired(means[True], means[False])).ratio


def sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What came of the flood's requests, and what `serve` used meanwhile."""
    runs = {(row["round"], row["flooded"]): row for row in rows}
    floods = [row["flood"] for row in runs.values() if row["flooded"]]
    due = sum(counts["due"] for counts in floods)
    if due:
        good = sum(counts["answered"] for counts in floods)
        yield f"Of the flood's {due:,} requests {good:,} were answered ({good / due:.1%}); the others waited, or were given up."
    for flooded, words in ((False, "in peace"), (True, "flooded")):
        shares = [row["serve_share"] for row in runs.values() if row["flooded"] is flooded]
        if shares:
            yield f"`serve` used {statistics.fmean(shares):.1%} of a core on average {words}, {max(shares):.1%} at most."


def _of(rows: Sequence[Mapping[str, Any]], key: str, flooded: bool) -> str:
    ours = [row for row in rows if row["flooded"] is flooded]
    return f"{sum(row[key] for row in ours)} of {len(ours)}"


def _words(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.middle:.3f} ({interval.low:.3f} to {interval.high:.3f})"


if __name__ == "__main__":
    main()
