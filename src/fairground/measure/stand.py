"""The clocks of the machines of a measurement at one moment, and what each machine did between two of them.

Moments are of each machine, so that what disturbs the one that sends the load is found, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fairground.host import Moment, machine_between
from fairground.model import HostUse, RoleUse


@dataclass(frozen=True)
class Stand:
    """`here`: of the lab's machine. `there`: of the machines of other hosts, by the hosts' names."""

    here: Moment
    there: Mapping[str, Moment] = field(default_factory=dict)


def machines_between(
    before: Stand, after: Stand, used: Collection[RoleUse], all_metered: bool
) -> tuple[RoleUse, HostUse, Mapping[str, HostUse]]:
    """Return what the lab used between two moments, what its machine did, and what those of other hosts did.

    Those are by the names of the hosts. `used` is what all roles that we know of used meanwhile, each on its machine.
    `all_metered`: on the lab's machine there are no others.
    """
    lab, here = machine_between(before.here, after.here, _on(None, used), all_metered)
    both = before.there.keys() & after.there.keys()
    there = {name: machine_between(before.there[name], after.there[name], _on(name, used), True)[1] for name in both}
    return lab, here, there


def _on(host: str | None, used: Collection[RoleUse]) -> list[RoleUse]:
    """The roles that ran on a host, None being the lab's machine."""
    return [use for use in used if use.host == host]
