"""`make bench-limits`: how often a planted limit is named, alone. It measures and asserts nothing.

    bench/limits.py --repeat 10 --write docs/limits.md

Each row of `tests/zoo/expected.toml` that plants a limit is tried so many times, with a new seed each time, and no trial is tried
again: a machine that others use shows up as limits that were not named.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from fairground.host import machine

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # on no path of its own

import planted  # noqa: E402


def main() -> None:
    """Try the rows, say each result as it comes, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10, help="trials of each row (10)")
    parser.add_argument("--only", default="", help="only rows with this in their name")
    parser.add_argument("--write", type=Path, help="the page to write (default: standard output)")
    options = parser.parse_args()
    rows = [row for row in planted.ROWS if options.only in planted.name(row)]
    found, began = {}, time.monotonic()
    for place in sorted({str(row.get("place", "")) for row in rows}):
        found |= measure([row for row in rows if row.get("place", "") == place], options.repeat)
    text = page([(row, found[planted.name(row)]) for row in rows], options.repeat, time.monotonic() - began)
    if options.write is None:
        print(text, end="")
    else:
        options.write.write_text(text)


def measure(rows: list[dict[str, object]], repeat: int) -> dict[str, Counter[str]]:
    """Rows of one place: a row's name → how often each set of limits was named; a row that cannot be tried here has none."""
    found: dict[str, Counter[str]] = {planted.name(row): Counter() for row in rows}
    todo = [row for row in rows if planted.lacking(row) is None]
    if not todo:
        return found
    with planted.standing(todo[0], lambda said: print(said, file=sys.stderr)) as (bench, scratch):
        for number in range(1, repeat + 1):
            for place, row in enumerate(todo):
                name = planted.name(row)
                trial = planted.tried(bench, row, scratch / f"{place}-{number}", seed=number)
                found[name][", ".join(planted.named(trial)) or "none"] += 1
                sys.stderr.write(f"{number}/{repeat} {name}: {', '.join(planted.named(trial)) or 'none'}\n")
    return found


def page(rows: list[tuple[dict[str, object], Counter[str]]], repeat: int, seconds: float) -> str:
    """The table, as Markdown."""
    here = machine.fingerprint()
    lines = [
        "# How often a planted limit is named",
        "",
        f"Trials of 3 s on {here.cpu_model}, {here.cores} cores, {repeat} of each row, none tried again,",
        f"in {seconds / 60:.0f} minutes. Made anew by `make bench-limits`.",
        "",
        "| planted | in | named alone | otherwise |",
        "|--|--|--|--|",
    ]
    for row, counts in rows:
        alone = counts[str(row["diagnosis"])]
        others = "; ".join(f"{count} × {named}" for named, count in counts.most_common() if named != row["diagnosis"])
        why = planted.lacking(row)
        told = f"not here: {why}" if why else f"{alone} of {counts.total()}"
        lines.append(f"| `{row['diagnosis']}` | {str(row['stack']).partition(':')[0]}, {row['workload']} | {told} | {others} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
