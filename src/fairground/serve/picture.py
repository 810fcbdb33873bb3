"""The grid and the bars of the run that goes on, as its page will have them.

Drawing takes a tenth of a second, which a trial beside it would feel. So it is done in the second after a trial has ended: the
server of the next one starts then, and nothing is loaded. It is done only while a browser watches, and the rest between two
drawings grows with what one takes. A page that is opened in the middle of a trial waits for its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fairground.report.run import live
from fairground.serve.watch import RunWatch

AFTER_S = 1.0
"""The seconds after the end of a trial in which nothing is loaded: the next server starts, and its answers are verified."""
SHARE = 0.015
"""The share of one processor that drawing may use. It is half of what serving pages has in all, and is counted there, too."""


class RunPicture:
    """The picture of one run after another; `text` is empty before the first trial. For one caller at a time.

    `now_s` is a clock, `unix_s` the time of day, and `spent_s` the CPU time of this thread; tests give their own.
    """

    def __init__(
        self,
        now_s: Callable[[], float] = time.monotonic,
        unix_s: Callable[[], float] = time.time,
        spent_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._now_s, self._unix_s, self._spent_s = now_s, unix_s, spent_s
        self._of: tuple[str, int] | None = None
        self._rests_until_s = 0.0
        self.text = ""
        live.warm_up()

    @property
    def version(self) -> str:
        """Another text whenever the picture is another one."""
        return "" if self._of is None else f"{self._of[0]} {self._of[1]}"

    def follow(self, watch: RunWatch, measures: bool, loads: bool = False) -> None:
        """Draw what is new in a run that was looked at just now, if this is the moment.

        `measures`: something is measured. `loads`: it is known that a server is loaded now.
        """
        seen = (watch.folder.name, len(watch.entries))
        if seen == self._of:
            return
        if self._of is None or self._of[0] != seen[0]:
            self._of, self.text = None, ""  # the picture of another run is not shown below this one's title
        if loads or (measures and not self._is_time(watch)):
            return
        began_s = self._spent_s()
        self.text = live.so_far(watch.run())
        self._rests_until_s = self._now_s() + (self._spent_s() - began_s) / SHARE
        self._of = seen

    def _is_time(self, watch: RunWatch) -> bool:
        """True in the moment after a trial, but for a rest that lasts."""
        return self._now_s() >= self._rests_until_s and 0 <= self._unix_s() - watch.written_s <= AFTER_S
