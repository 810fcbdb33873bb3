"""A run as it goes on, read from its folder: only what was added since the last look, so that looking costs nothing."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from fairground import records
from fairground.model import LabError, Plan, Run, Trial
from fairground.model.record import RecordKind
from fairground.records import journal
from fairground.run import plan, stopping


class RunWatch:
    """One run's folder. `state` tells how far it is. `entries` are the trials that were read so far. For one caller at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._head = records.read_head(folder)
        self._plan: Plan = self._head.asked
        self._at = 0
        self.entries: list[Trial] = []

    def state(self) -> dict[str, Any]:
        """Title, how many trials are done, and the seconds that are left at most; None where nobody knows."""
        self._read()
        done = records.done_of(self.entries)
        return {
            "run": self.folder.name,
            "title": self._plan.title,
            "started_unix_s": self._head.started_unix_s,
            "done": len(done),
            "slots": len(self._plan.slots),
            "left_s": self._left_s(done),
        }

    def run(self) -> Run:
        """The run as far as it was read."""
        return records.run_so_far(self.folder, self._head, self.entries)

    @property
    def written_s(self) -> float:
        """The time when its last trial was written, in seconds since 1970."""
        return _written_s(self.folder / records.ENTRIES)

    @property
    def goes_on(self) -> bool:
        """True if it is measured into now."""
        return records.is_held(self.folder)

    def _left_s(self, done: Collection[int]) -> float | None:
        """Share the time of what is left among the hosts seen so far. It is no more than is left of a budget.

        None where the budget is spent: its last block took longer than foreseen, or a larger one goes on, which is not kept.
        """
        hosts = len({one.machine for one in self.entries}) or 1
        mean = sum(one.duration_s for one in self.entries) / len(self.entries) if self.entries else None
        left_s = plan.remaining_s(self._plan, done, mean) / hosts
        if self._plan.budget_s is None:
            return left_s
        of_budget_s = self._plan.budget_s - stopping.spent_s(self.entries) / hosts
        return min(left_s, of_budget_s) if of_budget_s > 0 else None

    def _read(self) -> None:
        """Take in the lines that are new; a line without its end is left for the next look."""
        path = self.folder / records.ENTRIES
        journal.require_within(path)
        text = journal.content_of(path, self._at)
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        self.entries += [records.trial_of(line) for line in whole.splitlines()]


def held_of(results: Path, before: Path | None = None) -> Path | None:
    """The folder of a record of any kind that is measured into, by whomever; None where there is none.

    The one that was held `before` is looked at first, and the others once it is free: looking must cost a measurement nothing.
    """
    if before is not None and records.is_held(before):
        return before
    return next((path.parent for path in _entries(results) if records.is_held(path.parent)), None)


def _entries(results: Path) -> list[Path]:
    """The entries of all records; none of a folder that is a link, or was removed meanwhile, and none that are no file."""
    try:
        return [path for path in results.glob(f"*/{records.ENTRIES}") if path.is_file() and not path.parent.is_symlink()]
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
