"""Connections of a fleet's processes: Dask's settings and TLS, and why a scheduler does not answer."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterator

import dask
from distributed.comm.core import FatalCommClosedError, connect
from distributed.security import Security

from fairground.fleet import tls
from fairground.fleet.tls import Certificate, SchedulerAddress
from fairground.host import LOOPBACK
from fairground.model import LabError

CONNECT_S = 5.0
SILENT_S = 15.0
"""A side that says nothing for so long is gone: its cable is cut, or it stands still. Hosts say something every few seconds."""
NOT_SERVED = f"{LOOPBACK}:0"
"""The address of Dask's own pages: beyond loopback nobody sees them, and nothing of ours needs them."""
SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
    "distributed.comm.timeouts.tcp": f"{SILENT_S:g}s",
    "distributed.scheduler.worker-ttl": f"{SILENT_S:g}s",
}
"""A process that waits beside a measurement has to be idle, and by default Dask looks at itself a hundred times a second.

It also takes five minutes by default to notice that a host is silent.
"""


def settle() -> None:
    """Let Dask be quiet: little work while it waits, and no log but of what the lab cannot tell itself."""
    dask.config.set(SETTINGS)
    for name in [*logging.root.manager.loggerDict]:  # Dask gives some of its own a level of their own
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def security(address: SchedulerAddress, certificate: Certificate | None) -> Security | None:
    """Dask's TLS for an address, with the fleet's certificate on both sides; None for one without TLS."""
    if not address.tls:
        return None
    assert certificate is not None, "who connects by TLS has looked for its certificate"
    one, key = str(certificate.certificate), str(certificate.key)
    roles = {
        f"tls_{role}_{what}": path for role in ("client", "scheduler", "worker") for what, path in (("cert", one), ("key", key))
    }
    found = Security(require_encryption=True, tls_ca_file=one, **roles)
    try:
        found.get_connection_args("client")
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror or str(error)
        raise LabError(f"the certificate in `{certificate.folder}` cannot be used: {str(why).lower()}", tls.COPY) from error
    return found


def reach(address: SchedulerAddress, secured: Security | None) -> None:
    """Raise LabError if no scheduler answers at this address, or one side does not trust the other."""
    asyncio.run(_reach(address, secured))


async def _reach(address: SchedulerAddress, secured: Security | None) -> None:
    try:
        arguments = (secured or Security()).get_connection_args("client")
        # Dask asks again and again where nobody listens, until its time is up.
        _, writer = await asyncio.wait_for(asyncio.open_connection(address.host, address.port), CONNECT_S)
        writer.close()
        comm = await connect(str(address), timeout=CONNECT_S, **arguments)
        await comm.close()
    except (OSError, TimeoutError, ValueError) as error:
        raise _unreached(address, error) from error


def _unreached(address: SchedulerAddress, error: BaseException) -> LabError:
    """The error that says why nobody answers.

    A side that is not trusted hangs up: the other sees an end in the middle of the greeting.
    """
    chain = list(causes(error))
    if address.tls and any(isinstance(cause, ssl.SSLError | FatalCommClosedError) for cause in chain):
        return LabError(f"`{address}` does not trust this certificate, or this side does not trust its", tls.COPY)
    refused = any("refused" in str(cause).lower() for cause in chain)
    if not refused and any("closed" in type(cause).__name__.lower() for cause in chain):
        spoken = "TLS with this certificate" if address.tls else "without TLS"
        return LabError(f"`{address}` hangs up: no scheduler speaks {spoken} there", "use the address that `host serve` printed")
    return LabError(
        f"no scheduler answers at `{address}`",
        "start one with `./fairground host serve`, or name the address that it printed",
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what it was raised from, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
