"""The values that a session loads and returns: arms, windows, and the end of an arm. All are frozen.

An *arm* is a started stack (plain, planted, or again) or an address that somebody else serves. A *window* is what was measured of
one arm. A *round* is one start of all arms: the unit of evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from fairground.host import Child, Resident
from fairground.host.emulation import Emulator, Locator
from fairground.judge import answers, bottleneck, pools, thresholds
from fairground.judge.thresholds import Rules
from fairground.model import (
    AuditLine,
    Cell,
    DatabaseUse,
    Durability,
    Finding,
    Handshakes,
    HostUse,
    Load,
    Look,
    RateStep,
    Recovery,
    Result,
    RoleUse,
    Severity,
    Sizing,
    Stack,
    Verdict,
    Workload,
)
from fairground.model.contract import ContractData
from fairground.model.count import WorkCount
from fairground.model.pair import rejection
from fairground.model.window import WindowTally
from fairground.model.wire import Tls
from fairground.postgres import DatabaseBeside


@dataclass(frozen=True)
class Arm:
    """One side of a measurement, under a label that no other arm of its session has."""

    label: str
    cell: Cell
    workload: Workload
    seed: int

    @property
    def paths(self) -> Mapping[str, str]:
        """The paths that it is asked by, as texts of the contract name them."""
        return self.workload.contract.paths

    @property
    def data(self) -> ContractData:
        """The data that its database has, each time that they are made anew."""
        return self.workload.contract.data(self.cell.settings.scale, self.cell.settings.sql_before)

    @property
    def machine_cell(self) -> Cell:
        """The cell by which it is told what disturbs the machine."""
        return self.cell

    def is_metered(self, roles: Collection[str]) -> bool:
        """True if all that works for it is among these roles; else what it uses is not told from what strangers use."""
        return "database" in roles

    @property
    def folder(self) -> str:
        """The name of its folder; a revision's name in the label may hold slashes."""
        return self.label.replace("/", "-")


@dataclass(frozen=True)
class StackArm(Arm):
    """One of the lab's stacks, with every guarantee. `planted` is a slowdown added on purpose, as a share of the server's CPU.

    `slowed`: on whose processors it is spent, the server's own or the database's.
    `statements` are carried out in the arm's database before its server starts; `{database}` in them stands for its name.
    """

    stack: Stack
    planted: float = 0.0
    statements: tuple[str, ...] = ()
    slowed: str = "server"

    @property
    def paths(self) -> Mapping[str, str]:
        """The paths of its server, where that has its own."""
        return {**self.workload.contract.paths, **self.stack.server.paths}

    @property
    def names(self) -> Mapping[str, object]:
        """The values of `$names` in texts of the contract: numbers of the arm's data, and paths of its server."""
        return {**self.workload.contract.numbers_at(self.cell.settings.scale), **self.paths}

    @property
    def holds_a_pool(self) -> bool:
        """True if it was told the size of its pool: who is told none is held to none, unless a pooler stands before it."""
        return self.stack.server.is_told("pool_size") or self.cell.topology.pooler is not None

    def allowed_connections(self, cell: Cell, rules: Rules) -> tuple[int, int] | None:
        """The connections that it may hold under the settings of a cell, and with those that still end; None: any number."""
        if not self.holds_a_pool:
            return None
        return answers.connections_allowed(cell), answers.connection_limit(cell, rules)

    @property
    def connections_at_once(self) -> int | None:
        """The most connections to the database that work for it at once; None where nobody told it how many it may hold."""
        return answers.connections_at_once(self.cell) if self.holds_a_pool else None

    def judged_cell_of(self, database: DatabaseUse | None) -> Cell:
        """The cell by which limits and audit are read: a server that was told no size of its pool is judged by what it held."""
        return self.cell if self.holds_a_pool else pools.held_cell_of(self.cell, database)


@dataclass(frozen=True)
class CheckArm(StackArm):
    """A stack that is not loaded: the contract's cases are tried on it, those too that disturb its process and its database.

    `only`: the ids of the cases that are tried; None: all.
    """

    only: tuple[str, ...] | None = None


@dataclass(frozen=True)
class CountedArm(StackArm):
    """A stack whose server runs under an emulation that counts what it carries out; None: the processor's counters are read.

    `locator`: tells in which functions, where somebody asks.
    """

    emulator: Emulator | None = None
    locator: Locator | None = None


@dataclass(frozen=True)
class ServiceArm(Arm):
    """An address that somebody serves: no contract, no audit, no database of ours. `server`: whose CPU is read, if any.

    `database`: the service's own, which is read meanwhile.
    """

    host: str
    port: int
    server: Child | Resident | None = None
    tls: Tls | None = None
    database: DatabaseBeside | None = None

    @property
    def machine_cell(self) -> Cell:
        """The cell as of a durable database: nobody knows whether the service's own waits for the disk."""
        return replace(self.cell, settings=replace(self.cell.settings, durability=Durability.DURABLE))

    def is_metered(self, roles: Collection[str]) -> bool:
        """True if the service and its database are among these roles: somebody else runs both."""
        return {"server", "database"} <= set(roles)


