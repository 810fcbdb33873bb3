"""A server whose answers cost a client more than they cost it: only the load generator can be the limit."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import OK_MESSAGE, Healthy

ANSWER = (
    b"HTTP/1.1 103 \r\n\r\n" * 1850
    + b"HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: %d\r\n\r\n" % len(OK_MESSAGE)
    + OK_MESSAGE
)
"""Interim answers, which a client has to read one by one, before the one to `/ping`. A client need not take more than 32 KB of heads."""


class Herald(Healthy):
    """Announces each answer 1,850 times under load, and takes every request for a ping then."""

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not self.under_load:
            return await super().exchange(reader, writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        return True


if __name__ == "__main__":
    Herald.run()
