"""Two servers side by side, measured in short windows that take turns: how `compare` finds small differences on a noisy machine.

Small cloud machines change speed by a quarter, in phases of half a second to minutes. Whole trials one after the other meet
different phases, and so do windows of a second; turns of a tenth of one, in changing order, share each phase out between both
servers, so that the ratio of their windows is steady where their values are not. What differs from one start of a process to the
next is real, too: so both servers are started afresh for every *round* of a few pairs, and the round, not the pair, is the unit
of evidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairground import contract, diagnose, differences, thresholds, validity
from fairground.differences import Difference
from fairground.generators import engine
from fairground.model import (
    DatabaseUse,
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
TURN_S = 0.1
"""How long one server is loaded before it is the other's turn, at the least: what is shorter than the machine's phases."""
MOST_SILENCE_S = 75.0
"""An engine speaks every second but while it waits for its last answers, for a timeout at most."""
TURN_ROUND_TRIPS = 20
"""A turn is at least so many times as long as an answer takes, for each begins with all requests at once and ends with none."""

WARMING_S = 0.5
"""A warm-up is judged by windows of so many seconds of load on each server."""

JUDGED_ROUNDS = 5
"""With fewer rounds nothing is called: an interval of so few starts is too wide to be of use."""


@dataclass(frozen=True)
class Arm:
    """One side: a stack under a label of its own; `planted` is a slowdown added on purpose, as a share of the server's CPU."""

    label: str
    stack: Stack
    planted: float = 0.0

    def folder(self, parent: Path) -> Path:
        """Where its server's log and its engine's document are; a revision's name in the label may hold slashes."""
        made = parent / self.label.replace("/", "-")
        made.mkdir(exist_ok=True)
        return made


@dataclass(frozen=True)
class Window:
    """One arm in one window of one pair: all its turns together, from the first request of each to its last answer."""

    ok: int
    not_ok: int
    window_s: float
    cpu_us: float | None

    @property
    def rate_per_s(self) -> float:
        return self.ok / self.window_s if self.window_s else 0.0

    @property
    def cpu_us_per_answer(self) -> float | None:
        return None if self.cpu_us is None or not self.ok else self.cpu_us / self.ok


@dataclass(frozen=True)
class Pair:
    """Two windows whose turns alternate; `first` had the first of them.

    `void` says what of the machine spoiled it; then it is kept, and counts for nothing.
    """

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
    turn_s: float = TURN_S
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
    failed: tuple[float | None, float | None]
    """The share of each arm's requests that got no good answer, which count for neither quantity; None where none was sent."""

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
    failed = _failed([pair.a for pair in sound]), _failed([pair.b for pair in sound])
    return Decision(len(rates), len(sound), len(pairs) - len(sound), rate, cost, tuple(rates), tuple(costs), failed)


def _failed(windows: Sequence[Window]) -> float | None:
    sent = sum(window.ok + window.not_ok for window in windows)
    return sum(window.not_ok for window in windows) / sent if sent else None


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
    bodies: Mapping[str, str] = field(default_factory=dict)
    burner: Child | None = None

    def check(self) -> None:
        """LabError when it has ended by itself."""
        if (code := self.child.exit_code()) is not None:
            raise LabError(f"`{self.arm.label}` ended by itself with exit code {code} while it was measured", exit_code=1)


