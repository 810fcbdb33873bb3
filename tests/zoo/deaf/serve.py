"""A server that does not hear SIGTERM."""

import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

CHILD_LIFE_S = 900


class Deaf(Healthy):
    """Ignores SIGTERM; the child inherits that, and ends by itself should nobody end it."""

    def listen_to_signals(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.child = subprocess.Popen(["sleep", str(CHILD_LIFE_S)])


if __name__ == "__main__":
    Deaf.run()
