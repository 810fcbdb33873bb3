"""An arm's engine that takes turns with those of other arms: it stands still until it is its turn, and tells what it counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from fairground.generators import engine
from fairground.measure.watch import ArmWatch, WatchedArm
from fairground.model import Result

SILENCE_S = 15.0
"""A generator speaks every second, but while it waits for its last answers."""


def silence_of(timeout_ms: float) -> float:
    """The seconds that an engine may say nothing.

    Its last answers may each take a timeout, behind handshakes that took as long.
    """
    return SILENCE_S + 2 * timeout_ms / 1000


@dataclass(frozen=True)
class Told:
    """The counts of an engine that takes turns, since its start: in all, and in the settled parts of its turns."""

    ok: int = 0
    not_ok: int = 0
    active_s: float = 0.0
    settled_ok: int = 0
    settled_s: float = 0.0

    def __sub__(self, before: Told) -> Told:
        return Told(*(getattr(self, one.name) - getattr(before, one.name) for one in fields(self)))


class TurnTaking:
    """The engine of one arm that takes turns with others'. `told`: what it had counted when it last stood still."""

    def __init__(
        self,
        session: engine.EngineSession,
        label: str,
        watch: ArmWatch,
        seen: WatchedArm,
        silence_s: float,
        failed: Callable[[], bool],
        notice_gone: Callable[[engine.EngineSession], None],
    ) -> None:
        """`failed`: whether the arm is loaded no more. `notice_gone` is told of an engine that ended by itself."""
        self.session, self._label, self._watch, self._seen = session, label, watch, seen
        self._silence_s, self._failed, self._notice_gone = silence_s, failed, notice_gone
        self.meter = self.session.meter()
        self.told = Told()
        self.shared_us: dict[str, float] = {}
        """CPU of roles that all arms share, while it was this one's turn."""
        self.measured = False
        self.ends: list[tuple[float, int]] = []
        """Of each turn: when it ended, and how many good answers there were by then."""
        self._await_held()

    def measure(self) -> None:
        """End the warm-up: the engine's window begins with the next turn, and lasts to the arm's end."""
        if not self.measured:
            self.session.measure()
            self.measured = True

    def turn(self, seconds: float) -> None:
        """Load the arm for so long, and wait for its last answer."""
        self._watch.turn = self._label
        before = self._shared_ns()
        self.session.go()
        time.sleep(seconds)
        self.session.hold()
        self._await_held()
        self._watch.turn = None
        self.ends.append((time.monotonic(), self.told.ok))
        for role, spent_ns in self._shared_ns().items():
            self.shared_us[role] = self.shared_us.get(role, 0.0) + (spent_ns - before[role]) / 1000

    def work_off(self, requests: int) -> None:
        """Let the arm answer this many requests, however long it takes, and wait for the last of them."""
        self._watch.turn = self._label
        self.session.go(requests)
        self._await_held()
        self._watch.turn = None
        self.ends.append((time.monotonic(), self.told.ok))

    def _shared_ns(self) -> dict[str, int]:
        return {role: meter.cpu_ns() for role, meter in self._seen.meters.items() if role == "database"}

    def _await_held(self) -> None:
        """Wait until it stands still."""
        while not self._failed():
            event = self.session.event(self._silence_s)
            if event is None:
                self._notice_gone(self.session)
            elif event["event"] == "held":
                part = engine.settled_part(event)
                self.told = Told(
                    ok=event["ok"],
                    not_ok=event["not_ok"],
                    active_s=event["active_us"] / 1e6,
                    settled_ok=self.told.settled_ok + part.ok,
                    settled_s=self.told.settled_s + part.active_s,
                )
                return

    def finish(self) -> Result:
        """End the load and take what was counted over the whole life."""
        self.session.halt()
        while self.session.event(self._silence_s) is not None:
            pass
        return self.session.result()

    def stop(self) -> None:
        """End the engine, whatever it is doing."""
        self.session.stop()
