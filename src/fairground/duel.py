"""Two servers side by side, measured in short windows that take turns: how `compare` finds small differences on a noisy machine.

Small cloud machines change speed by a quarter within seconds to minutes. Whole trials one after the other meet different phases;
windows of a second, a moment apart, meet the same one, so their ratio is steady where their values are not. What differs from
one start of a process to the next is real, too: so both servers are started afresh for every *round* of a few pairs, and the
round, not the pair, is the unit of evidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import contract, diagnose, differences, thresholds, validity
from fairground.differences import Difference
from fairground.generators import engine
from fairground.model import (
    DatabaseUse,
    HostUse,
    LabError,
    Load,
    Result,
    Settings,
    Severity,
    Stack,
    Workload,
)
from fairground.postgres import Database
from fairground.process import Child, HostReading, Keeper, RoleMeter, burner, free_port, host_use, server
from fairground.trial import audit

HOST = "127.0.0.1"
LEAD_S = 0.25
"""What a window's connections are given to open and warm up before it begins."""

JUDGED_ROUNDS = 5
"""With fewer rounds nothing is called: an interval of so few starts is too wide to be of use."""


@dataclass(frozen=True)
class Arm:
    """One side: a stack under a label of its own; `planted` is a slowdown added on purpose, as a share of the server's CPU."""

    label: str
    stack: Stack
    planted: float = 0.0


@dataclass(frozen=True)
class Window:
    """One arm in one window of one pair."""

    ok: int
    not_ok: int
    window_s: float
    cpu_us: float | None
    p50_us: int | None
    p99_us: int | None

    @property
    def rate_per_s(self) -> float:
        return self.ok / self.window_s if self.window_s else 0.0

    @property
    def cpu_us_per_answer(self) -> float | None:
        return None if self.cpu_us is None or not self.ok else self.cpu_us / self.ok


@dataclass(frozen=True)
class Pair:
    """Two windows next to each other. `void` says what of the machine spoiled it; it is kept, and counts for nothing."""

    round: int
    number: int
    first: str
    a: Window
    b: Window
    void: str | None = None


@dataclass(frozen=True)
class Bench:
    """What all rounds of a duel share."""

    keeper: Keeper
    database: Database
    engine: Path
    cases: Sequence[contract.Case]
    workload: Workload
    load: Load
    settings: Settings
    folder: Path
    seed: int = 1
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Decision:
    """What the rounds say of B against A. `rate`: goodput, B over A. `cost`: server CPU per answer, A over B (more is better)."""

    rounds: int
    pairs: int
    void_pairs: int
    rate: Difference
    cost: Difference
    rates: tuple[float, ...]
    costs: tuple[float, ...]
    """The mean ratio of each round, in the same directions."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the cost's interval as a share, or the rate's where no CPU is known."""
        interval = self.cost.ratio or self.rate.ratio
        return None if interval is None else math.sqrt(interval.high / interval.low) - 1


def fight(bench: Bench, a: Arm, b: Arm, pairs_per_round: int, going_on: Callable[[Sequence[Pair]], bool]) -> Iterator[Pair]:
    """Rounds of pairs until `going_on`, asked after each round with all pairs so far, says no.

    Who starts first and who measures first takes turns. LabError when a server cannot be started, fails its contract cases, or
    the audit of what both acknowledged does not hold: then there is nothing to compare.
    """
    done: list[Pair] = []
    number = 0
    while number == 0 or going_on(done):
        number += 1
        with _Round(bench, number, (a, b) if number % 2 else (b, a)) as round_:
            for place in range(1, pairs_per_round + 1):
                labels = (a.label, b.label) if (place + number) % 2 else (b.label, a.label)
                found = round_.pair(place, labels, a.label, b.label)
                done.append(found)
                yield found


