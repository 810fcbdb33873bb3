"""The two streams: results on stdout, talk on stderr. What is shown there may be foreign text, and all of it is cleaned."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fairground.model import SCHEMA_VERSION, foreign


class Terminal(Console):
    """A stream that shows text as text: no markup, no marking of numbers, no emoji by name, and no escapes but its own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Pieces of what is shown, each of them cleaned; what steers the terminal is our own and stays."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else foreign.clean(text), style, control)

    def on_broken_pipe(self) -> None:
        """Let what is left go nowhere: a reader such as `head` has seen enough. The exit code is still what the verb finds."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


talk = Terminal(stderr=True, force_interactive=None if "CI" not in os.environ else False)
out = Terminal(width=None if sys.stdout.isatty() else 150)


def is_unread() -> bool:
    """True if nobody reads one of the streams any more."""
    return out.quiet or talk.quiet


def write(text: str) -> None:
    """A line for machines on stdout, at once."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        out.on_broken_pipe()


def note(sentence: str) -> None:
    """A sentence for the person who waits."""
    talk.print(sentence, soft_wrap=True)


def line(text: str) -> None:
    """A line of the result. Foreign text in it begins no line of its own."""
    out.print(foreign.clean(text).replace("\n", " "), soft_wrap=True)


def plain(value: Any) -> dict[str, Any]:
    """A frozen value as what JSON knows."""
    return dict(asdict(value))


def document(fields: dict[str, Any]) -> None:
    """One JSON document on stdout, with the schema that all of ours have. Foreign text in it is escaped by JSON's own rules."""
    write(json.dumps({"schema": SCHEMA_VERSION, **fields}, indent=2, default=str))
