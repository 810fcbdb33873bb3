"""What an answer costs each stack in instructions and system calls, beside its CPU: the tables of docs/counted.md.

    bench/counted.py --budget 30m --keep docs/counted.jsonl --write docs/counted.md

Each stack is counted on each workload by `./fairground run --count`, two starts each, with the same requests for all stacks of
compiled languages, and half as many for the others. The whole takes some hours. With `--keep` each stack's rows are written
down as they end, and are not counted again, so that it can be filled in parts (`--budget`, `--only`, `--workload`). Languages
take turns, so that a part of it shows each of them. Counting goes on beside other work. CPU for an answer, which does not, is
read from the record of docs/tuning.md (`--cpu`). It measures, and asserts nothing.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import frame
from fairground.inputs import numbers

REQUESTS = {"ping": 3200, "db-ping": 3200, "lookup": 3200, "users": 640, "tx": 1600}
"""Workload → the requests of a start's counted windows together."""
COMPILED, SHARE = ("Go", "Rust", "C", "C++"), 0.5
"""Languages whose stacks get all of them, and how many the others get: an answer of theirs is ten times the work."""
SLOW = ", and half as many of Node, Python, Java and Ruby"
APPROACHES = ("documented", "engine")
CONTRACT = "seeds"
RENAMED = {
    "rust-actix:documented": "rust-actix:documented-deadpool",
    "rust-axum:documented": "rust-axum:documented-sqlx",
    "ruby-rails:documented": "ruby-rails:documented-6-1",
}
"""Stacks as the record of CPU calls them → their names of today."""
VERSIONS = ("QEMU", "libc", "PostgreSQL")
DASH = "–"
FEWEST = 4
"""Fewer stacks are no order."""
Row = dict[str, Any]


def main() -> None:
    """Count what is not kept yet, and print the tables."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--only", default="", help="only the stack of this id, or those with this in it")
    parser.add_argument("--workload", action="append", choices=tuple(REQUESTS), help="repeatable (all five)")
    parser.add_argument("--cpu", type=Path, default=frame.ROOT / "docs" / "tuning.jsonl", help="the record of CPU for an answer")
    parser.add_argument("--each", default="10m", help="the most time of one stack on one workload")
    parser.add_argument("--budget", help="of this call, such as 30m: no stack is begun after it")
    parser.add_argument("--tables", action="store_true", help="count nothing, and write the tables of what is kept")
    options = parser.parse_args()
    stacks, rows = documented(), frame.load_rows(options.keep)
    began, budget_s = time.monotonic(), math.inf if options.budget is None else numbers.seconds("--budget", options.budget)
    each_s, left = numbers.seconds("--each", options.each), todo(stacks, rows, options.only, options.workload or list(REQUESTS))
    for place, (stack, workload) in enumerate([] if options.tables else left):
        if time.monotonic() - began >= budget_s:
            frame.tell(f"{len(left) - place} rows are left for another call")
            break
        rows.append(count(stack, workload, each_s))
        amount = rows[-1]["instructions"]
        frame.tell(f"{stack['id']} {workload}: {rows[-1]['why'] if amount is None else f'{amount:,.0f} instructions'}")
        frame.append_rows(options.keep, rows[-1:])
    text = page(stacks, rows, cpu_of(frame.load_rows(options.cpu)))
    frame.put_part(text, options.write, "table", "Counted work")


def documented() -> list[Row]:
    """The documented stacks, and those written by hand, that answer the workloads: one of each language at a time."""
    done = subprocess.run([frame.LAB, "list", "--json"], capture_output=True, text=True, check=True)
    found = [one for one in json.loads(done.stdout)["stacks"] if one["approach"] in APPROACHES and contract_of(one) == CONTRACT]
    turns: dict[str, int] = {}
    for one in found:
        turns[one["language"]] = one["turn"] = turns.get(one["language"], -1) + 1
    return sorted(found, key=lambda one: one["turn"])


def contract_of(stack: Row) -> str:
    """The contract of a stack's server."""
    manifest = frame.ROOT / "servers" / stack["id"].partition(":")[0] / "server.toml"
    return str(tomllib.loads(manifest.read_text(encoding="utf-8")).get("contract", CONTRACT))


def todo(stacks: Sequence[Row], rows: Sequence[Row], only: str, workloads: Sequence[str]) -> list[tuple[Row, str]]:
    """What is to be counted: not what is kept already, nor what a stack leaves out or cannot do here."""
    done = {(row["stack"], row["workload"]) for row in rows}
    chosen = [stack for stack in stacks if only == stack["id"]] or [stack for stack in stacks if only in stack["id"]]
    return [
        (stack, workload)
        for stack in chosen
        for workload in workloads
        if stack["state"] != "not here" and workload not in stack["skip"] and (stack["id"], workload) not in done
    ]


def count(stack: Row, workload: str, each_s: float) -> Row:
    """Count a stack on a workload. What has no number says why."""
    row = {"stack": stack["id"], "workload": workload, "day": f"{datetime.now(UTC):%Y-%m-%d}", "on": frame.machine_words()}
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            frame.LAB,
            "run",
            "--count",
            "-s",
            stack["id"],
            "-w",
            workload,
            "--requests",
            str(requests_of(stack, workload)),
        ]
        command += ["--budget", "1s", "--json", "--quiet", "--results", scratch]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=each_s)
            found = json.loads(done.stdout or "null")
        except subprocess.TimeoutExpired:
            return row | {"instructions": None, "why": f"it took longer than {each_s / 60:g} minutes"}
        if found is None:
            said = [line for line in done.stderr.splitlines() if line.startswith("error: ")] or done.stderr.splitlines() or ["?"]
            return row | {"instructions": None, "why": said[0].removeprefix("error: ").strip()}
        head = json.loads(Path(found["folder"], "head.json").read_text(encoding="utf-8"))
    (one,) = found["counted"]
    return row | {
        "instructions": one["instructions_per_answer"],
        "spread": one["spread"],
        "between": one["instructions_between_collections"],
        "between_spread": one["spread_between_collections"],
        "calls": one["system_calls_per_answer"],
        "starts": one["starts"],
        "unsettled": one["unsettled_starts"],
        "why": one["why"],
        "receipt": head["stacks"][stack["id"]]["receipt"],
        "versions": head["versions"],
    }