def decide(pairs: Sequence[Pair], floor: float = 0.0, practical: float = 0.01) -> Decision:
    """The words on rate and on CPU per answer, from the mean log-ratio of each round's sound pairs."""
    sound = [pair for pair in pairs if pair.void is None]
    rates = _by_round(sound, lambda pair: _ratio(pair.b.rate_per_s, pair.a.rate_per_s))
    costs = _by_round(sound, lambda pair: _ratio(pair.a.cpu_us_per_answer, pair.b.cpu_us_per_answer))
    differing = [differences.of_pairs(ratios, floor, practical) for ratios in (rates, costs)]
    if len(rates) < JUDGED_ROUNDS:
        differing = [replace(one, word=differences.Word.INCONCLUSIVE) for one in differing]
    rate, cost = differing
    return Decision(len(rates), len(sound), len(pairs) - len(sound), rate, cost, tuple(rates), tuple(costs))


def _by_round(pairs: Sequence[Pair], ratio: Callable[[Pair], float | None]) -> list[float]:
    logs: dict[int, list[float]] = {}
    for pair in pairs:
        if (value := ratio(pair)) is not None:
            logs.setdefault(pair.round, []).append(math.log(value))
    return [math.exp(math.fsum(values) / len(values)) for values in logs.values()]


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None


@dataclass
class _Side:
    """A started server of one arm."""

    arm: Arm
    child: Child
    port: int
    meter: RoleMeter
    bodies: Mapping[str, str] = field(default_factory=dict)
    burner: Child | None = None
    results: list[Result] = field(default_factory=list)


