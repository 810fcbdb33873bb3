"""Find which servers can be had here. All are asked at once, and what is met is remembered: a list is to come fast.

A need that was met is remembered in the cache under a digest of what its answer depends on: the declared command, the program
that PATH finds (its place, size and time of change), PATH, and the content of the server's folder. One that was not met is asked
anew each time, so that what a person installs counts at once. `build.build` trusts none of this: it asks anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.host import Keeper, build, sources
from fairground.host.build import Unavailable
from fairground.model import Server

AT_ONCE = 4
"""Commands that run at the same time."""


@dataclass(frozen=True)
class ServerNeed:
    """One command that a server needs. `key` is the digest of what its answer depends on, None where PATH has no such program."""

    server: Server
    command: tuple[str, ...]
    key: str | None


def unavailable(servers: Sequence[Server], environ: Mapping[str, str], cache: Path) -> dict[str, Unavailable]:
    """Server id → the first of its `needs` that is not met here, for servers that have one. `environ` is the lab's own."""
    memory = Memory(cache / "builds" / "needs")
    needs = [need for server in servers for need in _needs(server, environ)]
    unknown = [need for need in needs if need.key is not None and not memory.has(need.key)]
    unmet: dict[str, Unavailable] = {}
    for need, code, output in _answers(unknown, environ):
        if code == 0:
            memory.keep(str(need.key), need.command)
        else:
            unmet.setdefault(need.server.id, build.fails(need.server, need.command, output))
    for need in needs:
        if need.key is None:  # the last of its server: a command before it that failed is said first
            unmet.setdefault(need.server.id, build.lacks_program(need.server, need.command))
    return unmet


def _needs(server: Server, environ: Mapping[str, str]) -> Iterator[ServerNeed]:
    """The server's needs, up to the first whose program is not there: that one settles it."""
    content = sources.content_hash(server.folder)
    for command in server.needs:
        program = shutil.which(command[0], path=environ.get("PATH"))
        if program is None:
            yield ServerNeed(server, command, None)
            return
        real = os.path.realpath(program)
        found = os.stat(real)
        facts = [command, real, found.st_size, found.st_mtime_ns, environ.get("PATH"), content]
        yield ServerNeed(server, command, hashlib.sha256(json.dumps(facts).encode()).hexdigest())


def _answers(needs: Sequence[ServerNeed], environ: Mapping[str, str]) -> Iterator[tuple[ServerNeed, int | None, str]]:
    """Each need in turn, with the exit code (None: out of time) and the output of its command, `AT_ONCE` of them at work."""
    if not needs:
        return
    running: deque[tuple[ServerNeed, build.BuildCommand]] = deque()
    with Keeper(environ) as keeper:
        for need in needs:
            if len(running) == AT_ONCE:
                yield _end(*running.popleft())
            running.append((need, build.BuildCommand(keeper, need.command, need.server.folder)))
        while running:
            yield _end(*running.popleft())


def _end(need: ServerNeed, command: build.BuildCommand) -> tuple[ServerNeed, int | None, str]:
    return need, *command.end(build.RECEIPT_TIMEOUT_S)


class Memory:
    """The needs that are known to be met: a file for each key, whose name is the key and whose content says the same of itself.

    Files come whole, by a rename, so several labs may write at once. A file that says something else is as good as none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, key: str) -> bool:
        """True if this need was met before."""
        try:
            said = json.loads((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return False
        return isinstance(said, dict) and said.get("key") == key and said.get("met") is True

    def keep(self, key: str, command: Sequence[str]) -> None:
        """Remember it. A cache that cannot be written to remembers nothing, and that is no error."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, suffix=".new", delete=False) as file:
                json.dump({"key": key, "met": True, "command": list(command)}, file)
            os.replace(file.name, self._folder / f"{key}.json")
        except OSError:
            return
