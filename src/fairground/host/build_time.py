"""The time that a server's build takes: as long as its last one here, in whichever checkout, or a first guess by its tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairground.host import build
from fairground.host.build import Command
from fairground.model import Stack

GUESS_S = {"cargo": 120.0, "mvn": 90.0, "cmake": 60.0, "go": 40.0, "bundle": 30.0, "pip": 20.0, "make": 15.0, "npm": 15.0}
"""Seconds of a first build with a tool, its downloads among them, on two processors."""
OTHER_S = 10.0
"""The same with any other tool."""
DIGITS = "[0-9a-f]"


def left_s(stacks: Sequence[Stack], cache: Path) -> float:
    """Seconds that building these stacks of one server will take; 0 where that is done, or there is nothing to do."""
    server = stacks[0].server
    done = build.find_built(server, cache)
    left = [words for words in build.commands_of(stacks) if words not in done]
    took_s = _last_s(server.id, cache)
    if all(words in took_s for words in left):
        return sum(took_s[words] for words in left)
    return max(GUESS_S.get(Path(words[0]).name, OTHER_S) for words in left)


def _last_s(id: str, cache: Path) -> dict[Command, float]:
    """Command → the seconds that it took when a server of this id was built with it last."""
    stamps = (cache / "builds").glob(f"{id}-{DIGITS * build.PLACE_CHARACTERS}.json")
    found = dict[Command, float]()
    for stamp in sorted(stamps, key=lambda path: path.stat().st_mtime):
        stamped = build.read_stamp(stamp)
        found |= {} if stamped is None else stamped.seconds
    return found