@dataclass
class _Loader:
    """A side's engine, which lives as long as its server. `told`: what it had counted when it last stood still (event `held`)."""

    side: _Side
    session: engine.Session
    told: Mapping[str, int] = field(default_factory=dict)
    turn_s: float = 0.0
    """The shortest turn that suits its answers."""
    result: Result | None = None

    def turn(self, seconds: float) -> None:
        """Load the server for so long, and wait for its last answer."""
        self.session.go()
        time.sleep(seconds)
        self.hold()

    def hold(self) -> None:
        """Stand still."""
        self.session.hold()
        while (event := self.event())["event"] != "held":
            pass
        self.told = event

    def event(self) -> Mapping[str, Any]:
        """The next event; LabError where the engine has ended by itself, for then its server cannot be reached."""
        event = self.session.event(MOST_SILENCE_S)
        if event is None:
            self.side.check()
            raise LabError(f"`{self.side.arm.label}` could not be reached while it was measured", exit_code=1)
        return event

    def suit(self, window: Window, connections: int, least_s: float) -> None:
        """Make its turns `least_s` long, or longer by how long an answer took in a window: all connections' time over answers."""
        answer_s = window.window_s * connections / max(1, window.ok + window.not_ok)
        self.turn_s = max(least_s, TURN_ROUND_TRIPS * answer_s)

    def finish(self) -> None:
        """End the load and take what was counted over the whole life."""
        self.session.halt()
        while self.session.event(MOST_SILENCE_S) is not None:
            pass
        self.result = self.session.result()


