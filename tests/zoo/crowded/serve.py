"""A server with a backlog of one, which accepts its connections one by one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy


class Crowded(Healthy):
    """The kernel drops what does not fit into its queue of connections, and clients try again after a second."""

    backlog = 1


if __name__ == "__main__":
    Crowded.run()
