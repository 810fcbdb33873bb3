"""Trials in which a limit is planted, as the zoo's `expected.toml` lists them: shared by its tests and by `bench/limits.py`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairground import manifest, reasons, topology
from fairground.model import Cell, Load, Settings, Slot, Topology, Trial
from fairground.trial import Bench, prepared, run

ZOO = Path(__file__).parent / "zoo"
ROWS: list[dict[str, Any]] = tomllib.loads((ZOO / "expected.toml").read_text())["limit"]
SCALE = 1
WORKLOADS = {one.id: manifest.render(one, SCALE) for one in manifest.load_workloads(ZOO.parents[1] / "workloads")}


def name(row: Mapping[str, Any]) -> str:
    """How a row is called: the limit, and who has it."""
    return f"{row['diagnosis']}-{row['stack']}"


def lacking(row: Mapping[str, Any]) -> str | None:
    """Why a row cannot be tried here; None when it can."""
    found = topology.lacking(Topology(pooler=row.get("pooler")), os.environ.get("PATH"))
    return found[0] if found else None


def tried(bench: Bench, row: Mapping[str, Any], folder: Path, seed: int = 7) -> Trial:
    """One trial of a row."""
    (stack,) = manifest.find_stack(manifest.load_servers(ZOO), row["stack"])
    load = Load(
        row["connections"], keep_alive=not row.get("close"), window_s=3.0, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=5000
    )
    settings = Settings(workers=1, pool_size=row.get("pool_size", 8), scale=SCALE, **row.get("settings", {}))
    if row.get("one_core"):
        settings = replace(settings, pin=(("server", (min(os.sched_getaffinity(0)),)),))
    cell = Cell(stack.id, row["workload"], Topology(pooler=row.get("pooler")), load, settings)
    return run(bench, Slot(1, 1, cell, seed), 1, stack, WORKLOADS[row["workload"]], folder, "trial")


def named(trial: Trial) -> list[str]:
    """The limits that a trial names, strongest first."""
    known = {*reasons.NAMES, prepared.ID}
    return list(dict.fromkeys(finding.id for finding in trial.findings if finding.id in known))
