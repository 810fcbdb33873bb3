"""METHODOLOGY.md names every check of validity with its bounds, and no other."""

from __future__ import annotations

import re

import pytest

from builders.paths import ROOT
from fairground.judge import thresholds, validity
from fairground.judge.validity import Check

METHODOLOGY = (ROOT / "METHODOLOGY.md").read_text(encoding="utf-8")
BOUNDS = thresholds.standard().checks
CHECKS = {check.id: check for check in validity.CHECKS}


def row(check: Check) -> str:
    """A check's row of METHODOLOGY.md's table."""
    bounds = check.bounds(BOUNDS)

    def cell(name: str) -> str:
        plain = "open loop " if bounds.closed else "own cores " if bounds.shared else ""
        parts = [(plain, bounds), ("closed loop ", bounds.closed), ("shared cores ", bounds.shared)]
        values = [(label, getattr(pair, name)) for label, pair in parts if pair is not None]
        texts = [f"{label}{'any' if value == 0 else '> ' + check.show(value)}" for label, value in values if value is not None]
        return "; ".join(texts)

    return f"| {check.number} | `{check.id}` | {check.what} | {cell('warn')} | {cell('void')} |"


@pytest.mark.parametrize("id", sorted(CHECKS))
def test_methodology_has_every_check_with_its_bounds(id: str) -> None:
    """The table of METHODOLOGY.md says what `thresholds.toml` says."""
    assert row(CHECKS[id]) in METHODOLOGY.splitlines()


def test_methodology_has_no_other_checks() -> None:
    """A row with a number and an id is that of a check that exists."""
    rows = re.findall(r"^\| V\d+b? \| `([a-z-]+)` \|", METHODOLOGY, re.MULTILINE)
    assert sorted(rows) == sorted(CHECKS)