class _Round:
    """Both servers, freshly started on fresh data, for the length of a `with`."""

    def __init__(self, bench: Bench, number: int, order: tuple[Arm, Arm]) -> None:
        self._bench, self._number, self._order = bench, number, order
        self._sides: dict[str, _Side] = {}

    def __enter__(self) -> _Round:
        bench = self._bench
        bench.say(f"round {self._number}: starting both servers")
        bench.database.reset(bench.settings.scale)
        try:
            for arm in self._order:
                self._sides[arm.label] = self._start(arm)
            self._before = audit.before(bench.database, bench.workload)  # the cases of both starts have written by now
            for side in self._sides.values():
                self._warm_up(side)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop()
        if kind is None:
            self._audit()

    def pair(self, place: int, labels: tuple[str, str], a: str, b: str) -> Pair:
        """One window of each arm, in the order of `labels`."""
        windows, voids = {}, []
        for label in labels:
            self._bench.say(f"round {self._number}, pair {place}: {label}")
            windows[label], host = self._window(self._sides[label])
            facts = validity.Facts(windows[label].window_s, host=host)
            findings = validity.findings(facts, thresholds.standard(), of=("machine",))
            voids += [finding.sentence for finding in findings if finding.severity is Severity.VOID]
        return Pair(self._number, place, labels[0], windows[a], windows[b], voids[0] if voids else None)

    def _start(self, arm: Arm) -> _Side:
        bench, port = self._bench, free_port()
        log = bench.folder / f"{arm.label}.log"
        address = (HOST, port, bench.database.server_url())
        child = server.start(bench.keeper, arm.stack, bench.settings, *address, log)
        side = _Side(arm, child, port, RoleMeter(child))
        self._sides[arm.label] = side
        problem = server.wait(child, HOST, port)
        if problem is not None:
            raise LabError(f"`{arm.label}` did not become ready: {problem}", hint=f"its words are in {log}", exit_code=1)
        side.bodies = self._verify(side)
        if arm.planted:
            side.burner = burner.plant(bench.keeper, child, arm.planted)
        return side

    def _verify(self, side: _Side) -> Mapping[str, str]:
        cases = contract.select(self._bench.cases, self._bench.workload.id, quick=True)
        probe = self._bench.database.query
        facts = contract.facts_from(probe)
        report = contract.run(cases, host=HOST, port=side.port, facts=facts, probe=probe, skip=side.arm.stack.server.skip)
        if not report.passed:
            reason = next((one.sentence for one in report.findings if one.severity is Severity.REJECT), "a contract case failed")
            raise LabError(f"`{side.arm.label}` does not fulfil the contract: {reason}", exit_code=1)
        return report.bodies

    def _warm_up(self, side: _Side) -> None:
        """Load until the rate has settled, for `warmup_min_s` to `warmup_max_s`; nothing of it is kept but the ledger."""
        load, per_second, began = self._bench.load, list[int](), time.monotonic()

        def enough(event: Mapping[str, object]) -> bool:
            per_second.append(int(str(event["ok"])))
            passed = time.monotonic() - began
            return passed >= load.warmup_max_s or (
                passed >= load.warmup_min_s and diagnose.settled(per_second, thresholds.standard().rules)
            )

        self._run(side, replace(load, window_s=0.2), enough)

    def _window(self, side: _Side) -> tuple[Window, HostUse | None]:
        result, cpu_us, host = self._run(side, self._bench.load, None)
        latency = result.latency_ok
        not_ok = result.window.not_ok
        return (
            Window(
                result.completed_ok,
                not_ok,
                result.window_s,
                cpu_us,
                latency.p50_us if latency else None,
                latency.p99_us if latency else None,
            ),
            host,
        )

    def _run(
        self, side: _Side, load: Load, enough: Callable[[Mapping[str, object]], bool] | None
    ) -> tuple[Result, float | None, HostUse | None]:
        """One engine on one arm: the lead, then the window; the server's CPU and the machine's over the window."""
        bench = self._bench
        seed = bench.seed + 1000 * self._number + len(side.results) // 2
        plan = engine.plan(bench.workload, load, HOST, side.port, seed, side.bodies)
        session = engine.Session(bench.keeper, bench.engine, plan, bench.folder)
        meters = {"server": side.meter, "generator": RoleMeter(session.child)}
        if bench.database.child is not None:
            meters["database"] = RoleMeter(bench.database.child)
        readings: dict[str, tuple[dict[str, int], HostReading]] = {}
        try:
            if enough is None:
                time.sleep(LEAD_S)
                session.measure()
            while (event := session.event()) is not None:
                if event["event"] in ("window", "drain"):
                    host = HostReading.now(bench.keeper.spun_ns())
                    readings[event["event"]] = ({role: meter.cpu_ns() for role, meter in meters.items()}, host)
                elif event["event"] == "second" and enough is not None and "window" not in readings and enough(event):
                    session.measure()
                    enough = None
            result = session.result()
        finally:
            session.stop()
        side.results.append(result)
        return (result, *_used(readings))

    def _stop(self) -> None:
        for side in self._sides.values():
            if side.burner is not None:
                side.burner.stop(0.0)
            side.child.stop()

    def _audit(self) -> None:
        """What both arms acknowledged together, held against the database; where that fails there is nothing to compare."""
        database, workload = self._bench.database, self._bench.workload
        database.wait_for_no_connections()
        for side in self._sides.values():
            if wrong := sum((one.life or one.window).wrong_body or 0 for one in side.results):
                raise LabError(f"`{side.arm.label}` gave {wrong:,} answers with a wrong body", exit_code=1)
        together = audit.joined([one for side in self._sides.values() for one in side.results])
        counters = database.counters()
        use = DatabaseUse(counters.commits, counters.rollbacks, counters.rows_read, counters.deadlocks, None, None, {}, 0)
        for finding in diagnose.audit_findings(audit.lines(database, workload, together, use, self._before)):
            raise LabError(f"the audit of both servers' answers does not hold: {finding.sentence}", exit_code=1)


def _used(readings: Mapping[str, tuple[dict[str, int], HostReading]]) -> tuple[float | None, HostUse | None]:
    if len(readings) < 2:
        return None, None
    (before, host_before), (after, host_after) = readings["window"], readings["drain"]
    spent_us = {role: (after[role] - before[role]) / 1000 for role in before}
    known = [*spent_us.values()] + ([] if "database" in spent_us else [None])
    return spent_us["server"], host_use(host_before, host_after, known)
