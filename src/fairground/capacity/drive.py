"""Measure a capacity: a search on a server that stays up, fresh trials, a load curve, an overload.

Each phase has a share of the budget; what does not fit is left out, and said. Only fresh trials (a new process, new data, a new
seed, the whole protocol of a trial) are evidence for the number; the search chose its rate because it looked good.

Every finished part is handed out before the next begins. After an interruption the search goes on with the steps that it has, on
a fresh process. A pass of the load curve, an overload and a fresh trial are parts only once their audit has held.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairground import measure
from fairground.capacity import loadcurve, parts, search
from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.objective import Objective
from fairground.capacity.parts import CapacityPart, Phase
from fairground.capacity.search import Ask, Capacity, Pace
from fairground.generators import engine
from fairground.judge import answers
from fairground.measure.arm import ArmWindow, Ended, StackArm
from fairground.measure.schedule import Rates, Whole
from fairground.measure.session import ArmSession
from fairground.model import Cell, Finding, LabError, Load, PlanSlot, Severity, Stack, Trial, Verdict, Workload

LEAD_S = 0.3
"""What a load on a server that is warm is given to open its connections."""
FIRST_CONNECTIONS = 50
START_SHARE = 0.7
"""Of the closed loop's goodput: where the search begins."""
SPOILED = 4
"""This many spoilt steps of the generator in a row end a search. What the machine spoils is tried again while there is time."""
PAUSE_S = 2.0
"""After a void step or trial: what disturbed it may be gone then."""
TRIAL_S = 4.0
"""What a fresh trial takes besides its warm-up and window."""
LATEST_SHARE = 0.85
"""Of the budget: until then a rate may still be confirmed, at the cost of what follows."""
CURVE_PASSES = 3
OF_A_FULL_GENERATOR = "generator"
"""The validity check that makes a trial void for its generator's busiest thread."""
SETTLE_S, SETTLE_TRIES = 0.5, 8


