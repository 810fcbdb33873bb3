"""The table of experiments on planted limits: what counts as right, what is kept, and how a row reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import planted
from builders.bench import bench
from fairground.judge import experiments

REASONS = bench("reasons")


@pytest.mark.parametrize(
    ("row", "outcome", "right"),
    [
        ({}, "confirmed", True),
        ({}, "withdrawn", False),
        ({}, "open", False),
        ({"wrong": "pool"}, "withdrawn", True),
        ({"wrong": "pool"}, "confirmed", False),
        ({"withdrawn": "a lock"}, "withdrawn", True),
        ({"withdrawn": "a lock"}, "open", False),
    ],
)
def test_right_is_confirmed_where_planted_and_withdrawn_where_wrong(row: dict[str, Any], outcome: str, right: bool) -> None:
    """Open is never right."""
    assert REASONS.right(row, {"outcome": outcome}) is right


def test_rows_have_names_of_their_own() -> None:
    """Each is kept under its name, so no two may share one; a wrong reason is one that experiments know."""
    names = [REASONS.name(row) for row in (*planted.ROWS, *planted.WRONG)]
    assert len(set(names)) == len(names)
    assert {row["wrong"] for row in planted.WRONG} <= set(experiments.TABLE)
    assert all(row["stack"] in {one["stack"] for one in planted.ROWS + planted.EXPECTED["trial"]} for row in planted.WRONG)


def test_what_is_kept_is_shown_and_the_last_of_several_counts(tmp_path: Path) -> None:
    """A table with all rows: found, marked where it is not as it must be, without an experiment, and not measured yet."""
    first, second = (REASONS.name(row) for row in planted.ROWS[:2])
    wrong = REASONS.name(planted.WRONG[0])
    lines = [
        {"row": first, "outcome": "open", "said": "too short"},
        {"row": first, "outcome": "confirmed", "said": "goodput rises by 90 %"},
        {"row": second, "outcome": "none", "said": "there is none"},
        {"row": wrong, "outcome": "confirmed", "said": "by mistake"},
    ]
    file = tmp_path / "kept.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = REASONS.page(REASONS.kept(file))
    assert f"| `{first}` | goodput rises by 90 % | confirmed |" in text and "too short" not in text
    assert f"| `{second}` | there is none | no experiment |" in text
    assert f"| `{wrong}` | by mistake | confirmed ✗ |" in text
    assert "1 of 2 came out so" in text and "not measured yet" in text
