"""The choice of what a session loads next. Pure values: a schedule is told what was measured, and answers with the next question.

One method makes a schedule: so a plan, a comparison and a search are driven in the same way, and tested without a server.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fairground.judge import sizing
from fairground.measure.arm import ArmWindow
from fairground.model import CellSettings, Load
from fairground.model.window import sum_windows

Rates = tuple[tuple[float, float], ...]
"""Rates per second, each with the seconds for which it is offered."""

TURN_S = 0.03
"""How long one arm is loaded before it is another's turn, at the least: what is shorter than the machine's phases."""
QUOTA_TURN_S = 2.0
"""A turn is at least so long where a server has a CPU quota. Waiting saves the quota of 0.1 s."""
RETRIED_TURN_S = 2.0
"""… and where dropped connections are tried again, which TCP does after a second."""
DEADLOCK_TURN_S = 5.0
"""… and where requests lock each other out: a deadlock holds its rows for a second."""
TURN_ROUND_TRIPS = 6
"""A turn is at least this many times as long as an answer takes. Its burst, which its settled part leaves out, lasts two."""
UNSETTLED_TURNS = 4
"""An arm's turns that had no settled part become twice as long with each window, and this many times at most."""
LEAST_TURNS = 4
"""A window in turns has at least this many of them."""
MOST_IN_TURNS = 2.0
"""Where answers are slow, turns take up to this many times a whole window, and none is longer."""
PIECE_S = 1.0
"""A window in turns is made of pieces of about this many seconds."""
LINGERING = 4.0
"""There is no further piece once an arm was loaded for this many times its time: its last answers of some turns linger."""
WARM = 0.8
"""An arm was not warm in its whole window where an answer costs less than so much of it in turns, as against the other arms, …"""
PACED = 0.9
"""… and than so much of it as against its generator: the machine's pace can change between the arms' windows, too."""
WARMER = 0.9
"""Where turns follow whole windows, an arm is not warm while an answer costs less than so much of what it cost before, …"""
AGAIN_WARMUP_S = 0.2
"""The warm-up of a second whole window: the server comes from its turns, and only its connections are new."""
MOST_WARM_UPS = 7
"""… in its warm-ups in turns, of which there are no more than this many. The cost is that of the server over its generator's."""


SEEDS_APART = 1_000_000_007
"""Between the seeds of an arm's loads, one after the other."""


def seed_of(seed: int, loads: int) -> int:
    """The seed of a load on an arm that has had this many `loads`: its database holds what requests of the same seed wrote."""
    return (seed + SEEDS_APART * loads) % 2**64


@dataclass(frozen=True)
class Whole:
    """Load one arm without a break: warm-up, window and drain of one run of its generator.

    `seed` is that of an arm's first load; what follows on the same database has its own, see `seed_of`.
    `rates` are the steps of a load curve, in place of the load's own rate. `trial`: the warm-up ends when its rate has settled,
    between `warmup_min_s` and `warmup_max_s` of the load, and errors are said of the arm. Else it lasts `warmup_min_s`, and
    errors are for whoever asked to judge. `folder`: where raw data goes, inside the arm's. `most_s`: the window may last so long,
    as its workload's events ask for; None: it lasts as long as the load says. `again`: it takes the place of the arm's first
    window, in which the arm was not warm. `before_turns`: turns follow that tell whether it was, so that its warm-up ends sooner.
    """

    arm: str
    load: Load
    seed: int
    rates: Rates = ()
    trial: bool = False
    folder: str = ""
    most_s: float | None = None
    again: bool = False
    before_turns: bool = False


@dataclass(frozen=True)
class Turns:
    """Load some arms in turns of `turn_s`, each for `window_s` in all. The order is the first turn's; every other is reversed.

    `warm_up`: what it gives counts for nothing. `own`: the arms that have a load of their own, with it. `each`: the arms that
    have turns of their own, with their length and number.
    """

    arms: tuple[str, ...]
    load: Load
    turn_s: float
    window_s: float
    warm_up: bool = False
    own: tuple[tuple[str, Load], ...] = ()
    each: tuple[tuple[str, float, int], ...] = ()

    def load_of(self, arm: str) -> Load:
        """The load of an arm."""
        return dict(self.own).get(arm, self.load)

    def turn_of(self, arm: str) -> float:
        """The length of one turn of an arm, in seconds."""
        return {name: turn_s for name, turn_s, _ in self.each}.get(arm, min(self.turn_s, self.window_s))

    def turns_of(self, arm: str) -> int:
        """The number of turns of an arm."""
        alike = max(1, round(self.window_s / min(self.turn_s, self.window_s)))
        return {name: turns for name, _, turns in self.each}.get(arm, alike)

    def loaded_s(self, arm: str) -> float:
        """The seconds for which an arm is loaded in all, without the last answers of its turns."""
        return self.turns_of(arm) * self.turn_of(arm)

    @property
    def sequence(self) -> Iterator[str]:
        """The arms whose turn it is, from the first turn to the last.

        Who has most turns has one in each cycle. The others' are spread evenly around the middle, so that what drifts meets all.
        """
        cycles = max(self.turns_of(arm) for arm in self.arms)
        for number in range(cycles):
            for arm in self.arms if number % 2 == 0 else self.arms[::-1]:
                due, had = (_nearest(cycle * self.turns_of(arm), cycles) for cycle in (number + 1, number))
                if due > had:
                    yield arm


