"""What object mappers cost beside SQL by hand, from a run of suites/orms.toml: a table as Markdown.

    bench/orms.py results/2026-11-29-1959-what-an-object-mapper-costs --write docs/orms.md

The first stack of each group has its SQL by hand; the others are held against it, test by test. A ratio is of trials of the same
rounds. Intervals are of one comparison each, of 95 %. Of several runs a later one tells what an earlier one cannot.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import frame
from fairground import records
from fairground.inputs import manifest
from fairground.model import Run
from fairground.report import splice
from fairground.stats import comparisons
from fairground.stats.comparisons import Judge, Quantity
from fairground.stats.fit import Estimate

SUITE = frame.ROOT / "suites" / "orms.toml"
UNTOLD = "not comparable"
HEAD = """\
| mapper | SQL by hand | test | server CPU per answer | times as much | goodput, times as much |
|--|--|--|--:|--:|--:|
"""


def main() -> None:
    """Print the table of a run, or put it between the marks of a page."""
    parser = frame.parser(__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    arguments = parser.parse_args()
    groups = [group.stacks for group in manifest.load_suite(SUITE).groups]
    told = dict[str, str]()
    for folder in arguments.runs:
        for line in rows(records.load_run(folder), groups):
            name = line.rsplit(" | ", 3)[0]
            if name not in told or UNTOLD not in line:
                told[name] = line
    table = HEAD + "".join(f"{line}\n" for line in told.values())
    print(table, end="")
    if arguments.write is not None:
        splice.put(arguments.write, "mappers", table, "What an object mapper costs")


def rows(run: Run, groups: Sequence[Sequence[str]]) -> Iterator[str]:
    """A row for each mapper and test, in the order of groups."""
    judge = Judge.of(run.plan, run.trials, run.controls)
    fields = {field[0].cell.workload: comparisons.field_of(field[0].cell) for field in comparisons.fields_of(run.trials)}
    for (by_hand, *mappers), workload in itertools.product(groups, fields):
        measured = {quantity: judge.measured[fields[workload], quantity].alike for quantity in Quantity}
        cost = cost_us(run, workload)
        for mapper in mappers:
            cpu, goodput = (measured[one].against((mapper, None), (by_hand, None)) for one in (Quantity.CPU, Quantity.GOODPUT))
            shown = f"{cost[mapper]:,.0f} µs" if mapper in cost else "none: no valid trial"
            yield f"| {mapper} | {by_hand} | {workload} | {shown} | {times(cpu, turned=True)} | {times(goodput)} |"


def cost_us(run: Run, workload: str) -> Mapping[str, float]:
    """Stack → the middle of its trials' CPU per answer in µs."""
    found: dict[str, list[float]] = {}
    for trial in run.trials:
        cost = trial.cpu_us_per_answer("server")
        if trial.cell.workload == workload and trial.goodput_per_s is not None and cost is not None:
            found.setdefault(trial.cell.stack, []).append(cost)
    return {stack: sorted(costs)[len(costs) // 2] for stack, costs in found.items()}


def times(found: Estimate | None, turned: bool = False) -> str:
    """A ratio with its interval; `turned`: of the inverse, as more CPU is told."""
    if found is None:
        return UNTOLD
    ratio = found.interval().exp()
    low, middle, high = (1 / ratio.high, 1 / ratio.middle, 1 / ratio.low) if turned else (ratio.low, ratio.middle, ratio.high)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
