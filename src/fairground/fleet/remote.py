"""A host on which the load engine runs in place of the lab's machine: the lab's side of `Engines`."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Future
from distributed.utils import get_ip

from fairground.fleet import engines
from fairground.fleet.about import About
from fairground.fleet.cluster import Member
from fairground.generators.running import RESULT, Running
from fairground.host import Child, Clock, Meter, Moment, Stopped, machine
from fairground.model import LabError, MachineError, RoleUse

ANSWER_S = 10.0
"""A host that does not answer within so long is gone."""
LENT_S = 30.0
"""How long a host may take to be ready for engines."""
ASKED = 10
"""How often a host is asked for the time, to know how far its clock is off."""


@dataclass(frozen=True)
class Distance:
    """What a question to a host takes, and how far its clock is ahead of the lab's; that is known to half of what it takes."""

    round_trip_s: float
    ahead_s: float

    @classmethod
    def of(cls, asked: Sequence[tuple[float, float, float]]) -> Distance:
        """From questions: when each was asked, what the host's clock said, when the answer came. The quickest one counts.

        That is how NTP finds an offset (RFC 5905, section 8): both ways are taken to be equally long.
        """
        before_s, there_s, after_s = min(asked, key=lambda one: one[2] - one[0])
        return cls(after_s - before_s, there_s - (before_s + after_s) / 2)


class RemoteHost:
    """Where the engine runs (`generators.Elsewhere`). `front`: the address of this machine as the host reaches it."""

    def __init__(self, about: About, front: str, lent: Future[Any] | None) -> None:
        self.about, self.name, self.front, self._lent = about, about.name, front, lent
        with self._told():
            self._actor = None if lent is None else lent.result(timeout=LENT_S)
        self.is_here = about.machine.hostname_hash == machine.fingerprint().hostname_hash
        """Whether the host is on the lab's own machine: then its roles meet the others there."""
        self.here: Sequence[int] = (int(self.ask("process")),) if self.is_here else ()
        self.distance = Distance.of([self._asked() for _ in range(ASKED)])

    def _asked(self) -> tuple[float, float, float]:
        before_s, there_s = time.time(), self.ask("clock_s")
        return before_s, there_s, time.time()

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        """The answer of a method of `Engines`, which may take so long. MachineError where the host is gone, or breaks."""
        with self._told():
            return getattr(self._actor, method)(*words).result(timeout=ANSWER_S + within_s)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """MachineError for whatever Dask makes of a host that is gone or broken, with its words."""
        try:
            yield
        except LabError:
            raise
        except Exception as error:
            sentence = f"host `{self.name}`, on which the generator runs, does not answer: {str(error) or type(error).__name__}"
            raise MachineError(sentence, "join it again, or place the generator on another one") from error

    def let_go(self) -> None:
        """Engines that run there end, and another lab can have the host."""
        if self._lent is not None:
            self._lent.cancel()

    def require(self) -> None:
        """MachineError where the host is gone."""
        self.ask("clock_s")

    def require_a_way_back(self) -> None:
        """LabError where the host cannot connect to this machine, as the generator must."""
        with closing(socket.create_server((self.front, 0))) as listener:
            why = self.ask("reaches", self.front, listener.getsockname()[1], within_s=engines.REACHES_S)
        if why:
            sentence = f"host `{self.name}` cannot reach this machine at `{self.front}`: {why}"
            raise LabError(sentence, "let it through: servers listen on ports from 18000 to 19999", 3)

    def start(self, folder: Path) -> Running:
        """Start an engine there. Its document is kept in `folder` here."""
        return RemoteEngine(self, self.ask("start"), folder)

    def moment(self) -> Mapping[str, Moment]:
        """The clocks of that machine by the host's name; nothing where it is the lab's."""
        return {} if self.is_here else {self.name: self.ask("moment")}

    def qualify(self, within_s: float) -> str:
        """What the engine says of its own qualification there."""
        return str(self.ask("qualify", within_s, within_s=within_s))

    @property
    def remarks(self) -> Iterator[str]:
        """What a person should know of it."""
        ahead_ms, doubt_ms = self.distance.ahead_s * 1e3, self.distance.round_trip_s * 500
        words = "ahead of this one's" if ahead_ms >= 0 else "behind this one's"
        yield (
            f"the generator is on host {self.name}, which reaches servers at {self.front}; a question to it takes"
            f" {self.distance.round_trip_s * 1e3:.1f} ms, and its clock is {abs(ahead_ms):.1f} ms (± {doubt_ms:.1f}) {words}"
        )
        if self.is_here:
            yield f"host {self.name} is on this very machine: the generator meets the other roles there"
        if remark := str(self.ask("remark")):
            yield f"host {self.name}: {remark}"

    @property
    def described(self) -> str:
        """Its name and its machine."""
        there = self.about.machine
        return f"{self.name}, {there.cpu_model or 'unknown CPU'}, {there.cores} cores, {there.kernel}"


