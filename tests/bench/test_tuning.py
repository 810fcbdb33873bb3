"""The tables of what tuning buys: which variants are held against which, what is left to measure, and how a row reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from builders.bench import bench

TUNING = bench("tuning")


def stack(identity: str, approach: str, *what: str, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """A stack as `list --json` tells it."""
    tuning = [{"what": one, "why": "", "source": "none"} for one in what]
    return {"id": identity, "approach": approach, "tuning": tuning, "skip": dict.fromkeys(skip, "it has none")}


STACKS = [
    stack("one:documented", "documented"),
    stack("one:documented-b", "documented"),
    stack("one:a", "tuned", "a flag", "an allocator"),
    stack("one:b", "tuned", "a flag"),
    stack("two:plain", "tuned", "a flag"),
    stack("three:documented", "documented", skip=("users",)),
    stack("three:loop", "engine"),
    stack("three:a", "tuned", "a flag"),
]
NAMED = [stack("four:documented-6", "documented"), stack("four:a", "tuned", "a flag")]
"""A server whose documented variant says a version of its framework."""


def row(tuned: str, workload: str, change: float | None, verdict: str) -> dict[str, Any]:
    """A comparison as it is kept; its pair is a list, as JSON has no tuples."""
    line = {
        "change": change,
        "change_low": None if change is None else change - 0.01,
        "change_high": None if change is None else change + 0.01,
        "verdict": verdict,
    }
    lines = {"server CPU": line, "goodput": line}
    return {
        "lab": "",
        "on": "A CPU, 2 cores",
        "pair": ["one:documented", tuned],
        "workload": workload,
        "budget": "1m",
        "lines": lines,
    }


def test_a_variant_is_held_against_the_documented_one_of_its_name() -> None:
    """Tuned variants alone have a pair, and only where their server has a documented one."""
    assert TUNING.pairs([*STACKS, *NAMED]) == [
        ("one:documented", "one:a"),
        ("one:documented-b", "one:b"),
        ("three:documented", "three:a"),
        ("four:documented-6", "four:a"),
    ]


def test_what_is_kept_or_left_out_is_not_measured() -> None:
    """A comparison that is kept is not made again, and a workload that one of the two skips is not asked for."""
    rows = [row("one:a", "ping", -0.2, "cheaper")]
    assert TUNING.todo(STACKS, rows, "", ("ping", "users")) == [
        (("one:documented", "one:a"), "users"),
        (("one:documented-b", "one:b"), "ping"),
        (("one:documented-b", "one:b"), "users"),
        (("three:documented", "three:a"), "ping"),
    ]
    assert TUNING.todo(STACKS, rows, "three", ("ping", "users")) == [(("three:documented", "three:a"), "ping")]


def test_again_is_what_has_no_word_on_cost() -> None:
    """An inconclusive comparison may be made again; of two of one pair and workload the later one is shown."""
    undecided, called = row("one:a", "ping", -0.2, "inconclusive"), row("one:a", "ping", -0.3, "cheaper")
    assert TUNING.decided(called) and not TUNING.decided(undecided) and not TUNING.decided(called | {"lines": {}})
    text = TUNING.page(STACKS, [undecided, called])
    assert "**-30.0% (-31.0% to -29.0%)**" in text and "-20.0%" not in text


def test_a_row_tells_the_gains_and_what_was_called() -> None:
    """Called differences are bold, the other words have marks; a dash was not measured, and one start alone has no interval."""
    rows = [
        row("one:a", "ping", -0.2, "cheaper"),
        row("one:a", "users", 0.0, "equivalent"),
        row("one:a", "tx", None, "inconclusive"),
    ]
    text = TUNING.page(STACKS, rows)
    assert "| `one:a` | `documented` | **-20.0% (-21.0% to -19.0%)** | – | +0.0% (-1.0% to +1.0%) = | no interval |" in text
    assert "- `one:a`: a flag; an allocator." in text
    assert "one:b" not in text and text.endswith("at most 1m, on A CPU, 2 cores.")


def test_what_an_interval_says_and_nobody_called_is_told_so() -> None:
    """A row whose interval excludes zero says why it is not bold, and one of ends that are far apart finds nothing."""
    line = {"change": -0.5, "change_low": -0.6, "change_high": -0.4, "verdict": "inconclusive"}
    assert TUNING.cell({"lines": {"goodput": line}}, "goodput") == "-50.0% (-60.0% to -40.0%) not called"
    wide = line | {"change_low": -0.9, "change_high": 1.4}
    assert TUNING.cell({"lines": {"goodput": wide}}, "goodput") == "too wide"


def test_a_call_begins_what_fits_into_its_budget() -> None:
    """The first comparison always, and then those that end in time if they take as long as the longest; without a budget all."""
    assert TUNING.fits(60.0, 0.0, []) and TUNING.fits(None, 1e6, [50.0])
    assert TUNING.fits(100.0, 50.0, [20.0, 30.0, 50.0]) and not TUNING.fits(100.0, 51.0, [20.0, 30.0, 50.0])


def test_a_comparison_is_asked_for_its_time_and_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both reach `compare`, which makes its rounds of turns until either is spent; what fails is said and kept out."""
    asked = list[list[str]]()

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(returncode=0, stdout='{"lines": [{"quantity": "goodput", "change": 0.1}]}', stderr="")

    monkeypatch.setattr(TUNING.subprocess, "run", run)
    assert TUNING.compare(("one:documented", "one:a"), "tx", "45s", 2.0) == {"goodput": {"quantity": "goodput", "change": 0.1}}
    assert asked[0][1:] == [
        "compare", "one:documented", "one:a", "-w", "tx", "--budget", "45s", "--width", "2", "--json",
    ]  # fmt: skip
