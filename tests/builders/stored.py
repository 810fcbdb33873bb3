"""Run folders with values of which every field is filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from builders.full import full
from builders.paths import ROOT, TESTS
from fairground import model
from fairground.model import Plan, Slot, StackInfo, Trial, Verdict
from fairground.run import store

FIXTURES = TESTS / "fixtures"
SCHEMA_FILE = ROOT / "docs" / "result-schema.json"
START = 1_795_174_081.25  # 2026-11-20 11:28:01 UTC


def slot(number: int) -> Slot:
    """A slot of a small plan."""
    cell = replace(full(model.Cell), stack="one:plain", workload="db-ping")
    return Slot(number, 1, cell, 99)


def small_plan(slots: int = 2, title: str = "Demo") -> Plan:
    """A plan of a few slots."""
    return Plan(title, 7, 1, tuple(slot(number) for number in range(1, slots + 1)), {"two:plain": "no compiler"}, "command")


def trial(number: int, verdict: Verdict = Verdict.VALID, attempt: int = 1) -> Trial:
    """A trial with all of its fields filled."""
    made: Trial = full(Trial, 1000 * number)
    return replace(made, number=number, block=1, attempt=attempt, verdict=verdict, control=None)


def new(results: Path, plan: Plan | None = None, started: float = START) -> Path:
    """A run folder without trials."""
    return store.create(
        results,
        plan or small_plan(),
        started_unix_s=started,
        machine=full(model.Machine),
        versions={"lab": "1.2.3", "postgres": "18.1"},
        database_settings={"fsync": "off"},
        stacks={"one:plain": full(StackInfo, 3000)},
        workloads={"db-ping": {"title": "Database ping"}},
    )
