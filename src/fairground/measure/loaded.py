"""One arm under load: its generator in one piece or in turns, and what clocks and generator say of each window."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairground import generators
from fairground.generators import engine, engine_plan, running
from fairground.host import Child, machine
from fairground.judge import answers, blame, recovery, sizing, validity
from fairground.judge.clocks import differences_us, with_cpu
from fairground.measure import audit
from fairground.measure.arm import Arm, ArmWindow, Ended
from fairground.measure.bench import Bench
from fairground.measure.faults import Happened
from fairground.measure.pilot import Pilot
from fairground.measure.schedule import Whole, seed_of
from fairground.measure.stand import Stand, machines_between
from fairground.measure.turntaking import TurnTaking, silence_of
from fairground.measure.warmup import WarmUp
from fairground.measure.watch import ArmWatch, ClockReading, WatchedArm, roles_between
from fairground.model import Doing, Fault, Finding, Handshakes, LabError, Load, Recovery, Result, Severity, Sizing, Workload
from fairground.model.cause import CAUSES, DATABASE, INSTRUMENT, LAB_STOPPED
from fairground.model.step import RateStep
from fairground.model.wire import Tls

FATAL = frozenset({"start", "pooler", "proxy", "wire", "ready", "server-exit", "unreachable", "no-good-answer", "data", *CAUSES})
"""Findings after which an arm cannot be loaded any more; failed cases of the contract are others."""
ENDLESS_S = 86_400.0
OF_A_WINDOW = frozenset({"errors", "warm-up", LAB_STOPPED.id})
"""Findings of a trial's window, which are made anew where another window takes its place."""