class RemoteEngine:
    """One engine on a host (`generators.Running`)."""

    child: Child | None = None

    def __init__(self, host: RemoteHost, number: int, folder: Path) -> None:
        self._host, self._number, self._folder = host, number, folder

    def meter(self) -> Meter:
        """A meter that asks the host."""
        return RemoteMeter(self._host, self._number)

    def pin(self, cores: Sequence[int] | None) -> None:
        """Nothing: it has that machine to itself."""

    def write(self, text: bytes) -> None:
        """Send it this."""
        self._host.ask("write", self._number, text)

    def read(self, within_s: float) -> bytes | None:
        """What it says next."""
        said: bytes | None = self._host.ask("read", self._number, within_s, within_s=within_s)
        return said

    def document(self, within_s: float) -> tuple[int | None, str]:
        """Its exit code and what it counted, kept here; when its window began is told by the lab's clock."""
        code, text = self._host.ask("document", self._number, within_s, within_s=within_s)
        text = by_our_clock(text, self._host.distance.ahead_s)
        (self._folder / RESULT).write_text(text)
        return code, text

    def stop(self) -> Stopped:
        """End it."""
        stopped: Stopped = self._host.ask("stop", self._number)
        return stopped


@dataclass
class RemoteMeter:
    """What an engine on a host uses (`host.Meter`). The host itself samples it."""

    host: RemoteHost
    number: int
    memory_bytes: int | None = None

    def sample(self) -> None:
        """The host does that."""

    def cpu_ns(self) -> int:
        """CPU time so far."""
        return int(self.host.ask("cpu_ns", self.number))

    def start(self) -> None:
        """Forget the peaks."""
        self.host.ask("forget_peaks", self.number)

    def clock(self) -> Clock:
        """All that is read of it at a moment."""
        found: Clock = self.host.ask("clock", self.number)
        return found

    def use(self, before: Clock, after: Clock) -> RoleUse:
        """What it used between two readings, with the host's name where that is another machine."""
        found: RoleUse = self.host.ask("use", self.number, before, after)
        return found if self.host.is_here else replace(found, host=self.host.name)


def by_our_clock(document: str, ahead_s: float) -> str:
    """The engine's document with the start of its window by a clock that the host's is `ahead_s` of. What is none stays."""
    try:
        found = json.loads(document)
        began_us = found["window"]["start_unix_us"]
    except (ValueError, KeyError, TypeError):
        return document
    if began_us is not None:
        found["window"]["start_unix_us"] = round(began_us - ahead_s * 1e6)
    return json.dumps(found)


@contextmanager
def generator_on(client: Any, member: Member) -> Iterator[RemoteHost]:
    """A host that has joined, as the one on which the engine runs. LabError where it cannot connect to this machine."""
    place = urlsplit(member.address)
    found = RemoteHost(member.about, get_ip(place.hostname, place.port), engines.lent(client, member.address))
    try:
        found.require_a_way_back()
        yield found
    finally:
        found.let_go()
