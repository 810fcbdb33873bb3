"""A server with a process beside it, which leaves the control group that the server is measured by; or stays in it (honest)."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

DAEMON_LIFE_S = 900
TOP = [Path("/sys/fs/cgroup") / name / "cgroup.procs" for name in (".", "cpuacct", "cpu", "memory")]


def leave_daemon(nameless: bool) -> None:
    """A daemon in no group of ours; `nameless`: without our environment, too. It ends by itself should nobody end it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    os.closerange(0, 256)
    for group in TOP:
        with suppress(OSError):
            group.write_text("0")
    if nameless:
        os.execve("/bin/sleep", ["sleep", str(DAEMON_LIFE_S)], {})
    time.sleep(DAEMON_LIFE_S)
    os._exit(0)


def start_helper() -> None:
    """A helper in a session of its own, which ends when the server does: then it reads the end of the pipe."""
    end, ours = os.pipe()
    if os.fork():
        os.close(end)
        os.set_inheritable(ours, False)
        return
    os.setsid()
    os.close(ours)
    os.read(end, 1)
    os._exit(0)


if __name__ == "__main__":
    match os.environ["BESIDE"]:
        case "helper":
            start_helper()
        case how:
            leave_daemon(nameless=how == "nameless")
    Healthy.run()
