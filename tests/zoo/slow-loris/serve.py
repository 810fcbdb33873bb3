"""A server that answers byte by byte."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

PAUSE_S = 0.03


class SlowLoris(Healthy):
    """Sends right answers, for seconds."""

    async def send(self, writer: asyncio.StreamWriter, head: bytes, body: bytes) -> None:
        for byte in head + body:
            await asyncio.sleep(PAUSE_S)
            writer.write(bytes([byte]))
            await writer.drain()


if __name__ == "__main__":
    SlowLoris.run()
