"""The table of experiments on planted limits: what counts as right, what is kept, and how a row reads."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import planted
from builders.bench import bench
from builders.paths import ROOT
from fairground.judge import experiments
from fairground.model.experiment import ArmChange, Direction

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
    assert {row["wrong"] for row in planted.WRONG} <= {one.id for one in experiments.EXPERIMENTS}
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
    text = REASONS.page({found["row"]: found for found in bench("frame").load_rows(file)})
    assert f"| `{first}` | goodput rises by 90 % | confirmed |" in text and "too short" not in text
    assert f"| `{second}` | there is none | no experiment |" in text
    assert f"| `{wrong}` | by mistake | confirmed ✗ |" in text
    assert "1 of 2 came out so. Of 2 planted limits: 1 confirmed, 1 without an experiment." in text and "not measured yet" in text


def test_what_an_earlier_page_shows_stays_on_it(tmp_path: Path) -> None:
    """A page that is made where nothing is kept loses no experiment; what is measured anew replaces it."""
    right, wrong, none = REASONS.name(planted.ROWS[0]), REASONS.name(planted.WRONG[0]), REASONS.name(planted.ROWS[1])
    known = {
        right: {"row": right, "outcome": "confirmed", "said": "goodput rises by 90 %"},
        wrong: {"row": wrong, "outcome": "confirmed", "said": "by mistake"},
        none: {"row": none, "outcome": "none", "said": "there is none"},
    }
    page = tmp_path / "page.md"
    assert REASONS.shown(page) == REASONS.shown(None) == {}
    page.write_text(REASONS.page(known))
    assert REASONS.shown(page) == known
    assert REASONS.page(REASONS.shown(page)) == REASONS.page(known)


def test_what_could_not_be_measured_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment whose windows were all void says nothing: it is left for another call, on the page and in the file."""
    row = planted.ROWS[0]
    change = ArmChange("twice", "with twice as many", planted.cell(row))
    asked = SimpleNamespace(experiment=SimpleNamespace(changes=(change,), direction=Direction.MORE))
    monkeypatch.setattr(planted, "standing", lambda *_: nullcontext((None, tmp_path)))
    monkeypatch.setattr(planted, "experiment", lambda *_: (asked, []))
    assert REASONS.measure(row, 1.0) is None
    page, kept = tmp_path / "page.md", tmp_path / "kept.jsonl"
    monkeypatch.setattr(planted, "lacking", lambda _: None)
    monkeypatch.setattr("sys.argv", ["reasons.py", "--only", REASONS.name(row), "--keep", str(kept), "--write", str(page)])
    REASONS.main()
    assert f"| `{REASONS.name(row)}` | not measured yet |" in page.read_text() and not kept.exists()


def test_each_row_of_the_page_is_one_of_the_zoo() -> None:
    """`docs/evidence.md` has a line for each planted limit and each wrong reason."""
    page = (ROOT / "docs" / "evidence.md").read_text()
    assert all(f"| `{REASONS.name(row)}` |" in page for row in (*planted.ROWS, *planted.WRONG))
    assert {row["outcome"] for row in REASONS.shown(ROOT / "docs" / "evidence.md").values()} <= {
        "confirmed", "withdrawn", "open", "none"
    }  # fmt: skip
