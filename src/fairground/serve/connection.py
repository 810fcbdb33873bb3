"""A connection of a browser: how many there may be, and how long a request may take to arrive.

What has no token is refused by the application, but only once its request is whole. Who sends half of one is met here.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairground.serve.allowance import Allowance

MOST = 256
"""Connections at once. One more is closed before anything is read of it."""
ARRIVES_S = 10.0
"""A connection that brought no whole request within so long is closed. An answer may take as long as it likes."""
DESCRIPTORS = 4 * MOST
"""Files and connections that the process may have open, where its user may raise that: more than its connections can take."""


class Connection(H11Protocol):
    """uvicorn's connection, with bounds. Its application pauses the process where that has used up its share (`Allowance`)."""

    most = MOST

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, if there is room."""
        self.config.app.keep()  # type: ignore[union-attr]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; the time for a request ends with its last byte."""
        self.config.app.keep()  # type: ignore[union-attr]
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self._arrived()
        elif self._late is None:
            self._wait()

    def _wait(self) -> None:
        self._late = self.loop.call_later(ARRIVES_S, self._end)

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


class PageServer(uvicorn.Server):
    """uvicorn's server of these connections, for an application with an allowance. `waiting`: as many may wait to be accepted."""

    def __init__(self, app: Allowance, waiting: int, closing_s: int) -> None:
        most = min(MOST, raise_descriptors() // 4)  # a quarter: what is accepted at once stands beside what is being closed
        bounded = type("Connection", (Connection,), {"most": most})
        self._waiting = waiting
        config = uvicorn.Config(
            app, http=bounded, ws="none", backlog=max(1, most // 4), log_level="error", access_log=False, lifespan="off",
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=closing_s,
        )  # fmt: skip
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve. The backlog bounds what asyncio accepts in one go, and the kernel may still keep more waiting."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(self._waiting)


def raise_descriptors() -> int:
    """Let the process open as many files as it needs, as far as its user may; so many it may open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
