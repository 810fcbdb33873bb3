"""The load engine on a host, for a lab elsewhere: started there, with what it says passed on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from distributed import Client, Future

from fairground.fleet.lending import Lent
from fairground.generators.running import Local
from fairground.host import Meter, Stopped, Streams

LOOK_S = 0.01
QUALIFY = ("qualify", "--quick", "--json")


class Engines(Lent):
    """The engines that a lab has on this host."""

    def __init__(self) -> None:
        super().__init__()
        self._engine, self._engines = self._host.engine, list[Local]()

    def _running(self) -> Iterable[Meter]:
        return [meter for one, meter in zip(self._engines, self._meters, strict=True) if one.runs()]

    async def qualify(self, within_s: float) -> str:
        """Run the engine's own qualification here, and return what it says."""
        said = self._folder / "qualify.json"
        with open(said, "wb") as output:
            child = self._keeper.spawn([str(self._engine), *QUALIFY], role="qualify", env={}, streams=Streams(stdout=output))
        until = time.monotonic() + within_s
        while child.exit_code() is None and time.monotonic() < until:
            await asyncio.sleep(LOOK_S)
        child.stop(0.0)
        return said.read_text(errors="replace")

    async def start(self) -> int:
        """Start an engine, and return its number."""
        folder = self._folder / str(len(self._engines))
        folder.mkdir()
        one = Local(self._keeper, self._engine, folder)
        self._engines.append(one)
        self._meters.append(one.meter())
        self._sample()
        return len(self._engines) - 1

    async def write(self, number: int, text: bytes) -> None:
        """Send an engine this."""
        self._engines[number].write(text)

    async def read(self, number: int, within_s: float) -> bytes | None:
        """Wait for what an engine says next, as `Running.read`."""
        one, loop = self._engines[number], asyncio.get_running_loop()
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
        one, until = self._engines[number], time.monotonic() + within_s
        while one.runs() and time.monotonic() < until:
            await asyncio.sleep(LOOK_S)
        return one.document(0.0)

    async def stop(self, number: int) -> Stopped:
        """End an engine. It ends within a moment, since nothing of it waits for anybody."""
        return self._engines[number].stop()


def _set(there: asyncio.Future[None]) -> None:
    if not there.done():
        there.set_result(None)


def lend_engines(client: Client, address: str) -> Future[Any]:
    """The actor on the worker at an address, as a future that ends it when it is cancelled."""
    return client.submit(Engines, workers=[address], resources={"generator": 1}, actor=True, pure=False)
