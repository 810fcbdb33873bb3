"""Several hosts that make one load together, for the lab as one host (`Elsewhere`) with one engine (`Running`)."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.generators import joined
from fairground.generators.running import NOTHING_MEASURED, RESULT, Elsewhere, Running
from fairground.host import Child, Clock, Meter, Moment, Stopped
from fairground.model import AND, LabError, RoleUse

LISTEN_S = 0.2
"""A host is asked what its engine says for so long at a time."""
BORDERS = ("window", "drain")
"""Events of which the first engine's count: it owns the ends of the window."""
TOGETHER = ("start", "second", "held", "end")
"""Events that are told once all engines have told them."""


class SeveralHosts:
    """Hosts of which each runs an engine of every load. `front`: the address of the lab's machine that all of them reach."""

    def __init__(self, hosts: Sequence[Elsewhere]) -> None:
        self.hosts, self.name, self.front = tuple(hosts), AND.join(host.name for host in hosts), hosts[0].front
        self.here: Sequence[int] = [pid for host in hosts for pid in host.here]

    def require(self) -> None:
        """MachineError where one of them is gone."""
        for host in self.hosts:
            host.require()

    def start(self, folder: Path) -> Running:
        """Start an engine on each. What each counted is kept in a folder of its own, and the whole in `folder`."""
        parts = list[Running]()
        try:
            for host in self.hosts:
                own = folder / f"host-{host.name}"
                own.mkdir(parents=True, exist_ok=True)
                parts.append(host.start(own))
        except LabError:
            for part in parts:
                part.stop()
            raise
        return SeveralEngines(parts, folder)

    def moment(self) -> Mapping[str, Moment]:
        """The clocks of each of their machines that is not the lab's."""
        return {name: found for host in self.hosts for name, found in host.moment().items()}

    def qualify(self, within_s: float) -> str:
        """What the first engine says that does not qualify; the last one's where all do."""
        said = ""
        for host in self.hosts:
            said = host.qualify(within_s)
            if not _can_measure(said):
                break
        return said

    @property
    def remarks(self) -> Iterator[str]:
        """What a person should know of each, and of all together."""
        yield f"{len(self.hosts)} hosts make the load together, and host {self.hosts[0].name} begins and ends each window"
        for host in self.hosts:
            yield from host.remarks

    @property
    def described(self) -> str:
        """Each with its machine."""
        return "; ".join(host.described for host in self.hosts)


class SeveralEngines:
    """Engines that make one load together, each told its part of the plan (`Running`).

    A thread listens to each, since a host is asked what its engine says. Events come in the order in which they are complete.
    """

    child: Child | None = None

    def __init__(self, parts: Sequence[Running], folder: Path) -> None:
        self._parts, self._folder, self._planned = tuple(parts), folder, False
        self._heard: queue.Queue[tuple[int, bytes | LabError]] = queue.Queue()
        self._rests = [b""] * len(parts)
        self._over = set[int]()
        self._waiting: dict[tuple[object, ...], dict[int, Mapping[str, Any]]] = {}
        self._ready = b""
        self._left = threading.Event()
        self._listeners = [threading.Thread(target=self._listen, args=(number,), daemon=True) for number in range(len(parts))]
        for one in self._listeners:
            one.start()

    def meter(self) -> Meter:
        """A meter of all of them."""
        return SeveralMeters([part.meter() for part in self._parts])

    def pin(self, cores: Sequence[int] | None) -> None:
        """Each has its machine to itself."""

    def write(self, text: bytes) -> None:
        """The plan, which is the first line, is shared out. Commands go to all of them, in their order."""
        for line in text.splitlines(keepends=True):
            lines = [line] * len(self._parts)
            if not self._planned:
                shared = joined.plans(json.loads(line), len(self._parts))
                lines, self._planned = [json.dumps(one).encode() + b"\n" for one in shared], True
            for part, own in zip(self._parts, lines, strict=True):
                part.write(own)

    def _listen(self, number: int) -> None:
        """Take in what one engine says, to its end."""
        while not self._left.is_set():
            try:
                said = self._parts[number].read(LISTEN_S)
            except LabError as error:
                self._heard.put((number, error))
                return
            if said is not None:
                self._heard.put((number, said))
                if not said:
                    return

    def read(self, within_s: float) -> bytes | None:
        """What they say next, as one. MachineError where a host is gone."""
        until = time.monotonic() + within_s
        while not self._ready:
            if len(self._over) == len(self._parts):
                return b""
            try:
                number, said = self._heard.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if isinstance(said, LabError):
                raise said
            self._take(number, said)
        said, self._ready = self._ready, b""
        return said

    def _take(self, number: int, said: bytes) -> None:
        *lines, self._rests[number] = (self._rests[number] + said).split(b"\n")
        for line in lines:
            self._hear(number, line)
        if not said:
            if self._rests[number]:  # a panic's text may end without a line's end
                self._hear(number, self._rests[number])
            self._over.add(number)
            for key in list(self._waiting):
                self._tell_whole(key)

    def _hear(self, number: int, line: bytes) -> None:
        """An engine's line: passed on at once, or held until the others have said the same."""
        event = _event(line)
        name = None if event is None else event["event"]
        if event is not None and name in TOGETHER:
            key = (name, event.get("phase"), event.get("second"), event.get("turn", {}).get("number"))
            self._waiting.setdefault(key, {})[number] = event
            self._tell_whole(key)
        elif name not in BORDERS or number == 0:
            self._ready += line + b"\n"

    def _tell_whole(self, key: tuple[object, ...]) -> None:
        """Tell what all engines that still run have told."""
        told = self._waiting[key]
        if told.keys() | self._over >= set(range(len(self._parts))):
            del self._waiting[key]
            whole = joined.event([told[number] for number in sorted(told)])
            self._ready += json.dumps(whole).encode() + b"\n"

    def document(self, within_s: float) -> tuple[int | None, str]:
        """The first exit code that is not 0, and what they counted together, kept in the folder.

        LabError where some of them could not connect, and others could: that is no fault of the server's.
        """
        ended = [part.document(within_s) for part in self._parts]
        codes = [code for code, _ in ended]
        if NOTHING_MEASURED in codes and 0 in codes:
            raise LabError("a host that makes the load could open no connection, and another one could", exit_code=3)
        code = next((code for code in codes if code != 0), 0)
        try:
            told = [json.loads(text) for _, text in ended]
        except ValueError:
            return code, ""
        text = json.dumps(joined.document(told))
        (self._folder / RESULT).write_text(text)
        return code, text

    def stop(self) -> Stopped:
        """End all of them; how the last one ended."""
        self._left.set()
        for one in self._listeners:
            one.join()
        return [part.stop() for part in self._parts][-1]


