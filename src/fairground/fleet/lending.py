"""The Dask actor that lends a host to a lab elsewhere: it has a keeper of its own, and reads the clocks of what it has started.

Its methods are coroutines. They run on the worker's loop, one between another, so that none may wait but by `await`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from distributed import get_worker

from fairground.fleet import alone, worker
from fairground.host import LOOPBACK, CpuClock, Keeper, Meter, Moment, keep_awake
from fairground.model import LabError, RoleUse

REACHES_S = 5.0
SAMPLE_S = 0.2
"""How often threads and memory of what runs are looked at, so that none which ends is missed."""


class Lent:
    """All that a lab has started on this host. It ends when the lab lets go of this, or is gone.

    `address`: where what it starts listens.
    """

    def __init__(self, address: str = LOOPBACK) -> None:
        here = get_worker()
        host = worker.host_of(here)
        machine = alone.take_machine()
        if machine is None:
            sentence = f"host `{host.about.name}` measures for somebody else, or another host on its machine does"
            raise LabError(sentence, "wait until that has ended", 3)
        self._held, self._host = ExitStack(), host
        self._held.enter_context(machine)
        self._keeper = self._held.enter_context(Keeper(host.environ, address))
        self._folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="fairground-lent-")))
        self._meters = list[Meter]()
        self._sampling: asyncio.Task[None] | None = None
        host.lend(here.get_current_task(), self._end)
        self._remark = self._stay_awake() if host.awake else ""

    def _stay_awake(self) -> str:
        try:
            self._held.enter_context(keep_awake(self._keeper, self._host.engine))
        except LabError as error:
            return error.message
        return ""

    def _end(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
        self._held.close()

    def _running(self) -> Iterable[Meter]:
        """The meters of what runs now."""
        return self._meters

    def _sample(self) -> None:
        """Begin to look at what runs. To be called on the worker's loop."""
        if self._sampling is None:
            self._sampling = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_S)
            for meter in self._running():
                meter.sample()

    async def remark(self) -> str:
        """A remark on what this host cannot do as it should; empty: nothing."""
        return self._remark

    async def process(self) -> int:
        """The number of the process that all that is started descends from."""
        return os.getpid()

    async def clock_s(self) -> float:
        """The time by this host's wall clock, in seconds."""
        return time.time()

    async def moment(self) -> Moment:
        """The clocks of this machine, and of the process that answers here."""
        return Moment(self._keeper.spun_ns(), self._keeper.groups.pids())

    async def reaches(self, host: str, port: int) -> str:
        """The reason why this host cannot connect to `host` at `port`; empty: it can."""
        try:
            async with asyncio.timeout(REACHES_S):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            return (getattr(error, "strerror", None) or "no answer").lower()
        writer.close()
        return ""

    async def cpu_ns(self, number: int) -> int:
        """CPU time so far, as `Meter.cpu_ns`."""
        return self._meters[number].cpu_ns()

    async def forget_peaks(self, number: int) -> None:
        """Forget the peaks, as `Meter.start`."""
        self._meters[number].start()

    async def clock(self, number: int) -> CpuClock:
        """All that is read at a moment, as `Meter.clock`."""
        return self._meters[number].clock()

    async def use(self, number: int, before: CpuClock, after: CpuClock) -> RoleUse:
        """Return what was used between two readings, as `Meter.use`."""
        return self._meters[number].use(before, after)
