"""A job of a load generator, as a session would give it: shared by the tests of what tools are told and of what they tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders.contracts import SEEDS
from fairground.generators.slots import Templates
from fairground.generators.tool import ToolJob
from fairground.inputs import workload_files
from fairground.model import Load

WORKLOADS = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}


def job(workload: str = "ping", folder: Path = Path(), **load: Any) -> ToolJob:
    """One run of a second with four connections, or what `load` says otherwise."""
    shape = Load(**({"connections": 4, "window_s": 1.0, "timeout_ms": 1000} | load))
    asked = WORKLOADS[workload]
    return ToolJob(
        shape, asked, Templates.of(asked.first), "127.0.0.1", 17_123, 15, shape.window_s, shape.requests, 1, folder, shape.stages
    )
