"""Where things are: the folders of one lab."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairground.inputs import manifest
from fairground.model import LabError, Server, Workload

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Places:
    """The folders of one lab."""

    root: Path = ROOT
    servers: Path = ROOT / "servers"
    results: Path = ROOT / "results"
    cache: Path = Path()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the processes of this lab are told of their surroundings: PATH, HOME, FAIRGROUND_…"""

    @classmethod
    def of(cls, environ: Mapping[str, str], servers: Path | None = None, results: Path | None = None) -> Places:
        """From the environment (`FAIRGROUND_CACHE`, `XDG_CACHE_HOME`, `HOME`) and what the command line says."""
        home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", "/tmp"), ".cache")
        cache = Path(environ.get("FAIRGROUND_CACHE") or os.path.join(home, "fairground"))
        return cls(ROOT, servers or ROOT / "servers", results or ROOT / "results", cache.resolve(), environ)

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

    @property
    def tools(self) -> Path:
        """Where load generators are installed that no package of the distribution has; its `bin` is searched before PATH."""
        return self.cache / "tools"

    def workloads(self) -> tuple[Workload, ...]:
        return manifest.load_workloads(self.root / "workloads")

    def load_servers(self) -> tuple[Server, ...]:
        """All servers. A `[skip]` is held against the workloads that exist."""
        return manifest.load_servers(self.servers, [workload.id for workload in self.workloads()])
