"""How often `compare` calls a difference: none between identical stacks, and a planted one; prints a table as Markdown.

    bench/compare.py --stack SERVER:VARIANT --runs 20 --plant 0,2,5 --budget 3m

Each run is a `./fairground compare STACK STACK --plant P`, with fresh processes throughout; plants take turns, so that a slow
hour harms them alike. It measures, and asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run all comparisons and print what was called."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--plant", default="0,5", help="percent of the server's CPU, several separated by commas")
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--workload", default="ping")
    options = parser.parse_args()
    plants = [float(text) for text in options.plant.split(",")]
    found: dict[float, list[dict[str, Any]]] = {plant: [] for plant in plants}
    for number in range(options.runs):
        for plant in plants if number % 2 == 0 else plants[::-1]:
            row = compare(options.stack, options.workload, options.budget, plant)
            found[plant].append(row)
            print(
                f"run {number + 1} of {options.runs}, planted {plant:g} %: {row['verdict']} ({row['change']:+.1%})",
                file=sys.stderr,
            )
    print(f"\n{options.stack}, {options.workload}, at most {options.budget} each\n")
    print("| planted | runs | called dearer | called cheaper | equivalent | inconclusive | measured, median | range |")
    print("|--:|--:|--:|--:|--:|--:|--:|--|")
    for plant, rows in found.items():
        print(line(plant, rows))


def compare(stack: str, workload: str, budget: str, plant: float) -> dict[str, Any]:
    """One comparison's line about CPU per answer."""
    command = [
        str(ROOT / "fairground"),
        "compare",
        stack,
        stack,
        "-w",
        workload,
        "--budget",
        budget,
        "--plant",
        str(plant),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["lines"]
    return next(row for row in rows if row["quantity"] == "server CPU")


def line(plant: float, rows: list[dict[str, Any]]) -> str:
    """One row of the table."""
    changes = [row["change"] for row in rows if row["change"] is not None]
    counts = [sum(row["verdict"] == word for row in rows) for word in ("dearer", "cheaper", "equivalent", "inconclusive")]
    cells = [f"{plant:g} %", str(len(rows)), *map(str, counts)]
    cells += [f"{statistics.median(changes):+.2%}", f"{min(changes):+.2%} to {max(changes):+.2%}"]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
