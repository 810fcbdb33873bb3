"""The hosts that measure a run, of those that have joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairground.fleet import about, cluster
from fairground.fleet.cluster import Member
from fairground.fleet.tls import Certificate, SchedulerAddress
from fairground.model import LabError, Seats


@dataclass(frozen=True)
class Fleet:
    """The hosts that measure: machines of one kind. `remarks`: who else has joined, and why it does not take part.

    `roles`: what each of them takes; others are on hosts of their own.
    """

    members: tuple[Member, ...]
    remarks: tuple[str, ...] = ()
    roles: tuple[str, ...] = about.ROLES
    client: Any = field(default=None, repr=False, compare=False)

    @property
    def seats(self) -> Seats:
        """The seats of each host where roles sit apart."""
        return self.members[0].about.seats


def choose(members: Sequence[Member], version: str, wanted: Sequence[str], at: str, roles: Sequence[str] = about.ROLES) -> Fleet:
    """The members that measure a run: of those that are `wanted` (none named: of all), the largest group of equal machines.

    LabError where there is none, where a wanted one is not there, and for one of another version of the lab.
    """
    names = {one.about.name for one in members}
    if absent := sorted(set(wanted) - names):
        raise LabError(f"host `{absent[0]}` has not joined `{at}`", f"these have: {', '.join(sorted(names)) or 'none'}")
    asked = [one for one in members if not wanted or one.about.name in wanted]
    if not asked:
        raise LabError(f"no host has joined `{at}`", f"on each machine: ./fairground host join {at} --allow servers/")
    for one in asked:
        if one.about.protocol != about.PROTOCOL or one.about.version != version:
            raise LabError(
                f"host `{one.about.name}` cannot take part: {one.about.unfit(version)}", "install one version on all hosts"
            )
    unfit = {one.about.name: why for one in asked if (why := one.about.unfit(version, roles)) is not None}
    fit = [one for one in asked if one.about.name not in unfit]
    if not fit:
        name, why = next(iter(unfit.items()))
        raise LabError(
            f"no host that has joined `{at}` can measure: `{name}`: {why}", f"join it with the roles {', '.join(roles)}"
        )
    group = {one.name for one in about.groups([one.about for one in fit])[0]}
    remarks = [f"host {name} does not take part: {why}" for name, why in unfit.items()]
    remarks += [
        f"host {one.about.name} does not take part: it is another kind of machine, and a run is of one"
        for one in fit
        if one.about.name not in group
    ]
    return Fleet(tuple(one for one in fit if one.about.name in group), tuple(remarks), tuple(roles))


def rows(at: SchedulerAddress, certificate: Certificate | None, version: str) -> list[dict[str, Any]]:
    """List who has joined, for `host list`. LabError where nobody answers.

    Machines of one number, `kind`, can measure one run. `version`: that of this lab.
    """
    with cluster.connect(at, certificate) as client:
        members = cluster.members(client)
    kinds = about.groups([one.about for one in members])
    return [
        {
            "host": one.name,
            "kind": number,
            "cores": one.machine.cores,
            "GiB": None if one.machine.memory_bytes is None else one.machine.memory_bytes / 2**30,
            "architecture": one.architecture,
            "roles": list(one.roles),
            "state": one.unfit(version) or "ready",
            "version": one.version,
            "protocol": one.protocol,
            "cpu": one.machine.cpu_model,
            "kernel": one.machine.kernel,
            "machine": one.machine.hostname_hash,
            "programs": list(one.programs),
            "allowed": list(one.allowed),
        }
        for number, group in enumerate(kinds, 1)
        for one in group
    ]


def fit(members: Mapping[str, Member], name: str, role: str, at: str, version: str) -> Member:
    """The member of this name, which can take the role. LabError where there is none."""
    if name not in members:
        raise LabError(f"host `{name}` has not joined `{at}`", f"these have: {', '.join(members) or 'none'}")
    if (why := members[name].about.unfit(version, (role,))) is not None:
        does = "make the load" if role == "generator" else f"have the {role}"
        raise LabError(f"host `{name}` cannot {does}: {why}", "install one version on all hosts, and join with the role")
    return members[name]
