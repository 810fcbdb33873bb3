"""Roles on other hosts, on a command line: what `--place` and `--hosts` name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fairground import fleet
from fairground.fleet import about
from fairground.fleet.others import HERE, Others
from fairground.inputs import hosts, numbers, options
from fairground.inputs.hosts import HostsAsked
from fairground.inputs.options import Given
from fairground.inputs.placing import Placed
from fairground.lab import elsewhere
from fairground.model import LabError


def placed_roles(given: Given) -> Placed:
    """Roles on other hosts, as they are named. LabError where nobody says where these hosts are, or where a core is, too."""
    if given["hosts"] is None and given["tls"] is not None:
        raise LabError("`--tls` goes with `--hosts`", "name where the hosts are: --hosts tls://10.0.0.5:8786")
    place: Placed = options.PLACE.values(given["place"])["place"]
    if place and given["hosts"] is None:
        raise LabError("`--place` goes with `--hosts`", "name where the hosts have joined: --hosts tls://10.0.0.5:8786")
    if "database" in dict(place) and given["database"] is not None:
        raise LabError("`--database` names a server, and `--place` has one started on a host", "leave one of them out")
    pinned = dict(numbers.pins("--pin", given["pin"] or ()))
    for role, _ in place:
        if role in pinned:
            sentence = f"`--pin {role}` is of this machine, and `--place` has the {role} elsewhere"
            raise LabError(sentence, "leave one of them out")
    return place


def of_server(given: Given, place: Placed) -> tuple[HostsAsked, tuple[str, ...]]:
    """The hosts that measure, and the roles that they take: all that are there, or the one that has the server."""
    asked = hosts.hosts_asked(given["hosts"], given["tls"])
    there = dict(place)
    roles = tuple(role for role in about.ROLES if role == elsewhere.SERVER or role not in there)
    return (replace(asked, hosts=(there[elsewhere.SERVER],)) if there else asked), roles


def not_the_server(place: Placed, verb: str) -> None:
    """LabError where a verb that measures on the lab's machine is to have its server elsewhere."""
    if elsewhere.SERVER in dict(place):
        raise LabError(f"`{verb}` has its servers on the lab's machine", f"run `{verb}` on that host, or place the other roles")


@contextmanager
def hosts_of(given: Given, place: Placed) -> Iterator[Others]:
    """The hosts that roles are on."""
    if not place:
        yield HERE
        return
    fleet.require_dask()
    with elsewhere.hosts_of(hosts.hosts_asked(given["hosts"], given["tls"]), place) as found:
        yield found
