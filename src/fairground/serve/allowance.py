"""Limit the processor time that serving pages may use while something is measured beside it.

The limit holds whoever asks and however often.

The bound is on CPU time, not on requests. A flood costs by its bytes, its refusals and its cookies as well, and answering it with
a refusal would cost nearly as much as the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fairground.serve.guard import App, Receive, Scope, Send

SHARE = 0.03
"""The share of one processor, in the long run.

A trial warns of other processes from 5 % of a core on (V9), and whoever asks uses some.
"""
BURST_S = 0.1
"""CPU time that may be used at once, as by a person who opens a page; what is saved up is no more."""
SHORTEST_S, PIECE_S = 0.001, 0.05
"""A pause is no shorter than the first; after the second it is asked whether the allowance still holds."""


class Allowance:
    """Around an application: whoever has used up the allowance waits, and everybody else with it.

    The whole process pauses on purpose. While it does, nothing is accepted, read or parsed, and senders wait at their sockets.
    `holds` says whether something is measured: else nothing waits, and nothing is owed later. `spent_s` is the CPU time of this
    process in seconds, `now_s` a clock, and `pause` what waits; tests give their own.
    """

    def __init__(
        self,
        app: App,
        holds: Callable[[], bool],
        spent_s: Callable[[], float] = time.process_time,
        now_s: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._app, self._holds = app, holds
        self._spent_s, self._now_s, self._pause = spent_s, now_s, pause
        self._left_s, self._seen_s, self._at_s = BURST_S, spent_s(), now_s()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_on(message: Any) -> None:
            self.keep()  # a stream of events goes on without a further request
            await send(message)

        self.keep()
        await self._app(scope, receive, send_on)

    def keep(self) -> None:
        """Pause for as long as the allowance is used up."""
        while self._left() < 0 and self._holds():
            self._pause(min(PIECE_S, max(SHORTEST_S, -self._left_s / SHARE)))

    def _left(self) -> float:
        """Seconds of CPU time that may be used now."""
        spent_s, now_s = self._spent_s(), self._now_s()
        saved_s = min(BURST_S, self._left_s + (now_s - self._at_s) * SHARE)
        self._left_s = saved_s - (spent_s - self._seen_s) if self._holds() else BURST_S
        self._seen_s, self._at_s = spent_s, now_s
        return self._left_s
