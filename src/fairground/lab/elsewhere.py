"""`run --place generator=HOST`: what is measured is here, and the load comes from hosts that have joined a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from fairground.generators import ENGINE, Elsewhere
from fairground.generators.several import SeveralHosts
from fairground.inputs import placing
from fairground.inputs.hosts import HostsAsked
from fairground.inputs.placing import Placed
from fairground.lab import setup
from fairground.model import LabError, Run, Settings, Suite

ROLE = "generator"
VERSION = "generator's host"
"""What a run's versions call the machine that makes its load, or the machines: a run has one set of them."""


def check(suite: Suite, why_s: float | None, place: Placed) -> None:
    """LabError for what cannot be measured with a generator elsewhere."""
    if why_s is not None:
        raise LabError("`--why` makes its experiments with the generator on this machine", "leave `--why` or `--place` out")
    for group in suite.groups:
        for load in group.loads:
            placing.check(load, place)
            if load.generator != ENGINE:
                raise LabError(
                    f"`{load.generator}` makes its load on the lab's machine: only the lab's engine can be on another host",
                    "leave `--generator` or `--place` out",
                )


@contextmanager
def generator(asked: HostsAsked, place: Placed) -> Iterator[Elsewhere]:
    """The host that makes the load, or several as one. LabError where one has not joined, is unfit, or does not get here."""
    from fairground.fleet import cluster, remote
    from fairground.lab import hosts

    wanted = Settings(place=place).hosts_of(ROLE)
    for name in wanted:
        if asked.hosts and name not in asked.hosts:
            raise LabError(f"host `{name}` is not among those that the file names", f"it names {', '.join(asked.hosts)}")
    at, certificate = hosts.link(asked.address, asked.tls)
    with cluster.connected(at, certificate, direct=True) as client, ExitStack() as held:
        members = {one.about.name: one for one in cluster.members(client)}
        for name in wanted:
            if name not in members:
                raise LabError(f"host `{name}` has not joined `{at}`", f"these have: {', '.join(members) or 'none'}")
            if (why := members[name].about.unfit(setup.lab_version(), (ROLE,))) is not None:
                hint = "install one version on all hosts, and join with the role"
                raise LabError(f"host `{name}` cannot make the load: {why}", hint)
        yield together([held.enter_context(remote.generator_on(client, members[name])) for name in wanted])


def together(found: Sequence[Elsewhere]) -> Elsewhere:
    """Hosts that make a load together, as one. LabError where servers would have to listen at several addresses for them."""
    first, *others = found
    for other in others:
        if other.front != first.front:
            sentence = f"hosts `{first.name}` and `{other.name}` reach this machine at two addresses"
            raise LabError(f"{sentence}, `{first.front}` and `{other.front}`", "place the generator on hosts of one network")
    return SeveralHosts(found) if others else first


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


def front(there: Elsewhere | None) -> str | None:
    """Where that listens which the generator speaks to; None: where all else does."""
    return None if there is None else there.front


def remarks(there: Elsewhere | None) -> Iterator[str]:
    """What a person should know of the hosts that make the load."""
    return iter(()) if there is None else iter(there.remarks)


def versions(there: Elsewhere | None) -> Mapping[str, str]:
    """What a record says of the hosts that make its load; nothing where there is none."""
    return {} if there is None else {VERSION: there.described}
