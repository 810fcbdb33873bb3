"""The command of the lab as a process that ends with the server of pages, however that ends: `kill -9` of it included."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Be the command in the words after the server's number. It is interrupted, as by Ctrl-C, when the server is gone."""
    server = int(sys.argv.pop(1))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    if os.getppid() != server:
        raise SystemExit(130)
    runpy.run_module("fairground", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
