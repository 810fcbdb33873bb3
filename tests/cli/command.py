"""What the tests of the command line share: how it is called, two made-up servers, and how its JSON is read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from builders.paths import ROOT
from fairground import model, records

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
Golden = Callable[[Path, str], None]
RUN = ("run", "--servers", "servers", "--dry-run")
ONE = (*RUN, "--stack", "alder-one", "--workload", "ping")

MANIFEST = """
title    = "{title}"
language = "C"
homepage = "https://example.com"
about    = "For tests of the command line."
needs    = [["{need}"]]
build    = []
version  = ["true"]
serve    = ["true"]
[variants.plain]
about = "as it comes"
approach = "documented"
[variants.fancy]
about = "with more"
approach = "documented"
"""
"""A server's, for tests that start none."""

PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "PYTHONPATH": str(ROOT / "src")}
"""A plain log of a hundred columns."""


def document(done: Done) -> Mapping[str, Any]:
    """The JSON on standard output of a verb that succeeded."""
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert found["schema"] == 1
    return found


def stored(run: model.Run, results: Path) -> Path:
    """A run's folder as a finished measurement leaves it."""
    folder = records.create_run(
        results, run.plan, started_unix_s=run.started_unix_s, machine=run.machine, versions=run.versions,
        database_settings=run.database_settings, stacks=run.stacks, workloads=run.workloads,
    )  # fmt: skip
    for trial in run.everything:
        records.append_trial(folder, trial)
    return folder
