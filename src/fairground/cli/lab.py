"""What the verbs share: where things are, and the machinery that they start and must stop."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from fairground import build, generators, machine, manifest, postgres, process, topology
from fairground.build import Built, Unavailable
from fairground.generators import Installed
from fairground.machine import Check
from fairground.model import Durability, LabError, Plan, Server, Stack, StackInfo, Workload
from fairground.postgres import Database
from fairground.process import Keeper

ROOT = Path(__file__).resolve().parents[3]
AWAKE = "FAIRGROUND_AWAKE"
AWAKE_CHOICES = ("auto", "yes", "no")


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

    @property
    def tools(self) -> Path:
        """Where load generators are installed that no package of the distribution has; its `bin` is searched before PATH."""
        return self.cache / "tools"

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


def wants_awake(environ: Mapping[str, str]) -> bool:
    """Whether processors are to be kept from idling: as FAIRGROUND_AWAKE says, else in virtual machines."""
    said = environ.get(AWAKE) or "auto"
    if said not in AWAKE_CHOICES:
        raise LabError(f"{AWAKE} is `{said}`", f"write {', '.join(AWAKE_CHOICES[:-1])} or {AWAKE_CHOICES[-1]}")
    return said == "yes" or (said == "auto" and machine.is_virtual(machine.fingerprint()))


def keep_awake(held: ExitStack, keeper: Keeper, places: Places, say: Callable[[str], None], must: bool = False) -> None:
    """Keep processors from idling until `held` ends, where that is wanted; where it cannot be, say why and go on.

    `must`, or FAIRGROUND_AWAKE=yes: LabError instead, for then the numbers would be other ones than asked for.
    """
    if not must and not wants_awake(os.environ):
        return
    try:
        held.enter_context(process.keep_awake(keeper, places.engine))
    except LabError as error:
        if must or os.environ.get(AWAKE) == "yes":
            raise
        say(f"{error.message}; steal will be higher than it need be{f' → {error.hint}' if error.hint else ''}")


@contextmanager
def database(
    keeper: Keeper, places: Places, url: str | None, durability: Durability, settings: Mapping[str, str] | None = None
) -> Iterator[Database]:
    """The given database, or the embedded one in `durability` and with these settings, stopped at the end."""
    if url and settings:
        raise LabError(
            "PostgreSQL settings go with the embedded database", "change them in the given one, or leave out `--database`"
        )
    if url:
        found = postgres.given(url, places.contract)
    else:
        found = postgres.start(keeper, places.cache, durability, places.contract, settings)
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


def tools(places: Places, planned: Plan) -> dict[str, Installed | None]:
    """The load generators from elsewhere that a plan names, with None for one that is not here."""
    named = dict.fromkeys(slot.cell.load.generator for slot in planned.slots)
    return {name: find_tool(places, name) for name in named if name != generators.ENGINE}


def find_tool(places: Places, name: str) -> Installed | None:
    """One load generator, from the lab's own folder or from PATH."""
    return generators.find(name, os.pathsep.join([str(places.tools / "bin"), os.environ.get("PATH", os.defpath)]))


def tool_versions(places: Places, planned: Plan) -> dict[str, str]:
    """Versions of the load generators that a plan names."""
    return {name: tool.version or "it tells none" for name, tool in tools(places, planned).items() if tool is not None}


def hop_versions(planned: Plan) -> dict[str, str]:
    """Versions of the proxies and poolers that a plan names."""
    return topology.versions({slot.cell.topology for slot in planned.slots}, os.environ.get("PATH"))


def install_words(places: Places, name: str) -> str:
    """The command that gets a load generator, or the sentence that says why there is none."""
    return generators.TOOLS[name].install.format(tools=places.tools)


def tool_checks(places: Places) -> list[Check]:
    """The doctor's lines about load generators from elsewhere."""
    lines = []
    for name in generators.TOOLS:
        tool = find_tool(places, name)
        if tool is not None:
            lines.append(Check(f"generator-{name}", "ok", f"load generator {tool.title} is at {tool.program}"))
        else:
            lines.append(Check(f"generator-{name}", "lacking", f"load generator {name} is missing", install_words(places, name)))
    return lines


def awake_check(places: Places) -> Check:
    """The doctor's line about idle processors."""
    if not wants_awake(os.environ):
        return Check("awake", "ok", f"idle processors are left to the kernel: this is no virtual machine, or {AWAKE} says no")
    try:
        with keeping() as keeper, process.keep_awake(keeper, places.engine):
            return Check("awake", "ok", "idle processors come back late here, so they are kept awake while something is measured")
    except LabError as error:
        return Check("awake", "lacking", error.message, error.hint)


def lab_version() -> str:
    """The version in pyproject.toml, with the commit where this is a checkout."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return f"{declared} ({commit.stdout.strip()})" if commit.returncode == 0 else str(declared)
