"""A server that waits for the client's delayed acknowledgement before it sends the body."""

import asyncio
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy


class Delayed(Healthy):
    """Turns TCP_NODELAY off, and writes twice."""

    def welcome(self, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)

    async def send(self, writer: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
        writer.write(head)
        writer.write(body)
        await writer.drain()


if __name__ == "__main__":
    Delayed.run()
