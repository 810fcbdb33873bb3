"""The clocks of the machines of a measurement at one moment, and what each machine did between two of them.

Moments are of each machine, so that what disturbs the one that sends the load is found, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    lab, here = machine_between(before.here, after.here, _on(None, used), database_is_ours)
    both = before.there.keys() & after.there.keys()
    there = {name: machine_between(before.there[name], after.there[name], _on(name, used), True)[1] for name in both}
    return lab, here, there


def _on(host: str | None, used: Collection[RoleUse]) -> list[RoleUse]:
    """What roles used on a host, None being the lab's machine. A role on several hosts used the rest of its CPU on that one."""
    found = [use for use in used if not use.cpu_us_by_host and use.host == host]
    for use in used:
        parts = use.cpu_us_by_host
        if host is not None and host in parts:
            found.append(replace(use, cpu_us=parts[host]))
        elif host is None and parts:
            found.append(replace(use, cpu_us=_rest(use.cpu_us, list(parts.values()))))
    return found


def _rest(whole: float | None, parts: Sequence[float | None]) -> float | None:
    """What is left of the whole without its parts; None where one of them is not known."""
    known = [part for part in parts if part is not None]
    return None if whole is None or len(known) < len(parts) else whole - math.fsum(known)
