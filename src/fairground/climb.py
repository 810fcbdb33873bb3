"""The measuring of a capacity: a search on a server that stays up, fresh trials, a load curve, an overload.

Each phase has a share of the budget; what does not fit is left out, and said. Only fresh trials (a new process, new data, a new
seed, the whole protocol of a trial) are evidence for the number; the search chose its rate because it looked good.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import capacity, loadcurve, trial
from fairground.capacity import Capacity, Pace, Tried
from fairground.generators import engine
from fairground.loadcurve import Judgement, Point, Word
from fairground.model import Cell, Finding, LabError, Load, Severity, Slot, Stack, Step, Trial, Verdict, Workload
from fairground.objective import Objective
from fairground.stand import Measured, Stand

LEAD_S = 0.3
"""What a load on a server that is warm is given to open its connections."""
FIRST_CONNECTIONS = 50
START_SHARE = 0.7
"""Of the closed loop's goodput: where the search begins."""
SPOILED = 4
"""So many steps in a row that the generator spoiled end a search. What the machine spoils is tried again while there is time."""
PAUSE_S = 2.0
"""After a void step or trial: what disturbed it may be gone then."""
TRIAL_S = 4.0
"""What a fresh trial takes besides its warm-up and window."""
LATEST_SHARE = 0.85
"""Of the budget: until then a rate may still be confirmed, at the cost of what follows."""
CURVE_PASSES = 3


