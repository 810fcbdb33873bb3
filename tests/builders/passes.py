"""Which stacks `make test` holds against the contract: what has passed before, and who stands for the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from builders.paths import ROOT, TESTS
from fairground.host import build
from fairground.model import Server, Stack
from fairground.model.contract import STANDARD

JUDGES = ("src/fairground/contract", "src/fairground/measure/checked.py")
"""What decides on a pass beside the server itself and its contract: the code that tries cases."""
KEPT = TESTS / "passes.json"
"""What has passed, in the repository: `make test-all` writes it."""


@dataclass(frozen=True)
class Pass:
    """What a stack has passed with: digests of its server's sources, and of all that judges it."""

    server: str
    judges: str


@cache
def judges(contract: Path) -> str:
    """SHA-256 over a contract's folder and the code that tries its cases."""
    digest = hashlib.sha256()
    for path in (contract, *(ROOT / place for place in JUDGES)):
        for file in sorted(path.rglob("*.*")) if path.is_dir() else [path]:
            if file.suffix in (".py", ".toml", ".sql"):
                digest.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def pass_of(server: Server) -> Pass:
    """What a stack of this server would pass with now."""
    return Pass(build.sources_hash(server.folder), judges(server.contract.folder))


def representatives(servers: Iterable[Server]) -> list[Stack]:
    """The first stack of one server for each language and build tool: of that with the least sources, lock file included.

    The lock file lists what a build fetches and compiles, so it is the quickest to build.
    """
    first: dict[tuple[str, str], Stack] = {}
    for server in sorted(servers, key=_size):
        first.setdefault((server.language, server.build[0][0] if server.build else ""), server.stacks[0])
    return list(first.values())


def foremost(standing: Iterable[Stack]) -> list[Stack]:
    """The first representative of each contract that skips no workload and is built, so that it can be had wherever its tools are."""
    first = dict[str, Stack]()
    for stack in sorted(standing, key=lambda one: (bool(one.server.skip), not one.server.build)):
        first.setdefault(stack.server.contract.id, stack)
    return list(first.values())


def _size(server: Server) -> tuple[bool, int]:
    """The order of servers: those of the standard contract first, then by their bytes."""
    return server.contract.id != STANDARD, sum(path.stat().st_size for path in build.sources(server.folder))


@dataclass(frozen=True)
class Passes:
    """What is known to have passed: by the repository's file, and by notes of this machine in a folder."""

    file: Path
    folder: Path

    def by_day(self, servers: Sequence[Server]) -> list[tuple[Stack, bool]]:
        """The stacks that `make test` tries, and whether each is to pass the whole contract or its quick cases.

        A stack whose server has changed since it passed is due whole. Representatives are tried each time. Where the contract
        has changed, or the code that tries it, the first of them that asks for all of it is due whole.
        """
        standing, tried = representatives(servers), list[tuple[Stack, bool]]()
        first = foremost(standing)
        for stack in (stack for server in servers for stack in server.stacks):
            now, known = pass_of(stack.server), self._known(stack)
            changed = now.server not in {one.server for one in known}
            if changed or stack in standing:
                tried.append((stack, changed or (stack in first and now not in known)))
        return tried

    def note(self, stack: Stack) -> None:
        """The stack has passed here, but for cases with a deadline."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._note_of(stack).write_text(json.dumps(asdict(pass_of(stack.server))))

    def keep(self, stack: Stack) -> None:
        """The stack has passed every case: the repository's file says so from now on."""
        kept = {**self._kept(), stack.id: asdict(pass_of(stack.server))}
        self.file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def _known(self, stack: Stack) -> list[Pass]:
        note, kept = self._note_of(stack), self._kept()
        found = [kept[stack.id]] if stack.id in kept else []
        return [Pass(**one) for one in [*found, *([json.loads(note.read_text())] if note.exists() else [])]]

    def _kept(self) -> dict[str, Mapping[str, str]]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def _note_of(self, stack: Stack) -> Path:
        return self.folder / f"{stack.id.replace(':', '-')}.json"
