"""A started stack as an arm: reset, start, verify before the load; stop, audit and judge after it. Every guarantee is here.

A server that fails at any step has a finding that rejects it; what fails of our own makes it void.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import psycopg

from fairground import contract
from fairground.host import Child, RoleMeter, machine
from fairground.judge import (
    answers,
    blame,
    bottleneck,
    connecting,
    crash,
    elsewhere,
    growth,
    needs,
    prepared,
    recovery,
    stalls,
    statements,
    validity,
    written,
)
from fairground.judge.tables import read_whole
from fairground.measure import audit, backends, distance, slowdown, supply, tables
from fairground.measure.arm import ArmWindow, Ended, StackArm
from fairground.measure.bench import HOST
from fairground.measure.commits import CommitWitness
from fairground.measure.faults import UNLIMITED, Faults, Happened
from fairground.measure.flushes import Flushes
from fairground.measure.lifetime import LifetimeWatch
from fairground.measure.loaded import Loaded
from fairground.measure.logs import tail_of
from fairground.measure.lost_statements import LostStatements
from fairground.measure.path import Route
from fairground.measure.prober import Prober, begin_probes
from fairground.measure.schedule import Whole
from fairground.measure.turntaking import TurnTaking
from fairground.measure.watch import database_use
from fairground.model import (
    AuditLine,
    Cell,
    DatabaseUse,
    Fault,
    HostUse,
    LabError,
    Load,
    MachineError,
    Result,
    RoleUse,
    Severity,
    StorageError,
    WorkloadEvent,
    foreign,
)
from fairground.model.cause import DATABASE, INSTRUMENT
from fairground.postgres import Database


@dataclass
class StartedStack(Loaded):
    """One stack on a database of its own. `database` is that database."""

    database: Database = field(kw_only=True)
    path: Route = field(init=False)
    faults: Faults = field(init=False)
    planted: Child | None = None
    before: audit.Before | None = None
    wal_before: int | None = None
    connect_cpu_us: float | None = None
    use: DatabaseUse | None = None
    audit: tuple[AuditLine, ...] = ()
    diagnosis: str | None = None
    begun: bool = False
    opened: bool = False
    prober: Prober | None = None
    lifetime: LifetimeWatch = field(init=False)
    lost: LostStatements = field(init=False)
    witness: CommitWitness = field(init=False)
    counted: tuple[int | None, int] = (None, 0)
    """When the load in one piece began: the database's next number of a transaction, and how many results there were."""
    written: list[tuple[int, int]] = field(default_factory=list)
    """Of each load in one piece: transactions that wrote, and its good answers to requests that write."""
    flushes: Flushes = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        bench = self.bench
        self.path = Route(bench.keeper, bench.engine, self.database, self.arm.cell, bench.cores, self.folder)
        self.path.meters, self.path.fixed_port = self.seen.meters, self.stack_arm.stack.server.port
        self.flushes = Flushes(self.database, self.workload)
        self.witness = CommitWitness(self.database, self.workload)
        self.lifetime = LifetimeWatch(self.database)
        self.lost = LostStatements(self.database, self.arm.cell.topology, self.folder)
        self.faults = Faults(bench.keeper, self.database, self.path, self.seen, self.arm.cell)

    @property
    def stack_arm(self) -> StackArm:
        """The arm, which is a stack's."""
        assert isinstance(self.arm, StackArm)
        return self.arm

    def carry_out(self, fault: Fault) -> Happened:
        self.notice_crash()
        happened = self.faults.carry_out(fault)
        self.lifetime.begin()
        return happened

    def limit_connections(self, cell: Cell) -> None:
        """Let the database give it as many connections at once as the settings of a cell say."""
        self.seen.allowed = allowed = self.stack_arm.allowed_connections(cell, self.bench.thresholds.rules)
        self.database.limit_connections(UNLIMITED if allowed is None else allowed[1])

    def notice_crash(self) -> None:
        """Find out whether the database server still is the one that it was. MachineError where it has ended."""
        if (found := self.lifetime.crash()) is not None and self._is_new(found):
            self.findings.insert(0, found)  # what else went wrong is its consequence, and one sentence is shown first

    def deadlocks(self) -> int | None:
        return self.database.counters().deadlocks

    def database_end(self) -> str | None:
        return None if self.database.owner is None else self.database.owner.ended

    def exit_code(self) -> int | None:
        return None if self.path.server is None else self.path.server.exit_code()

    # ------------------------------------------------------------ before the load

    def begin(self) -> None:
        """Make fresh data, then start pooler and server. Do not wait, so that the other arms of a session begin meanwhile."""
        try:
            with self.phase("reset"), self.database.keep_asking():
                self.database.reset(self.arm.data)
                self.lifetime.begin()
                self.limit_connections(self.arm.cell)
                self.database.alter(self.stack_arm.statements)
            if self.database.shared:
                self.find("shared-role", Severity.NOTE, f"the server logged in as the lab does: {self.database.shared}")
            with self.phase("start"):
                self.begun = self._start()
        except (LabError, psycopg.Error) as error:
            self.find(INSTRUMENT.id, Severity.VOID, _words(error))

    def open(self) -> None:
        """Wait for the server, put the proxy before it, then the contract's cases of the workload."""
        if not self.begun:
            return
        try:
            with self.phase("start"):
                problem = self.path.wait(self.bench.ready_timeout_s)
            self.findings += self.path.ways_of_listening(self.stack_arm.stack.backlog)
            self.seen.held_by = self.path.holders() if problem is None else ()
            self.seen.ask_holders = None if self.seen.held_by else self.path.holders
            self._verify_behind_proxy(problem)
        except (LabError, psycopg.Error) as error:
            self.find(INSTRUMENT.id, Severity.VOID, _words(error))

    def _start(self) -> bool:
        """Start pooler, wires and server. A hop that does not start makes the arm void, a server that does not is rejected."""
        for hop, start in (("pooler", self.path.open_pooler), ("wire", self._open_wire)):
            try:
                start()
            except (LabError, psycopg.Error) as error:
                self.find(hop, Severity.VOID, _words(error))
                return False
        self.seen.pooler = self.path.pooler
        self.lost.begin()
        try:
            self.path.open_server(self.stack_arm.stack)
        except MachineError:
            raise  # no port, no file: nothing that a server does
        except LabError as error:
            self.find("start", Severity.REJECT, f"the server could not be started: {error.message}")
            return False
        self.opened = True
        return True

    def _open_wire(self) -> None:
        """Start the wires, and measure the one before the database while it has no connection but ours."""
        self.path.open_wire()
        if (wire := self.arm.cell.topology.wire) is not None:
            self.findings += distance.database(self.path, wire, self.bench.thresholds.rules)

    def _verify_behind_proxy(self, problem: str | None) -> None:
        """Verify a server, `problem` being why it is not ready. Lost prepared statements are measured, not given up on."""
        if problem is not None and not (self.path.listens() and self.lost_statements()):
            self.find("ready", Severity.REJECT, f"the server did not become ready: {problem}")
            return
        try:
            self.path.open_proxy(ready=problem is None)
        except LabError as error:
            self.find("proxy", Severity.VOID, error.message)
            return
        self.host, self.port = self.path.host, self.path.port
        if self._verify():
            self._measure_way_to_server()
        else:
            self.failed = True

    def _measure_way_to_server(self) -> None:
        """Measure the wire before the server, which gives right answers."""
        if (wire := self.arm.cell.topology.wire) is not None:
            try:
                self.findings += distance.server(self.path, wire, self.bench.thresholds.rules)
            except LabError as error:
                self.find("wire", Severity.VOID, error.message)

    def _verify(self) -> bool:
        """Try the workload's contract cases at low rate, and note the bodies that were found right. False: it failed one.

        Cases that fail because a pooler loses prepared statements do not fail the arm: the share of such failures is its result.
        """
        with self.phase("verify"), self.database.keep_asking():
            report = contract.run(
                contract.select(self.bench.cases, self.workload.id, quick=True),
                address=(self.host, self.port),
                contract=self.workload.contract,
                names=self.stack_arm.names,
                probe=self.database.probe,
                terms=supply.terms_of(self.stack_arm, self.database),
            )
            excused = None if report.passed or not self.lost_statements() else prepared.excuse_prepared(report.findings)
            shown = report.findings if excused is None else excused
            self.findings.extend(finding for finding in shown if finding.severity is not Severity.NOTE)
            self.bodies = report.bodies
            if excused is not None:
                self.workload = self.workload.without_comparisons(report.wrong)
            return report.passed or excused is not None

    def ready(self) -> None:
        """Note what the audit's statements say, and plant the slowdown, if one is to be planted."""
        if self.failed:
            return
        try:
            self.workload, refused = supply.fill(
                tables.resolve(self.workload, self.database), self.database, supply.ServerAddress(self.host, self.port)
            )
            if refused is not None:
                return self.find("data", Severity.REJECT, refused)
            if self.workload.audit.writes:  # before the audit's first look, for the prober may make rows of its own
                self.witness.begin()
                self.prober = begin_probes(
                    self.workload, (self.host, self.port), self.database, self._on_turn, self.arm.cell.load
                )
            self.before = audit.before(self.database, self.workload)
            self.wal_before = self.database.wal_position()
            self.planted = slowdown.plant(self.bench, self.stack_arm, self.path.server, self.database)
            if isinstance(meter := self.path.meters.get("server"), RoleMeter):
                meter.count_instructions()
        except (LabError, psycopg.Error) as error:
            self.find(INSTRUMENT.id, Severity.VOID, _words(error))

    def connecting_us(self) -> float | None:
        """CPU of the database for one connection, before any load; None where it cannot be read."""
        try:
            return backends.cpu_us(self.seen.meters.get("database"), lambda: self.database.connect("postgres"))
        except psycopg.Error as error:
            self.find(INSTRUMENT.id, Severity.VOID, _words(error))
            return None

    def _on_turn(self) -> bool:
        """True if it is loaded at this moment."""
        return self.watch.turn == self.arm.label and not self.failed

    def whole(self, ask: Whole, number: int) -> ArmWindow | None:
        """Load it as any arm, and count what wrote: no other arm is loaded then, and transactions of turns are mixed."""
        window = super().whole(ask, number)
        self.before = audit.with_end(self.before, self.database, self.workload, self.results, self.windows, ask.load.fault)
        if not self.workload.audit.writes or ask.load.fault is not None:
            return window
        (before, loads), after = self.counted, self.database.transactions()
        if before is not None and after is not None:
            self.written += [(after - before, needs.written_answers(self.workload, one)) for one in self.results[loads:]]
            self.witness.note(self.seen.logs, before, after)
        good = [needs.writes_among(written.counted_by(one), self.workload, one) for one in self.results[loads:]]
        self.flushes.add(self.flushes.since("whole"), good)
        return window

    def load_begins(self) -> None:
        """Note the counts so far. Who took turns is gone by now, and what that one counted is among the results."""
        self.counted = self.database.transactions() if self.workload.audit.writes else None, len(self.results)
        self.flushes.begin("whole")

    def begin_turns(self, load: Load) -> TurnTaking:
        """Start its generator, as of any arm, and note the flushes so far."""
        if self.turns is None:
            self.flushes.begin("turns")
        return super().begin_turns(load)

    def end_turns(self) -> None:
        """End its generator, and count the flushes of its turns while the connections of all arms are open."""
        if self.turns is None:
            return
        good, flushes, loads = written.counted_in_turns(self.turns.ends), self.flushes.since("turns"), len(self.results)
        super().end_turns()
        self.before = audit.with_end(self.before, self.database, self.workload, self.results, self.windows)
        self.flushes.add(
            flushes, (needs.writes_among(max(0, good - one.refused), self.workload, one) for one in self.results[loads:])
        )

    # ------------------------------------------------------------ after the load

    def ask_to_end(self) -> None:
        """Stop what is planted and what asks the server, then ask the server to end."""
        if self.prober is not None:
            self.prober.stop()
        if self.planted is not None:
            self.planted.stop(0.0)
        if isinstance(meter := self.path.meters.get("server"), RoleMeter):
            meter.stop_counting()
        with self.phase("stop"):
            self.path.ask_server()

    def close(self) -> None:
        """Stop the path from its end. A server's end is said once."""
        with self.phase("stop"):
            if self.opened and (pooler := self.path.pooler) is not None:
                name, reject = f"{self.arm.cell.topology.pooler} {pooler.version}", self.bench.thresholds.rules.prepared_reject
                if (lost := self.lost.finding(name, self.results, self.findings, reject)) is not None:
                    self.findings.append(lost)
                    self.diagnosis = prepared.limit_of(lost)
            spoken = {"server-exit"} if {"ready", "server-exit"} & {finding.id for finding in self.findings} else set()
            self.findings.extend(finding for finding in self.path.close() if finding.id not in spoken)

    def judge(self) -> Ended:
        """Hold what the server acknowledged against its database, and what was measured against the bounds."""
        with self.phase("audit"), self.database.keep_asking():
            try:
                self.notice_crash()
                self._audit()
            except psycopg.Error as error:
                self.find(DATABASE.id, Severity.VOID, f"{DATABASE.meaning}: {_words(error)}")
        tail = foreign.clean(tail_of(self.folder / "server.log")).strip()
        self._believe()
        joined = {role: one.intruders for role, one in self.seen.meters.items() if isinstance(one, RoleMeter)}
        self.findings += [one for one in [blame.intrusion(joined)] if one is not None]
        deadlocks, timeout_s = WorkloadEvent.DEADLOCKS in self.workload.events, self.arm.cell.load.timeout_ms / 1000
        window_s = self.windows[0].window_s if self.windows else math.inf
        self.findings[:] = blame.absolve(validity.excuse(self.findings, deadlocks, window_s, timeout_s))
        if tail:
            self.find("stderr", Severity.NOTE, "the server wrote to its standard streams", characters=len(tail))
        return Ended(
            self.arm, answers.verdict(self.findings), tuple(self.findings), self._joined(), tuple(self.windows), self.audit,
            self.use, self.diagnosis, self.phases_s, tail, self.recovery, self.sizing,
        )  # fmt: skip

    def _joined(self) -> Result | None:
        """All of its loads together."""
        return audit.join_results(self.results) if self.results else None

    def _audit(self) -> None:
        """Read the database once the server's connections are gone, and hold it against the answers."""
        if not self.opened:
            return
        if not self.database.wait_for_no_connections():
            self.find("connections-left", Severity.VOID, "the server's database connections were still open after it had ended")
        counters, wal = audit.counters(self.database, self.before), self.database.wal_position()
        wal_bytes = wal - self.wal_before if wal is not None and self.wal_before is not None else None
        found = database_use(counters, self.seen, wal_bytes, audit.work(self.database, self.before, self.workload))
        refused, is_told = self.faults.refusals() or (None, None), self.stack_arm.holds_a_pool
        found = crash.without_counters(found) if self.faults.crashed else found
        self.use = replace(found, connect_cpu_us=self.connect_cpu_us, refused=refused[0], no_room=refused[1])
        self.findings.extend(answers.budget(self.use, self.arm.cell) if is_told else answers.untold(self.use))
        self.findings += filter(None, [blame.no_room(self.use.no_room, is_told and not self.faults.lifted)])
        if (result := self._joined()) is None or self.before is None:
            return
        lost = self.faults.most_lost(self.recovery)
        self.findings.extend(answers.denials(result, self.workload, lost or 0))
        rules, probes = self.bench.thresholds.rules, self.prober.probes if self.prober is not None else []
        self.findings.extend(() if self.prober is None else self.prober.findings(result))
        counted = result if self.prober is None else written.with_probes(result, probes, self.prober.asked)
        told = recovery.with_doubts(counted, self.stack_arm.judged_cell_of(self.use))
        self.audit = audit.lines(self.database, self.workload, told, self.use, self.before, rules, lost)
        if self.recovery is not None:
            self.recovery, said = self.faults.count_lost(self.recovery, self.audit, self.workload, told.done)
            self.findings.extend(said)
        if self.written:
            transactions, good = (sum(part) for part in zip(*self.written, strict=True))
            self.audit += (answers.transactions_line(transactions, good),)
        self.audit += self.flushes.line(self.stack_arm.connections_at_once)
        # A crash may take answered rows, which `count_lost` has counted; and moments of commits are not kept over it for sure.
        lines, notes = self.witness.read([] if self.faults.crashed else self.seen.logs, probes)
        self.audit += lines
        self.findings += [*notes, *answers.audit_findings(self.audit)]
        self.findings.extend(answers.chatter(self.workload, result, self.use, rules))
        self.findings += [*statements.findings(self.workload, result, self.use, rules), *needs.audit_findings(self.workload)]
        self._diagnose(result)

    def _diagnose(self, result: Result) -> None:
        """Name what limited a trial, unless a fault did. A search names each load's limits, and a comparison asks for none."""
        if self.diagnosis is not None or self.trial is None or self.recovery is not None:
            return
        (roles, host, result), cell = self._trial_window(result), self.stack_arm.judged_cell_of(self.use)
        at, work = self.bench.thresholds, None if self.use is None else self.use.work
        whole = read_whole(needs.counts_of(self.workload, result), work, at.rules)
        for reason in bottleneck.limits(cell, result, roles, host, self.use, self.bench.cores, at.reasons, whole):
            self.findings.append(reason)
            self.diagnosis = self.diagnosis or reason.id
        self.findings.extend(connecting.findings(cell, result, roles, self.use, at.reasons))

    def _trial_window(self, joined: Result) -> tuple[Mapping[str, RoleUse], HostUse | None, Result]:
        """Roles, machine and result of the trial's window, which comes first; nothing is known of the two where it had none.

        What was counted over the arm's whole life comes from all of its loads, `joined`, as the database's counters do.
        """
        if not self.windows:
            return {}, None, joined
        window = self.windows[0]
        return window.roles, window.host, (window.result or joined).with_life_of(joined)

    def _believe(self) -> None:
        """Judge whether what was measured may be believed."""
        if not self.opened:
            return
        self.findings.extend(elsewhere.port_finding(self.seen.held_by, self.path.server_port))
        self.findings.extend(validity.identity(self.bench.machine, machine.fingerprint(self.bench.keeper.awake)))
        if self.trial is not None and (joined := self._joined()) is not None:
            roles, host, result = self._trial_window(joined)
            facts = validity.TrialFacts(result.window_s, self.bench.cell_here(self.arm.cell), result, roles, host, self.use)
            if self.recovery is not None:  # its window is not steady on purpose, and its memory follows
                self.findings.extend(validity.findings(facts, self.bench.thresholds, of=validity.BESIDE_FAULTS))
                return
            self.findings.extend(validity.findings(facts, self.bench.thresholds))
            self.findings.extend(one for window in self.windows[:1] for one in window.machine if HOST in one.evidence)
            self.findings.extend(validity.unmade(facts, self.bench.thresholds))
            looks, rules = self.windows[0].looks if self.windows else (), self.bench.thresholds.rules
            self.findings.extend(stalls.findings(self.arm.cell, result, looks, self.diagnosis, rules))
            self.findings.extend(elsewhere.cost_finding(result, roles, rules))
            self.findings.extend(growth.findings(self.arm.cell, result, looks, machine.memory_bytes(), rules))
            self.findings.extend(growth.held_findings(looks, result, machine.most_descriptors(), machine.most_threads(), rules))

    def lost_statements(self) -> str | None:
        """The error of a prepared statement that a pooler lost, in the words of who reported it; None when there was none."""
        return self.lost.error_in(self.results, self.findings)


def _words(error: Exception) -> str:
    """Say in words what went wrong of our own. What cannot be stored is not the end of one arm: it goes on as it came."""
    if isinstance(error, StorageError):
        raise error
    return foreign.line(str(error), foreign.SENTENCE_CHARACTERS)
