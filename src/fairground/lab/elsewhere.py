"""`run --place generator=HOST`: what is measured is here, and the load comes from a host that has joined a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairground.generators import ENGINE
from fairground.inputs.hosts import HostsAsked
from fairground.inputs.placing import Placed
from fairground.lab import setup
from fairground.model import LabError, Run, Suite

if TYPE_CHECKING:
    from fairground.fleet.remote import RemoteHost

ROLE = "generator"
VERSION = "generator's host"
"""What a run's versions call the machine that makes its load: a run has one."""


def check(suite: Suite, why_s: float | None) -> None:
    """LabError for what cannot be measured with a generator elsewhere."""
    if why_s is not None:
        raise LabError("`--why` makes its experiments with the generator on this machine", "leave `--why` or `--place` out")
    for group in suite.groups:
        for load in group.loads:
            if load.generator != ENGINE:
                raise LabError(
                    f"`{load.generator}` makes its load on the lab's machine: only the lab's engine can be on another host",
                    "leave `--generator` or `--place` out",
                )


@contextmanager
def generator(asked: HostsAsked, place: Placed) -> Iterator[RemoteHost]:
    """The host that makes the load. LabError where it has not joined, cannot take part, or does not reach this machine."""
    from fairground.fleet import cluster, remote
    from fairground.lab import hosts

    wanted = dict(place)[ROLE]
    if asked.hosts and wanted not in asked.hosts:
        raise LabError(f"host `{wanted}` is not among those that the file names", f"it names {', '.join(asked.hosts)}")
    at, certificate = hosts.link(asked.address, asked.tls)
    with cluster.connected(at, certificate, direct=True) as client:
        members = cluster.members(client)
        member = next((one for one in members if one.about.name == wanted), None)
        if member is None:
            there = ", ".join(one.about.name for one in members) or "none"
            raise LabError(f"host `{wanted}` has not joined `{at}`", f"these have: {there}")
        if (why := member.about.unfit(setup.lab_version(), (ROLE,))) is not None:
            raise LabError(
                f"host `{wanted}` cannot make the load: {why}", "install one version on all hosts, and join with the role"
            )
        with remote.generator_on(client, member) as found:
            yield found


def of_run(known: Run) -> Placed:
    """Which roles of a run were on other hosts."""
    return next((slot.cell.settings.place for slot in known.plan.slots), ())


def same(name: str, known: Placed, place: Placed) -> None:
    """LabError where what goes on was begun with its roles in other places than are named now."""
    if known and known != place:
        words = " ".join(f"--place {role}={host}" for role, host in known)
        raise LabError(f"`{name}` was begun with its {known[0][0]} on another host", f"add {words} --hosts ADDRESS")
    if place and not known:
        raise LabError(f"`{name}` was begun on one machine, and `--place` has a role on another one", "leave `--place` out")


def front(there: RemoteHost | None) -> str | None:
    """Where that listens which the generator speaks to; None: where all else does."""
    return None if there is None else there.front


def remarks(there: RemoteHost | None) -> Iterator[str]:
    """What a person should know of the host that makes the load."""
    return iter(()) if there is None else there.remarks


def versions(there: RemoteHost | None) -> Mapping[str, str]:
    """What a record says of the host that makes its load; nothing where there is none."""
    if there is None:
        return {}
    machine = there.about.machine
    return {VERSION: f"{there.name}, {machine.cpu_model or 'unknown CPU'}, {machine.cores} cores, {machine.kernel}"}