class _Round:
    """Both servers, freshly started on fresh data, for the length of a `with`."""

    def __init__(self, bench: Bench, number: int, order: tuple[Arm, Arm]) -> None:
        self._bench, self._number, self._order = bench, number, order
        self._sides: dict[str, _Side] = {}
        self._loaders: dict[str, _Loader] = {}
        self._meters: dict[str, RoleMeter] = {}

    def __enter__(self) -> _Round:
        bench = self._bench
        bench.say(f"round {self._number}: starting both servers")
        bench.database.reset(bench.settings.scale)
        if bench.database.child is not None:
            bench.database.child.pin(bench.settings.cores_of("database"))
            self._meters["database"] = RoleMeter(bench.database.child)
        try:
            for arm in self._order:
                self._sides[arm.label] = self._start(arm)
            self._before = audit.before(bench.database, bench.workload)  # the cases of both starts have written by now
            for side in self._sides.values():
                self._connect(side)
            self._warm_up()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                for loader in self._loaders.values():
                    loader.finish()
        finally:
            self._stop()
        if kind is None:
            self._audit()

    def pair(self, place: int, labels: tuple[str, str], a: str, b: str) -> Pair:
        """One window of each arm, in turns; `labels`: who has the first one.

        LabError where one gave no good answer at all: left out, such a window would flatter its arm.
        """
        self._bench.say(f"round {self._number}, pair {place}")
        before = self._reading()
        counted = self._turns(labels, self._bench.load.window_s)
        after = self._reading()
        for label, window in counted.items():
            if window.ok == 0:
                raise LabError(f"`{label}` gave no good answer in a whole window ({window.not_ok:,} others)", exit_code=1)
        used_us = {role: (after.cpu_ns[role] - spent_ns) / 1000 for role, spent_ns in before.cpu_ns.items()}
        known = [*used_us.values()] + ([] if "database" in used_us else [None])
        facts = validity.Facts(after.host.at_s - before.host.at_s, host=host_use(before.host, after.host, known))
        findings = validity.findings(facts, thresholds.standard(), of=("machine",))
        voids = [finding.sentence for finding in findings if finding.severity is Severity.VOID]
        windows = {label: replace(window, cpu_us=used_us[label]) for label, window in counted.items()}
        return Pair(self._number, place, labels[0], windows[a], windows[b], voids[0] if voids else None)

    def _start(self, arm: Arm) -> _Side:
        bench, port = self._bench, free_port()
        log = arm.folder(bench.folder) / "server.log"
        address = (HOST, port, bench.database.server_url())
        child = server.start(bench.keeper, arm.stack, bench.settings, *address, log)
        side = _Side(arm, child, port)
        self._sides[arm.label] = side
        self._meters[arm.label] = RoleMeter(child)
        problem = server.wait(child, HOST, port)
        if problem is not None:
            raise LabError(f"`{arm.label}` did not become ready: {problem}", hint=f"its words are in {log}", exit_code=1)
        side.bodies = self._verify(side)
        if arm.planted:
            side.burner = burner.plant(bench.keeper, bench.engine, child, arm.planted, bench.settings.cores_of("server"))
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

    def _connect(self, side: _Side) -> None:
        """An engine for a server, which stands still after its first requests."""
        bench = self._bench
        plan = engine.plan(bench.workload, bench.load, HOST, side.port, bench.seed + 1000 * self._number, side.bodies)
        cores = bench.settings.cores_of("generator")
        session = engine.Session(bench.keeper, bench.engine, plan, side.arm.folder(bench.folder), cores)
        loader = self._loaders[side.arm.label] = _Loader(side, session, turn_s=bench.turn_s)
        self._meters[f"engine of {side.arm.label}"] = RoleMeter(session.child)
        loader.hold()

    def _warm_up(self) -> None:
        """Load all in turns until the ratio of their rates has settled: for `warmup_min_s` to `warmup_max_s` each.

        Each rate by itself follows the machine, which would be waited for long after the servers are warm.
        """
        load, rules, labels = self._bench.load, thresholds.standard().rules, tuple(self._loaders)
        ratios, loaded_s = list[float](), 0.0
        while loaded_s < load.warmup_max_s:
            windows = self._turns(labels, WARMING_S)
            loaded_s += max(window.window_s for window in windows.values())
            for label, window in windows.items():
                self._loaders[label].suit(window, load.connections, self._bench.turn_s)
            first, last = windows[labels[0]], windows[labels[-1]]
            ratios.append(_ratio(first.rate_per_s, last.rate_per_s) or 0.0)
            if loaded_s >= load.warmup_min_s and diagnose.settled(ratios, rules):
                return

    def _turns(self, labels: Sequence[str], window_s: float) -> dict[str, Window]:
        """Load each for about `window_s`, in turns; what each engine counted."""
        loaders = self._loaders
        told = {label: loader.told for label, loader in loaders.items()}
        turn_s = min(max(loader.turn_s for loader in loaders.values()), self._bench.load.window_s)
        for number in range(max(1, round(window_s / turn_s))):
            for label in labels if number % 2 == 0 else reversed(labels):
                loaders[label].turn(turn_s)
        for side in self._sides.values():
            side.check()
        return {label: _window(told[label], loader.told) for label, loader in loaders.items()}

    def _reading(self) -> _Reading:
        host = HostReading.now(self._bench.keeper.spun_ns())
        return _Reading({role: meter.cpu_ns() for role, meter in self._meters.items()}, host)

    def _stop(self) -> None:
        for loader in self._loaders.values():
            loader.session.stop()
        for side in self._sides.values():
            if side.burner is not None:
                side.burner.stop(0.0)
            side.child.stop()

    def _audit(self) -> None:
        """What both arms acknowledged together, held against the database; where that fails there is nothing to compare."""
        database, workload = self._bench.database, self._bench.workload
        database.wait_for_no_connections()
        results = {label: loader.result for label, loader in self._loaders.items() if loader.result is not None}
        for label, result in results.items():
            if wrong := (result.life or result.window).wrong_body:
                raise LabError(f"`{label}` gave {wrong:,} answers with a wrong body", exit_code=1)
        together = audit.joined(list(results.values()))
        counters = database.counters()
        use = DatabaseUse(counters.commits, counters.rollbacks, counters.rows_read, counters.deadlocks, None, None, {}, 0)
        for finding in diagnose.audit_findings(audit.lines(database, workload, together, use, self._before)):
            raise LabError(f"the audit of both servers' answers does not hold: {finding.sentence}", exit_code=1)


@dataclass(frozen=True)
class _Reading:
    """All clocks at one moment at which both engines stand still. `cpu_ns`: a server's by its arm's label."""

    cpu_ns: Mapping[str, int]
    host: HostReading


def _window(before: Mapping[str, int], after: Mapping[str, int]) -> Window:
    """What an engine has counted between two moments at which it stood still; what CPU that cost is another's to say."""
    ok, not_ok, active_us = (after[name] - before[name] for name in ("ok", "not_ok", "active_us"))
    return Window(ok, not_ok, active_us / 1e6, None)
