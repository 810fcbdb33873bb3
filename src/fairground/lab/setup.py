"""The seats, cores and amounts that use cases ask of this machine, and the versions of the lab's own parts."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import files, version

from fairground.host import machine, seats
from fairground.inputs import numbers
from fairground.inputs.roots import ROOT
from fairground.lab.places import Places
from fairground.model import Cell, CellSettings, FaultKind, LabError, Load, Seats
from fairground.model.fault import DATABASE_FAULTS

THREADS_PER_CORE = 8
"""More threads of a generator only wait for each other."""
MOST_S = 86_400.0
"""The longest window and warm-up of the load engine."""


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


def versions_with(places: Places, databases: Mapping[str, str]) -> dict[str, str]:
    """Versions of the lab's own parts, and of `databases` by name."""
    engine = subprocess.run([str(places.engine), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    own = {"Python": sys.version.split()[0], "psycopg": version("psycopg")}
    return {"fairground": lab_version(), "engine": engine, **databases, **own}


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
