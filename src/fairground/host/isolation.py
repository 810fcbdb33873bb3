"""The bounds of the lab itself: its cgroup, its user, its container; and what a measurement loses by them.

What is said is pure.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairground.host import seats
from fairground.host.cgroup import Groups
from fairground.host.machine import MachineCheck
from fairground.host.seats import text_of

NONE, FIRST, SECOND, HYBRID = "none", "1", "2", "hybrid"
"""Versions of cgroups. Hybrid: the first, with the second mounted beside it without controllers."""
CONTROLLERS = ("cpu", "memory")
SAMPLED = "CPU per role is sampled from schedstat"
LOST = f"{SAMPLED}, `--cpus` gives whole cores, a memory limit is each process's own, and no slowdown can be planted"
"""The loss where no group can be made."""
OUT_OF_REACH = "kernel settings stay as they are, and `try` cannot read the CPU of another user's service"
"""The loss for a user who is not root of the machine."""
DELEGATE = "systemd-run --user --scope -p Delegate=yes $SHELL"
MARKS = ((".dockerenv", "Docker"), ("run/.containerenv", "Podman"))
"""Files that container engines leave in a container."""
NAMES = (("kubepods", "Kubernetes"), ("docker", "Docker"), ("lxc", "LXC"), ("libpod", "Podman"))
"""The names that they have in the path of a cgroup."""


@dataclass(frozen=True)
class Isolation:
    """The facts that the doctor's sentences are made of."""

    cgroups: str
    group: bool
    """A group can be made."""
    controllers: frozenset[str]
    """The limits that a group of ours can hold: `cpu`, `memory`."""
    root: bool
    namespaces: str | None
    """The command that mends it where there are no user namespaces; None where there are."""
    container: str | None
    processors: int
    """The processors of the machine."""
    usable: int
    """The processors of our affinity mask, which a cpuset narrows."""
    quota: float | None
    """The quota of the group that we are in, in processors."""
    inside: bool = False
    """True in a user namespace: root there is an ordinary user to the rest of the machine."""


def checks(there: Isolation) -> Iterator[MachineCheck]:
    """The doctor's lines about what holds the lab, and what is lost by it."""
    yield _user(there)
    yield _cgroups(there)
    yield from _container(there)
    yield from _share(there)


def _user(there: Isolation) -> MachineCheck:
    if not there.root and there.namespaces is not None:
        said = "an ordinary user without user namespaces: a server that has its database's name compiled in cannot be started"
        return MachineCheck("user", "note", f"{said}; {OUT_OF_REACH}", there.namespaces)
    if not there.root:
        return MachineCheck("user", "ok", f"an ordinary user: the embedded PostgreSQL runs as you; {OUT_OF_REACH}")
    if there.namespaces is not None:
        said = "root, and user namespaces are off: the embedded PostgreSQL, nginx as a proxy and poolers cannot be started"
        return MachineCheck("user", "lacking", said, there.namespaces)
    if there.inside:
        return MachineCheck(
            "user", "note", f"root of a user namespace: the embedded PostgreSQL runs in one inside it; {OUT_OF_REACH}"
        )
    return MachineCheck("user", "ok", "root: the embedded PostgreSQL runs in a user namespace")


def _cgroups(there: Isolation) -> MachineCheck:
    if there.cgroups == NONE:
        return MachineCheck("cgroups", "note", f"no cgroups are mounted: {LOST}")
    version = "version 1, beside 2 without controllers" if there.cgroups == HYBRID else f"version {there.cgroups}"
    if not there.group:
        return MachineCheck("cgroups", "note", f"no cgroup can be made ({version}): {LOST}", _delegation(there))
    said = f"cgroups ({version}): CPU per role is exact"
    if there.cgroups != SECOND:
        said += "; how long a role waits for a processor is told by version 2 alone"
    parts = {"cpu": "`--cpus` gives whole cores", "memory": "a memory limit is each process's own"}
    lacking = [name for name in CONTROLLERS if name not in there.controllers]
    if not lacking:
        return MachineCheck("cgroups", "ok", said)
    names = " and ".join(f"`{name}`" for name in lacking)
    without = f"{said}. Without the controller{'s' if len(lacking) > 1 else ''} {names}"
    return MachineCheck("cgroups", "note", f"{without}, {' and '.join(parts[name] for name in lacking)}")


