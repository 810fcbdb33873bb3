"""The clocks of the machines of a measurement at one moment, and what each machine did between two of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fairground.host import Moment, machine_between
from fairground.model import HostUse, RoleUse


@dataclass(frozen=True)
class Stand:
    """`here`: of the lab's machine. `there`: of the generator's; None: that is the same one."""

    here: Moment
    there: Moment | None = None


def machines_between(
    before: Stand, after: Stand, used: Collection[RoleUse], database_is_ours: bool
) -> tuple[RoleUse, HostUse, HostUse | None]:
    """What the lab used between two moments, what its machine did, and the generator's where it is another.

    `used` is what all roles that we know of used meanwhile, each on its machine.
    """
    lab, here = machine_between(before.here, after.here, [use for use in used if use.host is None], database_is_ours)
    if before.there is None or after.there is None:
        return lab, here, None
    _, there = machine_between(before.there, after.there, [use for use in used if use.host is not None], True)
    return lab, here, there
