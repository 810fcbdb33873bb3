"""A host on which the load engine runs in place of the lab's machine: the lab's side of `Engines`."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed.utils import get_ip

from fairground.fleet import engines
from fairground.fleet.borrowed import Borrowed, RemoteMeter
from fairground.fleet.cluster import Member
from fairground.fleet.lending import REACHES_S
from fairground.generators.running import RESULT, Running
from fairground.host import Child, Meter, Stopped, family_of
from fairground.model import LabError


class RemoteHost(Borrowed):
    """The host on which the engine runs (`EngineHost`)."""

    role = "generator"

    @property
    def reaching(self) -> str:
        """A clause that says where it finds servers."""
        return f"which reaches servers at {self.front}"

    def require_a_way_back(self) -> None:
        """Raise LabError if the host cannot connect to this machine, as a generator must."""
        with closing(socket.create_server((self.front, 0), family=family_of(self.front))) as listener:
            why = self.ask("reaches", self.front, listener.getsockname()[1], within_s=REACHES_S)
        if why:
            sentence = f"host `{self.name}` cannot reach this machine at `{self.front}`: {why}"
            raise LabError(sentence, "let it through: servers listen on ports from 18000 to 19999", 3)

    def start(self, folder: Path) -> Running:
        """Start an engine there. Its document is kept in `folder` here."""
        return RemoteEngine(self, self.ask("start"), folder)

    def qualify(self, within_s: float) -> str:
        """Run the engine's own qualification there, and return what it says."""
        return str(self.ask("qualify", within_s, within_s=within_s))


class RemoteEngine:
    """One engine on a host (`generators.Running`)."""

    child: Child | None = None

    def __init__(self, host: RemoteHost, number: int, folder: Path) -> None:
        self._host, self._number, self._folder = host, number, folder

    def meter(self) -> Meter:
        """A meter that asks the host."""
        return RemoteMeter(self._host, self._number)

    def pin(self, cores: Sequence[int] | None) -> None:
        """Do nothing: it has that machine to itself."""

    def write(self, text: bytes) -> None:
        """Send it this."""
        self._host.ask("write", self._number, text)

    def read(self, within_s: float) -> bytes | None:
        """Wait for what it says next."""
        said: bytes | None = self._host.ask("read", self._number, within_s, within_s=within_s)
        return said

    def document(self, within_s: float) -> tuple[int | None, str]:
        """Its exit code and what it counted, kept here; when its window began is told by the lab's clock."""
        code, text = self._host.ask("document", self._number, within_s, within_s=within_s)
        text = by_our_clock(text, self._host.distance.ahead_s)
        (self._folder / RESULT).write_text(text, encoding="utf-8")
        return code, text

    def stop(self) -> Stopped:
        """End it."""
        stopped: Stopped = self._host.ask("stop", self._number)
        return stopped


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
    found = RemoteHost(member.about, get_ip(place.hostname, place.port), engines.lend_engines(client, member.address))
    try:
        found.require_a_way_back()
        yield found
    finally:
        found.let_go()
