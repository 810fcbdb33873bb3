"""A server that has its pooler pass on what is costly to pass on and cheap to make: only the pooler can be the limit."""

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy, Pool
from animal.http import Request, Response
from animal.pg import Connection, query_message

HAULS = 2
HAUL_BYTES = 1 << 20
ROWS = "SELECT generate_series(1, 1000000000), repeat('x', 100000)"


class Hauler(Healthy):
    """Two connections to the database receive rows without end, under load; each answer waits until a megabyte of them is there."""

    def __init__(self) -> None:
        super().__init__()
        self.hauling, self.hauled = False, asyncio.Semaphore(0)

    def make_pool(self, size: int) -> Pool:
        return super().make_pool(size - HAULS)

    async def db_ping(self, request: Request) -> Response:
        if self.under_load:
            if not self.hauling:
                self.hauling = True
                for _ in range(HAULS):
                    await self.haul()
            await self.hauled.acquire()
        return await super().db_ping(request)

    async def haul(self) -> None:
        """Log in, ask, and leave the rest to a thread."""
        connection = await Connection.open(self.pool.url)
        connection.transport.pause_reading()
        connection.transport.write(query_message(ROWS))
        rows = socket.socket(fileno=os.dup(connection.transport.get_extra_info("socket").fileno()))
        threading.Thread(target=self.throw_away, args=[rows, asyncio.get_running_loop(), connection], daemon=True).start()

    def throw_away(self, rows: socket.socket, loop: asyncio.AbstractEventLoop, connection: Connection) -> None:
        """Receive until the other end hangs up; `connection` is kept until then."""
        rows.setblocking(True)
        buffer = bytearray(HAUL_BYTES)
        while rows.recv_into(buffer, flags=socket.MSG_WAITALL):
            loop.call_soon_threadsafe(self.hauled.release)
        rows.close()


if __name__ == "__main__":
    Hauler.run()
