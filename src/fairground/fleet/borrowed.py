"""A host that lends itself to this lab: how it is asked, how far it is, and what runs there uses. The lab's side of `Lent`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from distributed import Future

from fairground.fleet.about import About
from fairground.fleet.unpickling import Unreadable
from fairground.host import CpuClock, Moment, machine
from fairground.model import LabError, MachineError, RoleUse

ANSWER_S = 10.0
"""A host that does not answer within so long is gone."""
LENT_S = 30.0
"""The time that a host may take to be ready."""
ASKED = 10
"""The number of times that a host is asked for the time, to know how far its clock is off."""


@dataclass(frozen=True)
class Distance:
    """The time that a question to a host takes, and how far the host's clock is ahead of the lab's.

    `ahead_s` is known to half of `round_trip_s`.
    """

    round_trip_s: float
    ahead_s: float

    @classmethod
    def of(cls, asked: Sequence[tuple[float, float, float]]) -> Distance:
        """Compute it from questions: when each was asked, what the host's clock said, when the answer came.

        The quickest one counts. That is how NTP finds an offset (RFC 5905, section 8): both ways are taken to be equally long.
        """
        before_s, there_s, after_s = min(asked, key=lambda one: one[2] - one[0])
        return cls(after_s - before_s, there_s - (before_s + after_s) / 2)


class Borrowed:
    """A host on which a role of this lab runs. `front`: the address of this machine as the host reaches it."""

    role: str
    """The role that runs there."""

    def __init__(self, about: About, front: str, lent: Future[Any] | None) -> None:
        self.about, self.name, self.front, self._lent = about, about.name, front, lent
        with self._told():
            self._actor = None if lent is None else lent.result(timeout=LENT_S)
            if isinstance(self._actor, Unreadable):
                raise ValueError(self._actor.message)
        self.is_here = about.machine.hostname_hash == machine.fingerprint().hostname_hash
        """True if the host is on the lab's own machine: then its roles meet the others there."""
        self.here: Sequence[int] = (int(self.ask("process")),) if self.is_here else ()
        self.distance = Distance.of([self._asked() for _ in range(ASKED)])

    def _asked(self) -> tuple[float, float, float]:
        before_s, there_s = time.time(), self.ask("clock_s")
        return before_s, there_s, time.time()

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        """Call a method of the actor there, which may take `within_s` seconds. MachineError where the host is gone, or breaks."""
        with self._told():
            found = getattr(self._actor, method)(*words).result(timeout=ANSWER_S + within_s)
            if isinstance(found, Unreadable):
                raise ValueError(found.message)
            return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise MachineError for whatever Dask makes of a host that is gone or broken, with its words."""
        try:
            yield
        except LabError:
            raise
        except Exception as error:
            sentence = f"host `{self.name}`, on which the {self.role} runs, does not answer: {str(error) or type(error).__name__}"
            raise MachineError(sentence, f"join it again, or place the {self.role} on another one") from error

    def let_go(self) -> None:
        """End what runs there, so that another lab can have the host."""
        if self._lent is not None:
            self._lent.cancel()

    def require(self) -> None:
        """Raise MachineError if the host is gone."""
        self.ask("clock_s")

    def moment(self) -> Mapping[str, Moment]:
        """The clocks of that machine by the host's name; nothing where it is the lab's."""
        return {} if self.is_here else {self.name: self.ask("moment")}

    @property
    def remarks(self) -> Iterator[str]:
        """Yield what a person should know of it."""
        ahead_ms, doubt_ms = self.distance.ahead_s * 1e3, self.distance.round_trip_s * 500
        words = "ahead of this one's" if ahead_ms >= 0 else "behind this one's"
        yield (
            f"the {self.role} is on host {self.name}, {self.reaching}; a question to it takes"
            f" {self.distance.round_trip_s * 1e3:.1f} ms, and its clock is {abs(ahead_ms):.1f} ms (± {doubt_ms:.1f}) {words}"
        )
        if self.is_here:
            yield f"host {self.name} is on this very machine: the {self.role} meets the other roles there"
        if remark := str(self.ask("remark")):
            yield f"host {self.name}: {remark}"

    @property
    def reaching(self) -> str:
        """A clause that says who reaches whom, and where."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """Its name and its machine."""
        there = self.about.machine
        return f"{self.name}, {there.cpu_model or 'unknown CPU'}, {there.cores} cores, {there.kernel}"


@dataclass
class RemoteMeter:
    """A meter of something on a host (`host.Meter`). The host itself samples it."""

    host: Borrowed
    number: int
    memory_bytes: int | None = None

    def sample(self) -> None:
        """Do nothing, since the host samples."""

    def cpu_ns(self) -> int:
        """CPU time so far."""
        return int(self.host.ask("cpu_ns", self.number))

    def start(self) -> None:
        """Forget the peaks."""
        self.host.ask("forget_peaks", self.number)

    def clock(self) -> CpuClock:
        """All that is read of it at a moment."""
        found: CpuClock = self.host.ask("clock", self.number)
        return found

    def use(self, before: CpuClock, after: CpuClock) -> RoleUse:
        """Return what it used between two readings, with the host's name where that is another machine."""
        found: RoleUse = self.host.ask("use", self.number, before, after)
        there = self.host
        return found if there.is_here else replace(found, host=there.name, cores=there.about.machine.cores)
