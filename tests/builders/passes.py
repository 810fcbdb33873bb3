"""The stacks that have passed the whole contract on this machine, so that it is tried again only of what has changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from builders.paths import ROOT
from fairground.host import build
from fairground.model import Server, Stack

JUDGES = ("contract/cases", "src/fairground/contract", "src/fairground/measure/checked.py")
"""What decides on a pass beside the server itself: the cases, and the code that tries them."""


def key_of(server: Server) -> str:
    """SHA-256 over a server's sources and all that judges them."""
    digest = hashlib.sha256(build.sources_hash(server.folder).encode())
    for place in JUDGES:
        path = ROOT / place
        for file in sorted(path.rglob("*.*")) if path.is_dir() else [path]:
            if file.suffix in (".py", ".toml"):
                digest.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Passes:
    """A folder with a file for each stack: the key of its server when it passed."""

    folder: Path

    def is_due(self, stack: Stack, key: str) -> bool:
        """The whole contract is to be tried: the server has changed since one of its stacks passed.

        Where nothing is known of a server, its first stack stands for all: a new machine would take too long else.
        """
        if self._last(stack) == key:
            return False
        stacks = tuple(stack.server.stacks)
        known = {last for one in stacks if (last := self._last(one)) is not None}
        return bool(known - {key}) or stack.id == stacks[0].id

    def note(self, stack: Stack, key: str) -> None:
        """The stack has passed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file(stack).write_text(key)

    def _last(self, stack: Stack) -> str | None:
        file = self._file(stack)
        return file.read_text() if file.exists() else None

    def _file(self, stack: Stack) -> Path:
        return self.folder / stack.id.replace(":", "-")
