"""A server whose port another process holds: one that nothing ties to it, or a child of its own (honest)."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

NEEDED = ("HOST", "PORT", "DATABASE_URL", "POOL_SIZE", "POOL_WAIT_MS", "PREPARED")
TOP = [Path("/sys/fs/cgroup") / name / "cgroup.procs" for name in (".", "cpuacct", "cpu", "memory")]


def start_outside(told: int) -> None:
    """Start the process that answers, with no group, environment or parent of ours. Its number goes to `told`."""
    if (child := os.fork()) != 0:
        os.waitpid(child, 0)
        return
    os.setsid()
    if (daemon := os.fork()) != 0:
        os.write(told, str(daemon).encode())
        os._exit(0)
    for group in TOP:
        with suppress(OSError):
            group.write_text("0")
    words = json.dumps({name: os.environ[name] for name in NEEDED})
    os.execve(sys.executable, [sys.executable, __file__, words], {"LANG": "C"})


def start_inside(told: int) -> None:
    """Start the process that answers as a child."""
    if (child := os.fork()) != 0:
        os.write(told, str(child).encode())
        return
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    Healthy.run()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.environ.update(json.loads(sys.argv[1]))
        Healthy.run()
        sys.exit()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    heard, told = os.pipe()
    (start_outside if os.environ["LODGER"] == "outside" else start_inside)(told)
    pid = int(os.read(heard, 20))
    signal.sigwait({signal.SIGTERM})
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
