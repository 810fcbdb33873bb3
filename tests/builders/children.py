"""What tests of the keeper start: small programs, and a server of the nasty kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import psutil

from fairground.host import Child, Keeper

ENVIRONMENT = {"PATH": os.defpath}

TREE = """
import os, signal, sys, time
def tell(name):
    with open(sys.argv[1], "a") as file:
        file.write(f"{name} {os.getpid()}\\n")
for number in range(2):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell("worker")
        time.sleep(600)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        tell("daemon")
        time.sleep(600)
    os._exit(0)
tell("parent")
time.sleep(600)
"""
"""A server of the nasty kind: two workers that ignore SIGTERM, and a daemon that forked twice into a session of its own."""


def python(keeper: Keeper, program: str, *words: str, env: Mapping[str, str] = ENVIRONMENT) -> Child:
    """A small Python program under a keeper."""
    return keeper.spawn([sys.executable, "-S", "-c", program, *words], role="server", env=env)


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; one that only waits to be reaped does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
