"""The parts that use cases share: what they start and must stop, what they build, and the versions of it here."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import files, version
from pathlib import Path

from fairground import generators, host, postgres
from fairground.generators import Installed
from fairground.host import Keeper, machine, seats
from fairground.host.build import BuiltServer, Unavailable, sources_hash
from fairground.host.machine import MachineCheck
from fairground.inputs import numbers
from fairground.lab.places import Places
from fairground.lab.roots import ROOT
from fairground.model import (
    MAJORS,
    OWN_MAJOR,
    Cell,
    CellSettings,
    FaultKind,
    LabError,
    Load,
    RunSettings,
    Seats,
    Stack,
    StackInfo,
)
from fairground.model.fault import DATABASE_FAULTS
from fairground.postgres import Database, packages

DIGEST_CHARACTERS = 16
"""So much of a digest is shown: enough to tell two copies apart."""

AWAKE = "FAIRGROUND_AWAKE"
THREADS_PER_CORE = 8
"""More threads of a generator only wait for each other."""
AWAKE_CHOICES = ("auto", "yes", "no")
MOST_S = 86_400.0
"""The longest window and warm-up of the load engine."""


def wants_awake(environ: Mapping[str, str]) -> bool:
    """True if processors are to be kept from idling: as FAIRGROUND_AWAKE says, else in virtual machines."""
    said = environ.get(AWAKE) or "auto"
    if said not in AWAKE_CHOICES:
        raise LabError(f"{AWAKE} is `{said}`", f"write {', '.join(AWAKE_CHOICES[:-1])} or {AWAKE_CHOICES[-1]}")
    return said == "yes" or (said == "auto" and machine.is_virtual(machine.fingerprint()))


def keep_awake(held: ExitStack, keeper: Keeper, places: Places, say: Callable[[str], None], must: bool | None = None) -> None:
    """Keep processors from idling until `held` ends, where that is wanted; where it cannot be, say why and go on.

    `must`, or FAIRGROUND_AWAKE=yes: LabError instead, for then the numbers would be other ones than asked for. `must` False:
    processors idle, whatever is wanted.
    """
    if must is False or must is None and not wants_awake(places.environ):
        return
    try:
        held.enter_context(host.keep_awake(keeper, places.engine))
    except LabError as error:
        if must or places.environ.get(AWAKE) == "yes":
            raise
        say(f"{error.message}; steal will be higher than it need be{f' → {error.hint}' if error.hint else ''}")


@contextmanager
def database(
    keeper: Keeper,
    places: Places,
    url: str | None,
    settings: RunSettings,
    version: int | None = None,
    there: postgres.DatabaseHost | None = None,
) -> Iterator[Database]:
    """The given database, or the lab's own under a run's settings, stopped at the end.

    `version`: the major version that is asked for; None: the lab's own, or whichever the given database has. `there`: the host
    that the lab's own is on; None: it is on this machine.
    """
    if url and settings.postgres:
        raise LabError(
            "PostgreSQL settings go with the embedded database", "change them in the given one, or leave out `--database`"
        )
    if url:
        found = postgres.given_database(url, version)
    elif there is not None:
        found = there.start(settings.durability, dict(settings.postgres), version)
    else:
        own = dict(settings.postgres)
        found = postgres.start(keeper, places.cache, settings.durability, own, version or OWN_MAJOR, port=places.database_port())
    found.keeper = keeper
    try:
        yield found
    finally:
        found.stop()


def disks(places: Places, found: Database) -> tuple[Path, ...]:
    """Folders of the lab, beside that of the results, on whose disks there must be room: the embedded database's."""
    return () if found.child is None else (places.cache,)


def machine_seats(database_url: str | None) -> Seats:
    """Find the seats on this machine where roles sit apart. A given database has none: it is not the lab's to pin."""
    found = seats.seats(seats.read())
    return replace(found, database=()) if database_url else found


def check_pins(settings: CellSettings, database_url: str | None) -> None:
    """Raise LabError if a role is pinned to a core that this lab may not use.

    It is also raised if a database that is not the lab's own is pinned.
    """
    if database_url and settings.cores_of("database"):
        raise LabError("a given database cannot be pinned to cores", "pin it where it is started, or leave out `--database`")
    ours = os.sched_getaffinity(0)
    for role, cores in settings.pin:
        if missing := sorted(set(cores) - ours):
            there = ", ".join(map(str, sorted(ours)))
            raise LabError(f"`{role}` is to run on core {missing[0]}, which the lab may not use here", f"cores: {there}")


def check_fault(cell: Cell, database_url: str | None) -> None:
    """LabError where what a cell's load breaks is not there, or is not the lab's own to restart."""
    fault = cell.load.fault
    if fault is None:
        return
    if fault.kind is FaultKind.POOLER_RESTART and cell.topology.pooler is None:
        raise LabError(f"`{fault}` needs a pooler in the path, and `{cell.id}` has none", "add one: --pooler pgbouncer-tx")
    if database_url and fault.kind in DATABASE_FAULTS:
        hint = "leave out `--database`; `connections-cut` can be had with a given one, too"
        raise LabError(f"`{fault}` needs the lab's own database: a given one is not the lab's to stop", hint)


