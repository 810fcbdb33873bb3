"""What serving pages may use of a processor: a person never waits, a flood does, and nobody does while nothing is measured."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from fairground.serve.allowance import BURST_S, PIECE_S, SHARE, Allowance

PAGE_S = 0.002


@dataclass
class Process:
    """A clock that goes on where something pauses, and CPU time that is used where something says so."""

    now_s: float = 100.0
    spent_s: float = 7.0
    pauses: list[float] = field(default_factory=list)
    holds: bool = True

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds

    async def page(self, _scope: Any, _receive: Any, send: Any) -> None:
        """An answer that costs some CPU time, in a header and in a body."""
        for part in ("start", "body"):
            self.work(PAGE_S / 2)
            await send({"type": f"http.response.{part}"})

    def work(self, seconds: float) -> None:
        self.now_s += seconds
        self.spent_s += seconds

    def allowance(self) -> Allowance:
        return Allowance(self.page, lambda: self.holds, lambda: self.spent_s, lambda: self.now_s, self.pause)


@pytest.fixture
def process() -> Process:
    return Process()


def _asked(allowance: Allowance) -> list[str]:
    """What one request gets."""
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(allowance({"type": "http"}, send, send))
    return sent


def test_a_person_never_waits(process: Process) -> None:
    """A page a second for a minute, and then all parts of a page at once."""
    allowance = process.allowance()
    for _ in range(60):
        process.now_s += 1.0
        assert _asked(allowance) == ["http.response.start", "http.response.body"]
    for _ in range(int(BURST_S / PAGE_S) - 1):
        _asked(allowance)
    assert process.pauses == []


def test_a_flood_gets_no_more_than_the_share(process: Process) -> None:
    """However many ask, the time of the processor is the burst and the share of what passed; every answer is whole all the same."""
    allowance = process.allowance()
    began_s, spent_s = process.now_s, process.spent_s
    for _ in range(2_000):
        assert _asked(allowance) == ["http.response.start", "http.response.body"]
    assert process.spent_s - spent_s <= BURST_S + (process.now_s - began_s) * SHARE + PAGE_S
    assert max(process.pauses) <= PIECE_S


def test_what_is_used_between_requests_counts(process: Process) -> None:
    """A stream of events, and threads of the same process, pay at the next message."""
    allowance = process.allowance()
    process.work(BURST_S * 2)
    _asked(allowance)
    assert sum(process.pauses) == pytest.approx(BURST_S / SHARE, rel=0.1)


def test_what_is_saved_up_has_a_bound(process: Process) -> None:
    """An hour of rest is worth one burst."""
    allowance = process.allowance()
    process.now_s += 3600.0
    process.work(BURST_S * 2)
    _asked(allowance)
    assert process.pauses


def test_nobody_waits_once_nothing_is_measured(process: Process) -> None:
    """A pause ends within its piece, and what is queued goes through."""
    allowance = process.allowance()
    process.work(60.0)
    pieces = itertools.count(1)
    paused = process.pause

    def pause(seconds: float) -> None:
        process.holds = next(pieces) != 3
        paused(seconds)

    process.pause = pause  # type: ignore[method-assign]
    allowance = Allowance(process.page, lambda: process.holds, lambda: process.spent_s, lambda: process.now_s, process.pause)
    process.work(60.0)
    _asked(allowance)
    _asked(allowance)
    assert len(process.pauses) == 3


def test_what_was_used_in_peace_is_not_owed(process: Process) -> None:
    """Pages that were read while nothing was measured cost nobody a pause once something is."""
    process.holds = False
    allowance = process.allowance()
    process.work(60.0)
    _asked(allowance)
    process.holds = True
    _asked(allowance)
    assert process.pauses == []