@dataclass
class Climb:
    """One stack on one workload, the `number`th cell of its record. `parts` are those that exist; each new one is added."""

    bench: measure.Bench
    cell: Cell
    stack: Stack
    workload: Workload
    objective: Objective
    pace: Pace
    budget_s: float
    folder: Path
    seed: int
    number: int = 1
    parts: list[CapacityPart] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    loads: int = field(init=False)
    before_s: float = field(init=False)

    def __post_init__(self) -> None:
        last = self.parts[-1] if self.parts else None
        self.loads, self.before_s = (last.loads, last.spent_s) if last is not None else (0, 0.0)

    @property
    def spent_s(self) -> float:
        """Seconds spent on the cell, before an interruption too."""
        return self.before_s + time.monotonic() - self.began

    @property
    def found(self) -> Capacity:
        """The capacity as far as it is known."""
        return parts.capacity(self.stack.id, self.workload.id, self.objective, self.pace.goal, self.parts)

    def run(self) -> Iterator[CapacityPart]:
        """Measure what is missing of all phases. A server that is rejected on the way has no number; the last part says why."""
        phases = ((Phase.SEARCH, self._search), (Phase.CONFIRM, self._confirm), (Phase.CURVE, self._curve),
                  (Phase.OVERLOAD, self._overload))  # fmt: skip
        for phase, measured in phases:
            if parts.is_over(self.parts, phase) or self.found.rejected is not None:
                continue
            for part in measured():
                self.parts.append(part)
                yield part

    # ------------------------------------------------------------ the search

    def _search(self) -> Iterator[CapacityPart]:
        """Find a bracket by MLRsearch on one process, and what limited the server above it."""
        with self._up("search") as up:
            ended = yield from self._bracket(up)
        yield self._fault(Phase.SEARCH, up) or self._part(Phase.SEARCH, ended=ended)

    def _bracket(self, up: Up) -> Generator[CapacityPart, None, str]:
        """Warm the server and search. Returns why the search ended; nothing where the server failed, which its end tells."""
        closed_per_s = parts.closed_per_s(self.parts)
        if closed_per_s is None:
            closed = self._closed(up)
            if closed is None:
                return ""
            closed_per_s = closed.rate_per_s
            yield self._part(Phase.SEARCH, closed_per_s=closed_per_s)
        elif self._warm(up, START_SHARE * closed_per_s) is None:
            return ""
        return (yield from self._steps(up, START_SHARE * closed_per_s))

    def _steps(self, up: Up, start_per_s: float) -> Generator[CapacityPart, None, str]:
        """Make steps of the search until it has its bracket. Returns why it ended."""
        spoiled = 0
        while isinstance(ask := self._next(start_per_s), Ask):
            if self.spent_s + ask.duration_s > self.pace.search_until_s:
                return "its share of the budget was used up"
            measured = up.load(self._shape(LEAD_S), self._seed(), ((ask.rate_per_s, ask.duration_s),))
            if measured is None:
                return ""
            point = self._first(measured)
            low = point.judgement.low
            limits = up.limits(measured, self.bench.cores) if low is False else ()
            yield self._part(
                Phase.SEARCH, points=(point,), limited_by=limits, rate_per_s=ask.rate_per_s, duration_s=ask.duration_s,
                samples=answers.samples_of(measured.whole),
            )  # fmt: skip
            if low is None:
                spoiled += measured.void is None
                if spoiled == SPOILED:
                    return point.judgement.why
                time.sleep(PAUSE_S)
                continue
            spoiled = 0
            if not low:
                up.settle(self._shape(LEAD_S), ask.rate_per_s, self.objective.deadline_us)
        return str(ask)

    def _next(self, start_per_s: float) -> Ask | search.SearchEnd:
        return search.next_trial(self.pace.goal, start_per_s, parts.trials_of(self.parts, Phase.SEARCH))

    def _closed(self, up: Up) -> ArmWindow | None:
        """Warm the server by a closed loop, which tells about where to begin.

        Without a good answer there is nothing to search. LabError if the server was silent each time, and the machine void.
        """
        connections = min(FIRST_CONNECTIONS, self.cell.load.connections)
        threads = min(self.cell.load.threads, connections)
        for window_s in (1.0, self._drain_s):  # the second is for answers that the first is too short for
            shape = replace(
                self._shape(self.pace.warmup_s), model="closed", connections=connections, threads=threads, window_s=window_s
            )
            measured = up.load(shape, self._seed())
            for _ in range(SPOILED - 1):
                if measured is None or not _silenced(measured):
                    break
                time.sleep(PAUSE_S)
                measured = up.load(shape, self._seed())
            if measured is not None and _silenced(measured):
                raise LabError(f"`{self.stack.id}` gave no answer, and the machine was void: {measured.void}", exit_code=3)
            if measured is None or measured.ok or not (measured.whole.life or measured.whole.window).ok:
                break
        if measured is not None and measured.ok == 0:
            failed = measured.whole.life or measured.whole.window
            came = f"{answers.outcome_words(failed)}{answers.instance(measured.whole.samples, failed)}"
            up.reject(f"it gave no good answer to {self.workload.id}: {came}")
            return None
        return measured

    # ------------------------------------------------------------ confirmation

    def _confirm(self) -> Iterator[CapacityPart]:
        """Make fresh trials at the lower bound, and below it where one of them misses."""
        goal, lower = self.pace.goal, self.found.found.lower
        while lower is not None:
            rate = search.next_confirmation(goal, lower, parts.trials_of(self.parts, Phase.CONFIRM))
            if rate is None:
                break
            load, made = self._fresh_load(rate), len(parts.of_phase(self.parts, Phase.CONFIRM))
            if made and self.spent_s + load.window_s + load.warmup_min_s + TRIAL_S > LATEST_SHARE * self.budget_s:
                spoiled = self.found.spoiled
                short = "the budget ended before a rate was confirmed; a larger --budget would tell"
                yield self._part(Phase.CONFIRM, ended=short if spoiled is None else f"every fresh trial was void: {spoiled}")
                return
            part = self._fresh(load, rate, made + 1)
            yield part
            if part.rejected is not None:
                return
            if not part.points or part.points[0].judgement.low is None:
                time.sleep(PAUSE_S)
        yield self._part(Phase.CONFIRM, ended="")

    def _fresh_load(self, rate: float) -> Load:
        window_s = min(max(self.pace.confirm_window_s, self.pace.goal.least_requests / rate), 2 * self.pace.goal.longest_s)
        return replace(self._shape(self.pace.warmup_s), rate_per_s=rate, window_s=window_s, warmup_max_s=3 * self.pace.warmup_s)

    def _fresh(self, load: Load, rate: float, number: int) -> CapacityPart:
        """Make one whole trial, on a server, data and seed of its own."""
        folder = self.folder / f"fresh-{number:02}"
        slot = PlanSlot(number, 1, replace(self.cell, load=load), self._seed())
        made = measure.run(self.bench, slot, 1, self.stack, self.workload, folder, folder.name)
        raw, why = folder / "engine.json", _gravest(made)
        steps = engine.curve(json.loads(raw.read_bytes()), load) if made.result is not None and raw.exists() else ()
        points = tuple(CurvePoint(Phase.CONFIRM, number, step, loadcurve.judge(step, self.objective, why)) for step in steps[:1])
        rejected = made.verdict is Verdict.REJECTED
        sentence = f"`{self.stack.id}` is rejected: {why}"
        return self._part(
            Phase.CONFIRM, points=points, rate_per_s=rate, duration_s=load.window_s, verdict=made.verdict,
            void=None if rejected else why,
            findings=(Finding("trial", Severity.REJECT, sentence),) if rejected else (), ended="" if rejected else None,
            samples=() if made.result is None else answers.samples_of(made.result),
        )  # fmt: skip

    # ------------------------------------------------------------ curve and overload

    def _curve(self) -> Iterator[CapacityPart]:
        """Make passes over the shares of capacity, each on a fresh server, as many as the budget has time for."""
        base = self.found.base_per_s
        steps = tuple((share * base, float(self.pace.step_s)) for share in search.CURVE_SHARES) if base is not None else ()
        pass_s = TRIAL_S + self.pace.warmup_s + sum(seconds for _, seconds in steps) + self._drain_s
        reserved_s = TRIAL_S + self.pace.warmup_s + 4 * self.pace.overload_s + self._drain_s
        made = len(parts.of_phase(self.parts, Phase.CURVE))
        while base is not None and made < CURVE_PASSES and self.spent_s + pass_s + reserved_s <= self.budget_s:
            made += 1
            with self._up(f"curve-{made}") as up:
                measured = self._warm(up, base) and up.load(self._shape(LEAD_S), self._seed(), steps)
            if (fault := self._fault(Phase.CURVE, up)) is not None:
                yield fault
                return
            samples = () if measured is None else answers.samples_of(measured.whole)
            yield self._part(Phase.CURVE, points=self._points(Phase.CURVE, made, measured, up.void), samples=samples)
        left_out = base is not None and not made
        yield self._part(Phase.CURVE, ended="the load curve was left out: the budget was used up" if left_out else "")

    def _overload(self) -> Iterator[CapacityPart]:
        """Offer half of capacity, then 1.5 times capacity, and then half of it for twice as long."""
        base, seconds = self.found.base_per_s, float(self.pace.overload_s)
        if base is None:
            yield self._part(Phase.OVERLOAD, ended="")
            return
        if self.spent_s + TRIAL_S + self.pace.warmup_s + 4 * seconds > self.budget_s:
            yield self._part(Phase.OVERLOAD, ended="the overload was left out: the budget was used up")
            return
        below, above, after = search.OVERLOAD
        steps = ((below * base, seconds), (above * base, seconds), (after * base, 2 * seconds))
        with self._up("overload") as up:
            measured = self._warm(up, base) and up.load(self._shape(LEAD_S), self._seed(), steps)
        if (fault := self._fault(Phase.OVERLOAD, up)) is not None or measured is None:
            yield fault or self._part(Phase.OVERLOAD, ended="the overload says nothing: it was not measured")
            return
        points = self._points(Phase.OVERLOAD, 1, measured, up.void)
        void = measured.void or up.void or (None if len(points) == len(steps) else "it was cut short")
        ended = "" if void is None else f"the overload says nothing: {void}"
        yield self._part(Phase.OVERLOAD, points=points, seconds=measured.whole.seconds, void=void, ended=ended)

    # ------------------------------------------------------------ what the phases share

    @property
    def _drain_s(self) -> float:
        return self.cell.load.timeout_ms / 1000

    def _part(self, phase: Phase, **fields: Any) -> CapacityPart:
        """A part that is finished now."""
        made = len(parts.of_phase(self.parts, phase))
        return CapacityPart(self.number, phase, made + 1, self.spent_s, self.loads, **fields)

    def _up(self, name: str) -> Up:
        """A fresh server, with a folder that no interrupted one has used."""
        folder, again = self.folder / name, 1
        while folder.exists():
            again += 1
            folder = self.folder / f"{name}-again-{again}"
        arm = StackArm(self.stack.id, self.cell, self.workload, self.seed, self.stack)
        return Up(ArmSession(self.bench, [arm], folder), arm)

    def _fault(self, phase: Phase, up: Up) -> CapacityPart | None:
        """The part that says what the server did wrong; None where nothing. LabError where nothing could be measured here."""
        if up.rejected is None and up.failed:
            raise LabError(up.void or "the load engine measured no window", exit_code=3)
        if up.rejected is None:
            return None
        return self._part(phase, findings=(Finding("server", Severity.REJECT, up.rejected),), ended="")

    def _shape(self, warmup_s: float) -> Load:
        return replace(self.cell.load, warmup_min_s=warmup_s)

    def _seed(self) -> int:
        self.loads += 1
        return self.seed * 10_000 + self.loads

    def _warm(self, up: Up, base: float) -> ArmWindow | None:
        """Load a fresh server at half of its capacity, so that the first step meets a warm one."""
        return up.load(self._shape(self.pace.warmup_s), self._seed(), ((0.5 * base, 1.0),))

    def _first(self, measured: ArmWindow) -> CurvePoint:
        """The only step of a load. LabError where the engine told of none."""
        if not measured.steps:
            raise LabError("the load engine measured no step", exit_code=3)
        return self._points(Phase.SEARCH, 1, measured)[0]

    def _points(self, phase: Phase, number: int, measured: ArmWindow | None, void: str | None = None) -> tuple[CurvePoint, ...]:
        """The steps of a load, judged; `void`: what else spoiled them."""
        steps = () if measured is None else measured.steps
        why = void if measured is None else measured.void or void
        return tuple(CurvePoint(phase, number, step, loadcurve.judge(step, self.objective, why)) for step in steps)


