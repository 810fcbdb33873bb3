"""The time that a server's build takes: as long as its last one here, in whichever checkout, or a first guess by its tools."""

from __future__ import annotations

import json
from pathlib import Path

from fairground.host import build
from fairground.model import Server

GUESS_S = {"cargo": 120.0, "mvn": 90.0, "cmake": 60.0, "go": 40.0, "bundle": 30.0, "pip": 20.0, "make": 15.0, "npm": 15.0}
"""Seconds of a first build with a tool, its downloads among them, on two processors."""
OTHER_S = 10.0
"""The same with any other tool."""
DIGITS = "[0-9a-f]"


def left_s(server: Server, cache: Path) -> float:
    """Seconds that building the server will take; 0 where that is done, or there is nothing to do."""
    if not server.build or build.is_built(server, cache):
        return 0.0
    return _last_s(server, cache) or max(GUESS_S.get(Path(command[0]).name, OTHER_S) for command in server.build)


def _last_s(server: Server, cache: Path) -> float | None:
    """The seconds of the newest build of a server of this id; None where none is remembered."""
    stamps = (cache / "builds").glob(f"{server.id}-{DIGITS * build.PLACE_CHARACTERS}.json")
    for stamp in sorted(stamps, key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            seconds = json.loads(stamp.read_bytes()).get("seconds")
        except (OSError, ValueError, AttributeError):  # a full disk cut it off
            continue
        if isinstance(seconds, int | float) and seconds > 0:
            return float(seconds)
    return None
