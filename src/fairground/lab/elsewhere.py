"""`run --place ROLE=HOST`: load or database are on hosts that have joined a fleet, and not on the machine that has the server.

A server on a host is measured there (`lab.hosts`): what is the lab's machine here is that host then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from fairground.fleet.others import HERE, Others
from fairground.generators import ENGINE
from fairground.inputs.hosts import HostsAsked
from fairground.inputs.placing import Placed
from fairground.lab import setup
from fairground.model import LabError, Load, Plan, Suite
from fairground.model.fault import DATABASE_FAULTS

SERVER = "server"
"""The role whose host measures: the others' hosts are asked from there."""


def check(suite: Suite, why_s: float | None, place: Placed) -> None:
    """LabError for what cannot be measured with roles elsewhere."""
    if why_s is not None:
        raise LabError("`--why` makes its experiments with all roles on this machine", "leave `--why` or `--place` out")
    for group in suite.groups:
        for load in group.loads:
            check_load(load, place)


def check_load(load: Load, place: Placed) -> None:
    """LabError for a load that cannot be made with roles elsewhere."""
    if load.generator != ENGINE and "generator" in dict(place):
        raise LabError(
            f"`{load.generator}` makes its load on the lab's machine: only the lab's engine can be on another host",
            "leave `--generator` or `--place` out",
        )
    if load.fault is not None and load.fault.kind in DATABASE_FAULTS and "database" in dict(place):
        hint = "leave the database here, or ask for connections-cut"
        raise LabError(f"`{load.fault}` needs the database on the lab's machine", hint)


@contextmanager
def hosts_of(asked: HostsAsked, place: Placed) -> Iterator[Others]:
    """The hosts that generator and database are on. LabError where one has not joined, is unfit, or does not get here."""
    place = tuple(one for one in place if one[0] != SERVER)
    if not place:
        yield HERE
        return
    from fairground.fleet import choice, cluster, remote, remote_database, tls

    for _, name in place:
        if asked.hosts and name not in asked.hosts:
            raise LabError(f"host `{name}` is not among those that the file names", f"it names {', '.join(asked.hosts)}")
    at, certificate = tls.link(asked.address, asked.tls)
    with cluster.connect(at, certificate, direct=True) as client, ExitStack() as held:
        members = {one.about.name: one for one in cluster.members(client)}
        chosen = {role: choice.fit(members, name, role, str(at), setup.lab_version()) for role, name in place}
        load, store = chosen.get("generator"), chosen.get("database")
        yield Others(
            generator=None if load is None else held.enter_context(remote.generator_on(client, load)),
            database=None if store is None else held.enter_context(remote_database.database_on(client, store)),
        )


def beside(at: HostsAsked, planned: Plan) -> AbstractContextManager[Others]:
    """The hosts of the roles that a plan has beside its server, for the host that the server is on."""
    return hosts_of(at, placed_of(planned))


def placed_of(planned: Plan) -> Placed:
    """Return which roles of a plan are on other hosts."""
    return next((slot.cell.settings.place for slot in planned.slots), ())


def same(name: str, known: Placed, place: Placed) -> None:
    """LabError where what goes on was begun with its roles in other places than are named now."""
    if known and known != place:
        words = " ".join(f"--place {role}={host}" for role, host in known)
        where = f"its {known[0][0]} on another host" if len(known) == 1 else "roles on other hosts"
        raise LabError(f"`{name}` was begun with {where}", f"add {words} --hosts ADDRESS")
    if place and not known:
        raise LabError(f"`{name}` was begun on one machine, and `--place` has a role on another one", "leave `--place` out")
