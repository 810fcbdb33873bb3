"""Which stacks `make test` holds against the contract: what has passed before, and who stands for the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from builders.contracts import CONTRACTS
from builders.paths import ROOT, TESTS
from fairground.contract import load
from fairground.host import sources
from fairground.model import Approach, Server, Stack
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


@dataclass(frozen=True)
class Asked:
    """What a stack is asked: all of its contract but for the workloads that it skips."""

    contract: str
    skipped: frozenset[str]


@cache
def judges(asked: Asked) -> str:
    """SHA-256 over all that judges a stack: the code that tries cases, the contract's data and rules, and its cases.

    Cases of workloads that it skips are left out, and so are workloads, which no check loads: a new optional one changes nothing
    for those that do not serve it, but for a table that it needs.
    """
    digest, contract = hashlib.sha256(), CONTRACTS[asked.contract]
    for path in (contract.folder, *(ROOT / place for place in JUDGES)):
        for file in [path] if path.is_file() else sorted(path.glob("*.*")):
            if file.suffix in (".py", ".toml", ".sql"):
                digest.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    for case in load(contract):
        if not case.workloads or not asked.skipped.issuperset(case.workloads):
            digest.update(f"\0{case!r}".encode())
    return digest.hexdigest()


def pass_of(stack: Stack) -> Pass:
    """What a stack would pass with now."""
    return Pass(sources.sources_hash(stack.server.folder), judges(Asked(stack.server.contract.id, frozenset(stack.skip))))


def representatives(servers: Iterable[Server]) -> list[Stack]:
    """A stack of one server for each language and build tool: of that with the least sources, lock file included.

    The lock file lists what a build fetches and compiles, so it is the quickest to build; and of its stacks the one with the
    fewest commands, a documented one among equals. Of a contract with optional workloads the smallest that serves all of them
    is one, too.
    """
    first: dict[tuple[str, str], Stack] = {}
    ordered = sorted(servers, key=_size)
    for server in ordered:
        stack = min(server.stacks, key=lambda one: (len(one.build), one.variant.approach is not Approach.DOCUMENTED))
        first.setdefault((server.language, server.build[0][0] if server.build else ""), stack)
    standing = list(first.values())
    for contract in {one.contract.id: one.contract for one in ordered if one.contract.optional}.values():
        serving = [stack for server in ordered if server.contract == contract for stack in server.stacks if not stack.skip]
        if not any(stack.id in {one.id for one in standing} for stack in serving):
            standing += serving[:1]
    return standing


def foremost(standing: Iterable[Stack]) -> list[Stack]:
    """The representative of each contract that skips the fewest workloads, and is built: it can be had wherever its tools are."""
    first = dict[str, Stack]()
    for stack in sorted(standing, key=lambda one: (len(one.skip), not one.server.build)):
        first.setdefault(stack.server.contract.id, stack)
    return list(first.values())


def _size(server: Server) -> tuple[bool, int]:
    """The order of servers: those of the standard contract first, then by their bytes."""
    return server.contract.id != STANDARD, sum(path.stat().st_size for path in sources.walk(server.folder))


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
            now, known = pass_of(stack), self._known(stack)
            changed = now.server not in {one.server for one in known}
            if changed or stack in standing:
                tried.append((stack, changed or (stack in first and now not in known)))
        return tried

    def note(self, stack: Stack) -> None:
        """The stack has passed here, but for cases with a deadline."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._note_of(stack).write_text(json.dumps(asdict(pass_of(stack))))

    def keep(self, stack: Stack) -> None:
        """The stack has passed every case: the repository's file says so from now on."""
        kept = {**self._kept(), stack.id: asdict(pass_of(stack))}
        self.file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def _known(self, stack: Stack) -> list[Pass]:
        note, kept = self._note_of(stack), self._kept()
        found = [kept[stack.id]] if stack.id in kept else []
        return [Pass(**one) for one in [*found, *([json.loads(note.read_text())] if note.exists() else [])]]

    def _kept(self) -> dict[str, Mapping[str, str]]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def _note_of(self, stack: Stack) -> Path:
        return self.folder / f"{stack.id.replace(':', '-')}.json"