class Up:
    """One stack that stays up under one load after the other, for the length of a `with`; its end is known after it."""

    def __init__(self, session: ArmSession, arm: StackArm) -> None:
        self._session, self._arm, self._loads = session, arm, 0
        self._said: str | None = None

    def __enter__(self) -> Up:
        self._session.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._session.__exit__(kind)

    def load(self, shape: Load, seed: int, rates: Rates = ()) -> ArmWindow | None:
        """One load on the server that is up. None where the arm has failed; its end says why."""
        self._loads += 1
        windows = self._session.load(Whole(self._arm.label, shape, seed, rates, folder=f"load-{self._loads:03}"))
        return windows[0] if windows else None

    def limits(self, measured: ArmWindow, cores: int) -> tuple[Finding, ...]:
        """The named reasons that limited a load on it."""
        return measured.limits(self._arm.judged_cell_of(measured.database), cores)

    def settle(self, shape: Load, rate_per_s: float, deadline_us: float | None) -> None:
        """Wait until what an overload left behind is worked off: light loads, until one of them is answered well."""
        gentle = max(20.0, rate_per_s / 10)
        for _ in range(SETTLE_TRIES):
            measured = self.load(shape, 1, ((gentle, SETTLE_S),))
            if measured is None or not measured.steps:
                return
            step = measured.steps[0]
            slow = deadline_us is not None and (step.latency_ok is None or (step.latency_ok.p50_us or 0) > deadline_us)
            if not step.outcomes.not_ok and not slow:
                return

    def reject(self, sentence: str) -> None:
        """Reject the server for something that only the caller can see."""
        self._said = f"`{self._arm.label}` is rejected: {sentence}"

    @property
    def _ended(self) -> Ended:
        return self._session.ended[self._arm.label]

    @property
    def rejected(self) -> str | None:
        """The reason why the server has no number; it is known once the server is stopped and audited.

        What the caller saw of an arm that is void was not the server's doing.
        """
        return self._ended.rejected or (None if self._ended.void is not None else self._said)

    @property
    def void(self) -> str | None:
        """The reason why its whole life is void."""
        return self._ended.void

    @property
    def failed(self) -> bool:
        """True if it could not be loaded to the end."""
        return self._arm.label in self._session.failed


def _silenced(measured: ArmWindow) -> bool:
    """True if nothing came back on a machine that was void. That says nothing of the server."""
    return measured.ok == 0 and measured.whole.window.bad == 0 and measured.void is not None


def _gravest(made: Trial) -> str | None:
    """The reason why a trial is void or rejected, in its own words; None where it is neither.

    A full generator is none here: a rate that was kept beside one is kept, and what was missed beside one is void by its step.
    """
    if made.verdict not in (Verdict.VOID, Verdict.REJECTED):
        return None
    wanted = Severity.REJECT if made.verdict is Verdict.REJECTED else Severity.VOID
    return next((one.sentence for one in made.findings if one.severity is wanted and one.id != OF_A_FULL_GENERATOR), None)
