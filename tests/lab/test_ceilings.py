"""Which cell of a run stands for a workload where this machine's limit on it is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.paths import ROOT
from fairground.inputs import manifest
from fairground.lab import ceilings
from fairground.lab.events import Said
from fairground.measure import ceiling
from fairground.model import LabError, Load, Settings, Workload
from report.fixture import run

WORKLOADS = {one.id: one for one in manifest.load_workloads(ROOT / "workloads")}


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
    told = list(ceilings.measured(bench, replace(whole, limits=(), plan=replace(whole.plan, slots=slots)), WORKLOADS))
    assert asked == [25]
    assert "no limit for tx: pgbench came to nothing" in [one.sentence for one in told if isinstance(one, Said)]
