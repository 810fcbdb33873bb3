"""How far values of runs scatter from start to start, apart from what the machine did to all stacks: a table as Markdown.

    bench/scatter.py results/2026-11-29-1552-demo ...

One row for each run, quantity and way: the middle one of the stacks' standard deviations, and those of which a tenth is below and
above. The weak prior of a first run is from this table (docs/notes/memory.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import frame
from fairground import records
from fairground.model import Run
from fairground.stats import comparisons
from fairground.stats.comparisons import Quantity

HEAD = """\
| run | blocks | window | measured in | quantity | stacks | middle | a tenth below | a tenth above |
|--|--:|--:|--|--|--:|--:|--:|--:|
"""


def main() -> None:
    """Print the table of the runs that are named."""
    parser = frame.parser(__doc__, write=False)
    parser.add_argument("runs", nargs="+", type=Path)
    found = [records.load_run(folder) for folder in parser.parse_args().runs]
    frame.publish(HEAD + "".join(f"{line}\n" for run in found for line in rows(run)), None)


def rows(run: Run) -> Iterator[str]:
    """The rows of one run; none of what it has no variance of."""
    seen = comparisons.seen_spreads(run.trials)
    windows_s = {cell.load.window_s for cell in run.plan.cells}
    for in_turns, quantity in itertools.product((True, False), Quantity):
        sds = sorted(math.sqrt(one.variance) for one in seen if (one.in_turns, one.quantity) == (in_turns, quantity))
        if sds:
            tenth = len(sds) // 10
            spread = " | ".join(f"{sd:.1%}" for sd in (sds[len(sds) // 2], sds[tenth], sds[-1 - tenth]))
            way = "turns" if in_turns else "whole windows"
            window = "–".join(f"{one:g}" for one in (min(windows_s), max(windows_s))[: len(windows_s)])
            yield f"| {run.plan.title} | {run.plan.blocks} | {window} s | {way} | {quantity} | {len(sds)} | {spread} |"


if __name__ == "__main__":
    main()
