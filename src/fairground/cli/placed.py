"""Roles on other hosts, on a command line: what `--place` and `--hosts` name, and the host that makes the load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairground import fleet
from fairground.generators import Elsewhere
from fairground.inputs import hosts, numbers, options
from fairground.inputs.options import Given
from fairground.inputs.placing import Placed
from fairground.lab import elsewhere
from fairground.model import LabError


def placed(given: Given) -> Placed:
    """Roles on other hosts, as they are named. LabError where nobody says where these hosts are, or where a core is, too."""
    if given["hosts"] is None and given["tls"] is not None:
        raise LabError("`--tls` goes with `--hosts`", "name where the hosts are: --hosts tls://10.0.0.5:8786")
    place: Placed = options.PLACE.values(given["place"])["place"]
    if place and given["hosts"] is None:
        raise LabError("`--place` goes with `--hosts`", "name where the hosts have joined: --hosts tls://10.0.0.5:8786")
    pinned = dict(numbers.pins("--pin", given["pin"] or ()))
    for role, _ in place:
        if role in pinned:
            sentence = f"`--pin {role}` is of this machine, and `--place` has the {role} elsewhere"
            raise LabError(sentence, "leave one of them out")
    return place


@contextmanager
def generator(given: Given, place: Placed) -> Iterator[Elsewhere | None]:
    """The host that makes the load, or several as one; None: this machine does."""
    if not place:
        yield None
        return
    fleet.require_dask()
    with elsewhere.generator(hosts.asked(given["hosts"], given["tls"]), place) as found:
        yield found
