"""One measurement at a time on a machine, however many hosts of fleets are on it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

NAME = "\0fairground-host"
"""A name of which a machine has one: whoever holds it measures."""
LOOK_S = 0.5


def take_machine() -> socket.socket | None:
    """The socket that holds the machine until it is closed; None where somebody else holds it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(NAME)
    except OSError:
        held.close()
        return None
    return held


@contextmanager
def alone() -> Iterator[None]:
    """Wait until nobody else measures here, and keep others waiting meanwhile."""
    while (held := take_machine()) is None:
        time.sleep(LOOK_S)
    with held:
        yield
