"""What object mappers cost beside SQL by hand, from a run of suites/orms.toml: a table as Markdown.

    bench/orms.py results/2026-11-29-1959-what-an-object-mapper-costs --write docs/orms.md

The first stack of each group has its SQL by hand; the others are held against it, test by test. A ratio is of trials of the same
rounds. Intervals are of one comparison each, of 95 %. Of several runs a later one tells what an earlier one cannot. A second
table says what limited each stack on each test, and what its backends were asked beside the statements that an answer needs.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import frame
from fairground import records
from fairground.inputs import manifest
from fairground.model import Run
from fairground.model.reason import REASONS
from fairground.stats import comparisons
from fairground.stats.comparisons import Judge, Quantity
from fairground.stats.fit import Estimate

SUITE = frame.ROOT / "suites" / "orms.toml"
UNTOLD = "not comparable"
HEAD = """\
| mapper | SQL by hand | test | server CPU per answer | times as much | goodput, times as much |
|--|--|--|--:|--:|--:|
"""


LIMITS = "| stack | test | what was full | asked beside, of the samples of its backends |\n|--|--|--|--|\n"
BESIDE = "statement-"
"""What the findings on statements that no answer needs have in front of their kind."""
NOTHING = "–"


def main() -> None:
    """Print the table of a run, or put it between the marks of a page."""
    parser = frame.parser(__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    arguments = parser.parse_args()
    groups = [group.stacks for group in manifest.load_suite(SUITE).groups]
    told, limits = dict[str, str](), dict[str, str]()
    for folder in arguments.runs:
        run = records.load_run(folder)
        for line in rows(run, groups):
            name = line.rsplit(" | ", 3)[0]
            if name not in told or UNTOLD not in line:
                told[name] = line
        limits |= {line.rsplit(" | ", 2)[0]: line for line in limits_of(run, groups)}
    both = (("mappers", HEAD + _text(told.values())), ("limits", LIMITS + _text(sorted(limits.values(), key=_place(groups)))))
    for mark, table in both:
        frame.put_part(table, arguments.write, mark, "What an object mapper costs")


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _place(groups: Sequence[Sequence[str]]) -> Callable[[str], int]:
    """Where a row stands: by its stack, in the order of groups."""
    order = list(itertools.chain(*groups))
    return lambda line: order.index(line.split(" | ", 1)[0].removeprefix("| "))


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


def limits_of(run: Run, groups: Sequence[Sequence[str]]) -> Iterator[str]:
    """A row for each stack and test with a number: the limit of most of its trials, and what was asked beside its statements."""
    workloads = list(dict.fromkeys(trial.cell.workload for trial in run.trials))
    for stack, workload in itertools.product(itertools.chain(*groups), workloads):
        cell = (stack, workload)
        trials = [one for one in run.trials if (one.cell.stack, one.cell.workload) == cell and one.goodput_per_s is not None]
        if not trials:
            continue
        (limit, count), *_ = Counter(one.diagnosis for one in trials).most_common(1)
        full = REASONS[limit].meaning if limit is not None and 2 * count > len(trials) else NOTHING
        shares: dict[str, list[float]] = {}
        for finding in (found for one in trials for found in one.findings if found.id.startswith(BESIDE)):
            text = f"{finding.sentence.partition(' were ')[2].partition(':')[0]}, `{finding.evidence['statement']}`"
            shares.setdefault(text, []).append(float(finding.evidence["share"] or 0))
        often = {text: each for text, each in sorted(shares.items()) if 2 * len(each) > len(trials)}
        beside = [f"{statistics.median(each):.0%} {text}".replace("%", " %") for text, each in often.items()]
        yield f"| {stack} | {workload} | {full} | {'; '.join(beside) or NOTHING} |"


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