@dataclass(frozen=True)
class Counted:
    """Let one arm answer this many requests, and count what its server carries out for them. `warm_up`: it counts for nothing."""

    arm: str
    load: Load
    requests: int
    warm_up: bool = False


Ask = Whole | Turns | Counted


class Schedule(Protocol):
    """The rule that decides on the next load. `failed` are the arms that cannot be loaded any more."""

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The next question, or None at the end. `windows` are all so far, in order, those of warm-ups among them."""


@dataclass(frozen=True)
class WholeWindows:
    """One question after the other, whatever comes of them."""

    asks: tuple[Whole, ...]

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The first question that has no window yet; none for an arm that failed."""
        left = self.asks[len(windows) :]
        return left[0] if left and left[0].arm not in failed else None


def whole(arm: str, load: Load, seed: int, most_s: float | None = None) -> WholeWindows:
    """One window of one arm: the schedule of a trial. `most_s` as in `Whole`."""
    return WholeWindows((Whole(arm, load, seed, trial=True, most_s=most_s),))


@dataclass(frozen=True)
class SideBySide:
    """The arms of a run's round: each in one whole window, as a trial, and then all in turns.

    The whole window gives each arm's own numbers and reasons. The turns give the ratios between them: there the machine's phases
    move all arms alike. Each arm's turns are as long as its answers ask for, and it has as many as its time holds, LEAST_TURNS at
    the least. So slow arms lengthen neither the turns nor the cycles of fast ones: a cycle must stay shorter than a phase.

    What an answer takes is that of the window in which they were fastest. A server that compiles itself may need ten times as
    long in its first. The last answers of a turn belong to its arm's time. A turn that had no settled part becomes twice as long.

    There are no turns where one arm alone is left. Where LEAST_TURNS of each arm would take more than MOST_IN_TURNS of their
    whole windows after the warm-up in turns, too, none follows: the whole windows stand side by side. Nor are there any where
    `turns_s` is 0: a deadlock holds its rows for a second, of which a short turn counts little.

    A server that still compiled itself in its whole window costs less in its turns. It has another whole window then, which
    counts in place of the first.

    `turns_s`: how long an arm is loaded in turns; None: as long as its window. `most_s` as in `Whole`.
    Where events size the whole windows, the window in turns is as long as the longest of them, up to MOST_IN_TURNS times what was
    asked for: the ends of turns take longest where answers wait for events.
    """

    arms: tuple[str, ...]
    load: Load
    seed: int
    first: int = 0
    most_s: float | None = None
    turns_s: float | None = None

    @property
    def _asked_s(self) -> float:
        """The seconds for which arms are loaded in turns, where no events made their windows longer."""
        return self.load.window_s if self.turns_s is None else self.turns_s

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """The next arm's whole window, a warm-up in turns, a piece of the window in turns, or the end."""
        wholes = [window for window in windows if window.result is not None]
        had = {window.arm for window in wholes}
        waiting = [arm for arm in self.arms if arm not in had and arm not in failed]
        if waiting:
            more = self.turns_s != 0 and len(self.arms) > 1
            return Whole(waiting[0], self.load, self.seed, trial=True, most_s=self.most_s, before_turns=more)
        if self.turns_s == 0:
            return None
        some = [window for window in _firsts(wholes) if window.arm not in failed and window.ok]
        if len(some) < 2:
            return None
        return self._turns(tuple(window.arm for window in some), windows) or self._again(wholes, windows, failed)

    def _turns(self, here: tuple[str, ...], windows: Sequence[ArmWindow]) -> Turns | None:
        """A warm-up in turns or a piece of the window in turns. None at their end, and where answers are too slow for them.

        The first warm-up is a turn of each arm, and tells how long turns are. The others warm servers that stood idle while
        others had their whole windows, or that still compile themselves.
        """
        turned = [window for window in windows if window.result is None]
        due_s = {arm: self._turn_s(arm, windows) for arm in here}
        if not turned:
            return Turns(here, self.load, TURN_S, TURN_S, warm_up=True, each=tuple((arm, due_s[arm], 1) for arm in here))
        if LEAST_TURNS * sum(due_s.values()) > MOST_IN_TURNS * max(self.load.window_s, self._asked_s) * len(here):
            return None
        whole_s = self._whole_s(windows)
        done = len(_by_number([window for window in turned if not window.warm_up]))
        cold = {arm: turn_s for arm, turn_s in due_s.items() if not done and _needs_warming(arm, turned)}
        if cold:
            warming_s = sizing.warming_s(whole_s)
            return Turns(tuple(cold), self.load, TURN_S, warming_s, True, each=self._each(cold, turned, warming_s, 1))
        pieces = _pieces(whole_s)
        loaded_s = max(sum(window.window_s for window in turned if window.arm == arm and not window.warm_up) for arm in here)
        if done >= pieces or (done and loaded_s > LINGERING * max(whole_s, LEAST_TURNS * max(due_s.values()))):
            return None
        first = (done + self.first) % len(here)
        each = self._each(due_s, turned, whole_s / pieces, math.ceil(LEAST_TURNS / pieces))
        return Turns(here[first:] + here[:first], self.load, TURN_S, whole_s / pieces, each=each)

    def _each(
        self, due_s: Mapping[str, float], turned: Sequence[ArmWindow], seconds: float, least: int
    ) -> tuple[tuple[str, float, int], ...]:
        """The turns of each arm for these seconds of load, with the last answers of each turn; `least` of them in any case."""
        found = []
        for arm, turn_s in due_s.items():
            ours = [window for window in turned if window.arm == arm]
            longer = min(UNSETTLED_TURNS, 2 ** sum(window.unsettled for window in ours))
            longer_s = min(turn_s * longer, MOST_IN_TURNS * self.load.window_s)
            takes_s = longer_s + min((window.lingered_s for window in ours), default=0.0)
            found.append((arm, longer_s, max(least, round(seconds / takes_s))))
        return tuple(found)

    def _turn_s(self, arm: str, windows: Sequence[ArmWindow]) -> float:
        """The length of an arm's turns in seconds, by its fastest window so far. What gave errors alone tells of no answer."""
        fastest_s = min(_turn_s([window], TURN_S) for window in windows if window.arm == arm and window.ok)
        return min(fastest_s, MOST_IN_TURNS * self.load.window_s)

    def _whole_s(self, windows: Sequence[ArmWindow]) -> float:
        """The seconds for which an arm is loaded in turns.

        Where events sized the whole windows, they are those of the longest, up to MOST_IN_TURNS times the load's.
        """
        sized_s = max(window.window_s for window in windows if window.result is not None)
        return self._asked_s if self.most_s is None else max(self._asked_s, min(sized_s, MOST_IN_TURNS * self.load.window_s))

    def _again(self, wholes: Sequence[ArmWindow], windows: Sequence[ArmWindow], failed: Collection[str]) -> Whole | None:
        """Another whole window, once, of the next arm that was not warm in its first, as its pieces tell. It is warm now."""
        made = _by_number([window for window in windows if window.result is None and not window.warm_up])
        warmup_s = min(AGAIN_WARMUP_S, self.load.warmup_min_s)
        load = replace(self.load, warmup_min_s=warmup_s, warmup_max_s=warmup_s)
        had = [window.arm for window in wholes]
        cold = [arm for arm in _cold(_firsts(wholes), made) if made and had.count(arm) == 1 and arm not in failed]
        return Whole(cold[0], load, self.seed, folder="again", trial=True, most_s=self.most_s, again=True) if cold else None


