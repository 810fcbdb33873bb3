"""The name of the command. Texts name the checkout's door, `./fairground`; an installed lab has none, and is on PATH."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO, cast

DOOR, PROGRAM = "./fairground", "fairground"
INSTALLED = (Path(__file__).resolve().parents[1] / "data").is_dir()
"""True if a wheel brought the lab: `lab.places` says the same, but loads what a help does not need."""


class Renamed:
    """A stream of text in which the door's name becomes the program's."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it; the count is that of the text as it was given."""
        self._stream.write(text.replace(DOOR, PROGRAM))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def rename() -> None:
    """Let both streams of an installed lab name the program that a person can type."""
    if INSTALLED:
        sys.stdout, sys.stderr = cast(TextIO, Renamed(sys.stdout)), cast(TextIO, Renamed(sys.stderr))
