"""The servers that can be measured, and their stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fairground.model.contract import NO_CONTRACT, CompiledDatabase, Contract, Ready, names_in


class Approach(StrEnum):
    """The way in which a variant is written.

    It is as its documentation shows, as the author of a benchmark published it, tuned, or an event loop of its own.
    """

    DOCUMENTED = "documented"
    PUBLISHED = "published"
    TUNED = "tuned"
    ENGINE = "engine"


@dataclass(frozen=True)
class Tuning:
    """One thing in which a variant departs from its documentation. `source` is the page that shows it, or `none`.

    Of a published variant it is a choice of the author, and its page is where he made it.
    """

    what: str
    why: str
    source: str


@dataclass(frozen=True)
class Variant:
    """One named way to start a server. `approach` is None where an older manifest does not say it."""

    name: str
    about: str
    env: Mapping[str, str] = field(default_factory=dict)
    approach: Approach | None = None
    tuning: tuple[Tuning, ...] = ()
    build: tuple[tuple[str, ...], ...] | None = None
    version: tuple[str, ...] | None = None
    serve: tuple[str, ...] | None = None
    """Its own commands, where they are not the server's: they build it, print its versions, and start it."""
    serves: tuple[str, ...] = ()
    """The ids of the optional workloads of its contract that it serves."""


@dataclass(frozen=True)
class Server:
    """One codebase under test: a parsed `server.toml` and the folder that it was read from."""

    id: str
    title: str
    language: str
    homepage: str
    about: str
    folder: Path
    needs: tuple[tuple[str, ...], ...]
    build: tuple[tuple[str, ...], ...]
    version: tuple[str, ...]
    serve: tuple[str, ...]
    variants: Mapping[str, Variant]
    skip: Mapping[str, str]
    """Workload id → why this server cannot do it."""
    contract: Contract = NO_CONTRACT
    """The contract that it fulfils."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Its own paths, in place of the contract's of these names."""
    environment: Mapping[str, str] | None = None
    """What it is told, in place of what the contract says; None: as the contract says."""
    port: int | None = None
    """Where it listens, whatever it is told; None: where it is told to."""
    own_ready: Ready | None = None
    database: CompiledDatabase | None = None
    """The database that it connects to, whatever it is told; None: where it is told to."""

    @property
    def alone(self) -> str | None:
        """The clause that says why no copy of it can be up beside it; None: one can."""
        if self.port is not None:
            return f"it listens at port {self.port} whatever it is told"
        return None if self.database is None else f"it asks the database `{self.database.name}` whatever it is told"

    @property
    def told(self) -> Mapping[str, str]:
        """The variables that it is told when it is started, each a text with `$names`."""
        return self.contract.environment if self.environment is None else self.environment

    @property
    def ready(self) -> Ready:
        """The request by which the lab learns that it is ready, with `$paths`."""
        return self.own_ready or self.contract.ready

    def is_told(self, name: str) -> bool:
        """True if it learns this `$name` when it is started: who is told no pool size cannot be held to one."""
        texts = (*self.told.values(), *self.serve, *(word for one in self.variants.values() for word in one.serve or ()))
        return any(name in names_in(text) for text in texts)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """One stack for each variant, in the manifest's order."""
        return tuple(Stack(self, variant) for variant in self.variants.values())


def clash_of(one: Server, other: Server) -> str | None:
    """The clause that says why two servers cannot be up at once, whatever they are told; None: they can."""
    if one.port is not None and one.port == other.port:
        return f"listen at port {one.port} whatever they are told"
    ours, theirs = (None if server.database is None else server.database.name for server in (one, other))
    return None if ours is None or ours != theirs else f"ask the database {ours} whatever they are told"


@dataclass(frozen=True)
class Stack:
    """One row of a result table."""

    server: Server
    variant: Variant

    @property
    def id(self) -> str:
        return f"{self.server.id}:{self.variant.name}"

    @property
    def backlog(self) -> int | None:
        """The backlog that its contract asks of it. One that is published listens as its author's does: None."""
        return None if self.variant.approach is Approach.PUBLISHED else self.server.contract.backlog

    @property
    def build(self) -> tuple[tuple[str, ...], ...]:
        """The commands that build it, in their order."""
        return self.server.build if self.variant.build is None else self.variant.build

    @property
    def version(self) -> tuple[str, ...]:
        """The command that prints the versions of what was built."""
        return self.variant.version or self.server.version

    @property
    def serve(self) -> tuple[str, ...]:
        """The command that starts it."""
        return self.variant.serve or self.server.serve

    @property
    def skip(self) -> Mapping[str, str]:
        """Workload id → why it is not asked.

        Its server cannot do it, or it is an optional one that this variant does not serve.
        """
        contract = self.server.contract
        optional = {contract.qualify(name): f"does not serve `{name}`" for name in contract.optional}
        return {id: why for id, why in optional.items() if id not in self.variant.serves} | dict(self.server.skip)
