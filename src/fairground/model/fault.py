"""Faults that are made in a window on purpose, and what became of the answers. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """The kinds of fault. `stall`: the processes of the database stand still for a while. All others cut connections."""

    DATABASE_RESTART = "database-restart"
    DATABASE_CRASH = "database-crash"
    CONNECTIONS_CUT = "connections-cut"
    POOLER_RESTART = "pooler-restart"
    STALL = "stall"


DATABASE_FAULTS = (FaultKind.DATABASE_RESTART, FaultKind.DATABASE_CRASH, FaultKind.STALL)
"""Faults of the database server itself: it has to be the lab's own, and on the lab's machine."""


@dataclass(frozen=True)
class Fault:
    """One fault, `at_s` seconds after the window's start. `for_ms`: how long a stall lasts; None for all others."""

    kind: FaultKind
    at_s: float
    for_ms: float | None = None

    @property
    def id(self) -> str:
        """The fault as a person writes it: `stall=500ms@3s`."""
        lasting = "" if self.for_ms is None else f"={self.for_ms:g}ms"
        return f"{self.kind}{lasting}@{self.at_s:g}s"

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True)
class Recovery:
    """The effect of a fault on the answers of a window, by tenths of a second.

    Times count from the fault's beginning to that of the tenth, so that each is right to a tenth. None: not within the window,
    or too few answers before the fault to tell.
    """

    began_s: float
    """When the fault began, from the window's start …"""
    lasted_s: float
    """… and how long it was carried out. After a restart the database, or the pooler, accepts connections again."""
    before_per_s: float
    """Good answers a second before it."""
    after_per_s: float | None
    """Good answers a second from the full rate on, to the window's end."""
    first_good_s: float | None
    """When the first good answer came after a tenth without any; 0: there was no such tenth."""
    recovered_s: float | None
    """The time from which on the full rate was there again."""
    longest_silence_s: float
    """The longest time without a good answer."""
    failed: int
    """Requests that ended otherwise than well from the fault on …"""
    failed_before: int
    """… and before it."""
    good: int
    """Good answers from the fault on."""
    unanswered: int
    """Requests of the window that got no answer at all: reset, not connected, timed out, or under way at the end."""
    wrong: int
    """Answers of the window with a wrong body, or that are no HTTP."""
    cut: int | None = None
    """How many connections to the database the fault ended; None where nobody counted."""
    lost: int | None = None
    """How many acknowledged writes a crash took from the database; None where nothing crashed, or nothing counts them."""

    @property
    def failed_share(self) -> float:
        """The share that failed of all requests that ended from the fault on."""
        return self.failed / (self.failed + self.good) if self.failed else 0.0
