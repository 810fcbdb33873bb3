"""The name of the command, and its own words. Texts name the checkout's door, `./fairground`; an installed lab has none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, cast

DOOR, PROGRAM = "./fairground", "fairground"
INSTALLED = (Path(__file__).resolve().parents[1] / "data").is_dir()
"""True if a wheel brought the lab: `lab.places` says the same, but loads what a help does not need."""
ANYWHERE = PROGRAM if INSTALLED else str(Path(__file__).resolve().parents[3] / PROGRAM)
"""The command as it can be typed in any folder."""
SERVICE = "--"
"""What follows it starts a service: a `-h` there is that one's own, such as the host of a database."""


class Rewritten:
    """A stream of text that is rewritten on its way."""

    def __init__(self, stream: TextIO, rewrite: Callable[[str], str]) -> None:
        self._stream, self._rewrite = stream, rewrite

    def write(self, text: str) -> int:
        """Write it; the count is that of the text as it was given."""
        self._stream.write(self._rewrite(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def rename() -> None:
    """Let both streams of an installed lab name the program that a person can type."""
    if INSTALLED:
        rewrite(lambda text: text.replace(DOOR, PROGRAM))


def rewrite(change: Callable[[str], str]) -> None:
    """Let both streams change what is written to them."""
    sys.stdout, sys.stderr = (cast(TextIO, Rewritten(stream, change)) for stream in (sys.stdout, sys.stderr))


def own_words() -> list[str]:
    """The words that were typed for the lab itself."""
    words = sys.argv[1:]
    return words[: words.index(SERVICE)] if SERVICE in words else words
