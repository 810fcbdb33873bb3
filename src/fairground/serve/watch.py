"""A run as it goes on, read from its folder: only what was added since the last look, so that looking costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairground import records
from fairground.model import LabError, Plan, Trial, Verdict
from fairground.model.record import RecordKind
from fairground.run import plan


class RunWatch:
    """One run's folder. `state` tells its cells and what is left of it. For one caller at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        head = records.read_head(folder)
        self._plan: Plan = head.asked
        self._started_unix_s = head.started_unix_s
        self._at = 0
        self._trials: dict[int, Trial] = {}
        self._spent_s: list[float] = []

    def state(self) -> dict[str, Any]:
        """Title, cells in the plan's order with the rates of their trials, and the seconds left."""
        self._read()
        done = records.done_of(self._trials.values())
        mean = sum(self._spent_s) / len(self._spent_s) if self._spent_s else None
        return {
            "run": self.folder.name,
            "title": self._plan.title,
            "started_unix_s": self._started_unix_s,
            "done": len(done),
            "slots": len(self._plan.slots),
            "left_s": plan.remaining_s(self._plan, done, mean),
            "cells": list(self._cells().values()),
        }

    @property
    def goes_on(self) -> bool:
        """True if it is measured into now."""
        return records.is_held(self.folder)

    def _read(self) -> None:
        """Take in the lines that are new; a line without its end is left for the next look."""
        with (self.folder / records.ENTRIES).open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            trial = records.trial_of(line)
            before = self._trials.get(trial.number)
            if trial.verdict is not Verdict.VOID or before is None or before.verdict is Verdict.VOID:
                self._trials[trial.number] = trial
            self._spent_s.append(trial.duration_s)

    def _cells(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for slot in self._plan.slots:
            if slot.control is not None:
                continue
            cell = slot.cell
            row = found.setdefault(cell.id, {"stack": cell.stack, "workload": cell.workload, "id": cell.id, "trials": []})
            trial = self._trials.get(slot.number)
            row["trials"].append(None if trial is None else _row(trial))
        return found


def _row(trial: Trial) -> dict[str, Any]:
    return {"verdict": str(trial.verdict), "rate_per_s": trial.goodput_per_s, "diagnosis": trial.diagnosis}


def measuring(results: Path) -> bool:
    """True if a record of any kind is measured into, by whomever."""
    return any(records.is_held(path.parent) for path in _entries(results))


def _entries(results: Path) -> list[Path]:
    """The entries of all records; none of a folder that is a link, or was removed meanwhile."""
    try:
        return [path for path in results.glob(f"*/{records.ENTRIES}") if not path.parent.is_symlink()]
    except OSError:
        return []


def _written_s(path: Path) -> float:
    """The time when a file was written last, in seconds since 1970; 0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def latest(results: Path) -> Path | None:
    """The folder of the run that was written to last; None without one."""
    newest_first = sorted(_entries(results), key=_written_s, reverse=True)
    return next((path.parent for path in newest_first if _is_run(path.parent)), None)


def _is_run(folder: Path) -> bool:
    """True if a folder holds a run; a damaged record is none, and hides no other."""
    try:
        return records.kind_of(folder) is RecordKind.RUN
    except LabError:
        return False
