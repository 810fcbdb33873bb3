"""The tables of counted stacks: what is left to count, how a workload's table reads, and what has no number."""

from __future__ import annotations

from typing import Any

from builders.bench import bench

COUNTED = bench("counted")


def stack(identity: str, state: str = "ready", skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """A stack as `list --json` tells it."""
    return {"id": identity, "state": state, "why": "needs `it`", "skip": dict.fromkeys(skip, "it has none")}


def row(identity: str, workload: str, instructions: float | None, why: str | None = None) -> dict[str, Any]:
    """A stack's counts as they are kept."""
    kept = {"stack": identity, "workload": workload, "day": "2026-11-29", "on": "A CPU, 2 cores", "why": why}
    between = {"between": None if instructions is None else 0.95 * instructions, "between_spread": 0.001}
    counts = {"instructions": instructions, "spread": 0.0123, **between, "calls": 4.5, "unsettled": 1, "starts": 2}
    return kept | counts | {"versions": {"QEMU": "7.2", "libc": "2.36", "PostgreSQL": "18"}}


STACKS = [stack("one:a"), stack("two:a", skip=("tx",)), stack("three:a", "not here"), stack("four:a"), stack("five:a")]
ROWS = [
    row("one:a", "ping", 50_000.0),
    row("two:a", "ping", 20_000.0),
    row("four:a", "ping", 90_000.0),
    row("five:a", "ping", 80_000.0),
    row("one:a", "tx", None, "`sh` of the server is not counted"),
]
CPU = {("one:a", "ping"): 25.0, ("two:a", "ping"): 10.0, ("four:a", "ping"): 40.0, ("five:a", "ping"): 50.0}


def test_what_is_kept_left_out_or_not_here_is_not_counted() -> None:
    """What had no number is not tried again either."""
    left = [(one["id"], workload) for one, workload in COUNTED.todo(STACKS, ROWS, "", ["ping", "tx"])]
    assert left == [("four:a", "tx"), ("five:a", "tx")]
    assert COUNTED.todo(STACKS, [], "two", ["tx"]) == []
    both = [stack("one:a"), stack("one:a-b")]
    assert [[one["id"] for one, _ in COUNTED.todo(both, [], only, ["tx"])] for only in ("one:a", "one")] == [
        ["one:a"],
        ["one:a", "one:a-b"],
    ]


def test_a_table_has_the_fewest_instructions_first_and_cpu_beside_them() -> None:
    """With the rank correlation of both; a warm-up that did not settle is said."""
    text = COUNTED.of_workload("ping", STACKS, ROWS, CPU)
    names = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert names == ["two:a", "one:a", "five:a", "four:a"]
    assert "| `two:a` | 20,000 *unsettled* | 1.2 % | 19,000 | 0.1 % | 4.5 | 10 | 2.0 |" in text
    assert "The rank correlation with CPU is 0.80, over 4 stacks." in text
    assert "There is no CPU to hold against it." in COUNTED.of_workload("ping", STACKS, ROWS, {})
    assert "| – | – |" in COUNTED.of_workload("ping", STACKS, ROWS, {})


def test_the_page_says_versions_and_what_has_no_number() -> None:
    """What was tried in vain, what is not here, and what was not tried."""
    both = [*ROWS, row("one:a", "users", None, "`one:a` has no number: `sh` of the server is not counted")]
    text = COUNTED.page(STACKS, both, CPU)
    assert text.startswith("Counted on 2026-11-29, on A CPU, 2 cores, with PostgreSQL 18, QEMU 7.2, libc 2.36. ")
    assert "- `one:a` on `tx`, `users`: `sh` of the server is not counted\n" in text
    assert "- `three:a`: not here, needs `it`\n" in text
    assert "- `two:a` on `db-ping`, `lookup`, `users`: not tried" in text
    assert COUNTED.page(STACKS, [], CPU) == "Nothing is counted yet.\n"


def test_cpu_is_the_median_of_what_the_record_has_of_a_stack() -> None:
    """Under the name that it has today; a comparison without CPU says nothing."""
    old, new = next(iter(COUNTED.RENAMED.items()))
    rows = [{"pair": [old, "x"], "workload": "tx", "lines": {"server CPU": {"a": one}}} for one in (1, 9, 4)]
    rows.append({"pair": ["one:a", "x"], "workload": "tx", "lines": {}})
    assert COUNTED.cpu_of(rows) == {(new, "tx"): 4}
