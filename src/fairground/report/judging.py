"""The judge of a run, which its pages, its table and its controls ask: the fit of a run's fields is made once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fairground.model import Run
from fairground.stats.comparisons import Judge

KEPT = 2
"""Judges of this many runs are kept: a page may hold a run against another one."""


@dataclass(frozen=True, eq=False)
class _Same:
    """A run as a key. A run is frozen, so that it is known by its identity; to compare what is in it would take longer."""

    run: Run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.run is other.run

    def __hash__(self) -> int:
        return id(self.run)


def judge_of(run: Run) -> Judge:
    """The judge of a run and of its controls."""
    return _judge(_Same(run))


@lru_cache(maxsize=KEPT)
def _judge(same: _Same) -> Judge:
    run = same.run
    return Judge.of(run.plan, run.trials, run.controls)
