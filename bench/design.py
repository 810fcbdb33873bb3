"""Which design of a comparison detects more in the same time: short turns, long ones, or whole trials. A table as Markdown.

    bench/design.py --stack SERVER:VARIANT --rounds 4 --keep results/bench-design.jsonl --write docs/evidence.md

All designs hold a stack against itself: `compare`, which keeps two servers up, loads them in turns of a tenth of a second or of
a whole one, and starts both anew after five pairs; and `run` with an A/A control, a whole trial of each in every block. The
half-width of each 95 % interval, times the square root of the minutes that it took, is what a minute of that design would
leave undecided: the smaller, the better. It measures, and asserts nothing.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import frame
from fairground import records
from fairground.model import Control
from fairground.stats import differences
from fairground.stats.comparisons import Quantity, layout

QUANTITIES = {Quantity.GOODPUT: "goodput", Quantity.CPU: "server CPU"}
ABOUT = """\
# Short turns, long ones, or whole trials

`bench/design.py` holds a stack against itself in three designs, turn about. The half-width of each 95 % interval times the square
root of its minutes: what a minute of that design leaves undecided. The smaller, the better.

| stack, workload | design | rounds | goodput, median | range | CPU per answer, median | range |
|--|--|--:|--:|--:|--:|--:|
"""


def main() -> None:
    """Measure all designs, turn about, and print or write the table."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--workload", default="ping")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=1.5, help="time of each design in a round")
    options = parser.parse_args()
    rows = frame.load_rows(options.keep)
    for number in range(options.rounds):
        for design in list(DESIGNS) if number % 2 == 0 else list(DESIGNS)[::-1]:
            frame.tell(f"round {number + 1} of {options.rounds}: {design}")
            said = {"cell": f"`{options.stack}`, {options.workload}", "design": design}
            lefts = DESIGNS[design](options.stack, options.workload, options.minutes)
            found = [said | {"quantity": quantity, "left": left} for quantity, left in lefts]
            frame.append_rows(options.keep, found)
            rows += found
    text = ABOUT + "".join(f"{line}\n" for line in table(rows))
    frame.publish(text, options.write, "design")


def turns(stack: str, workload: str, minutes: float, turn_s: float) -> Iterator[tuple[str, float]]:
    """`compare` of the stack with itself, in turns of so many seconds."""
    began = time.monotonic()
    effort = {"--workload": workload, "--budget": f"{minutes * 60:.0f}s", "--width": "0.01", "--turn": f"{turn_s:g}"}
    words = ["compare", stack, stack, *(word for option in effort.items() for word in option), "--json"]
    done = subprocess.run([frame.LAB, *words], capture_output=True, text=True, check=True)
    took = (time.monotonic() - began) / 60
    for row in json.loads(done.stdout)["lines"]:
        if row["quantity"] in QUANTITIES.values() and row["change_low"] is not None:
            yield row["quantity"], _left(1 + row["change_low"], 1 + row["change_high"], took)


def trials(stack: str, workload: str, minutes: float) -> Iterator[tuple[str, float]]:
    """`run` of the stack and its A/A control; the time that the slowed control takes is not counted."""
    blocks = max(3, round(minutes * 60 / 16))
    with tempfile.TemporaryDirectory() as scratch:
        words = ["run", "-s", stack, "-w", workload, "--controls", "--blocks", str(blocks), "--window", "3", "--warmup", "2,4"]
        subprocess.run([frame.LAB, *words, "--results", scratch, "--quiet"], capture_output=True, text=True, check=False)
        run = records.load_run(records.find_run(Path(scratch), "latest"))
    again = [one for one in run.controls if one.control == "again"]
    took = sum(one.duration_s for one in (*run.trials, *again)) / 60
    for quantity, name in QUANTITIES.items():
        fit = layout([*run.trials, *again], quantity, in_turns=False)
        interval = differences.of_estimate(fit.against((stack, None), (stack, Control.AGAIN))).ratio
        if interval is not None:
            yield name, _left(interval.low, interval.high, took)


def _left(low: float, high: float, minutes: float) -> float:
    """Half-width of an interval of ratios, as a share, times √minutes."""
    return math.log(high / low) / 2 * math.sqrt(minutes)


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """One row for each cell and design."""
    for cell, design in sorted({(row["cell"], row["design"]) for row in rows}):
        ours = [row for row in rows if (row["cell"], row["design"]) == (cell, design)]
        seen = {name: [row["left"] for row in ours if row["quantity"] == name] for name in QUANTITIES.values()}
        words = [f"±{statistics.median(some):.1%} | {min(some):.1%} to {max(some):.1%}" for some in seen.values() if some]
        yield f"| {cell} | {design} | {len(seen['server CPU'])} | {' | '.join(words)} |"


DESIGNS: dict[str, Callable[[str, str, float], Iterator[tuple[str, float]]]] = {
    "turns of 0.1 s": partial(turns, turn_s=0.1),
    "turns of 1 s": partial(turns, turn_s=1.0),
    "whole trials": trials,
}

if __name__ == "__main__":
    main()