@dataclass
class Climb:
    """One stack on one workload. `say` hears a line for each step, and what is left of the budget in seconds."""

    bench: trial.Bench
    cell: Cell
    stack: Stack
    workload: Workload
    objective: Objective
    pace: Pace
    budget_s: float
    folder: Path
    seed: int
    say: Callable[[str, float], None]
    began: float = field(default_factory=time.monotonic)
    notes: list[str] = field(default_factory=list)
    loads: int = 0

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self.began

    def run(self) -> Capacity:
        """All phases. A server that is rejected on the way has no number, and the reason instead."""
        found = Capacity(self.stack.id, self.workload.id, self.objective.text, self.objective.deadline_us)
        try:
            for phase in (self.search, self.confirm, self.curve, self.overload):
                found = phase(found)
        except LabError as error:
            if error.exit_code != 1:
                raise
            found = replace(found, rejected=error.message)
        return replace(found, notes=tuple(self.notes), spent_s=self.spent_s)

    # ------------------------------------------------------------ the search

    def search(self, found: Capacity) -> Capacity:
        """MLRsearch on one process: a bracket, and what limited the server above it."""
        points, tried = list[Point](), list[Tried]()
        limits: dict[float, tuple[Finding, ...]] = {}
        ended, spoiled, goal = "its share of the budget was used up", 0, self.pace.goal
        with self._stand("search") as stand:
            start = self._closed(stand)
            while isinstance(ask := capacity.next_trial(goal, start, tried), capacity.Ask):
                if self.spent_s + ask.duration_s > self.pace.search_until_s:
                    break
                measured, point = self._step(stand, "search", 1, [(ask.rate_per_s, ask.duration_s)])
                points.append(point)
                low = point.judgement.low
                if low is None:
                    spoiled += measured.void is None
                    if spoiled == SPOILED:
                        ended = point.judgement.why
                        break
                    time.sleep(PAUSE_S)
                    continue
                spoiled = 0
                tried.append(Tried(ask.rate_per_s, ask.duration_s, low))
                if not low:
                    limits[ask.rate_per_s] = measured.limits(self.cell, self.bench.cores)
                    stand.settle(self._shape(LEAD_S), ask.rate_per_s, self.objective.deadline_us)
            else:
                ended = str(ask)
        self._note_void(points)
        named = next((limits[rate] for rate in sorted(limits) if limits[rate]), ())
        return replace(found, search=tuple(points), found=capacity.bounds(goal, tried), ended=ended, limited_by=named)

    def _closed(self, stand: Stand) -> float:
        """A closed loop warms the server and tells about where to begin. Requests a second."""
        shape = replace(self._shape(self.pace.warmup_s), model="closed", connections=FIRST_CONNECTIONS, window_s=1.0)
        measured = stand.load(shape, (), self._seed())
        if measured.result.completed_ok == 0:
            raise LabError(f"`{self.stack.id}` gave no good answer to {self.workload.id}", exit_code=1)
        self._tell(f"closed loop, {FIRST_CONNECTIONS} connections: {measured.result.goodput_per_s:,.0f}/s")
        return START_SHARE * measured.result.goodput_per_s

    # ------------------------------------------------------------ confirmation

    def confirm(self, found: Capacity) -> Capacity:
        """Fresh trials at the lower bound, and below it where one of them misses."""
        if found.found.lower is None:
            return found
        points, tried, made = list[Point](), list[Tried](), 0
        while (rate := capacity.next_confirmation(self.pace.goal, found.found.lower, tried)) is not None:
            load = self._fresh_load(rate)
            cost_s = load.window_s + load.warmup_min_s + TRIAL_S
            if made and self.spent_s + cost_s > LATEST_SHARE * self.budget_s:
                self.notes.append("the budget ended before a rate was confirmed; a larger --budget would tell")
                break
            made += 1
            step, verdict, why = self._fresh(load, made)
            judgement = Judgement(Word.VOID, why) if step is None else loadcurve.judge(step, self.objective, why or None)
            if step is not None:
                points.append(Point("confirm", made, step, judgement))
                self._tell_step(points[-1])
            else:
                self._tell(f"confirm  {rate:>9,.5g}/s  {verdict}: {why}")
            if verdict is Verdict.REJECTED:
                raise LabError(f"`{self.stack.id}` is rejected: {why}", exit_code=1)
            if judgement.low is None:
                time.sleep(PAUSE_S)
                continue
            tried.append(Tried(rate, load.window_s, judgement.low))
        self._note_void(points)
        return replace(found, fresh=tuple(points), confirmations=capacity.confirmations(tried))

    def _fresh_load(self, rate: float) -> Load:
        window_s = min(max(self.pace.confirm_window_s, self.pace.goal.least_requests / rate), 2 * self.pace.goal.longest_s)
        return replace(self._shape(self.pace.warmup_s), rate_per_s=rate, window_s=window_s, warmup_max_s=3 * self.pace.warmup_s)

    def _fresh(self, load: Load, number: int) -> tuple[Step | None, Verdict, str]:
        """One whole trial: its step, its verdict, and why it is void or rejected (else nothing)."""
        folder = self.folder / f"fresh-{number:02}"
        slot = Slot(number, 1, replace(self.cell, load=load), self._seed())
        made = trial.run(self.bench, slot, 1, self.stack, self.workload, folder, folder.name)
        raw = folder / "engine.json"
        steps = engine.curve(json.loads(raw.read_text()), load) if made.result is not None and raw.exists() else ()
        return steps[0] if steps else None, made.verdict, _gravest(made)

    # ------------------------------------------------------------ curve and overload

    def curve(self, found: Capacity) -> Capacity:
        """Passes over the shares of capacity, each on a fresh server, as many as the budget has time for."""
        base = found.base_per_s
        if base is None:
            return found
        steps = [(share * base, float(self.pace.step_s)) for share in capacity.CURVE_SHARES]
        pass_s = TRIAL_S + self.pace.warmup_s + sum(seconds for _, seconds in steps) + self._drain_s
        reserved_s = TRIAL_S + self.pace.warmup_s + 4 * self.pace.overload_s + self._drain_s
        points = list[Point]()
        for number in range(1, CURVE_PASSES + 1):
            if self.spent_s + pass_s + reserved_s > self.budget_s:
                break
            with self._stand(f"curve-{number}") as stand:
                self._warm(stand, base)
                measured = stand.load(self._shape(LEAD_S), steps, self._seed())
            points += self._points("curve", number, measured)
        if not points:
            self.notes.append("the load curve was left out: the budget was used up")
        return replace(found, curve=tuple(points))

    def overload(self, found: Capacity) -> Capacity:
        """Half of capacity, half as much again, and half again for twice as long."""
        base, seconds = found.base_per_s, float(self.pace.overload_s)
        if base is None:
            return found
        if self.spent_s + TRIAL_S + self.pace.warmup_s + 4 * seconds > self.budget_s:
            self.notes.append("the overload was left out: the budget was used up")
            return found
        below, above, after = capacity.OVERLOAD
        with self._stand("overload") as stand:
            self._warm(stand, base)
            steps = [(below * base, seconds), (above * base, seconds), (after * base, 2 * seconds)]
            measured = stand.load(self._shape(LEAD_S), steps, self._seed())
        points = self._points("overload", 1, measured)
        if measured.void is not None or len(points) < len(steps):
            self.notes.append(f"the overload says nothing: {measured.void or 'it was cut short'}")
            return replace(found, over_points=tuple(points))
        felt = loadcurve.overload(
            base, points[0], points[1].step, points[2].step, measured.result.seconds, 2 * seconds, found.deadline_us
        )
        return replace(found, over=felt, over_points=tuple(points), over_seconds=measured.result.seconds)

    # ------------------------------------------------------------ what the phases share

    @property
    def _drain_s(self) -> float:
        return self.cell.load.timeout_ms / 1000

    def _stand(self, name: str) -> Stand:
        return Stand(self.bench, self.cell, self.stack, self.workload, self.folder / name)

    def _shape(self, warmup_s: float) -> Load:
        return replace(self.cell.load, warmup_min_s=warmup_s)

    def _seed(self) -> int:
        self.loads += 1
        return self.seed * 10_000 + self.loads

    def _warm(self, stand: Stand, base: float) -> None:
        """A fresh server at half of its capacity, so that the first step meets a warm one."""
        stand.load(self._shape(self.pace.warmup_s), [(0.5 * base, 1.0)], self._seed())

    def _step(self, stand: Stand, phase: str, number: int, steps: Sequence[tuple[float, float]]) -> tuple[Measured, Point]:
        measured = stand.load(self._shape(LEAD_S), steps, self._seed())
        if not measured.steps:
            raise LabError("the load engine measured no step", exit_code=3)
        return measured, self._points(phase, number, measured)[0]

    def _points(self, phase: str, number: int, measured: Measured) -> list[Point]:
        points = [Point(phase, number, step, loadcurve.judge(step, self.objective, measured.void)) for step in measured.steps]
        for point in points:
            self._tell_step(point)
        return points

    def _note_void(self, points: Sequence[Point]) -> None:
        """Say how much of a phase was spoiled, and by what."""
        void = [point for point in points if point.judgement.word is Word.VOID]
        if void:
            self.notes.append(f"{len(void)} of {len(points)} steps ({void[0].phase}) were void: {void[-1].judgement.why}")

    def _tell_step(self, point: Point) -> None:
        step = point.step
        tail_us = loadcurve.percentile_us(step, 0.99) if point.stable else None
        tail = "" if tail_us is None else f"  p99 {tail_us / 1000:.3g} ms"
        said = "" if point.judgement.word is Word.KEPT else f"  ({point.judgement.why})"
        self._tell(
            f"{point.phase:<8} {step.rate_per_s:>9,.5g}/s  {step.duration_s:4.1f} s  {point.judgement.word:<8}{tail}{said}"
        )

    def _tell(self, line: str) -> None:
        self.say(line, max(0.0, self.budget_s - self.spent_s))


def _gravest(made: Trial) -> str:
    """Why a trial is void or rejected, in its own words; nothing where it is neither."""
    if made.verdict not in (Verdict.VOID, Verdict.REJECTED):
        return ""
    wanted = Severity.REJECT if made.verdict is Verdict.REJECTED else Severity.VOID
    return next(finding.sentence for finding in made.findings if finding.severity is wanted)
