"""docs/reference has every check of validity and every rule with its bounds, and no other."""

from __future__ import annotations

import re
import tomllib

import pytest

from builders.paths import ROOT
from fairground.judge import thresholds, validity
from fairground.judge.validity import Check
from fairground.model.reason import REASONS

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "checks.md").read_text(encoding="utf-8")
THRESHOLDS = ROOT / "src" / "fairground" / "judge" / "thresholds.toml"
BOUNDS = thresholds.standard().checks
CHECKS = {check.id: check for check in validity.CHECKS}


def row(check: Check) -> str:
    """A check's row of the page's table."""
    bounds = check.bounds(BOUNDS)

    def cell(name: str) -> str:
        plain = "open loop " if bounds.closed else "own cores " if bounds.shared else ""
        parts = [(plain, bounds), ("closed loop ", bounds.closed), ("shared cores ", bounds.shared)]
        values = [(label, getattr(pair, name)) for label, pair in parts if pair is not None]
        texts = [f"{label}{'any' if value == 0 else '> ' + check.show(value)}" for label, value in values if value is not None]
        return "; ".join(texts)

    return f"| {check.number} | `{check.id}` | {check.what} | {cell('warn')} | {cell('void')} |"


@pytest.mark.parametrize("id", sorted(CHECKS))
def test_the_page_has_every_check_with_its_bounds(id: str) -> None:
    """The table of checks says what `thresholds.toml` says."""
    assert row(CHECKS[id]) in PAGE.splitlines()


def test_the_page_has_no_other_checks() -> None:
    """A row with a number and an id is that of a check that exists."""
    rows = re.findall(r"^\| V\d+b? \| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(CHECKS)


@pytest.mark.parametrize(("section", "page"), [("rules", "checks.md"), ("reasons", "reasons.md")])
def test_the_reference_has_every_other_bound(section: str, page: str) -> None:
    """Each bound of `thresholds.toml` that no check has stands in a table of the reference with its value, and no other does."""
    bounds = tomllib.loads(THRESHOLDS.read_text(encoding="utf-8"))[section]
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", (REFERENCE / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: float(value) for name, value in rows} == bounds


def test_the_reference_has_every_reason() -> None:
    """Both tables of docs/reference/reasons.md name every reason that the lab can give, and the first of them no other."""
    page = (REFERENCE / "reasons.md").read_text(encoding="utf-8")
    tables = re.findall(r"\n\|---[^\n]*\n((?:\|[^\n]*\n)+)", page)
    named = [set(re.findall(r"`([a-z-]+)`", "\n".join(row.split("|")[1] for row in table.splitlines()))) for table in tables[:2]]
    assert named[0] == named[1] == set(REASONS)
