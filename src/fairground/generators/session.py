"""What the trial asks of a load generator while it runs, whichever it is."""

from __future__ import annotations

from typing import Any, Protocol

from fairground.model import Result
from fairground.process import Child, Stopped


class Session(Protocol):
    """One running generator. Its events are those of docs/engine-protocol.md; what it cannot tell in them is None."""

    child: Child
    """The process that makes the load now; another one from the event `window` on where warm-up and window are two runs."""

    def event(self, timeout_s: float = 15.0) -> dict[str, Any] | None:
        """The next event, or None at the end."""

    def measure(self) -> None:
        """End the warm-up, where the generator can be told so."""

    def halt(self) -> None:
        """End the load now."""

    def stop(self) -> Stopped:
        """End the generator, whatever it is doing."""

    def result(self) -> Result:
        """The result, after the last event. Raises LabError when there is none."""
