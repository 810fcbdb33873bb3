"""A server that nearly fills the memory that it may use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy


class Glutton(Healthy):
    """Meant for a limit of 500 MB."""

    async def start(self) -> None:
        self.ballast = b"\1" * 460_000_000  # not zeros, which the kernel would not give pages to
        await super().start()


if __name__ == "__main__":
    Glutton.run()
