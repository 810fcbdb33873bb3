"""A stand: one started server under one load after the other, with everything read that a trial reads.

A trial starts its server afresh for one load, which is right for evidence and too slow for a search. `load` is what both
`capacity` and `try` make of a server that is up; `Stand` keeps one of the lab's own stacks up, verified before and audited after.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground import contract, diagnose, reasons, thresholds, validity
from fairground.generators import engine
from fairground.model import (
    Cell,
    DatabaseUse,
    Finding,
    HostUse,
    LabError,
    Load,
    Result,
    RoleUse,
    Severity,
    Stack,
    Step,
    Workload,
)
from fairground.process import Keeper, RoleMeter
from fairground.trial import Bench, audit
from fairground.trial.route import HOST, Route
from fairground.trial.watch import Reading, Watch, between

Rates = Sequence[tuple[float, float]]
"""Rates per second, each with the seconds for which it is offered."""

SETTLE_S, SETTLE_TRIES = 0.5, 8


@dataclass
class Target:
    """What is loaded: an address, what is asked of it and what is right, the metered roles, and a folder for raw data."""

    keeper: Keeper
    engine: Path
    folder: Path
    host: str
    port: int
    workload: Workload
    bodies: Mapping[str, str] = field(default_factory=dict)
    meters: dict[str, RoleMeter] = field(default_factory=dict)
    watch: Watch | None = None
    loads: int = 0


@dataclass(frozen=True)
class Measured:
    """What came of one load: the result, its steps (open loop), the roles and the machine over its window."""

    load: Load
    result: Result
    steps: tuple[Step, ...]
    roles: Mapping[str, RoleUse]
    host: HostUse | None
    machine: tuple[Finding, ...]
    database: DatabaseUse | None = None

    @property
    def void(self) -> str | None:
        """What of the machine spoiled it, or None."""
        return next((finding.sentence for finding in self.machine if finding.severity is Severity.VOID), None)

    def limits(self, cell: Cell, cores: int) -> tuple[Finding, ...]:
        """The named reasons that limited it, strongest first."""
        at = thresholds.standard().reasons
        return reasons.limits(replace(cell, load=self.load), self.result, self.roles, self.host, self.database, cores, at)


def load(target: Target, shape: Load, steps: Rates, seed: int, on_second: Callable[[float], None] = lambda _: None) -> Measured:
    """One load from its warm-up (`shape.warmup_min_s`) to the end of its drain. Raises LabError when the engine has no result.

    `on_second` hears how many seconds have gone by. CPU is read each second, so that each step of whole seconds has its own.
    """
    target.loads += 1
    folder = target.folder / f"load-{target.loads:03}"
    folder.mkdir(parents=True, exist_ok=True)
    plan = engine.plan(target.workload, shape, target.host, target.port, seed, target.bodies, steps)
    session = engine.Session(target.keeper, target.engine, plan, folder)
    meters = target.meters | {"generator": RoleMeter(session.child)}
    if target.watch is not None:
        target.watch.meters["generator"] = meters["generator"]
    readings: dict[str, Reading] = {}
    clocks: list[dict[str, float]] = []
    try:
        time.sleep(shape.warmup_min_s)
        session.measure()
        began = time.monotonic()
        while (event := session.event(15.0 + shape.timeout_ms / 1000)) is not None:
            on_second(time.monotonic() - began)
            if event["event"] in ("window", "drain"):
                readings[event["event"]] = Reading(meters, target.keeper.spun_ns())
                _watch(target.watch, event["event"] == "window")
            if event["event"] == "window" or (event["event"] == "second" and "window" in readings and "drain" not in readings):
                clocks.append({role: meter.cpu_ns() / 1000 for role, meter in meters.items()})
        result = session.result()
    finally:
        session.stop()
    if "window" not in readings or "drain" not in readings:
        raise LabError("the load engine measured no window", exit_code=3)
    roles, host = between(meters, readings["window"], readings["drain"])
    document = json.loads((folder / "engine.json").read_text())
    found = with_cpu(engine.curve(document, shape), clocks) if shape.model == "open" else ()
    facts = validity.Facts(result.window_s, host=host)
    spoiled = validity.findings(facts, thresholds.standard(), of=("machine",))
    return Measured(shape, result, found, roles, host, spoiled, _seen(target.watch))


def with_cpu(steps: Sequence[Step], clocks: Sequence[Mapping[str, float]]) -> tuple[Step, ...]:
    """The steps with the CPU of each, from `clocks`: µs by role at the window's start and at the end of each of its seconds.

    The generator's busiest thread is its only one, so its share of a step is known, too.
    """
    found, at_s = [], 0.0
    for step in steps:
        first, last = round(at_s), round(at_s + step.duration_s)
        whole = abs(step.duration_s - round(step.duration_s)) < 0.05 and last < len(clocks)
        used = {role: clocks[last][role] - clocks[first][role] for role in clocks[first]} if whole else {}
        busy = used["generator"] / 1e6 / step.duration_s if "generator" in used else step.busiest_thread_share
        found.append(replace(step, cpu_us=used, busiest_thread_share=busy))
        at_s += step.duration_s
    return tuple(found)


def _watch(watch: Watch | None, opens: bool) -> None:
    if watch is None:
        return
    if opens:
        watch.wait_events.clear()
        watch.wait_samples = 0
        watch.open_window()
    else:
        watch.close_window()


def _seen(watch: Watch | None) -> DatabaseUse | None:
    """What the database's backends were seen waiting for in the window; its counters are read once the server is gone."""
    if watch is None:
        return None
    return DatabaseUse(None, None, None, None, None, watch.connections_peak, dict(watch.wait_events), watch.wait_samples)


