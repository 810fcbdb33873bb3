"""What each tuning buys: every tuned variant against the documented one of its server; two tables as Markdown.

    bench/tuning.py --budget 30m --keep docs/tuning.jsonl --write docs/tuning.md

The whole takes hours. With `--keep` each comparison is written down as it ends, is not measured again, and the tables show all
that the file holds, so that it can be filled in parts (`--budget`, `--only`, `--workload`). What is interrupted in the midst of a
comparison loses that one. Each is `./fairground compare DOCUMENTED TUNED`, in rounds of short turns. It ends where the interval
is within ± 2 % (`--width`), or after 60 s (`--each`), which hold the starts that a verdict asks for.
Servers that start slowly need more: `--again --each 4m` measures anew what is inconclusive in server CPU, and shows that instead.
A variant `x` is held against `documented-x` where there is one, else against `documented`. It measures, and asserts nothing.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import frame
import stale
from fairground.inputs import numbers

ABOUT = """\
# What each tuning buys

`make bench-tuning` compares each tuned variant with the documented one of its server, both at once and in short turns, as
`compare` does. The documented one is written as its framework's documentation shows; what the tuned one adds stands below the
tables. A tuning is rarely alone, so a row says what all of a variant's tunings buy together. In parentheses stands the 95 %
interval. **Bold** is what `compare` called a difference; `=` is equivalent, `?` is inconclusive, – was not measured.
*Not called*: the interval excludes zero, and still `compare` calls no difference. It rests on fewer than five starts, or is not
sure enough for two quantities at once.
*Too wide*: the ends of the interval are more than a factor of four apart, and nothing is found.
"""
WORKLOADS = ("ping", "db-ping", "users", "tx")
QUANTITIES = {"server CPU": "Server CPU per good answer: less is better", "goodput": "Goodput: more is better"}
WIDE = 4.0
"""An interval whose ends are so many times each other finds nothing."""
MARKS = {"equivalent": "=", "inconclusive": "?"}
Row = dict[str, Any]
Pair = tuple[str, str]


def main() -> None:
    """Measure what is not kept yet, and print the tables."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--only", default="", help="only tuned variants with this in their id")
    parser.add_argument("--workload", action="append", choices=WORKLOADS, help="repeatable (all four)")
    parser.add_argument("--each", default="60s", help="the most time of one comparison")
    parser.add_argument("--width", type=float, default=2.0, help="a comparison ends within ± this many percent")
    parser.add_argument("--again", action="store_true", help="also what is kept and inconclusive in server CPU")
    parser.add_argument("--budget", help="of this call, such as 30m: no comparison is begun that would end after it")
    options = parser.parse_args()
    stacks, rows, lab, here = listed(), frame.load_rows(options.keep), frame.version(), frame.machine_words()
    sound = [row for row in rows if not options.again or decided(row)]
    left, began, took_s = todo(stacks, sound, options.only, options.workload or WORKLOADS), time.monotonic(), list[float]()
    budget_s = None if options.budget is None else numbers.seconds("--budget", options.budget)
    for place, (pair, workload) in enumerate(left):
        start = time.monotonic()
        if not fits(budget_s, start - began, took_s):
            frame.tell(f"{len(left) - place} comparisons are left for another call")
            break
        lines = compare(pair, workload, options.each, options.width)
        took_s.append(time.monotonic() - start)
        if lines is None:
            continue
        rows.append({"lab": lab, "on": here, "pair": pair, "workload": workload, "budget": options.each, "lines": lines})
        frame.tell(f"{pair[1]} {workload}: {cell(rows[-1], 'server CPU')} CPU, {cell(rows[-1], 'goodput')} goodput")
        frame.append_rows(options.keep, rows[-1:])
    text = page(stacks, rows) + "\n"
    head = stale.PageHead.of(options.write.read_text(encoding="utf-8")) if options.write and options.write.exists() else None
    frame.publish(text if head is None else stale.headed(text, head), options.write)


def listed() -> list[Row]:
    """The stacks that the lab knows, with how each is written and what it leaves out."""
    done = subprocess.run([frame.LAB, "list", "--json"], capture_output=True, text=True, check=True)
    stacks: list[Row] = json.loads(done.stdout)["stacks"]
    return stacks


