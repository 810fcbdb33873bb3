"""What the verbs share: where things are, and the machinery that they start and must stop."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from fairground import build, manifest, postgres
from fairground.build import Built, Unavailable
from fairground.model import Durability, LabError, Server, Stack, StackInfo, Workload
from fairground.postgres import Database
from fairground.process import Keeper

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Places:
    """The folders of one lab."""

    root: Path = ROOT
    servers: Path = ROOT / "servers"
    results: Path = ROOT / "results"
    cache: Path = Path()

    @classmethod
    def of(cls, environ: Mapping[str, str], servers: Path | None = None, results: Path | None = None) -> Places:
        """From the environment (`FAIRGROUND_CACHE`, `XDG_CACHE_HOME`, `HOME`) and what the command line says."""
        home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", "/tmp"), ".cache")
        cache = Path(environ.get("FAIRGROUND_CACHE") or os.path.join(home, "fairground"))
        return cls(ROOT, servers or ROOT / "servers", results or ROOT / "results", cache.resolve())

    @property
    def contract(self) -> Path:
        return self.root / "contract"

    @property
    def suites(self) -> Path:
        return self.root / "suites"

    @property
    def engine(self) -> Path:
        """The load engine's binary. LabError when it is not built."""
        binary = self.root / "engine" / "target" / "release" / "fairload"
        if not binary.exists():
            raise LabError("the load engine is not built", hint="make setup", exit_code=3)
        return binary

    def workloads(self) -> tuple[Workload, ...]:
        return manifest.load_workloads(self.root / "workloads")

    def load_servers(self) -> tuple[Server, ...]:
        """All servers. A `[skip]` is held against the workloads that exist."""
        return manifest.load_servers(self.servers, [workload.id for workload in self.workloads()])


@contextmanager
def keeping() -> Iterator[Keeper]:
    """A keeper for the length of a verb."""
    with Keeper(os.environ) as keeper:
        yield keeper


@contextmanager
def database(keeper: Keeper, places: Places, url: str | None, durability: Durability) -> Iterator[Database]:
    """The given database, or the embedded one in `durability`, stopped at the end."""
    found = postgres.given(url, places.contract) if url else postgres.start(keeper, places.cache, durability, places.contract)
    try:
        yield found
    finally:
        found.stop()


def build_all(
    keeper: Keeper, servers: Sequence[Server], cache: Path, say: Callable[[Server, str], None]
) -> dict[str, Built | Unavailable]:
    """Build what is not built yet, one after the other; server id → what came of it."""
    return {server.id: build.build(keeper, server, cache, functools.partial(say, server)) for server in servers}


def stack_infos(stacks: Sequence[Stack], builds: Mapping[str, Built | Unavailable]) -> dict[str, StackInfo]:
    """What a run says of its stacks, the unavailable ones among them."""
    infos = {}
    for stack in stacks:
        server, made = stack.server, builds[stack.server.id]
        built = made if isinstance(made, Built) else None
        reason = None if built else made.reason if isinstance(made, Unavailable) else None
        infos[stack.id] = StackInfo(
            stack.id,
            server.title,
            server.language,
            stack.variant.about or server.about,
            server.homepage,
            built.receipt if built else None,
            reason,
            built.content_hash if built else None,
        )
    return infos


def versions(places: Places, found: Database) -> dict[str, str]:
    """Versions of the lab's own parts."""
    engine = subprocess.run([str(places.engine), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    own = {name: version(name) for name in ("psycopg", "hdrhistogram")}
    return {"fairground": lab_version(), "engine": engine, "PostgreSQL": found.version(), "Python": sys.version.split()[0], **own}


def lab_version() -> str:
    """The version in pyproject.toml, with the commit where this is a checkout."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return f"{declared} ({commit.stdout.strip()})" if commit.returncode == 0 else str(declared)
