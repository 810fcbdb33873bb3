"""The clocks of the machines of a measurement at one moment, and what each machine did between two of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fairground.host import Moment, machine_between
from fairground.model import HostUse, RoleUse


@dataclass(frozen=True)
class Stand:
    """`here`: of the lab's machine. `there`: of those of the generator's hosts, by their names; none where it is the same one."""

    here: Moment
    there: Mapping[str, Moment] = field(default_factory=dict)


def machines_between(
    before: Stand, after: Stand, used: Collection[RoleUse], database_is_ours: bool
) -> tuple[RoleUse, HostUse, Mapping[str, HostUse]]:
    """What the lab used between two moments, what its machine did, and what those of the generator's hosts did, by their names.

    `used` is what all roles that we know of used meanwhile, each on its machine.
    """
    each = [one for use in used for one in use.each or (use,)]
    lab, here = machine_between(before.here, after.here, [use for use in each if use.host is None], database_is_ours)
    there = {
        name: machine_between(was, after.there[name], [use for use in each if use.host == name], True)[1]
        for name, was in before.there.items()
        if name in after.there
    }
    return lab, here, there
