"""The interface by which the lab talks to a load generator while it runs, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fairground.host import Child, Meter, Stopped
from fairground.model import Load, Result, Workload
from fairground.model.answerlog import AnswerLog
from fairground.model.wire import Tls


@dataclass(frozen=True)
class LoadTask:
    """The work of a generator: a workload under a load, against an address. Raw data goes into `folder`.

    `bodies`: answers that contract cases found right on this server, by case. `rates`: steps of a load curve, each a rate per
    second and its seconds, in place of the load's own rate and window. Only the lab's engine takes them, and `tls`.
    """

    workload: Workload
    load: Load
    host: str
    port: int
    seed: int
    folder: Path
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    rates: tuple[tuple[float, float], ...] = ()
    tls: Tls | None = None


class GeneratorSession(Protocol):
    """One running generator. Its events are those of docs/engine-protocol.md; what it cannot tell in them is None."""

    log: AnswerLog
    """When good answers came, as far as the generator tells: at its end."""

    @property
    def child(self) -> Child | None:
        """The process that makes the load now; another one from the event `window` on where warm-up and window are two runs.

        None where it is on another host.
        """

    def meter(self) -> Meter:
        """A new meter of what that process uses."""

    def pin(self, cores: Sequence[int] | None) -> None:
        """Let that process run on these cores only, where it is on the lab's machine."""

    def event(self, timeout_s: float = 15.0) -> dict[str, Any] | None:
        """The next event, or None at the end."""

    def measure(self, window_s: float | None = None) -> None:
        """End the warm-up, where the generator can be told so. `window_s`: what the engine's window lasts, if not as planned."""

    def halt(self) -> None:
        """End the load now."""

    def stop(self) -> Stopped:
        """End the generator, whatever it is doing."""

    def result(self) -> Result:
        """The result, after the last event. Raises LabError when there is none."""