def requests_of(stack: Row, workload: str) -> int:
    """The requests of a start's counted windows together."""
    return REQUESTS[workload] if stack["language"] in COMPILED else round(REQUESTS[workload] * SHARE)


def cpu_of(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Stack and workload → µs of server CPU for an answer, the median of what the record of comparisons has of it."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if (line := row["lines"].get("server CPU")) is not None and line["a"] is not None:
            stack = RENAMED.get(row["pair"][0], row["pair"][0])
            found.setdefault((stack, row["workload"]), []).append(line["a"])
    return {key: statistics.median(values) for key, values in found.items()}


def page(stacks: Sequence[Row], rows: Sequence[Row], cpu: Mapping[tuple[str, str], float]) -> str:
    """How it was counted, a table for each workload, and what has no number."""
    if not rows:
        return "Nothing is counted yet.\n"
    days, machines = (" and ".join(sorted({row[key] for row in rows})) for key in ("day", "on"))
    versions = {f"{name} {row['versions'][name]}" for row in rows if row.get("versions") for name in VERSIONS}
    head = (
        f"Counted on {days}, on {machines}, with {', '.join(sorted(versions))}. Each stack was started twice, with one worker on"
        " one core and 16 connections. ± is the spread of both starts, and a dash where one alone has a number."
        " *Unsettled*: the warm-up of a start had not settled after"
        " 60 s, and its count may fall. CPU is that of [what each tuning buys](tuning.md), measured with 100 connections on other"
        " days and in part with earlier versions."
    )
    return "\n\n".join([head, *(of_workload(one, stacks, rows, cpu) for one in REQUESTS), *missing(stacks, rows)]) + "\n"


def of_workload(workload: str, stacks: Sequence[Row], rows: Sequence[Row], cpu: Mapping[tuple[str, str], float]) -> str:
    """The table of a workload, fewest instructions first, and how far CPU puts its stacks into the same order."""
    names = {one["id"] for one in stacks}
    found = [row for row in rows if row["workload"] == workload and row["instructions"] is not None and row["stack"] in names]
    lines = [
        f"### {workload}\n",
        f"{REQUESTS[workload]:,} requests for each start{SLOW}. {order(workload, found, cpu)}\n",
        "| stack | instructions for an answer | ± | between collections | ± | system calls | CPU for an answer, µs | per ns |",
        "|--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in sorted(found, key=lambda one: one["instructions"]):
        time_us = cpu.get((row["stack"], workload))
        spread, between_spread = (share_words(row.get(key)) for key in ("spread", "between_spread"))
        between = DASH if row.get("between") is None else f"{row['between']:,.0f}"
        settled = " *unsettled*" if row["unsettled"] else ""
        beside = f"{DASH} | {DASH}" if time_us is None else f"{time_us:,.0f} | {row['instructions'] / time_us / 1000:.1f}"
        cells = (f"`{row['stack']}`", f"{row['instructions']:,.0f}{settled}", spread, between, between_spread)
        lines.append(f"| {' | '.join(cells)} | {row['calls']:.1f} | {beside} |")
    return "\n".join(lines)


def share_words(share: float | None) -> str:
    """0.0123 → `1.2 %`."""
    return DASH if share is None else f"{share:.1%}".replace("%", " %")


def order(workload: str, found: Sequence[Row], cpu: Mapping[tuple[str, str], float]) -> str:
    """Say how far the order by instructions is that by CPU: Spearman's rank correlation."""
    both = [(row["instructions"], cpu[row["stack"], workload]) for row in found if (row["stack"], workload) in cpu]
    if len(both) < FEWEST:
        return "There is no CPU to hold against it."
    from scipy.stats import spearmanr  # seconds to load, and the tests of the tables need none of it

    agreement = spearmanr([one for one, _ in both], [other for _, other in both]).statistic
    return f"The rank correlation with CPU is {agreement:.2f}, over {len(both)} stacks."


def missing(stacks: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    """The section of what has no number: what was tried in vain, and what was not tried."""
    without: dict[tuple[str, str], list[str]] = {}
    for row in sorted(rows, key=lambda one: one["stack"]):
        if row["instructions"] is None:
            why = row["why"].removeprefix(f"`{row['stack']}` has no number: ")
            without.setdefault((row["stack"], why), []).append(f"`{row['workload']}`")
    lines = [f"- `{name}` on {', '.join(workloads)}: {why}" for (name, why), workloads in without.items()]
    for stack in stacks:
        if stack["state"] == "not here":
            lines.append(f"- `{stack['id']}`: not here, {stack['why']}")
    left: dict[str, list[str]] = {}
    for stack, workload in todo(stacks, rows, "", list(REQUESTS)):
        left.setdefault(stack["id"], []).append(f"`{workload}`")
    lines += [f"- `{name}` on {', '.join(workloads)}: not tried" for name, workloads in sorted(left.items())]
    return ["### Without a number\n\n" + "\n".join(lines)] if lines else []


if __name__ == "__main__":
    main()
