"""`make bench-reasons`: the experiment on each planted limit, and on reasons that are wrong. It measures and asserts nothing.

    bench/reasons.py --keep results/bench-reasons.jsonl --write docs/evidence.md

Each row of `tests/zoo/expected.toml` that plants a limit, or says something wrong of a cell, gets one experiment of a
minute, as `why` does. With `--keep` each is written down as it ends and is not made again, so that the table can be filled in
parts (`--only`). What the page of an earlier call shows stays on it: the file of `--keep` may be another machine's.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import frame
from fairground.inputs import numbers
from fairground.model import LabError
from fairground.report.run import why
from fairground.stats import effects

sys.path.insert(0, str(frame.ROOT / "tests"))  # on no path of its own

import planted  # noqa: E402

Row = dict[str, Any]
MEASURED = re.compile(r"\| `([^`]+)` \| (.+) \| (confirmed|withdrawn|open|no experiment)(?: ✗)? \| .*\|$")
"""A line of the page with an experiment: row, what it said, its outcome."""
OUTCOMES = {"confirmed": "confirmed", "withdrawn": "withdrawn", "open": "open", "none": "without an experiment"}


def main() -> None:
    """Make the experiments that are not kept yet, say each as it ends, and write the table."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--budget", default="60s", help="of one experiment (60s)")
    parser.add_argument("--only", default="", help="only rows with this in their name")
    options = parser.parse_args()
    kept = {found["row"]: found for found in frame.load_rows(options.keep)}
    budget_s = numbers.seconds("--budget", options.budget)
    known = shown(options.write) | kept
    for row in (*planted.ROWS, *planted.WRONG):
        if name(row) in kept or options.only not in name(row) or planted.lacking(row) is not None:
            continue
        found = measure(row, budget_s)
        if found is None:
            frame.tell(f"{name(row)}: nothing could be measured, as on a busy machine; another call tries it again")
            continue
        known[name(row)] = found
        frame.tell(f"{name(row)}: {found['outcome']}. {found['said']}")
        frame.append_rows(options.keep, [found])
    text = page(known)
    frame.publish(text, options.write, "reasons")


def name(row: Row) -> str:
    """How a row is called: `pool of small-pool on db-ping`, `pool, wrongly, of dreamer on ping`."""
    reason = f"{row['wrong']}, wrongly," if "wrong" in row else str(row["diagnosis"])
    opened = ", a connection for each request" if row.get("close") else ""
    return f"{reason} of {str(row['stack']).partition(':')[0]} on {row['workload']}{opened}"


def shown(page: Path | None) -> dict[str, Row]:
    """The experiments on an earlier page, by the name of their row; none where there is no page yet."""
    lines = page.read_text(encoding="utf-8").splitlines() if page is not None and page.exists() else []
    found = [match.groups() for match in map(MEASURED.match, lines) if match]
    return {row: {"row": row, "said": said, "outcome": outcome.replace("no experiment", "none")} for row, said, outcome in found}


def measure(row: Row, budget_s: float) -> Row | None:
    """One experiment: its outcome, and what it said. `none`: there is no experiment on this reason.

    None where no change has a ratio, since all windows were void or an arm failed: that says nothing of the reason.
    """
    try:
        with planted.standing(row, frame.tell) as (bench, scratch):
            asked, starts = planted.experiment(bench, row, scratch, budget_s)
    except LabError as error:
        return {"row": name(row), "outcome": "none", "said": error.message}
    found = effects.effects(asked, starts)
    if all(one.ratio is None for one in found):
        return None
    told = "; ".join(map(why.effect, found))
    return {"row": name(row), "outcome": str(effects.outcome(asked, starts)), "said": told}


def right(row: Row, found: Row) -> bool:
    """Whether an experiment came out as it must: a planted limit confirmed, a wrong reason withdrawn."""
    wrong = "wrong" in row or "withdrawn" in row
    return bool(found["outcome"] == ("withdrawn" if wrong else "confirmed"))


def page(known: dict[str, Row]) -> str:
    """The tables, as Markdown."""
    rows = [(row, known[name(row)]) for row in (*planted.ROWS, *planted.WRONG) if name(row) in known]
    tried = [(row, found) for row, found in rows if found["outcome"] != "none"]
    as_it_must = sum(right(row, found) for row, found in tried)
    lines = [
        "# Reasons, proven",
        "",
        f"One experiment on each planted limit, and on each reason that is wrong, on {frame.machine_words()}.",
        "A planted limit must be confirmed, unless its row says what else it is.",
        "A wrong reason must be withdrawn; *open* is neither.",
        "What a minute leaves open may be tried again with more time (`--budget 2m`), as the number of starts shows.",
        f"{as_it_must} of {len(tried)} came out so. {outcomes_of(rows)} Made anew by `make bench-reasons`.",
    ]
    for title, part in (("Planted limits", planted.ROWS), ("Wrong reasons", planted.WRONG)):
        lines += ["", f"## {title}", "", "| reason | experiment and interval | outcome | |", "|--|--|--|--|"]
        lines += [line(row, known.get(name(row))) for row in part]
    return "\n".join([*lines, ""])


def outcomes_of(rows: Sequence[tuple[Row, Row]]) -> str:
    """How many of the planted limits had which outcome, in a sentence."""
    outcomes = Counter(found["outcome"] for row, found in rows if "wrong" not in row)
    told = [f"{outcomes[one]} {words}" for one, words in OUTCOMES.items() if outcomes[one]]
    return f"Of {outcomes.total()} planted limits: {', '.join(told)}."


def line(row: Row, found: Row | None) -> str:
    """One row of a table; what is not as it must be has a mark, and what the truth is stands behind."""
    truth = row.get("truth") or row.get("withdrawn") or ""
    if found is None:
        lacking = planted.lacking(row)
        return f"| `{name(row)}` | {f'not here: {lacking}' if lacking else 'not measured yet'} | – | {truth} |"
    if found["outcome"] == "none":
        return f"| `{name(row)}` | {found['said']} | no experiment | {truth} |"
    return f"| `{name(row)}` | {found['said']} | {found['outcome']}{'' if right(row, found) else ' ✗'} | {truth} |"


if __name__ == "__main__":
    main()
