"""Records with values of which every field is filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from builders.full import full
from builders.paths import ROOT
from fairground import model, records
from fairground.model import Plan, PlanSlot, StackInfo, Trial, Verdict
from fairground.model.record import Head, Record, RecordKind

SCHEMA_FILE = ROOT / "docs" / "result-schema.json"
START = 1_795_174_081.25  # 2026-11-20 11:28:01 UTC


def head(kind: RecordKind, seed: int = 100) -> Head[Any]:
    """A head with every field filled."""
    asked = full(records.SHAPES[kind].asked, seed)
    thresholds = {"checks": {"steal": 0.02}}
    info = {"one:plain": full(StackInfo, 300)}
    return Head(model.SCHEMA_VERSION, kind, "", "command", START, full(model.Machine, 200), {"lab": "1"}, thresholds, info, asked)


def written(results: Path, kind: RecordKind, entries: int = 2) -> Record[Any, Any]:
    """A record with some entries and the files beside it, each with every field filled."""
    shape = records.SHAPES[kind]
    beside = {name: full(one, 400) for name, one in shape.beside.items() if name.endswith(".json")}
    record = records.create(results, str(kind), head(kind), beside)
    for number in range(entries):
        record = records.append(record, full(shape.entry, 1000 + 1000 * number))
    return record


def slot(number: int) -> PlanSlot:
    """A slot of a small plan."""
    cell = replace(full(model.Cell), stack="one:plain", workload="db-ping")
    return PlanSlot(number, 1, cell, 99)


def small_plan(slots: int = 2, title: str = "Demo") -> Plan:
    """A plan of a few slots."""
    return Plan(title, 7, 1, tuple(slot(number) for number in range(1, slots + 1)), {"two:plain": "no compiler"}, "command")


def trial(number: int, verdict: Verdict = Verdict.VALID, attempt: int = 1) -> Trial:
    """A trial with all of its fields filled."""
    made: Trial = full(Trial, 1000 * number)
    return replace(made, number=number, block=1, attempt=attempt, verdict=verdict, control=None)


def new(results: Path, plan: Plan | None = None, started: float = START) -> Path:
    """A run folder without trials."""
    return records.create_run(
        results,
        plan or small_plan(),
        started_unix_s=started,
        machine=full(model.Machine),
        versions={"lab": "1.2.3", "postgres": "18.1"},
        database_settings={"fsync": "off"},
        stacks={"one:plain": full(StackInfo, 3000)},
        workloads={"db-ping": {"title": "Database ping"}},
    )
