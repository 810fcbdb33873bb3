"""The load engine's log of good answers to requests that write: when each was there, and what its request held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

Key = tuple[int, ...]
"""What the logged slots of a request held; empty where none are."""


@dataclass
class AnswerLog:
    """The moments of good answers by what their requests held, in microseconds of the wall clock."""

    moments_us: dict[Key, list[int]] = field(default_factory=dict)
    one_in: int = 1
    """One in so many answers is kept; 1: all of them."""
    clock_moved_us: int = 0
    """The most that the wall clock was set while a load ran, whichever way."""

    @property
    def keyed(self) -> AnswerLog:
        """Those answers whose requests had slots that are logged."""
        return replace(self, moments_us={key: moments_us for key, moments_us in self.moments_us.items() if key})

    @property
    def count(self) -> int:
        """The number of answers that are kept."""
        return sum(map(len, self.moments_us.values()))

    def add(self, rows: Iterable[Sequence[int]], one_in: int, clock_moved_us: int) -> None:
        """Add rows of a moment and what the slots held, as the engine tells them."""
        for moment_us, *held in rows:
            self.moments_us.setdefault(tuple(held), []).append(moment_us)
        self.one_in = max(self.one_in, one_in)
        self.clock_moved_us = max(self.clock_moved_us, abs(clock_moved_us))

    def all_us(self) -> list[int]:
        """All moments, the earliest first."""
        return sorted(moment_us for some in self.moments_us.values() for moment_us in some)


def join_logs(logs: Iterable[AnswerLog]) -> AnswerLog:
    """Several logs as one."""
    joined = AnswerLog()
    for log in logs:
        for key, moments_us in log.moments_us.items():
            joined.moments_us.setdefault(key, []).extend(moments_us)
        joined.one_in = max(joined.one_in, log.one_in)
        joined.clock_moved_us = max(joined.clock_moved_us, log.clock_moved_us)
    return joined