def _delegation(there: Isolation) -> str:
    """Say what gives us a group: a matter of the container, of the user, or of systemd."""
    if there.container is not None:
        return "start the container with a cgroup namespace of its own and /sys/fs/cgroup mounted for writing"
    if there.root:
        return "mount /sys/fs/cgroup for writing"
    return DELEGATE if there.cgroups == SECOND else "run the lab as root: version 1 hands no groups to users"


def _container(there: Isolation) -> Iterator[MachineCheck]:
    if there.container is not None:
        yield MachineCheck(
            "container",
            "note",
            f"in a container ({there.container}): what else runs on its host is seen as steal and pressure at most, never by "
            "name, and limits of the kernel are the host's",
        )


def _share(there: Isolation) -> Iterator[MachineCheck]:
    """A share of the machine: a cpuset, a quota, or both."""
    if there.usable < there.processors:
        said = f"{there.usable} of the machine's {there.processors} processors are ours, and others may run on them, too"
        yield MachineCheck("cpuset", "note", said)
    if there.quota is not None:
        said = (
            f"a quota of {there.quota:g} processors holds the lab: where it runs out all roles stop at once, which spoils a trial"
        )
        yield MachineCheck("quota", "note", said, "raise it to the number of processors, or give a cpuset instead")


# ---------------------------------------------------------------- the machine


def read(root: Path = Path("/"), affinity: Collection[int] | None = None, uid: int | None = None) -> Isolation:
    """The facts of this process. A group is made and removed, since rights alone do not tell whether one can be."""
    mine = seats.read(root, affinity)
    version, folder = _version(root), root / "sys" / "fs" / "cgroup"
    is_root = (os.geteuid() if uid is None else uid) == 0
    groups = Groups.create(f"fairground-doctor-{os.getpid()}", folder)
    try:
        controllers = _controllers(groups)
    finally:
        groups.remove()
    return Isolation(
        version,
        groups.version is not None,
        controllers,
        is_root,
        _no_namespaces(root, is_root),
        _engine(root),
        len(_processors(root)) or len(mine.usable),
        len(mine.usable),
        mine.quota,
        _inside(root),
    )


def _version(root: Path) -> str:
    folder = root / "sys" / "fs" / "cgroup"
    if (folder / "cgroup.controllers").exists():
        return SECOND
    if not any((folder / name).is_dir() for name in ("cpuacct", "cpu,cpuacct", "memory", "cpu")):
        return NONE
    return HYBRID if (folder / "unified" / "cgroup.controllers").exists() else FIRST


def _controllers(groups: Groups) -> frozenset[str]:
    """The controllers of a lab's groups.

    Version 2 lists what a group has; with version 1 each is a hierarchy that a group was made in, quotas their own.
    """
    if groups.version == 2:
        return frozenset(text_of(groups.folders[0] / "cgroup.controllers").split()) & frozenset(CONTROLLERS)
    quotas = groups.quotas is not None and os.access(groups.quotas.parent, os.W_OK)
    return frozenset({"memory"} if len(groups.folders) > 1 else ()) | frozenset({"cpu"} if quotas else ())


def _no_namespaces(root: Path, is_root: bool) -> str | None:
    kernel = root / "proc" / "sys"
    if int(text_of(kernel / "user" / "max_user_namespaces") or 0) == 0:
        return "sysctl -w user.max_user_namespaces=1000"
    refused = text_of(kernel / "kernel" / "unprivileged_userns_clone") == "0"
    if refused:
        return "sysctl -w kernel.unprivileged_userns_clone=1"
    restricted = not is_root and text_of(kernel / "kernel" / "apparmor_restrict_unprivileged_userns") == "1"
    return "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" if restricted else None


def _inside(root: Path) -> bool:
    """True if a user namespace holds us: the first one maps all users to themselves."""
    mapped = text_of(root / "proc" / "self" / "uid_map").split()
    return bool(mapped) and mapped != ["0", "0", str(2**32 - 1)]


def _engine(root: Path) -> str | None:
    """The container engine that we are in, by its traces; None where there are none."""
    for mark, name in MARKS:
        if (root / mark).exists():
            return name
    paths = text_of(root / "proc" / "self" / "cgroup") + text_of(root / "proc" / "1" / "cgroup")
    return next((name for mark, name in NAMES if f"/{mark}" in paths), None)


def _processors(root: Path) -> range:
    """The processors that are switched on, told as `0-7`; empty where it is not told."""
    last = text_of(root / "sys" / "devices" / "system" / "cpu" / "online").rpartition("-")[2]
    return range(int(last) + 1) if last.isdecimal() else range(0)
