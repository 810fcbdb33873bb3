"""A server with a process for each worker: honest, and the only animal that grows with `WORKERS`."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy


class Crew(Healthy):
    """The kernel shares connections out among its processes."""

    reuse_port = True

    @classmethod
    def run(cls) -> None:
        """Serve in so many processes, until SIGTERM ends the first of them, which ends the others."""
        workers = int(os.environ["WORKERS"])
        os.environ["POOL_SIZE"] = str(max(1, int(os.environ["POOL_SIZE"]) // workers))
        others = list[int]()
        for _ in range(workers - 1):
            if (child := os.fork()) == 0:
                super().run()
                os._exit(0)
            others.append(child)
        super().run()
        for child in others:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


if __name__ == "__main__":
    Crew.run()
