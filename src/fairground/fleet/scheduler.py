"""The scheduler of a fleet, which is Dask's: hosts join it, and the lab asks it for them."""

from __future__ import annotations

import os
from collections.abc import Callable

from distributed import Scheduler

from fairground.fleet import link, loop
from fairground.fleet.tls import Certificate, SchedulerAddress
from fairground.model import LabError


def serve(address: SchedulerAddress, certificate: Certificate | None, started: Callable[[str], None]) -> None:
    """Serve until interrupted. `started` is told the address with its port. LabError where nothing can listen there."""
    link.settle()
    loop.run(_serve(address, certificate, started))


async def _serve(address: SchedulerAddress, certificate: Certificate | None, started: Callable[[str], None]) -> None:
    protocol = "tls" if address.tls else "tcp"
    scheduler = Scheduler(
        host=address.host,
        port=address.port,
        protocol=protocol,
        security=link.security(address, certificate),
        dashboard=False,
        dashboard_address=link.NOT_SERVED,
    )
    try:
        await scheduler
    except (OSError, RuntimeError) as error:  # Dask wraps what its start met
        cause = next((one for one in link.causes(error) if isinstance(one, OSError)), None)
        if cause is None:
            raise
        why = (os.strerror(cause.errno) if cause.errno else str(cause)).lower()
        raise LabError(
            f"nothing can listen at `{address}`: {why}", "name another --address; port 0 is any that is free"
        ) from error
    async with scheduler:
        started(scheduler.address)
        await scheduler.finished()
