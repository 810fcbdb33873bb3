"""A server that leaves a daemon behind."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

DAEMON_LIFE_S = 900


def leave_daemon() -> None:
    """Start a process that belongs to no group, session, parent or pipe of ours; it ends by itself should nobody end it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.closerange(0, 256)
    time.sleep(DAEMON_LIFE_S)
    os._exit(0)


if __name__ == "__main__":
    leave_daemon()
    Healthy.run()
