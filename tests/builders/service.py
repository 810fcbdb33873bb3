"""The engine's own servers, as services of somebody."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from builders.paths import ENGINE


@contextmanager
def served(*words: str) -> Iterator[int]:
    """One of the engine's own servers for a while; its port."""
    process = subprocess.Popen([str(ENGINE), *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None and process.stdin is not None
    try:
        yield int(json.loads(process.stderr.readline())["port"])
    finally:
        process.stdin.close()
        process.wait(10)
        process.stderr.close()
