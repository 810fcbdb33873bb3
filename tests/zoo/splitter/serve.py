"""A server that fails when a request arrives in pieces."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy
from animal.http import HEAD_MOST_BYTES, HttpError


class Splitter(Healthy):
    """Reads once where it should read on to the empty line; what follows the head is lost."""

    async def receive_head(self, reader: asyncio.StreamReader) -> bytes:
        data = await reader.read(HEAD_MOST_BYTES)
        if not data:
            raise asyncio.IncompleteReadError(b"", None)
        head, end, _ = data.partition(b"\r\n\r\n")
        if not end:
            raise HttpError(400, "the request is incomplete")
        return head + end


if __name__ == "__main__":
    Splitter.run()