@dataclass(frozen=True)
class NullArm(Arm):
    """The null responder of the load engine: what this machine's HTTP side can do at most. `threads` are its own."""

    threads: int


@dataclass(frozen=True)
class PgbenchArm(Arm):
    """pgbench with the workload's statements in `script`."""

    script: str

    @property
    def protocol(self) -> str:
        """The protocol of pgbench: prepared where servers prepare, else extended."""
        return "prepared" if self.cell.settings.prepared else "extended"


@dataclass(frozen=True)
class ArmWindow:
    """One arm while it was loaded. A window made of turns holds all of its turns together, and has no `result` of its own.

    `ok` and `not_ok` count the answers that arrived in its `window_s` seconds of load. `host` and `machine` are of the whole
    time between its ends, the other arms' turns included. `number` is that of the question: windows made in turns share it.
    """

    arm: str
    number: int
    load: Load
    ok: int
    not_ok: int
    window_s: float
    roles: Mapping[str, RoleUse]
    host: HostUse | None
    machine: tuple[Finding, ...]
    result: Result | None = None
    steps: tuple[RateStep, ...] = ()
    database: DatabaseUse | None = None
    warm_up: bool = False
    """Loaded to warm the arm: it counts for nothing."""
    settled_ok: int = 0
    settled_s: float = 0.0
    """Of turns: good answers and seconds while all connections were busy; see the tally."""
    unsettled: bool = False
    """Of turns: this arm's had no settled part. Both of the above are 0 for all arms then."""
    lingered_s: float = 0.0
    """Of turns: how long the last answers of one took after its end, on average."""
    looks: tuple[Look, ...] = ()
    """What was seen of its roles meanwhile, five times a second; empty for a window made of turns."""
    handshakes: Handshakes | None = None
    """Of the load's whole life, its warm-up among it; None without TLS."""
    work: WorkCount | None = None
    """What the server carried out in it, where that was counted: then it has no goodput, no latency and no CPU."""

    @property
    def rate_per_s(self) -> float:
        """Good answers a second."""
        return self.tally.rate_per_s

    @property
    def whole(self) -> Result:
        """The result that the generator told of a window that was one piece."""
        assert self.result is not None, "a window made of turns has no result of its own"
        return self.result

    @property
    def server_cpu_us(self) -> float | None:
        """CPU of the server in it; None where nobody reads it."""
        use = self.roles.get("server")
        return None if use is None else use.cpu_us

    @property
    def tally(self) -> WindowTally:
        """The counts of it, and the CPU of server and generator, as results keep them."""
        generator, server = self.roles.get("generator"), self.roles.get("server")
        return WindowTally(
            ok=self.ok,
            not_ok=self.not_ok,
            window_s=self.window_s,
            cpu_us=self.server_cpu_us,
            generator_cpu_us=None if generator is None else generator.cpu_us,
            settled_ok=self.settled_ok,
            settled_s=self.settled_s,
            instructions=None if server is None else server.instructions,
        )

    @property
    def void(self) -> str | None:
        """The sentence that says what of the machine spoiled it, or None."""
        return next((finding.sentence for finding in self.machine if finding.severity is Severity.VOID), None)

    def limits(self, cell: Cell, cores: int) -> tuple[Finding, ...]:
        """The named reasons that limited it, strongest first; none where the generator told no result."""
        if self.result is None:
            return ()
        loaded, at = replace(cell, load=self.load), thresholds.standard().reasons
        return bottleneck.limits(loaded, self.result, self.roles, self.host, self.database, cores, at)


def seed_of_start(seed: int, number: int) -> int:
    """The seed of an arm's requests in the start of a number: another one in each, and the same when a start is made again."""
    return seed + 1000 * number


@dataclass(frozen=True)
class Ended:
    """One arm after its session: what it did in its whole life, and whether that may be believed.

    `result` holds what all of its loads acknowledged together; what belongs to one window is the first one's.
    """

    arm: Arm
    verdict: Verdict
    findings: tuple[Finding, ...]
    result: Result | None = None
    windows: tuple[ArmWindow, ...] = ()
    audit: tuple[AuditLine, ...] = ()
    database: DatabaseUse | None = None
    diagnosis: str | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    stderr_tail: str = ""
    recovery: Recovery | None = None
    sizing: Sizing | None = None

    @property
    def rejected(self) -> str | None:
        """The reason why it has no number, in a sentence that names it; None where it has one."""
        return rejection(self.arm.label, self.findings)

    @property
    def void(self) -> str | None:
        """The reason why all of it is void, in a sentence that names it; None where it is not, or where it is rejected."""
        found = next((finding for finding in self.findings if finding.severity is Severity.VOID), None)
        return None if found is None or self.rejected else f"`{self.arm.label}` is void: {found.sentence}"
