"""The load engine's process, here or on another host: what is written to it, what it says, and what it uses."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fairground.host import Child, Keeper, Limits, Meter, Moment, RoleMeter, Stopped, Streams

RESULT = "engine.json"
"""The file with what it counted, in the folder of the raw data."""
NOTHING_MEASURED = 3
"""Its exit code where no connection could be opened; there is a document all the same."""
WORDS = ("run", "--plan", "-")
"""The plan comes on standard input."""


class Running(Protocol):
    """One process of the engine. What it says of itself while it runs are its events, and at its end its document."""

    @property
    def child(self) -> Child | None:
        """The process; None where it is on another host."""

    def meter(self) -> Meter:
        """A new meter of what it uses."""

    def pin(self, cores: Sequence[int] | None) -> None:
        """Let it run on these cores only, where it is on the lab's machine."""

    def write(self, text: bytes) -> None:
        """Send it this; one that has ended is left alone."""

    def read(self, within_s: float) -> bytes | None:
        """Return the next bytes of its events, empty at their end. None when it says nothing within this many seconds."""

    def document(self, within_s: float) -> tuple[int | None, str]:
        """Its exit code, None while it still runs after this many seconds, and what it counted."""

    def stop(self) -> Stopped:
        """End it, whatever it is doing."""


class EngineHost(Protocol):
    """Another host where the engine runs in place of the lab's machine. `name`: what it is called.

    `front`: the address of the lab's machine as it is reached from there.
    """

    name: str
    front: str
    here: Sequence[int]
    """The host's process, where it is on the lab's machine: what descends from it is the lab's."""

    def require(self) -> None:
        """MachineError where the host is gone."""

    def start(self, folder: Path) -> Running:
        """Start the engine there. `folder`: where its document is kept here."""

    def moment(self) -> Mapping[str, Moment]:
        """The clocks of its machine by its name, and of what passes on there what its engine says. The lab's own is left out."""

    def qualify(self, within_s: float) -> str:
        """Return what the engine says of its own qualification there."""

    @property
    def remarks(self) -> Iterable[str]:
        """The remarks on it that a person should know."""

    @property
    def described(self) -> str:
        """Its name and its machine, as a record keeps them."""


class Local:
    """The engine on the lab's machine, started by the keeper."""

    def __init__(self, keeper: Keeper, binary: Path, folder: Path, cores: tuple[int, ...] | None = None) -> None:
        stdin, self._stdin = os.pipe2(os.O_CLOEXEC)
        self._events, events = os.pipe2(os.O_CLOEXEC)
        self._file = folder / RESULT
        try:
            with open(self._file, "wb") as stdout:
                self.child = keeper.spawn(
                    [str(binary), *WORDS],
                    role="generator",
                    env={"PATH": os.defpath},
                    streams=Streams(stdin, stdout, events),
                    limits=Limits(cores=cores),
                )
        finally:
            os.close(stdin)
            os.close(events)

    def fileno(self) -> int:
        """The descriptor on which its events come."""
        return self._events

    def runs(self) -> bool:
        """True if it has not ended."""
        return self.child.exit_code() is None

    def meter(self) -> Meter:
        """A meter that samples its threads, so that those which end with the window are known."""
        return RoleMeter(self.child, closely=True)

    def pin(self, cores: Sequence[int] | None) -> None:
        """Pin the threads that it has, and those that they start."""
        self.child.pin(cores)

    def write(self, text: bytes) -> None:
        """Write all of it, and wait where the pipe is full."""
        try:
            while text:
                text = text[os.write(self._stdin, text) :]
        except BrokenPipeError:
            pass  # it ended already: its events say why

    def read(self, within_s: float) -> bytes | None:
        """Read what it says on its standard error."""
        if not select.select([self._events], [], [], within_s)[0]:
            return None
        return os.read(self._events, 1 << 16)

    def document(self, within_s: float) -> tuple[int | None, str]:
        """Return its exit code, and what it said on its standard output."""
        return self.child.wait(within_s), self._file.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> Stopped:
        """Stop it; the end of its standard input tells it, too."""
        for descriptor in (self._events, self._stdin):
            os.close(descriptor)
        return self.child.stop()


def start_engine(
    keeper: Keeper, binary: Path, folder: Path, elsewhere: EngineHost | None, cores: tuple[int, ...] | None = None
) -> Running:
    """Start the engine, `elsewhere` or (None) here on these cores. Its document is kept in `folder`."""
    return Local(keeper, binary, folder, cores) if elsewhere is None else elsewhere.start(folder)