def check_amounts(load: Load, settings: CellSettings, fewer: str | None = None) -> None:
    """LabError for more connections, threads or processors than this machine can have: nothing needs to be built to know that.

    `fewer`: what to do about connections where no option of the verb says how many there are.
    """
    numbers.wait_for_answer("--timeout-ms", load.timeout_ms)
    if load.rate_per_s is not None:
        numbers.rate("--rate", load.rate_per_s)
    if load.window_s > MOST_S or load.warmup_max_s > MOST_S:
        option, seconds = ("--window", load.window_s) if load.window_s > MOST_S else ("--warmup", load.warmup_max_s)
        raise LabError(f"`{option} {seconds:g}` is longer than a day", "many short windows tell more than a long one: --blocks 3")
    cores, connections = machine.cores(), machine.most_connections()
    if load.most_connections > connections:
        why = f"this machine has ports and open files for {connections:,}"
        raise LabError(
            f"{load.most_connections:,} connections are more than can be opened: {why}",
            fewer or (f"--connections {connections}" if connections else "ulimit -n 4096"),
        )
    if load.threads > cores * THREADS_PER_CORE:
        why = f"it has {cores} core{'s' if cores > 1 else ''}"
        raise LabError(f"{load.threads:,} threads of the generator are too many for this machine: {why}", f"--threads {cores}")
    if settings.cpus is not None and settings.cpus > cores:
        raise LabError(
            f"the server is to use {settings.cpus:g} processors, and this machine has {cores}",
            "leave `--cpus` out for all of them",
        )


def stack_infos(stacks: Sequence[Stack], builds: Mapping[Path, BuiltServer | Unavailable]) -> dict[str, StackInfo]:
    """Describe the stacks of a run, the unavailable ones among them. `builds`: folder of a server → what came of it."""
    infos = {}
    for stack in stacks:
        server, made = stack.server, builds[stack.server.folder]
        built = made if isinstance(made, BuiltServer) else None
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
            stack.variant.approach,
            stack.variant.tuning,
        )
    return infos


def versions_with(places: Places, databases: Mapping[str, str]) -> dict[str, str]:
    """Versions of the lab's own parts, and of `databases` by name."""
    engine = subprocess.run([str(places.engine), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    own = {"Python": sys.version.split()[0], "psycopg": version("psycopg")}
    return {"fairground": lab_version(), "engine": engine, **databases, **own}


def contract_versions(stacks: Iterable[Stack]) -> dict[str, str]:
    """The digest of each contract of these stacks, as a version: one that changed is another one."""
    found = {stack.server.contract.id: stack.server.contract for stack in stacks}
    return {f"contract {one.id}": sources_hash(one.folder)[:DIGEST_CHARACTERS] for one in found.values()}


def tools(places: Places, names: Iterable[str]) -> dict[str, Installed | None]:
    """The load generators from elsewhere among these names, with None for one that is not here."""
    return {name: find_tool(places, name) for name in names if name != generators.ENGINE}


def find_tool(places: Places, name: str) -> Installed | None:
    """One load generator, from the lab's own folder or from PATH."""
    return generators.find(name, os.pathsep.join([str(places.tools / "bin"), places.environ.get("PATH", os.defpath)]))


def tool_versions(found: Mapping[str, Installed]) -> dict[str, str]:
    """Versions of load generators from elsewhere."""
    return {name: tool.version or "it tells none" for name, tool in found.items()}


def install_words(places: Places, name: str) -> str:
    """The command that gets a load generator, or the sentence that says why there is none."""
    return generators.TOOLS[name].install.format(tools=places.tools)


def tool_checks(places: Places) -> list[MachineCheck]:
    """The doctor's lines about load generators from elsewhere."""
    lines = []
    for name in generators.TOOLS:
        tool = find_tool(places, name)
        if tool is not None:
            lines.append(MachineCheck(f"generator-{name}", "ok", f"load generator {tool.title} is at {tool.program}"))
        else:
            lines.append(
                MachineCheck(
                    f"generator-{name}", "optional", f"load generator {name} is not installed", install_words(places, name)
                )
            )
    return lines


def postgres_checks(places: Places) -> list[MachineCheck]:
    """The doctor's lines about versions of PostgreSQL beside the lab's own."""
    lines = []
    for major in (one for one in MAJORS if one != OWN_MAJOR):
        found, missing = packages.at_hand(major, places.cache), packages.lacking(major, places.environ.get("PATH"))
        if found is not None:
            line = MachineCheck(f"postgres-{major}", "ok", f"PostgreSQL {major} is at {found}")
        elif missing is not None:
            line = MachineCheck(f"postgres-{major}", "optional", *missing)
        else:
            words = f"PostgreSQL {major} is not here yet: the first run that names it brings it from a package registry"
            line = MachineCheck(f"postgres-{major}", "optional", words)
        lines.append(line)
    return lines


def awake_check(places: Places) -> MachineCheck:
    """The doctor's line about idle processors."""
    if not wants_awake(places.environ):
        return MachineCheck(
            "awake", "ok", f"idle processors are left to the kernel: this is not a virtual machine, or {AWAKE} says no"
        )
    try:
        with Keeper(places.environ) as keeper, host.keep_awake(keeper, places.engine):
            return MachineCheck(
                "awake", "ok", "idle processors come back late here, so they are kept awake while something is measured"
            )
    except LabError as error:
        return MachineCheck("awake", "lacking", error.message, error.hint)


def lab_version() -> str:
    """The version, with the commit where this is a checkout, and else with a digest of what was installed."""
    if Places().installed:
        return f"{version('fairground')} (wheel {_installed_digest()})"
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return f"{declared} ({commit.stdout.strip()})" if commit.returncode == 0 else str(declared)


def _installed_digest() -> str:
    """Another one for each wheel: two builds of one version are not the same lab."""
    listed = [file for file in files("fairground") or () if file.parts[0] == "fairground" and file.hash is not None]
    lines = sorted(f"{file} {file.hash.value}" for file in listed if file.hash is not None and file.suffix != ".pyc")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
