"""How often `compare` calls a difference: none between identical stacks, and a planted one; a table as Markdown.

    bench/compare.py --stack SERVER:VARIANT --runs 20 --plant 0,5 --budget 3m --keep results/bench-compare.jsonl

The whole takes hours. With `--keep` each comparison is written down as it ends and the table counts all that the file holds, so
that it can be filled in parts. Each run is a `./fairground compare STACK STACK --plant P`, with fresh processes throughout;
plants take turns, so that a slow hour harms them alike. It measures, and asserts nothing.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from typing import Any

import frame

HEAD = """\
| stack | workload | options | budget | planted | runs | costlier | cheaper \
| equivalent | inconclusive | measured | range | ± |
|--|--|--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""
ABOUT = """\
# How often `compare` is right

`make bench-compare STACK=SERVER:VARIANT` compares a stack with itself, fresh processes throughout. In some runs a process in the
second server's group uses up a known share of its CPU: a planted slowdown. What is called is CPU per good answer.
*Costlier* is then right, and wrong where 0 % was planted. The two servers take turns on the same machine, of 30 ms
and more or of what the options say. *Measured* and *±* (half of a 95 % interval) are medians; how wide the intervals are says how
restless that machine was. Rows of `go-nethttp:pgx` and `node-fastify:cluster` are older: turns lasted a tenth of a second.
"""


def main() -> None:
    """Run all comparisons and print what was called."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--plant", default="0,5", help="percent of the server's CPU, several separated by commas")
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--workload", default="ping")
    parser.add_argument("how", nargs="*", help="after `--`: further options of `compare`, such as --pin server=0")
    options = parser.parse_args()
    how = " ".join(options.how)
    plants = [float(text) for text in options.plant.split(",")]
    rows, lab = frame.load_rows(options.keep), frame.version()
    for number in range(options.runs):
        for plant in plants if number % 2 == 0 else plants[::-1]:
            row = compare(options.stack, options.workload, options.budget, plant, options.how)
            what = {"stack": options.stack, "workload": options.workload, "how": how, "budget": options.budget, "planted": plant}
            rows.append({"lab": lab, **what, **row})
            frame.append_rows(options.keep, rows[-1:])
            seen = "nothing measured" if row["change"] is None else f"{row['change']:+.1%}"
            said = f"planted {plant:g} %: {row['verdict']} ({seen})"
            frame.tell(f"run {number + 1} of {options.runs}, {said}")
    frame.publish(f"{ABOUT}\n{table(rows)}\n", options.write, "compare")


def table(rows: list[dict[str, Any]]) -> str:
    """The comparisons as Markdown: one row for each stack, workload, way of comparing, budget and planted slowdown."""
    groups: dict[tuple[str, str, str, str, float], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["stack"], row["workload"], row.get("how", ""), row["budget"], row["planted"]), []).append(row)
    return "\n".join([HEAD, *(line(key, group) for key, group in sorted(groups.items()))])


def compare(stack: str, workload: str, budget: str, plant: float, how: list[str]) -> dict[str, Any]:
    """One comparison's line about CPU per answer; `how` are further options of `compare`."""
    options = ["-w", workload, "--budget", budget, "--plant", str(plant), *how, "--json"]
    command = [frame.LAB, "compare", stack, stack, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["lines"]
    return next(row for row in rows if row["quantity"] == "server CPU")


def line(key: tuple[str, str, str, str, float], rows: list[dict[str, Any]]) -> str:
    """One row of the table."""
    stack, workload, how, budget, plant = key
    changes = [row["change"] for row in rows if row["change"] is not None]
    counts = [sum(row["verdict"] == word for row in rows) for word in ("costlier", "cheaper", "equivalent", "inconclusive")]
    cells = [f"`{stack}`", workload, f"`{how}`" if how else "", budget, f"{plant:g} %", str(len(rows)), *map(str, counts)]
    cells += [f"{statistics.median(changes):+.2%}", f"{min(changes):+.2%} to {max(changes):+.2%}"] if changes else ["–", "–"]
    half = [(row["change_high"] - row["change_low"]) / 2 for row in rows if row["change_low"] is not None]
    cells.append(f"± {statistics.median(half):.2%}" if half else "–")
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