@dataclass(frozen=True)
class Clocks(Clock):
    """Those of several engines at about one moment."""

    each: tuple[Clock, ...] = ()


class SeveralMeters:
    """What several engines use together (`host.Meter`)."""

    def __init__(self, each: Sequence[Meter]) -> None:
        self._each = tuple(each)

    memory_bytes: int | None = None
    """At the last sample; None where one of them does not know."""

    def sample(self) -> None:
        """As `Meter.sample`."""
        for meter in self._each:
            meter.sample()
        self.memory_bytes = _sum(meter.memory_bytes for meter in self._each)

    def cpu_ns(self) -> int:
        """CPU time so far."""
        return sum(meter.cpu_ns() for meter in self._each)

    def start(self) -> None:
        """Forget the peaks."""
        for meter in self._each:
            meter.start()

    def clock(self) -> Clock:
        """The clocks of each."""
        clocks = tuple(meter.clock() for meter in self._each)
        return Clocks(sum(clock.cpu_ns for clock in clocks), at_ns=clocks[0].at_ns, each=clocks)

    def use(self, before: Clock, after: Clock) -> RoleUse:
        """What they used together. Of what is told of one thread, that of the busiest one counts."""
        assert isinstance(before, Clocks) and isinstance(after, Clocks)
        clocks = zip(self._each, before.each, after.each, strict=True)
        return together([meter.use(was, now) for meter, was, now in clocks])


def together(uses: Sequence[RoleUse]) -> RoleUse:
    """What a role used on several hosts, of each of which its CPU is known apart."""
    busiest = max(uses, key=lambda use: use.busiest_thread_share or 0.0)
    pressed = [use.pressure_cpu_some_share for use in uses if use.pressure_cpu_some_share is not None]
    far = {use.host: use.cpu_us for use in uses if use.host is not None}
    return RoleUse(
        _sum(use.cpu_us for use in uses),
        _sum(use.memory_peak_bytes for use in uses),
        _sum(use.threads_peak for use in uses),
        busiest.source,
        busiest_thread_share=busiest.busiest_thread_share,
        busiest_thread_waited_share=busiest.busiest_thread_waited_share,
        involuntary_switches_per_s=busiest.involuntary_switches_per_s,
        pressure_cpu_some_share=max(pressed, default=None),
        host=AND.join(far) or None,
        cpu_us_by_host=far,
    )


def _sum(parts: Iterable[Any]) -> Any:
    """The sum; None where a part of it is not known."""
    found = list(parts)
    return None if None in found else sum(found)


def _event(line: bytes) -> dict[str, Any] | None:
    """A line that is an event; None for anything else."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def _can_measure(said: str) -> bool:
    try:
        return bool(json.loads(said)["can_measure"])
    except (ValueError, KeyError, TypeError):
        return False
