"""`make bench-limits`: how often a planted limit is named, alone. It measures and asserts nothing.

    bench/limits.py --repeat 10 --write docs/evidence.md

Each row of `tests/zoo/expected.toml` that plants a limit is tried so many times, with a new seed each time, and no trial is tried
again: a machine that others use shows up as limits that were not named. Seats take turns: the roles share all cores in one trial,
and have cores of their own in the next.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import frame
from fairground.inputs import seating

sys.path.insert(0, str(frame.ROOT / "tests"))  # on no path of its own

import planted  # noqa: E402

SEATS = (seating.SHARED, seating.APART)
# A row's place in `planted.ROWS`, and the seats → how often each set of limits was named.
Found = dict[tuple[int, str], Counter[str]]


def main() -> None:
    """Try the rows, say each result as it comes, and write the table."""
    parser = frame.parser(__doc__)
    parser.add_argument("--repeat", type=int, default=10, help="trials of each row in each of the seats (10)")
    parser.add_argument("--only", default="", help="only rows with this in their name")
    parser.add_argument("--seats", choices=SEATS, help="only these seats (default: both)")
    options = parser.parse_args()
    rows = [row for row in planted.ROWS if options.only in planted.name(row)]
    seats = (options.seats,) if options.seats else SEATS
    found: Found = {}
    began = time.monotonic()
    for place in sorted({str(row.get("place", "")) for row in rows}):
        found |= measure([row for row in rows if row.get("place", "") == place], seats, options.repeat)
    text = page(rows, seats, found, options.repeat, time.monotonic() - began)
    frame.publish(text, options.write, "limits")


def measure(rows: Sequence[dict[str, Any]], seats: Sequence[str], repeat: int) -> Found:
    """Rows of one place, each in all seats; a row that cannot be tried here has none."""
    found: Found = {(planted.ROWS.index(row), seat): Counter() for row in rows for seat in seats}
    todo = [row for row in rows if planted.lacking(row) is None]
    if not todo:
        return found
    with planted.standing(todo[0], frame.tell) as (bench, scratch):
        for number, row, seat in itertools.product(range(1, repeat + 1), todo, seats):
            place = planted.ROWS.index(row)
            trial = planted.tried(bench, row, scratch / f"{place}-{number}-{seat}", seed=number, seats=seat)
            named = ", ".join(planted.named(trial)) or "none"
            found[place, seat][named] += 1
            sys.stderr.write(f"{number}/{repeat} {planted.name(row)}, {seat}: {named}\n")
    return found


def page(rows: Sequence[dict[str, Any]], seats: Sequence[str], found: Found, repeat: int, seconds: float) -> str:
    """The page, as Markdown: a row for each planted limit, with how often it was named alone in each of the seats."""
    tried = [
        (planted.expected(row, seat), found.get((planted.ROWS.index(row), seat), Counter[str]()))
        for row in rows
        for seat in seats
    ]
    alone, trials = sum(counts[limit] for limit, counts in tried), sum(counts.total() for _, counts in tried)
    lines = [
        "# How often a planted limit is named",
        "",
        f"Trials of 3 s on {frame.machine_words()}, {repeat} of each row, none tried again,",
        f"in {seconds / 60:.0f} minutes. The limit was named alone in {alone} of {trials}. Made anew by `make bench-limits`.",
        "",
        "*Shared*: all roles share all cores. *Apart*: the server has cores of its own, as it has by default. There a server of",
        "one process fills its seat, which is `app-cpu` and not `app-serial`.",
        "",
        "| planted | in | " + " | ".join(f"{seat}: named alone | otherwise" for seat in seats) + " |",
        "|--|--|" + "--|--|" * len(seats),
    ]
    for row in rows:
        why = planted.lacking(row)
        place = planted.ROWS.index(row)
        cells = [f"not here: {why} | " if why else told(planted.expected(row, seat), found[place, seat]) for seat in seats]
        where = f"{row['stack'].partition(':')[0]}, {row['workload']}{', closed connections' if row.get('close') else ''}"
        lines.append(f"| `{row['diagnosis']}` | {where} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def told(expected: str, counts: Counter[str]) -> str:
    """Two cells: how often the limit was named alone, and what was named otherwise."""
    others = "; ".join(f"{count} × {named}" for named, count in counts.most_common() if named != expected)
    return f"{counts[expected]} of {counts.total()} | {others}"


if __name__ == "__main__":
    main()