@dataclass(frozen=True)
class InTurns:
    """All arms in turns: a warm-up until `settled` says so of the ratio of their rates, then `windows` windows.

    Each rate by itself follows the machine, which would be waited for long after the servers are warm. Who is first takes turns,
    beginning with `first`. `turn_s` is the shortest turn; slow answers make it longer, up to a whole window. `own`: the arms
    that have a load of their own, with it.
    """

    arms: tuple[str, ...]
    load: Load
    windows: int
    settled: Callable[[Sequence[float]], bool] = field(compare=False)
    turn_s: float = TURN_S
    first: int = 0
    own: tuple[tuple[str, Load], ...] = ()

    def next(self, windows: Sequence[ArmWindow], failed: Collection[str]) -> Ask | None:
        """A warm-up, a window, or the end: a comparison lacks its other side when an arm has failed."""
        if any(arm in failed for arm in self.arms):
            return None
        made = _by_number(windows)
        warm = [some for some in made if some[0].warm_up]
        done = len(made) - len(warm)
        turn_s = min(_turn_s(warm[-1], self.turn_s), self.load.window_s) if warm else self.turn_s
        if not done and not self._is_warm(warm):
            return Turns(self.arms, self.load, turn_s, sizing.WARMING_S, warm_up=True, own=self.own)
        if done >= self.windows:
            return None
        turned = (done + self.first) % len(self.arms)
        order = self.arms[turned:] + self.arms[:turned]
        return Turns(order, self.load, turn_s, self.load.window_s, own=self.own)

    def _is_warm(self, warm: Sequence[Sequence[ArmWindow]]) -> bool:
        loaded_s = math.fsum(max(window.window_s for window in some) for some in warm)
        if loaded_s >= self.load.warmup_max_s:
            return True
        if not warm or loaded_s < self.load.warmup_min_s:
            return False
        against = [[_ratio(some[place].rate_per_s, some[-1].rate_per_s) for some in warm] for place in range(len(self.arms) - 1)]
        return all(map(self.settled, against or [[some[0].rate_per_s for some in warm]]))


