"""Answers that a timer of the kernel holds back: each is known by its length, and told by asking in a way that it cannot hold.

A delayed acknowledgement holds the second part of an answer for 40 ms: a client that acknowledges at once has it earlier.
TCP_CORK and MSG_MORE hold what fills no segment for 200 ms: where segments are small, an answer begins at once.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fairground.capacity.service.request import Asked, ServiceWire
from fairground.contract.wire import Trouble
from fairground.model import Finding, Severity

DELAYED_MS, CORKED_MS = (36.0, 52.0), (190.0, 240.0)
"""How long each timer holds an answer (Linux), and little more."""
SHARE = 0.5
"""Of the answers on kept connections, so many are held; and of the time that they took, no more is left without the timer."""
TRIES = 5
SEGMENT_BYTES = 88
"""The smallest that Linux lets a client ask for."""


@dataclass(frozen=True)
class _Timing:
    """The median of some answers: until their first byte, and from there to their end."""

    until_ms: float
    rest_ms: float


class PromptWire(ServiceWire):
    """A connection that acknowledges each packet at once."""

    def _read(self, part: str) -> bytes:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return super()._read(part)


class NarrowWire(ServiceWire):
    """A connection on which the service must send small segments."""

    def _connected(self, host: str, port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        made.settimeout(self._remaining_s())
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
        made.connect((host, port))
        return made


def check(asked: Asked, took_ms: Sequence[float], rest_ms: Sequence[float]) -> Finding:
    """Tell what holds the answers on kept connections back. `took_ms`: whole answers; `rest_ms`: from their first byte on."""
    if not took_ms:
        return _finding(Severity.NOTE, "no connection was used twice, so no plateau of 40 ms can be seen")
    if (held := _within(rest_ms, DELAYED_MS)) >= SHARE * len(took_ms):
        return _delayed(asked, held, took_ms, rest_ms)
    until_ms = [took - rest for took, rest in zip(took_ms, rest_ms, strict=True)]  # what a cork holds does not begin, either
    if (held := _within(until_ms, CORKED_MS)) >= SHARE * len(took_ms):
        return _corked(asked, held, took_ms)
    words = f"no plateau at 40 ms: the median on a kept connection is {median(took_ms):,.2f} ms"
    return _finding(Severity.NOTE, words, median_ms=median(took_ms))


def _delayed(asked: Asked, held: int, took_ms: Sequence[float], rest_ms: Sequence[float]) -> Finding:
    """Tell a delayed acknowledgement from a service that itself pauses within its answers."""
    began = f"{held} of {len(took_ms)} answers on kept connections began, and ended about {median(rest_ms):.0f} ms later"
    evidence = {"inside": held, "median_ms": median(took_ms)}
    prompt = _pace(PromptWire, asked)
    if prompt is None:
        return _finding(Severity.NOTE, f"{began}; why could not be tried", **evidence)
    evidence["prompt_ms"] = prompt.rest_ms
    if prompt.rest_ms > SHARE * median(rest_ms):
        words = f"{began}, also where each packet is acknowledged at once: the service itself pauses within its answers"
        return _finding(Severity.NOTE, words, **evidence)
    words = (
        f"{began}, and {prompt.rest_ms:.1f} ms later where each packet is acknowledged at once: a delayed acknowledgement,"
        " which an answer in two parts without TCP_NODELAY brings about"
    )
    return _finding(Severity.WARN, words, **evidence)


def _corked(asked: Asked, held: int, took_ms: Sequence[float]) -> Finding:
    """Tell a cork from a service that takes so long. An answer that fills no small segment tells nothing."""
    took = f"{held} of {len(took_ms)} answers on kept connections took about {median(took_ms):.0f} ms"
    narrow, evidence = _pace(NarrowWire, asked), {"inside": held, "median_ms": median(took_ms)}
    if narrow is None or narrow.until_ms > SHARE * median(took_ms):
        return _finding(Severity.NOTE, f"{took}, and are held by no timer of the kernel that can be seen", **evidence)
    words = (
        f"{took}, but begin after {narrow.until_ms:.1f} ms where segments are small: TCP_CORK or MSG_MORE holds back what fills"
        " none for 200 ms"
    )
    return _finding(Severity.WARN, words, narrow_ms=narrow.until_ms, **evidence)


def _pace(kind: type[ServiceWire], asked: Asked) -> _Timing | None:
    """The timing of some answers on one connection of this kind; None where it has none."""
    until_ms, rest_ms = list[float](), list[float]()
    try:
        with kind(asked) as wire:
            for _ in range(TRIES + 1):
                began_s = time.monotonic()
                wire.send(asked.encode())
                answer = wire.answer(asked.method)
                until_ms.append((wire.began_s - began_s) * 1000)
                rest_ms.append((time.monotonic() - wire.began_s) * 1000)
                if answer.is_last:
                    break
    except Trouble:
        pass
    # A new connection is acknowledged at once in any case, so the first answer tells nothing.
    return _Timing(median(until_ms[1:]), median(rest_ms[1:])) if len(rest_ms) > 1 else None


def _within(values_ms: Sequence[float], bounds_ms: tuple[float, float]) -> int:
    low, high = bounds_ms
    return sum(low <= value <= high for value in values_ms)


def _finding(severity: Severity, sentence: str, **evidence: float) -> Finding:
    return Finding("plateau", severity, sentence, evidence)
