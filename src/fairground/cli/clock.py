"""One line at the foot of a terminal while something long goes on: what, for how long, and the time left where that is known.

It is redrawn once a second by a thread of its own, since what goes on tells nothing until it is finished; on anything but a
terminal there is none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fairground.cli.screen import duration

REDRAWS_PER_S = 1.0
STOP = "Ctrl-C keeps what is finished"


class ProgressClock:
    """Shows what was last told to go on. `now` is a clock of seconds."""

    def __init__(self, console: Console, live: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._what, self._since = now, "", now()
        self._left_s: float | None = None
        self._bound = ""
        self._live = (
            Live(console=console, get_renderable=self.line, refresh_per_second=REDRAWS_PER_S, transient=True) if live else None
        )

    @staticmethod
    def is_wanted(console: Console, quiet: bool) -> bool:
        """True if somebody looks: on a terminal, outside of CI, and if nobody asked for silence."""
        return console.is_terminal and "CI" not in os.environ and not quiet

    def shows(self, what: str, left_s: float | None = None, *, about: bool = False) -> None:
        """Show from now on that `what` goes on.

        `left_s`: seconds until the end, at most, or with `about` roughly; None: unknown, and not shown.
        """
        self._what, self._since, self._left_s = what, self._now(), left_s
        self._bound = "about" if about else "at most"
        if self._live is not None and not self._live.is_started:
            self._live.start()

    def line(self) -> Text:
        """Render the line as it stands now."""
        gone_s = self._now() - self._since
        left = "" if self._left_s is None else f" · {self._bound} {duration(max(0.0, self._left_s - gone_s))} left"
        return Text(f"{self._what} · {duration(gone_s)}{left} · {STOP}", style="dim", no_wrap=True, overflow="ellipsis")

    def close(self) -> None:
        """Take the line away."""
        if self._live is not None:
            self._live.stop()
