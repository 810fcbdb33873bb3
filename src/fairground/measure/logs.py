"""The logs that roles leave in an arm's folder: their ends, and how much of them is kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fairground.model import storing

TAIL_BYTES = 2000
KEPT_BYTES = 1_000_000
"""This much is kept of a log's beginning, and of its end: a server that logs each request would fill the results."""


LEFT_OUT = "\n[… {:,} bytes are left out …]\n"
LEFT_OUT_BEFORE = re.compile(re.escape(LEFT_OUT).replace(r"\{:,\}", r"([\d,]+)").encode())


def tail_of(path: Path) -> str:
    """The end of what a role wrote; empty where it wrote nothing."""
    try:
        return path.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except OSError:
        return ""


def shorten(path: Path) -> int:
    """Leave out the middle of a log whose writer has ended, and return how many bytes that are; 0 where it is short.

    A log that went on after it was shortened says how much is left out in all.
    """
    if not path.is_file() or (left_out := path.stat().st_size - 2 * KEPT_BYTES) <= 0:
        return 0
    with storing(path), open(path, "r+b") as log:
        log.seek(KEPT_BYTES)
        before = LEFT_OUT_BEFORE.match(log.read(len(LEFT_OUT) + 40))
        if before is not None:
            left_out += int(before[1].replace(b",", b"")) - len(before[0])
        log.seek(-KEPT_BYTES, os.SEEK_END)
        end = log.read()
        log.seek(KEPT_BYTES)
        log.write(LEFT_OUT.format(left_out).encode())
        log.write(end)
        log.truncate()
    return left_out
