"""A program of a test's in a process of its own, which may hang or never end: it has a limit, and the test fails at it."""

from __future__ import annotations

import os
import subprocess
import sys

LIMIT_S = 60.0
"""What ends at all ends in a second or two; what does not would take hours."""


def printed(program: str, *words: str) -> str:
    """What a Python program printed, with the lab and its tests at hand. `subprocess.TimeoutExpired` where it does not end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True).stdout