@dataclass
class Loaded:
    """Everything that is known of an arm that is up; it grows while the arm is measured."""

    bench: Bench
    arm: Arm
    folder: Path
    watch: ArmWatch
    seen: WatchedArm
    on: Callable[[str, Doing], None]
    host: str = ""
    port: int = 0
    tls: Tls | None = None
    workload: Workload = field(init=False)
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    windows: list[ArmWindow] = field(default_factory=list)
    phases_s: dict[str, float] = field(default_factory=dict)
    failed: bool = False
    turns: TurnTaking | None = None
    recovery: Recovery | None = None
    """What the fault of its trial did; None: there was none."""
    trial: Result | None = None
    """What its generator told of the load that was a trial; None: it has not had one."""
    sizing: Sizing | None = None
    """How its workload's events sized its window; None: they did not."""

    def __post_init__(self) -> None:
        self.workload = self.arm.workload.fill(self.arm.paths)

    # ------------------------------------------------------------ what kinds of arms do in their own way

    def begin(self) -> None:
        """Start what takes a while to come up; `open` waits for it."""

    def open(self) -> None:
        """Start it, wait for it, verify it. What goes wrong is a finding, and `failed` is set."""
        raise NotImplementedError

    def ready(self) -> None:
        """Prepare for the load, which may begin: all arms are up."""

    def load_begins(self) -> None:
        """Note that a load in one piece begins, and nobody else loads the arm."""

    def ask_to_end(self) -> None:
        """Let what needs time to end begin to: nothing loads it any more."""

    def close(self) -> None:
        """Stop all of it."""
        raise NotImplementedError

    def judge(self) -> Ended:
        """Say what its answers were, once all arms are stopped. Without a database there is nothing to hold them against."""
        result = audit.join_results(self.results) if self.results else None
        findings = blame.absolve(self.findings)
        return Ended(self.arm, answers.verdict(findings), findings, result, tuple(self.windows), phases_s=self.phases_s)

    def carry_out(self, fault: Fault) -> Happened:
        """Let something go wrong, as a load says. LabError where the lab cannot mend it again."""
        raise NotImplementedError

    def deadlocks(self) -> int | None:
        """The number of deadlocks that its database has had so far; None where it has no database."""
        return None

    def database_end(self) -> str | None:
        """The clause that says why its database server is there no more; None while it is, or where none is ours."""
        return None

    def exit_code(self) -> int | None:
        """The exit code with which it ended by itself; None while it runs, or where we do not know."""
        return None

    # ------------------------------------------------------------ findings

    def find(self, id: str, severity: Severity, sentence: str, **evidence: int | float | str | None) -> None:
        """Add a finding on the arm. After a fatal one it is not loaded any more."""
        self.findings.append(Finding(id, severity, sentence, evidence))
        self.failed = self.failed or id in FATAL

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Say that a phase begins, and note how long it took."""
        self.on(self.arm.label, Doing(name))
        began = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - began

    # ------------------------------------------------------------ one load without a break

    def whole(self, ask: Whole, number: int) -> ArmWindow | None:
        """Run the generator once: warm-up, window and drain. None where it measured no window; the reason is a finding."""
        if ask.again:
            self._forget_first()
            self.end_turns()  # its connections stand still, and would hold threads of some servers
        self.load_begins()
        folder = self.folder / ask.folder
        folder.mkdir(0o700, parents=True, exist_ok=True)  # samples of answers are nobody else's business
        before_us = machine.pace_us()
        run = _Run(self, ask, folder)
        self.watch.turn = self.arm.label
        try:
            result = run.follow()
        finally:
            run.session.stop()
            self.watch.turn = None
            self.seen.close_window()
        self.results.append(result)
        self.seen.logs.append(run.session.log)
        if ask.trial:
            self.trial = result
        if run.happened is not None and result.started_unix_us is not None:
            self._recover(run.happened, result, folder)
        self._judge_answers(result, run)
        if run.ends is None:
            self._say_unreachable(result)
            return None
        if (sized := run.sizing_of(result.completed_ok)) is not None:
            self.sizing = sized
            self.findings.append(sizing.finding(sized))
        window = self._window(ask, number, result, run, before_us)
        if ask.again:
            self.windows[0] = window
        else:
            self.windows.append(window)
        return window

    def _forget_first(self) -> None:
        """Forget what was said of a window in which the arm was not warm: it is said of the next one anew."""
        self.findings[:] = [one for one in self.findings if one.id not in OF_A_WINDOW]
        self.find("warmed-up", Severity.NOTE, "its window is its second: it was not warm in the first, as its turns showed")

    def _say_unreachable(self, result: Result) -> None:
        """Say why there was no window, unless that is said already."""
        self.notice_end()
        found = blame.unreachable(result, self.tls is not None)
        if found.severity is Severity.VOID or not any(one.severity is Severity.REJECT for one in self.findings):
            self.find(found.id, found.severity, found.sentence)

    def _judge_answers(self, result: Result, run: _Run) -> None:
        self.findings.extend(rejected := answers.life(result))
        self.failed = self.failed or bool(rejected)
        self.findings.extend(one for one in answers.accounting(result, self.workload) if self._is_new(one))
        if run.ask.trial:
            if result.completed_ok or validity.own_side(result) is None:
                found = answers.window(result, self.workload.errors_expected, self._fault_explains)
                self.findings.extend(one for one in found if self._is_new(one))
            self.findings.extend(answers.warmup(run.warmup.rates, run.warmup.settled, self.bench.thresholds.rules))

    def _recover(self, happened: Happened, result: Result, folder: Path) -> None:
        """Find out what the fault did, from the answers of each tenth of a second."""
        tenths = engine.tenths(json.loads((folder / "engine.json").read_bytes()))
        began_s = happened.began_unix_s - (result.started_unix_us or 0) / 1e6
        lasted_s = happened.over_unix_s - happened.began_unix_s
        self.recovery = recovery.recovery(began_s, lasted_s, tenths, result.window_s, result.window, happened.cut)
        self.findings.append(recovery.finding(happened.fault, self.recovery, result.window_s))

    @property
    def _fault_explains(self) -> bool:
        """True if all that failed did so after a fault."""
        return self.recovery is not None and not self.recovery.failed_before

    def _is_new(self, finding: Finding) -> bool:
        """True if the finding was not said of an earlier load, or not as gravely."""
        gravity = list(Severity).index
        said = [known for known in self.findings if known.id == finding.id]
        return all(gravity(known.severity) < gravity(finding.severity) for known in said)

    def _window(self, ask: Whole, number: int, result: Result, run: _Run, before_us: float | None) -> ArmWindow:
        assert run.ends is not None
        (reading, before), (later, after) = run.ends
        roles = roles_between(self.seen.meters, reading, later)
        lab, use, there = machines_between(before, after, roles.values(), self.arm.is_metered(roles))
        roles["lab"] = lab
        if "server" in roles:
            roles["server"] = replace(roles["server"], cpu_us_by_second=differences_us(run.clocks, "server"))
        late_s = run.late_s
        if late_s is None:
            late_s = after.here.host.at_s - before.here.host.at_s - result.window_s
        made = run.happened is not None and self.recovery is not None and recovery.is_beyond(self.recovery, result.window_s)
        late = None if made else blame.standstill(late_s, result.window_s, self.bench.thresholds.rules)
        if late is not None and ask.trial:
            self.findings.append(late)
        host = replace(use, canary_before_us=before_us, canary_after_us=machine.pace_us())
        disturbances = self.bench.disturbances(result.window_s, host, there, self.arm.machine_cell)
        steps, handshakes = self._of_the_engine(ask, run)
        return ArmWindow(
            arm=self.arm.label,
            number=number,
            load=ask.load,
            ok=result.completed_ok,
            not_ok=_others(result),
            window_s=result.window_s,
            roles=roles,
            host=host,
            machine=(*(() if late is None else (late,)), *disturbances),
            result=generators.with_share(result, ask.load, roles["generator"]),
            steps=steps,
            database=self.seen.so_far() if self.seen.database is not None else None,
            looks=tuple(self.seen.looks),
            handshakes=handshakes,
        )

    def _of_the_engine(self, ask: Whole, run: _Run) -> tuple[tuple[RateStep, ...], Handshakes | None]:
        """Read what the engine's document has beyond a result: the steps of an open loop, and the handshakes of TLS."""
        if ask.load.generator != generators.ENGINE or (ask.load.model != "open" and self.tls is None):
            return (), None
        document = json.loads((self.folder / ask.folder / "engine.json").read_bytes())
        steps = with_cpu(engine.curve(document, ask.load), run.clocks) if ask.load.model == "open" else ()
        return steps, engine.handshakes(document)

    # ------------------------------------------------------------ turns

    def begin_turns(self, load: Load) -> TurnTaking:
        """Start a generator that stands still until it is its turn; it lives as long as the arm."""
        if self.turns is None:
            endless = replace(load, window_s=ENDLESS_S)  # who takes turns says when the window is over
            seed = seed_of(self.arm.seed, len(self.results))
            plan = engine_plan.plan(self.workload, endless, self.host, self.port, seed, self.bodies, begin="held")
            folder, cores = self.folder / "turns", self.arm.cell.settings.cores_of("generator")
            folder.mkdir(parents=True, exist_ok=True)
            process = running.start_engine(self.bench.keeper, self.bench.engine, folder, self.bench.elsewhere, cores)
            session = engine.EngineSession(process, engine_plan.by_tls(plan, self.tls))
            self.turns = TurnTaking(
                session, self.arm.label, self.watch, self.seen, silence_of(load.timeout_ms),
                lambda: self.failed, self._notice_gone,
            )  # fmt: skip
        self.seen.meters["generator"] = self.turns.meter  # a whole window since then had a generator of its own
        return self.turns

    def _notice_gone(self, session: engine.EngineSession) -> None:
        """Say why an engine ended by itself: its server has ended, or could not be reached; else it failed of itself.

        Its exit code tells: one that was killed has no result, and says nothing of its server.
        """
        self.notice_end()
        if self.failed:
            return
        try:
            self._say_unreachable(session.result())
        except LabError as error:
            self.find(INSTRUMENT.id, Severity.VOID, error.message)

    def notice_end(self) -> None:
        """Find out whether the server ended by itself while it was measured."""
        code = self.exit_code()
        if code is not None and not self.failed:
            self.find("server-exit", Severity.REJECT, f"the server ended by itself with exit code {code} while it was measured")

    def end_turns(self) -> None:
        """End that generator and take what it counted over its whole life. One that gives no result makes the arm void."""
        if self.turns is not None:
            taking = self.turns
            try:
                self.results.append(result := taking.finish())
                self.seen.logs.append(taking.session.log)
                found = [*answers.life(result), *answers.accounting(result, self.workload)]
                if taking.measured and not self.failed and (result.completed_ok or validity.own_side(result) is None):
                    found += answers.window(result, self.workload.errors_expected)
                self.findings += [one for one in found if self._is_new(one)]
            except LabError as error:
                if not self.failed:
                    self.find(INSTRUMENT.id, Severity.VOID, error.message)
            self.turns = None
            taking.stop()


