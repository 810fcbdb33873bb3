"""The load engine on a host, for a lab elsewhere: a Dask actor that starts it, passes on what it says, and reads its clocks.

Its methods are coroutines. They run on the worker's loop, one between another, so that none may wait but by `await`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from distributed import Client, Future, get_worker

from fairground.fleet import alone, worker
from fairground.generators.running import Local
from fairground.host import Clock, Keeper, Meter, Moment, Stopped, Streams, keep_awake
from fairground.model import LabError, RoleUse

SAMPLE_S = 0.2
"""How often threads and memory of the engines are looked at, so that none which ends is missed."""
LOOK_S = 0.01
REACHES_S = 5.0
QUALIFY = ("qualify", "--quick", "--json")


class Engines:
    """The engines that a lab has on this host. They end when the lab lets go of this, or is gone."""

    def __init__(self) -> None:
        here = get_worker()
        host = worker.host_of(here)
        machine = alone.taken()
        if machine is None:
            sentence = f"host `{host.about.name}` measures for somebody else, or another host on its machine does"
            raise LabError(sentence, "wait until that has ended", 3)
        self._held, self._engine = ExitStack(), host.engine
        self._held.enter_context(machine)
        self._keeper = self._held.enter_context(Keeper(host.environ))
        self._folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="fairground-engines-")))
        self._running, self._meters = list[Local](), list[Meter]()
        self._sampling: asyncio.Task[None] | None = None
        host.lend(here.get_current_task(), self._end)
        self._remark = self._stay_awake() if host.awake else ""

    def _stay_awake(self) -> str:
        try:
            self._held.enter_context(keep_awake(self._keeper, self._engine))
        except LabError as error:
            return error.message
        return ""

    def _end(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
        self._held.close()

    async def remark(self) -> str:
        """What this host cannot do as it should; empty: nothing."""
        return self._remark

    async def process(self) -> int:
        """The number of the process that all engines descend from."""
        return os.getpid()

    async def clock_s(self) -> float:
        """The time by this host's wall clock, in seconds."""
        return time.time()

    async def moment(self) -> Moment:
        """The clocks of this machine, and of the process that passes on what engines say."""
        return Moment(self._keeper.spun_ns())

    async def reaches(self, host: str, port: int) -> str:
        """Why nothing can be connected to there from this host; empty: it can."""
        try:
            async with asyncio.timeout(REACHES_S):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            return (getattr(error, "strerror", None) or "no answer").lower()
        writer.close()
        return ""

    async def qualify(self, within_s: float) -> str:
        """What the engine says of its own qualification here."""
        said = self._folder / "qualify.json"
        with open(said, "wb") as output:
            child = self._keeper.spawn([str(self._engine), *QUALIFY], role="qualify", env={}, streams=Streams(stdout=output))
        until = time.monotonic() + within_s
        while child.exit_code() is None and time.monotonic() < until:
            await asyncio.sleep(LOOK_S)
        child.stop(0.0)
        return said.read_text(errors="replace")

    async def start(self) -> int:
        """Start an engine; its number."""
        folder = self._folder / str(len(self._running))
        folder.mkdir()
        one = Local(self._keeper, self._engine, folder)
        self._running.append(one)
        self._meters.append(one.meter())
        if self._sampling is None:
            self._sampling = asyncio.create_task(self._sample())
        return len(self._running) - 1

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_S)
            for one, meter in zip(self._running, self._meters, strict=True):
                if one.runs():
                    meter.sample()

    async def write(self, number: int, text: bytes) -> None:
        """Send an engine this."""
        self._running[number].write(text)

    async def read(self, number: int, within_s: float) -> bytes | None:
        """What an engine says next, as `Running.read`."""
        one, loop = self._running[number], asyncio.get_running_loop()
        there: asyncio.Future[None] = loop.create_future()
        loop.add_reader(one.fileno(), _set, there)
        try:
            await asyncio.wait_for(there, within_s)
        except TimeoutError:
            return None
        finally:
            loop.remove_reader(one.fileno())
        return one.read(0.0)

    async def document(self, number: int, within_s: float) -> tuple[int | None, str]:
        """An engine's exit code and what it counted, as `Running.document`."""
        one, until = self._running[number], time.monotonic() + within_s
        while one.runs() and time.monotonic() < until:
            await asyncio.sleep(LOOK_S)
        return one.document(0.0)

    async def stop(self, number: int) -> Stopped:
        """End an engine. It ends within a moment, since nothing of it waits for anybody."""
        return self._running[number].stop()

    async def cpu_ns(self, number: int) -> int:
        """As `Meter.cpu_ns`."""
        return self._meters[number].cpu_ns()

    async def forget_peaks(self, number: int) -> None:
        """As `Meter.start`."""
        self._meters[number].start()

    async def clock(self, number: int) -> Clock:
        """As `Meter.clock`."""
        return self._meters[number].clock()

    async def use(self, number: int, before: Clock, after: Clock) -> RoleUse:
        """As `Meter.use`."""
        return self._meters[number].use(before, after)


def _set(there: asyncio.Future[None]) -> None:
    if not there.done():
        there.set_result(None)


def lent(client: Client, address: str) -> Future[Any]:
    """The actor on the worker at an address, as a future that ends it when it is cancelled."""
    return client.submit(Engines, workers=[address], resources={"generator": 1}, actor=True, pure=False)