# ---------------------------------------------------------------- a stack that stays up


class Stand:
    """One of the lab's stacks on fresh data, for the length of a `with`: verified at its start, audited at its end.

    LabError with exit code 1 when the server cannot be started, fails a contract case, or the audit of all that it acknowledged
    does not hold: then it has no number.
    """

    def __init__(self, bench: Bench, cell: Cell, stack: Stack, workload: Workload, folder: Path) -> None:
        self._bench, self._cell, self._stack, self._workload, self._folder = bench, cell, stack, workload, folder
        self._results: list[Result] = []

    def __enter__(self) -> Stand:
        bench, cell = self._bench, self._cell
        self._folder.mkdir(parents=True, exist_ok=True)
        bench.database.reset(cell.settings.scale)
        self._route = Route(bench.keeper, bench.database, cell, bench.cores, self._folder)
        try:
            self._route.open_pooler()
            self._route.open_server(self._stack)
            self._watch = Watch(bench.database, self._route.meters).__enter__()
        except BaseException:
            self._route.close()
            raise
        try:
            self._target = self._ready()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        found = self._close()
        if kind is None:
            self._judge(found)

    def load(self, shape: Load, steps: Rates, seed: int, on_second: Callable[[float], None] = lambda _: None) -> Measured:
        """One load on the server that is up. Every load's answers are in the audit."""
        measured = load(self._target, shape, steps, seed, on_second)
        self._results.append(measured.result)
        for finding in diagnose.answers(measured.result):
            if finding.severity is Severity.REJECT and finding.id != "no-answers":
                raise LabError(f"`{self._stack.id}` is rejected: {finding.sentence}", exit_code=1)
        if (code := self._route.server.exit_code() if self._route.server else None) is not None:
            raise LabError(f"`{self._stack.id}` ended by itself under load, with exit code {code}", exit_code=1)
        return measured

    def settle(self, shape: Load, rate_per_s: float, deadline_us: float | None) -> None:
        """Wait until what an overload left behind is worked off: light loads, until one of them is answered well."""
        gentle = max(20.0, rate_per_s / 10)
        for _ in range(SETTLE_TRIES):
            (step,) = self.load(shape, [(gentle, SETTLE_S)], 1).steps
            slow = deadline_us is not None and (step.latency_ok is None or (step.latency_ok.p50_us or 0) > deadline_us)
            if not step.outcomes.not_ok and not slow:
                return

    def _ready(self) -> Target:
        """Wait for the server, try its workload's cases, and note what the audit's statements say before any load."""
        bench, stack = self._bench, self._stack
        if (problem := self._route.wait(bench.ready_timeout_s)) is not None:
            raise LabError(f"`{stack.id}` did not become ready: {problem}", f"its words are in {self._folder}", exit_code=1)
        cases, probe = contract.select(bench.cases, self._workload.id, quick=True), bench.database.query
        report = contract.run(
            cases, host=HOST, port=self._route.port, facts=contract.facts_from(probe), probe=probe, skip=stack.server.skip
        )
        if not report.passed:
            why = next((one.sentence for one in report.findings if one.severity is Severity.REJECT), "a contract case failed")
            raise LabError(f"`{stack.id}` does not fulfil the contract: {why}", exit_code=1)
        self._before = audit.before(bench.database, self._workload)
        place = (bench.keeper, bench.engine, self._folder, HOST, self._route.port)
        return Target(*place, self._workload, report.bodies, self._route.meters, self._watch)

    def _close(self) -> tuple[Finding, ...]:
        self._watch.__exit__()
        return self._route.close()

    def _judge(self, stopped: Sequence[Finding]) -> None:
        """Everything that the server acknowledged in its life, held against the database."""
        bench = self._bench
        for finding in stopped:
            if finding.severity is Severity.REJECT:
                raise LabError(f"`{self._stack.id}` is rejected: {finding.sentence}", exit_code=1)
        if not self._results:
            return
        bench.database.wait_for_no_connections()
        counters, together = bench.database.counters(), audit.joined(self._results)
        use = DatabaseUse(counters.commits, counters.rollbacks, counters.rows_read, counters.deadlocks, None,
                          self._watch.connections_peak, {}, 0)  # fmt: skip
        lines = audit.lines(bench.database, self._workload, together, use, self._before)
        for finding in (*diagnose.budget(use, self._cell), *diagnose.audit_findings(lines)):
            if finding.severity is Severity.REJECT:
                raise LabError(f"`{self._stack.id}` is rejected: {finding.sentence}", exit_code=1)
