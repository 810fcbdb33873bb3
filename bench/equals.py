"""How often a run calls equal stacks different: several variants of a server that are one and the same; a table as Markdown.

    bench/equals.py --stack SERVER:VARIANT --runs 4 --keep results/bench-equals.jsonl --write docs/evidence.md

The server's folder is copied to a temporary one, where the variant stands several times under other names. Each run measures all
of them in rounds, and every pair of them is judged as the page judges it: held to the number of pairs of its workload. It
measures, and asserts nothing.
"""

from __future__ import annotations

import itertools
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import frame
from fairground import records
from fairground.model import Run
from fairground.model.record import RecordKind
from fairground.stats import comparisons, differences
from fairground.stats.comparisons import Judge, Quantity
from fairground.stats.differences import DifferenceWord

CALLED = (DifferenceWord.FASTER, DifferenceWord.SLOWER)
ABOUT = """\
# How often a run calls equal stacks different

`make bench-equals STACK=SERVER:VARIANT`: one stack stands several times in a run, and every pair of it is judged, held to the
number of pairs of its workload. *Called* are pairs that were said to differ, of all that were judged. *By its own interval* are
those whose 95 % interval excludes 1, which about one in twenty should. Half of an interval's width is a median.

| stack | options | workload | quantity | pairs | called | by its own interval | equivalent | half of the interval |
|--|--|--|--|--:|--:|--:|--:|--:|"""


def main() -> None:
    """Run all, and print what was called."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--arms", type=int, default=6)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--workload", action="append", help="may be given several times (default: ping, db-ping, users, tx)")
    parser.add_argument("how", nargs="*", help="after `--`: further options of `run`, such as --blocks 3")
    options = parser.parse_args()
    workloads = options.workload or ["ping", "db-ping", "users", "tx"]
    how = options.how or ["--blocks", "2", "--window", "1", "--warmup", "0.5,0.5", "--connections", "50"]
    rows = frame.load_rows(options.keep)
    for number in range(options.runs):
        seed = len({(row["how"], row["seed"]) for row in rows}) + 1
        with tempfile.TemporaryDirectory() as made:
            found = list(measured(Path(made), options.stack, options.arms, workloads, [*how, "--seed", str(seed)]))
        found = [{"stack": options.stack, "how": " ".join(how), "seed": seed} | row for row in found]
        frame.append_rows(options.keep, found)
        rows += found
        called = sum(row["word"] in CALLED for row in found)
        frame.tell(f"run {number + 1} of {options.runs}: {called} of {len(found)} pairs called")
    frame.publish("\n".join([ABOUT, *table(rows), ""]), options.write, "equals")


def measured(folder: Path, stack: str, arms: int, workloads: Iterable[str], how: list[str]) -> Iterator[dict[str, Any]]:
    """One run of equal stacks, as a row for each pair of a workload and quantity."""
    server, variant = stack.split(":")
    copied(frame.ROOT / "servers" / server, folder / "servers" / server, variant, arms)
    asked = [word for name in workloads for word in ("-w", name)]
    places = ["--servers", str(folder / "servers"), "--results", str(folder / "results")]
    command = [frame.LAB, "run", "-s", server, *asked, *how, *places, "--no-controls", "--quiet", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (record,) = records.of_kind(folder / "results", RecordKind.RUN)
    yield from judged(records.run_of(record))


def judged(run: Run) -> Iterator[dict[str, Any]]:
    """Each pair of a run's stacks, as a row for each workload and quantity."""
    judge = Judge.of(run.plan, run.trials, ())
    for field, quantity in itertools.product(comparisons.fields_of(run.trials), Quantity):
        measured = judge.measured[comparisons.field_of(field[0].cell), quantity]
        pairs = itertools.combinations([(stack, None) for stack in measured.levels], 2)
        for one in differences.differences_of({pair: measured.against(*pair) for pair in pairs}).values():
            if one.ratio is not None:
                ends = {"low": one.ratio.low, "high": one.ratio.high}
                yield {"workload": field[0].cell.workload, "quantity": str(quantity), "word": str(one.word), **ends}


def copied(server: Path, to: Path, variant: str, arms: int) -> None:
    """A copy of a server's folder, with one of its variants several times and none of the others."""
    shutil.copytree(server, to, ignore=shutil.ignore_patterns(".venv", "node_modules", "target"))
    head, *sections = re.split(r"(?m)^(?=\[variants\.)", (server / "server.toml").read_text(encoding="utf-8"))
    (ours,) = [section for section in sections if section.startswith(f"[variants.{variant}]")]
    again = [ours.replace(f"[variants.{variant}]", f"[variants.equal-{number}]") for number in range(1, arms + 1)]
    (to / "server.toml").write_text(head + "".join(again), encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each workload and quantity, and one for all of a quantity."""
    for stack, how in sorted({(row["stack"], row["how"]) for row in rows}):
        for quantity in map(str, Quantity):
            ours = [row for row in rows if (row["stack"], row["how"], row["quantity"]) == (stack, how, quantity)]
            for workload in sorted({row["workload"] for row in ours}):
                yield line(stack, how, workload, quantity, [row for row in ours if row["workload"] == workload])
            if ours:
                yield line(stack, how, "**all**", quantity, ours)


def line(stack: str, how: str, workload: str, quantity: str, rows: list[dict[str, Any]]) -> str:
    """One row of the table."""
    called, alike = (sum(row["word"] in words for row in rows) for words in (CALLED, [DifferenceWord.EQUIVALENT]))
    own = sum(row["low"] > 1 or row["high"] < 1 for row in rows)
    half = statistics.median((row["high"] / row["low"]) ** 0.5 - 1 for row in rows)
    cells = [
        f"`{stack}`",
        f"`{how}`",
        workload,
        quantity,
        str(len(rows)),
        f"{called} ({called / len(rows):.1%})",
        str(own),
        str(alike),
    ]
    return "| " + " | ".join([*cells, f"± {half:.1%}"]) + " |"


if __name__ == "__main__":
    main()
