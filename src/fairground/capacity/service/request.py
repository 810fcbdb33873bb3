"""One request to any service, and the connection that it goes by."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from fairground.contract.wire import CaseWire, HttpAnswer
from fairground.model.request_mix import RequestMix
from fairground.model.wire import Tls, request_bytes

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
LONG_S = 15.0
"""Where answers are slow, no check sends the request for longer."""


def is_safe(methods: str) -> bool:
    """True if no request of these methods writes; several are joined by commas."""
    return all(method in SAFE for method in methods.upper().split(", "))


@dataclass(frozen=True)
class Asked:
    """One request and where it goes. `headers` are those of the person; Host is `authority`. `tls` None: plain HTTP."""

    host: str
    port: int
    authority: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    tls: Tls | None = None
    others: tuple[str, ...] = ()
    """Other addresses of the same name: the service may listen there alone."""
    patience_s: float = 5.0
    """The longest wait for an answer."""

    @property
    def addresses(self) -> tuple[Asked, ...]:
        """The request to each address of its name, the one that is asked now first."""
        hosts = (self.host, *self.others)
        return tuple(replace(self, host=host, others=tuple(one for one in hosts if one != host)) for host in hosts)

    expects: int | None = None
    """The status that is good; None: what the service itself answers tells."""
    any_body: bool = False
    """Whether bodies may differ: only the status is held against an answer."""
    follows: bool = False
    """Whether one redirect is followed, on the same host."""
    mix: RequestMix | None = None
    """What is loaded in place of this request."""

    def is_good(self, status: int) -> bool:
        """True if an answer with this status is one that a client wants."""
        return status == self.expects if self.expects is not None else 200 <= status < 300

    def encode(self, version: str = "1.1", extra: tuple[tuple[str, str], ...] = ()) -> bytes:
        """The bytes on the wire."""
        return request_bytes((self.method, self.target), self.authority, (*self.headers, *extra), self.body, version)


class ServiceWire(CaseWire):
    """A connection on which each answer has its own time, as long as the person said."""

    def __init__(self, asked: Asked) -> None:
        self._patience_s = asked.patience_s
        super().__init__(asked.host, asked.port, time.monotonic() + asked.patience_s, asked.tls)

    def send(self, data: bytes) -> None:
        self.until(time.monotonic() + self._patience_s)
        super().send(data)

    def answer(self, method: str) -> HttpAnswer:
        self.until(time.monotonic() + self._patience_s)
        return super().answer(method)

    def closes(self, within_s: float) -> bool:
        self.until(time.monotonic() + within_s + self._patience_s)
        return super().closes(within_s)