class _Run:
    """One run of a generator: its events up to the result, and the clocks at the ends of its window."""

    def __init__(self, loaded: Loaded, ask: Whole, folder: Path) -> None:
        bench, load = loaded.bench, ask.load
        self._loaded, self.ask = loaded, ask
        self.warmup = WarmUp(ask, bench.thresholds.rules)
        self.clocks: list[Mapping[str, float]] = []
        self._due = load.fault if ask.trial else None
        self.happened: Happened | None = None
        """The fault, once it has been carried out."""
        self._readings: dict[str, tuple[ClockReading, Stand]] = {}
        self.late_s: float | None = None
        """How late the end of the window may have been noticed, where the window's own length does not tell.

        A tool works on its report after the window: wrk reads its histogram for seconds.
        """
        self._pilot = None if ask.most_s is None else Pilot(loaded.workload.events, load, ask.most_s, loaded.deadlocks)
        self._sizing: Sizing | None = None
        seed = seed_of(ask.seed, len(loaded.results) + (loaded.turns is not None))
        task = generators.LoadTask(
            loaded.workload, load, loaded.host, loaded.port, seed, folder, loaded.bodies, rates=ask.rates, tls=loaded.tls
        )
        self.session = generators.start(bench.keeper, bench.engine, bench.tools, task, bench.elsewhere)
        self._meter()
        self.warmup.spent_us.append(self._spent())

    @property
    def ends(self) -> tuple[tuple[ClockReading, Stand], tuple[ClockReading, Stand]] | None:
        """The clocks where the window began and ended; None where it did not."""
        if "window" not in self._readings or "drain" not in self._readings:
            return None
        return self._readings["window"], self._readings["drain"]

    def _meter(self) -> None:
        """Pin and meter the generator: another process from the window on, where warm-up and window are two runs."""
        self._metered: Child | None = self.session.child
        self.session.pin(self._loaded.arm.cell.settings.cores_of("generator"))
        self._loaded.seen.meters["generator"] = self.session.meter()

    def follow(self) -> Result:
        """Read the events to the end; begin the window once the warm-up has settled or its time is up."""
        loaded, asked = self._loaded, False
        phase, began = "warmup", time.monotonic()
        if (given_s := self.warmup.given_s()) is not None and self._pilot is None:
            time.sleep(given_s)
            self._begin_window()
            asked = True
        while (event := self._event(phase, began)) is not None:
            now = time.monotonic()
            match event["event"]:
                case "second":
                    self._second(event, phase, now - began)
                    if self._has_ended(phase):
                        phase = "ended"
                case "window" | "drain" as name:
                    loaded.phases_s[phase] = loaded.phases_s.get(phase, 0.0) + now - began
                    phase, began, self.late_s = name, now, event.get("late_s")
                    self._read(name)
            if phase == "warmup" and not asked and self.warmup.is_over(now - began, given_s):
                self._begin_window()
                asked = True
        loaded.phases_s[phase] = loaded.phases_s.get(phase, 0.0) + time.monotonic() - began
        return self.session.result()

    def _begin_window(self) -> None:
        """End the warm-up. Where it was a pilot, it says how long the window is."""
        if self._pilot is not None:
            self._sizing = self._pilot.sizing(self.warmup.rates)
        self.session.measure(None if self._sizing is None else self._sizing.window_s)

    def sizing_of(self, answers: int) -> Sizing | None:
        """Return how the window was sized, with what it held: `answers` good ones among it. None if it lasts as its load says."""
        return None if self._pilot is None or self._sizing is None else self._pilot.count_events(self._sizing, answers)

    def _event(self, phase: str, began: float) -> Mapping[str, Any] | None:
        """The next event, None at the end. A fault that is due before it is carried out first."""
        while self._due is not None and phase == "window":
            left_s = began + self._due.at_s - time.monotonic()
            assert isinstance(self.session, engine.EngineSession), "a load with a fault is the engine's"
            if left_s > 0 and self.session.speaks(left_s):
                break
            if left_s <= 0:
                self.happened, self._due = self._loaded.carry_out(self._due), None
        return self.session.event(silence_of(self.ask.load.timeout_ms))

    def _second(self, event: Mapping[str, Any], phase: str, elapsed_s: float) -> None:
        load = self.ask.load
        total_s = load.warmup_max_s if phase != "window" else (self._sizing or load).window_s
        self._loaded.on(self._loaded.arm.label, Doing(phase, elapsed_s, total_s, event["ok"], event["not_ok"], event["p99_us"]))
        if phase == "warmup" and event["ok"] is not None:
            self.warmup.rates.append(event["ok"])
            self.warmup.spent_us.append(self._spent())
        elif phase == "window":
            self._clock()

    def _has_ended(self, phase: str) -> bool:
        """True if the server has ended by itself: that ends the load, too."""
        if phase == "ended":
            return False
        if (why := self._loaded.database_end()) is not None:
            self._loaded.find(DATABASE.id, Severity.VOID, f"the database server {why}")
            self.session.halt()
            return True
        code = self._loaded.exit_code()
        if code is None:
            return False
        self._loaded.find("server-exit", Severity.REJECT, f"the server ended during the {phase} with exit code {code}")
        self.session.halt()
        return True

    def _read(self, name: str) -> None:
        """Take the clocks at one end of the window."""
        seen = self._loaded.seen
        if self._metered is not self.session.child:
            self._meter()
        self._readings[name] = ClockReading(seen.meters), self._loaded.bench.stand(seen.meters.values())
        if name == "window":
            self._clock()
            seen.open_window()
        else:
            seen.close_window()
            if self._pilot is not None:
                self._pilot.end()

    def _spent(self) -> tuple[float, float]:
        """CPU so far in µs of every role but the generator, and of the generator."""
        used = {role: meter.cpu_ns() / 1000 for role, meter in self._loaded.seen.meters.items()}
        return sum(us for role, us in used.items() if role != "generator"), used.get("generator", 0.0)

    def _clock(self) -> None:
        """CPU so far, at a second of the window: of every role where each step of a load curve is to have its own."""
        meters = self._loaded.seen.meters
        read = meters if self.ask.load.model == "open" else {role: meters[role] for role in ("server",) if role in meters}
        self.clocks.append({role: meter.cpu_ns() / 1000 for role, meter in read.items()})


def _others(result: Result) -> int:
    """Answers of the window that were not good; where a generator does not tell how many ended, its requests that were not."""
    return result.window.not_ok if result.completed is None else result.completed - result.completed_ok
