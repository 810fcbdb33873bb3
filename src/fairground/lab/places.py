"""The places of things: the folders of one lab, which is a checkout or was installed from a wheel."""

from __future__ import annotations

import difflib
import os
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import contract
from fairground.contract import Case
from fairground.host import sources
from fairground.host.cache import cache_of
from fairground.inputs import contracts, manifest, roots, workload_files
from fairground.inputs.roots import ROOT
from fairground.model import LabError, Server, Stack, Workload
from fairground.model.contract import Contract
from fairground.run import naming

CONTRACTS = "contracts"
"""The folder of contracts, one below it for each."""


@dataclass(frozen=True)
class Places:
    """The folders of one lab."""

    root: Path = ROOT
    servers: Path = ROOT / "servers"
    """Servers that belong to whoever measures; `new` puts one there."""
    results: Path = ROOT / "results"
    cache: Path = Path()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the processes of this lab are told of their surroundings: PATH, HOME, FAIRGROUND_…"""
    lab_servers: Path | None = None
    """The lab's own servers, beside `servers`; None where those are all there are."""

    @classmethod
    def of(
        cls, environ: Mapping[str, str], servers: Path | None = None, results: Path | None = None, root: Path = ROOT
    ) -> Places:
        """Find the places by the environment (`FAIRGROUND_CACHE`, `XDG_CACHE_HOME`, `HOME`) and what the command line says.

        `servers` of the current folder are found beside the lab's own. An installed lab keeps its results in the current folder.
        """
        own, labs = roots.servers(root, servers)
        return cls(root, own, roots.results(root, results), cache_of(environ), environ, labs)

    @property
    def installed(self) -> bool:
        """True if this lab was installed, so that its own folders are only read."""
        return roots.is_installed(self.root)

    def contracts(self) -> dict[str, Contract]:
        """Every contract, by id: the lab's own, and those beside the servers of whoever measures.

        LabError for an id that two folders have.
        """
        found, beside = contracts.load_contracts(self.root / CONTRACTS), self.servers.parent / CONTRACTS
        if beside.resolve() == (self.root / CONTRACTS).resolve() or not beside.is_dir():
            return found
        own = contracts.load_contracts(beside)
        if twice := sorted(found.keys() & own.keys()):
            raise LabError(
                f"`{twice[0]}` is a contract of the lab's own and one in `{beside}`", f"rename the folder {beside / twice[0]}"
            )
        return {**found, **own}

    def cases(self) -> tuple[Case, ...]:
        """The cases of every contract."""
        return tuple(case for one in self.contracts().values() for case in contract.load(one))

    @property
    def suites(self) -> Path:
        return self.root / "suites"

    def suite(self, path: Path) -> Path:
        """The file of a suite: `suites/…` is one of the lab's own where the current folder has none.

        LabError with the nearest where a bare name is no file: `demo` means `suites/demo.toml`.
        """
        if path.parts and path.parts[0] in ("http:", "https:"):  # a path has one slash of its two
            url = f"{path.parts[0]}//{Path(*path.parts[1:])}"
            raise LabError(f"`{url}` is a URL, and no suite", f"a service without a contract: ./fairground try {url}")
        own = self.root / path
        if path.exists() or path.suffix:
            return own if not path.exists() and path.parent == Path("suites") and own.exists() else path
        there = sorted(one.stem for one in self.suites.glob("[!.]*.toml"))
        near = difflib.get_close_matches(path.name, there, 1)
        hint = f"did you mean suites/{near[0]}.toml?" if near else f"suites: {', '.join(f'suites/{one}.toml' for one in there)}"
        raise LabError(f"there is no suite file `{path}`", hint)

    @property
    def engine(self) -> Path:
        """The load engine's binary. LabError when it is not there."""
        if not self.installed:
            binary = self.root / "engine" / "target" / "release" / "fairload"
            if not binary.exists():
                raise LabError("the load engine is not built", hint="make setup", exit_code=3)
            return binary
        programs = [Path(folder, "fairload") for folder in _script_folders(self.root.parent)]
        if (found := next((program for program in programs if program.exists()), None)) is None:
            raise LabError(
                f"the load engine is not beside the lab: there is no `{programs[0]}`", "install the lab again", exit_code=3
            )
        return found

    @property
    def tools(self) -> Path:
        """The folder for load generators that no package of the distribution has; its `bin` is searched before PATH."""
        return self.cache / "tools"

    @property
    def tool_path(self) -> str:
        """The folders in which load generators are looked for, as in PATH."""
        return os.pathsep.join([str(self.tools / "bin"), self.environ.get("PATH", os.defpath)])

    def workloads(self) -> tuple[Workload, ...]:
        """The workloads of every contract."""
        return tuple(one for contract in self.contracts().values() for one in workload_files.load_workloads(contract))

    def workload(self, id: str) -> Workload:
        """The workload of this id. LabError where there is none."""
        known = {one.id: one for one in self.workloads()}
        if id not in known:
            raise LabError(f"there is no workload `{id}`", f"workloads: {', '.join(sorted(known))}")
        return known[id]

    def workloads_of(self, names: Sequence[str], stacks: Sequence[Stack], contract: str | None = None) -> tuple[Workload, ...]:
        """The workloads of these names for these stacks; the contract's default where there is no name.

        LabError for a name that is none, or for stacks of another contract.
        """
        known = self.workloads()
        if not names:
            found: tuple[Workload, ...] = (naming.default_workload(stacks, known, contract),)
        else:
            found = naming.meant_workloads(names, stacks, known, contract)
        naming.require_one_contract(stacks, found)
        return found

    def load_servers(self) -> tuple[Server, ...]:
        """All servers, by id. A `[skip]` is held against the workloads that exist. LabError for an id that two folders have."""
        known, workloads = self.contracts(), [workload.id for workload in self.workloads()]
        if self.lab_servers is None:
            return manifest.load_servers(self.servers, known, workloads)
        own = manifest.load_servers(self.servers, known, workloads) if self.servers.is_dir() else ()
        labs = manifest.load_servers(self.lab_servers, known, workloads)
        if twice := sorted({server.id for server in own} & {server.id for server in labs}):
            raise LabError(
                f"`{twice[0]}` is a server of the lab's own and one in `{self.servers}`",
                f"rename the folder {self.servers / twice[0]}, or read that folder alone: --servers {self.servers}",
            )
        if self.installed:
            labs = tuple(replace(one, folder=sources.working_copy(one.folder, self.cache)) for one in labs)
        return tuple(sorted((*own, *labs), key=lambda server: server.id))


def _script_folders(package: Path) -> tuple[str, ...]:
    """Return where an installer puts programs: in this environment, for the user, and beside a package in its own folder."""
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    return sysconfig.get_path("scripts"), user, str(package.parent / "bin")