def pairs(stacks: list[Row]) -> list[Pair]:
    """Each tuned variant behind the documented one that is nearest to it; a server without one has no pair."""
    documented = [stack["id"] for stack in stacks if stack["approach"] == "documented"]
    found = []
    for stack in stacks:
        server, _, variant = stack["id"].partition(":")
        own = [one for one in documented if one.startswith(f"{server}:")]
        near = [one for one in (f"{server}:documented-{variant}", f"{server}:documented", *own) if one in own]
        if stack["approach"] == "tuned" and near:
            found.append((near[0], stack["id"]))
    return found


def todo(stacks: list[Row], rows: list[Row], only: str, workloads: tuple[str, ...]) -> list[tuple[Pair, str]]:
    """What is to be measured: not what is kept already, nor what one of the two leaves out."""
    skips = {stack["id"]: stack["skip"] for stack in stacks}
    done = {(*row["pair"], row["workload"]) for row in rows}
    return [
        (pair, workload)
        for pair in pairs(stacks)
        for workload in workloads
        if only in pair[1] and (*pair, workload) not in done and not any(workload in skips[one] for one in pair)
    ]


def decided(row: Row) -> bool:
    """Whether a comparison has a word on what an answer costs."""
    line = row["lines"].get("server CPU")
    return line is not None and line["verdict"] != "inconclusive"


def fits(budget_s: float | None, spent_s: float, took_s: list[float]) -> bool:
    """Whether another comparison, as long as the longest so far, ends within the call's budget; the first is always begun."""
    return budget_s is None or not took_s or spent_s + max(took_s) <= budget_s


def compare(pair: Pair, workload: str, each: str, width: float) -> dict[str, Row] | None:
    """One comparison's lines by their quantity; None where nothing could be measured, which is said."""
    command = [
        frame.LAB,
        "compare",
        *pair,
        "-w",
        workload,
        "--budget",
        each,
        "--width",
        f"{width:g}",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        frame.tell(f"{pair[1]} {workload}: nothing measured: {done.stderr.strip()[-300:]}")
        return None
    return {line["quantity"]: line for line in json.loads(done.stdout)["lines"]}


def page(stacks: list[Row], rows: list[Row]) -> str:
    """The tables, and below them what is tuned."""
    shown = [pair for pair in pairs(stacks) if any(tuple(row["pair"]) == pair for row in rows)]
    found = {(*row["pair"], row["workload"]): row for row in rows}
    parts = [ABOUT]
    for quantity, title in QUANTITIES.items():
        parts.append(f"## {title}\n\n| variant | against | " + " | ".join(WORKLOADS) + " |\n|--|--|" + "--:|" * len(WORKLOADS))
        for pair in shown:
            cells = [cell(found.get((*pair, workload)), quantity) for workload in WORKLOADS]
            parts[-1] += f"\n| `{pair[1]}` | `{pair[0].partition(':')[2]}` | " + " | ".join(cells) + " |"
    tuning = {stack["id"]: [one["what"] for one in stack["tuning"]] for stack in stacks}
    parts.append("## What is tuned\n\n" + "\n".join(f"- `{pair[1]}`: {'; '.join(tuning[pair[1]])}." for pair in shown))
    budgets, machines = (sorted({row[key] for row in found.values()}) for key in ("budget", "on"))
    said = f"Each comparison had at most {' or '.join(budgets)}, on {' or '.join(machines)}."
    parts.append(said if rows else "Nothing is measured yet.")
    return "\n\n".join(part.strip() for part in parts)


def cell(row: Row | None, quantity: str) -> str:
    """One comparison's change of a quantity, with its interval and what was called."""
    line = None if row is None else row["lines"].get(quantity)
    if line is None:
        return "–"
    if line["change"] is None:
        return "no interval"
    if 1 + line["change_high"] > WIDE * (1 + line["change_low"]):
        return "too wide"
    amount = f"{line['change']:+.1%} ({line['change_low']:+.1%} to {line['change_high']:+.1%})"
    mark = MARKS.get(line["verdict"])
    if line["verdict"] == "inconclusive" and not line["change_low"] <= 0 <= line["change_high"]:
        mark = "not called"
    return f"**{amount}**" if mark is None else f"{amount} {mark}"


if __name__ == "__main__":
    main()
