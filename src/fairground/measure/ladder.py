"""The search for the number of clients with which pgbench does most. Pure.

A pool's size is not where a database does most: on few processors fewer clients may do more, on many more of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Ask, Whole

FEW = 4
"""This many clients are always tried: a machine of few processors is busy with them."""


def next_clients(rates: Mapping[int, float], pool_size: int, most: int) -> int | None:
    """The next client count to try, from `rates` (clients → rate per second); None when more and fewer give no more.

    First `pool_size` and `FEW`; then half and double the best, until it has a neighbour on either side within a factor of two.
    Never above `most`.
    """
    most = max(1, most)
    for count in (pool_size, FEW):
        if (within := min(max(1, count), most)) not in rates:
            return within
    best = max(rates, key=lambda count: (rates[count], -count))
    half, double = max(1, best // 2), min(2 * best, most)
    if half < best and not any(half <= count < best for count in rates):
        return half
    if double > best and not any(best < count <= double + 1 for count in rates):
        return double
    return None


@dataclass(frozen=True)
class Ladder:
    """The schedule of that search on one arm: a short window that counts for nothing, then a window for each count.

    `search` False: one window with `pool_size` clients, and no other.
    """

    step: Whole
    warm_up_s: float
    pool_size: int
    most: int
    search: bool = True

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The warm-up, the next count, or the end; the end, too, where the arm failed."""
        if self.step.arm in failed:
            return None
        if not windows:
            warming = replace(self.step.load, connections=max(1, min(self.pool_size, self.most)), window_s=self.warm_up_s)
            return replace(self.step, load=warming)
        rates = {window.load.connections: window.rate_per_s for window in windows[1:]}
        if rates and not self.search:
            return None
        clients = next_clients(rates, self.pool_size, self.most)
        return None if clients is None else replace(self.step, load=replace(self.step.load, connections=clients))
