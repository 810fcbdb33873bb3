"""A run as it goes on, read from its folder: only what was added since the last look, so that looking costs nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairground.model import Plan, Verdict
from fairground.run import plan, records
from fairground.run.store import ATTEMPTS

SILENT_S = 180.0
"""A run of another process that wrote nothing for so long has ended or was killed."""


class Watch:
    """One run's folder. `state` tells its cells and what is left of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        head = records.load(folder).head
        self._plan: Plan = head.asked
        self._started_unix_s = head.started_unix_s
        self._at = 0
        self._trials: dict[int, Mapping[str, Any]] = {}
        self._spent_s: list[float] = []

    def state(self) -> dict[str, Any]:
        """Title, cells in the plan's order with the rates of their trials, and the seconds left."""
        self._read()
        done = {number for number, trial in self._trials.items() if _is_done(trial)}
        mean = sum(self._spent_s) / len(self._spent_s) if self._spent_s else None
        return {
            "run": self.folder.name,
            "title": self._plan.title,
            "started_unix_s": self._started_unix_s,
            "done": len(done),
            "slots": len(self._plan.slots),
            "left_s": plan.remaining_s(self._plan, done, mean),
            "cells": list(self._cells().values()),
            "finished": self.finished,
        }

    @property
    def finished(self) -> bool:
        return (self.folder / "report.html").exists()

    @property
    def silent(self) -> bool:
        """Nothing was written for long."""
        return time.time() - (self.folder / "trials.jsonl").stat().st_mtime > SILENT_S

    def _read(self) -> None:
        """Take in the lines that are new; a line without its end is left for the next look."""
        with (self.folder / "trials.jsonl").open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            trial = json.loads(line)
            self._trials[trial["number"]] = trial_row(trial)
            self._spent_s.append(trial["duration_s"])

    def _cells(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for slot in self._plan.slots:
            if slot.control is not None:
                continue
            cell = slot.cell
            row = found.setdefault(cell.id, {"stack": cell.stack, "workload": cell.workload, "id": cell.id, "trials": []})
            row["trials"].append(self._trials.get(slot.number))
        return found


def trial_row(trial: Mapping[str, Any]) -> dict[str, Any]:
    """Of a stored trial: verdict, attempt, and good answers a second where it has a number."""
    result, verdict = trial.get("result"), trial["verdict"]
    rate = None
    if result and verdict not in (Verdict.VOID, Verdict.REJECTED) and result["window_s"]:
        rate = result["completed_ok"] / result["window_s"]
    return {"verdict": verdict, "attempt": trial["attempt"], "rate_per_s": rate, "diagnosis": trial.get("diagnosis")}


def _is_done(trial: Mapping[str, Any]) -> bool:
    return bool(trial["verdict"] != Verdict.VOID or trial["attempt"] >= ATTEMPTS)


def latest(results: Path) -> Path | None:
    """The folder of the run that was written to last; None without one."""
    found = [path.parent for path in results.glob("*/trials.jsonl") if (path.parent / "plan.json").exists()]
    return max(found, key=lambda one: (one / "trials.jsonl").stat().st_mtime, default=None)
