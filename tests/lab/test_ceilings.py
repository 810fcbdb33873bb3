"""Which cell of a run stands for a workload where this machine's limit on it is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.paths import ROOT
from fairground.inputs import manifest
from fairground.lab import ceilings
from fairground.lab.events import Said
from fairground.measure import ceiling
from fairground.model import LabError, Limit, Load, Settings, Workload
from fairground.report.boards import boards
from fairground.run import store
from report.fixture import run

WORKLOADS = {one.id: one for one in manifest.load_workloads(ROOT / "workloads")}


def server(version: int | None) -> Any:
    """Stands in for the running database server of a version."""
    return version


def test_the_limit_is_measured_with_the_smallest_pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of cells whose pools differ, the smallest is asked, once; a limit that cannot be measured is said and ends nothing."""
    asked: list[int] = []

    def refuse(_bench: ceiling.Bench, _workload: Workload, _load: Load, settings: Settings) -> None:
        asked.append(settings.pool_size)
        raise LabError("pgbench came to nothing")

    monkeypatch.setattr(ceiling, "measure", refuse)
    whole = run(1)
    slot = next(one for one in whole.plan.slots if one.cell.workload == "tx")
    cells = [replace(slot.cell, settings=replace(slot.cell.settings, pool_size=size)) for size in (2000, 25, 500)]
    slots = tuple(replace(slot, number=number, cell=cell) for number, cell in enumerate(cells, 1))
    bench = ceiling.Bench(None, None, tmp_path, tmp_path, 2)  # type: ignore[arg-type]
    told = list(ceilings.measured(bench, replace(whole, limits=(), plan=replace(whole.plan, slots=slots)), WORKLOADS, server))
    assert asked == [25]
    assert "no limit for tx: pgbench came to nothing" in [one.sentence for one in told if isinstance(one, Said)]


def test_each_version_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pgbench loads the server of each version; what is known of one is not measured again, and stands on its own board."""

    def measured(bench: ceiling.Bench, workload: Workload, _load: Load, _settings: Settings) -> Limit:
        return Limit(workload.id, "pgbench", float(bench.database or 18), "")  # type: ignore[arg-type]

    kept: list[Limit] = []
    monkeypatch.setattr(ceiling, "measure", measured)
    monkeypatch.setattr(store, "append_limit", lambda _folder, limit: kept.append(limit))
    whole = run(1)
    slot = next(one for one in whole.plan.slots if one.cell.workload == "tx")
    cells = [replace(slot.cell, settings=replace(slot.cell.settings, postgres_version=one)) for one in (17, 16, None)]
    slots = tuple(replace(slot, number=number, cell=cell) for number, cell in enumerate(cells, 1))
    bench = ceiling.Bench(None, None, tmp_path, tmp_path, 2)  # type: ignore[arg-type]
    known = replace(whole, limits=(Limit("tx", "pgbench", 1.0, "", postgres_version=16),), plan=replace(whole.plan, slots=slots))
    list(ceilings.measured(bench, known, WORKLOADS, server))
    assert [(one.postgres_version, one.rate_per_s) for one in kept] == [(None, 18.0), (17, 17.0)]
    shown = boards(replace(known, limits=(*known.limits, *kept), trials=()))
    told = {one.condition.rpartition(" · ")[2]: one.limit for one in shown}
    assert {name: limit and limit.rate_per_s for name, limit in told.items()} == {
        "PostgreSQL 17": 17.0, "PostgreSQL 16": 1.0, "PostgreSQL 18": 18.0,
    }  # fmt: skip
