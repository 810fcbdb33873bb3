"""A host: a Dask worker of one thread that says what it is, and carries out orders in processes of their own.

A process of its own measures as a lab does that was started there: Dask's threads are not in its interpreter. It ends when its
order is withdrawn, when the worker ends or is killed, and when the scheduler is gone.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils import get_ip

from fairground.fleet import link, loop
from fairground.fleet.about import About
from fairground.fleet.order import Order
from fairground.fleet.tls import Certificate, SchedulerAddress
from fairground.host import sources
from fairground.model import LabError

Sources = Mapping[str, tuple[str, sources.Files]]
"""Hash → the id of a server, and its sources."""

ALLOW = "its owner lets it: ./fairground host join … --allow {id}"
NAME = "fairground"
"""The name of the plugin, and of what a host says of itself."""
ENDING_S = 20.0
"""The time that a process has to stop what it started."""
WORDS = 500
"""Characters of a broken process's last words that are told."""


@dataclass(frozen=True)
class OrderCommand:
    """The command that starts the process which carries out one order."""

    words: Sequence[str]
    environ: Mapping[str, str] = field(repr=False)


class Host(WorkerPlugin):
    """The plugin that makes a Dask worker a host of the fleet."""

    name = NAME

    def __init__(self, about: About, command: OrderCommand, cache: Path, engine: Path, awake: bool) -> None:
        self.about, self.cache, self.engine, self._command = about, cache, engine, command
        self.awake = awake
        """True if processors are kept from idling while this host makes a load for a lab elsewhere."""
        self._running = dict[Any, subprocess.Popen[bytes]]()
        self._lent = dict[Any, Callable[[], None]]()
        self._lock = threading.Lock()

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that the host was started in."""
        return self._command.environ

    def lend(self, key: object, end: Callable[[], None]) -> None:
        """Hold something for a lab under this key; `end` is called when the lab lets go of it, or is gone."""
        self._lent[key] = end

    def carry_out(self, key: object, order: bytes) -> bytes:
        """The answer to an order. LabError for a server that is not allowed, RuntimeError when the process broke or was ended."""
        servers = Order.from_json(order).servers
        if refused := [id for id, digest in servers.items() if not self.about.allows(id, digest)]:
            raise LabError(f"the owner of host `{self.about.name}` does not allow the server `{refused[0]}`")
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(
                self._command.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=dict(self._command.environ)
            )
            with self._lock:
                self._running[key] = child
            try:
                assert child.stdin is not None and child.stdout is not None
                with child.stdin, child.stdout:  # its input stays open as long as we live
                    child.stdin.write(order + b"\n")
                    child.stdin.flush()
                    answer = child.stdout.read()
            except BrokenPipeError:
                answer = b""
            finally:
                with self._lock:
                    del self._running[key]
                code = _ended(child)
            said.seek(0)
            if code != 0 or not answer:
                words = said.read().decode(errors="replace").strip()[-WORDS:]
                raise RuntimeError(
                    f"host `{self.about.name}`: the measuring process ended with {code}: {words or 'it said nothing'}"
                )
            return answer

    def lacking(self, digests: Sequence[str]) -> list[str]:
        """Those of these sources that are not here yet."""
        return [digest for digest in digests if sources.sent_folder(digest, self.cache) is None]

    def take(self, sent: Sources) -> None:
        """Keep sources that the owner allows. LabError for others, and for those that are not of their hash."""
        for digest, (id, files) in sent.items():
            if not self.about.allows(id, digest):
                raise LabError(f"the owner of host `{self.about.name}` does not allow the server `{id}`", ALLOW.format(id=id))
            sources.unpack(id, files, digest, self.cache)

    def transition(self, key: object, start: str, finish: str, **_: object) -> None:
        """End the process of an order that is withdrawn, and what nobody holds any more."""
        if finish in ("released", "forgotten") and (end := self._lent.pop(key, None)) is not None:
            end()
        if start == "executing" and finish in ("released", "cancelled", "forgotten"):
            with self._lock:
                if (child := self._running.get(key)) is not None:
                    child.terminate()

    def teardown(self, worker: Worker) -> None:
        """End all that runs, since nothing measures on without its worker."""
        with self._lock:
            for child in self._running.values():
                child.terminate()
        while self._lent:
            self._lent.popitem()[1]()


def _ended(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a process whose output has ended."""
    try:
        return child.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def join(
    address: SchedulerAddress,
    certificate: Certificate | None,
    host: Host,
    resources: Mapping[str, float],
    joined: Callable[[], None],
) -> None:
    """Take part until interrupted. LabError when the scheduler cannot be reached, refuses us, or is gone."""
    link.settle()
    secured = link.security(address, certificate)
    link.reach(address, secured)
    loop.run(_join(address, secured, host, resources, joined))
    raise LabError(f"the scheduler at `{address}` is gone, or has sent this host away", "join again when it is back", 3)


async def _join(
    address: SchedulerAddress, secured: Any, host: Host, resources: Mapping[str, float], joined: Callable[[], None]
) -> None:
    scratch = host.cache / "fleet"
    os.makedirs(scratch, exist_ok=True)
    worker = Worker(
        str(address),
        name=host.about.name,
        nthreads=1,
        host=get_ip(address.host, address.port),
        security=secured,
        resources=dict(resources),
        plugins=(host,),
        startup_information={NAME: lambda _: host.about.to_json()},
        memory_limit=0,
        local_directory=str(scratch),
        dashboard_address=link.NOT_SERVED,
    )
    try:
        await worker
    except (ValueError, RuntimeError) as error:
        if "name taken" not in str(error.__cause__ or error):
            raise
        sentence = f"a host `{host.about.name}` has joined `{address}` already"
        raise LabError(sentence, "give this one another name: --name NAME") from error
    async with worker:
        joined()
        await worker.finished()


# ---------------------------------------------------------------- what the lab asks for: run inside the worker


def carry_out(order: bytes) -> bytes:
    """A Dask task: the answer to an order."""
    worker = get_worker()
    return host_of(worker).carry_out(worker.get_current_task(), order)


def lacking(digests: Sequence[str]) -> list[str]:
    """A Dask task: which of these sources the host has not."""
    return host_of(get_worker()).lacking(digests)


def take(sent: Sources) -> None:
    """A Dask task: keep these sources."""
    host_of(get_worker()).take(sent)


def host_of(worker: Worker) -> Host:
    """The host that a worker is to the fleet."""
    found = worker.plugins[NAME]
    assert isinstance(found, Host)
    return found