def shortest_turn_s(settings: CellSettings, deadlocks: bool, retried: bool = False) -> float:
    """The seconds that a turn lasts at the least.

    It is as short as the machine's phases are, but long beside what servers wait for together. That is the period
    of a CPU quota, and the second after which the database ends a deadlock, or TCP tries a connection again.
    """
    if deadlocks:
        return DEADLOCK_TURN_S
    if retried:
        return RETRIED_TURN_S
    return TURN_S if settings.cpus is None else QUOTA_TURN_S


def _turn_s(some: Sequence[ArmWindow], shortest_s: float) -> float:
    """The turn that suits the slowest answers of some windows: all connections' time over its answers."""
    answers_s = [window.window_s * window.load.connections / max(1, window.ok + window.not_ok) for window in some]
    return max(shortest_s, TURN_ROUND_TRIPS * max(answers_s, default=0.0))


def _firsts(wholes: Sequence[ArmWindow]) -> list[ArmWindow]:
    """The first whole window of each arm."""
    return list({window.arm: window for window in reversed(wholes)}.values())[::-1]


def _cold(wholes: Sequence[ArmWindow], made: Sequence[Sequence[ArmWindow]]) -> list[str]:
    """The arms whose answers cost their servers less CPU in turns than WARM of the cost in their whole window.

    Twice the machine's pace is left out: what the median arm's cost changed by is the pace of all windows, and what the cost of
    an arm's generator changed by that of its own. None are where a cost is not known.
    """
    changes = {}
    for window in wholes:
        before, after = window.tally, sum_windows([one.tally for some in made for one in some if one.arm == window.arm])
        server = _change(before.cpu_us_per_answer, after.cpu_us_per_answer)
        generator = _change(before.generator_us_per_answer, after.generator_us_per_answer)
        if server is not None and generator is not None:
            changes[window.arm] = server, server / generator
    if len(changes) < 2:
        return []
    pace = statistics.median(server for server, _ in changes.values())
    return [arm for arm, (server, paced) in changes.items() if server < WARM * pace and paced < PACED]


def _needs_warming(arm: str, turned: Sequence[ArmWindow]) -> bool:
    """True if an arm lacks a warm-up in turns: after its first turn, and while its answers become cheaper by the last of them."""
    warm = [window.tally for window in turned if window.arm == arm]
    if len(warm) < 2:
        return bool(warm)
    server = _change(warm[-2].cpu_us_per_answer, warm[-1].cpu_us_per_answer)
    generator = _change(warm[-2].generator_us_per_answer, warm[-1].generator_us_per_answer)
    if server is None or generator is None or len(warm) >= MOST_WARM_UPS:
        return False
    return server < generator * (WARM if len(warm) == 2 else WARMER)  # a first turn is short, and its cost not sure


def _change(before: float | None, after: float | None) -> float | None:
    return after / before if before and after else None


def _pieces(window_s: float) -> int:
    """The number of pieces of a window in turns: one that the machine spoiled can be left out."""
    return max(1, round(window_s / PIECE_S))


def _nearest(above: int, below: int) -> int:
    """The whole number nearest to a fraction; a half goes up."""
    return (2 * above + below) // (2 * below)


def _by_number(windows: Sequence[ArmWindow]) -> list[list[ArmWindow]]:
    """Windows that were made in the same turns, together, in the order of their labels' first appearance."""
    found: dict[int, list[ArmWindow]] = {}
    for window in windows:
        found.setdefault(window.number, []).append(window)
    return list(found.values())


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0
