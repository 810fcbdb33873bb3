"""The work of one arm on its turns of one window. A frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class WindowTally:
    """One arm in one window: all its turns together, from the first request of each to its last answer.

    `cpu_us` is the server's CPU in it, `generator_cpu_us` the load generator's, `instructions` are the server's in user space;
    None where nobody read it.
    `settled_ok` good answers came in the `settled_s` seconds in which all connections were busy: after the burst that begins a
    turn, and before the drain that ends it. Both are 0 where no turn was long enough, and where the load was one piece.
    """

    ok: int
    not_ok: int
    window_s: float
    cpu_us: float | None
    generator_cpu_us: float | None = None
    settled_ok: int = 0
    settled_s: float = 0.0
    instructions: int | None = None

    @property
    def rate_per_s(self) -> float:
        """Good answers a second of load, of the settled parts of its turns if it has some.

        The turns as a whole would give less than a window without breaks: their beginnings and ends leave connections idle.
        Where no good answer came in the settled parts, they count nevertheless: a rate of 0 would leave the window out.
        """
        if self.settled_ok:
            return self.settled_ok / self.settled_s
        return self.ok / self.window_s if self.window_s else 0.0

    @property
    def cpu_us_per_answer(self) -> float | None:
        """CPU of the server for each good answer; None where there is none, or nobody read it."""
        return None if self.cpu_us is None or not self.ok else self.cpu_us / self.ok

    @property
    def instructions_per_answer(self) -> float | None:
        """Instructions of the server for each good answer; None where there is none, or nobody counted."""
        return None if self.instructions is None or not self.ok else self.instructions / self.ok

    @property
    def generator_us_per_answer(self) -> float | None:
        """CPU of the generator for each answer of every kind: it works for a bad one as well."""
        answers = self.ok + self.not_ok
        return None if self.generator_cpu_us is None or not answers else self.generator_cpu_us / answers


def sum_windows(windows: Sequence[WindowTally]) -> WindowTally:
    """Several windows of one arm as one; what is not known of one of them is not known of all."""
    return WindowTally(
        ok=sum(one.ok for one in windows),
        not_ok=sum(one.not_ok for one in windows),
        window_s=sum(one.window_s for one in windows),
        cpu_us=sum_of([one.cpu_us for one in windows]),
        generator_cpu_us=sum_of([one.generator_cpu_us for one in windows]),
        settled_ok=sum(one.settled_ok for one in windows),
        settled_s=sum(one.settled_s for one in windows),
        instructions=sum_of([one.instructions for one in windows]),
    )


def sum_of(values: Sequence[Number | None]) -> Number | None:
    """The sum of all values; None where one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
