"""The ways to measure: topologies, loads, settings and cells; and what a person asks for: suites and plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from fairground.model.contract import SqlFile
from fairground.model.fault import Fault
from fairground.model.memory import RememberedSpread

MAJORS = (16, 17, 18)
"""The major versions of PostgreSQL that the lab can start."""
OWN_MAJOR = 18
"""The one that comes with the lab, and is used where none is named."""


class Durability(StrEnum):
    """The durability of a run's database. `durable`: fsync and synchronous_commit on. `relaxed`: both off."""

    DURABLE = "durable"
    RELAXED = "relaxed"


PROXIES = ("nginx", "nginx-close")
POOLERS = ("pgbouncer-session", "pgbouncer-tx", "pgcat-session", "pgcat-tx")
"""What can stand in the path, by name; `topology` knows what each is."""


@dataclass(frozen=True)
class PathWire:
    """Distances in a path, in ms that they add to a round trip: half each way. None: none at that place.

    `server_ms` lies between the generator and what stands first at the server, `database_ms` between the server and what stands
    first at the database.
    """

    server_ms: float | None = None
    database_ms: float | None = None

    @property
    def sides(self) -> Mapping[str, float]:
        """Side → ms, of the wires that there are, from the generator on."""
        return {side: ms for side, ms in (("server", self.server_ms), ("database", self.database_ms)) if ms is not None}

    @property
    def id(self) -> str:
        """The wires as a person writes them: `server=0.2ms+database=1ms`."""
        return "+".join(f"{side}={ms:g}ms" for side, ms in self.sides.items())

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True)
class Topology:
    """The path from generator to database: its proxy and pooler by name, and its wires. None: that hop does not exist.

    `pooler_size` is how many connections the pooler may hold to the database, `pooler_clients` how many it accepts.
    """

    proxy: str | None = None
    pooler: str | None = None
    pooler_size: int = 50
    pooler_clients: int = 500
    wire: PathWire | None = None

    @property
    def id(self) -> str:
        wires = {} if self.wire is None else {side: f"wire-{side}-{ms:g}ms" for side, ms in self.wire.sides.items()}
        names = (wires.get("server"), self.proxy, wires.get("database"), self._pooler_id)
        return "+".join(name for name in names if name) or "direct"

    @property
    def hops(self) -> tuple[str, ...]:
        """The names of its proxy and pooler, as far as there are any."""
        return tuple(name for name in (self.proxy, self.pooler) if name)

    @property
    def _pooler_id(self) -> str | None:
        if self.pooler is None:
            return None
        size = "" if self.pooler_size == Topology.pooler_size else f"-{self.pooler_size}"
        clients = "" if self.pooler_clients == Topology.pooler_clients else f"-c{self.pooler_clients}"
        return f"{self.pooler}{size}{clients}"


@dataclass(frozen=True)
class Load:
    """The generator's load. `model` is `closed` (`connections` at once) or `open` (`rate_per_s`, spaced as `arrivals` says).

    `requests`: so many are sent, however long it takes, and `window_s` is measured instead of given. `think_ms`: each connection
    of a closed loop pauses so long between an answer and its next request; no latency includes it. `fault`: what is made to go
    wrong in the window; None: nothing is. `stages`: the seconds of each stage of a closed loop's window, and the connections that
    it ends with. Their number changes evenly from the stage before, the first from `connections`. They are as long as the window.
    """

    connections: int = 100
    keep_alive: bool = True
    window_s: float = 5.0
    warmup_min_s: float = 2.0
    warmup_max_s: float = 20.0
    timeout_ms: int = 10_000
    model: str = "closed"
    rate_per_s: float | None = None
    generator: str = "engine"
    threads: int = 1
    arrivals: str = "poisson"
    requests: int | None = None
    think_ms: float = 0.0
    fault: Fault | None = None
    stages: tuple[tuple[float, int], ...] = ()

    @property
    def most_connections(self) -> int:
        """The most connections at once."""
        return max(self.connections, *(ends for _, ends in self.stages), 0)

    @property
    def id(self) -> str:
        even = "-constant" if self.arrivals == "constant" else ""
        parts = (
            "" if self.rate_per_s is None else f"-{self.rate_per_s:g}rps{even}",
            "" if self.requests is None else f"-{self.requests}requests",
            "" if self.threads == 1 else f"-{self.threads}threads",
            "" if self.keep_alive else "-close",
            "" if self.think_ms == 0 else f"-think{self.think_ms:g}ms",
            "" if self.generator == "engine" else f"-{self.generator}",
            "" if self.fault is None else f"-{self.fault.id}",
            *(f"-{ends}in{seconds:g}s" for seconds, ends in self.stages),
        )
        return f"c{self.connections}{''.join(parts)}"


class PoolScope(StrEnum):
    """The scope of `pool_size`: a whole server, or each of its workers."""

    TOTAL = "total"
    PER_WORKER = "per-worker"


ROLES = ("server", "database", "generator", "proxy", "pooler", "wire")
"""Who works in a trial, each measured apart; each can be pinned to cores."""


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server in one cell, and where each role of the cell runs."""

    workers: int = 2
    pool_size: int = 25
    pool_wait_ms: int | None = None
    prepared: bool = True
    pool_scope: PoolScope = PoolScope.TOTAL
    cpus: float | None = None
    """The processors that the server may use, as a quota; None: all."""
    memory_mb: int | None = None
    """The memory that the server may use, in MB (10⁶ bytes); None: all."""
    pin: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Role → the cores that it runs on."""
    place: tuple[tuple[str, str], ...] = ()
    """Role → the host that it runs on; those that are not named run on the lab's machine."""

    @property
    def pool_total(self) -> int:
        """Connections to the database that a server may hold over all of its workers."""
        return self.pool_size * (self.workers if self.pool_scope is PoolScope.PER_WORKER else 1)

    def cores_of(self, role: str) -> tuple[int, ...] | None:
        """The cores that a role is pinned to; None: it may run on all."""
        return dict(self.pin).get(role)


@dataclass(frozen=True)
class RunSettings:
    """The settings that a run has once, since it has one database server.

    They are its durability, the scale of its data and its own settings.
    """

    durability: Durability = Durability.RELAXED
    scale: int = 10
    postgres: tuple[tuple[str, str], ...] = ()
    """PostgreSQL settings that replace the lab's own, by name."""


@dataclass(frozen=True)
class CellSettings(RunSettings, ServerSettings):
    """The settings under which a cell is measured: the server's and the run's, side by side as records keep them.

    `postgres_version`: the major version of PostgreSQL beneath the server; None: the one that comes with the lab, or that of the
    given database. `sql_before`: what is run on the fresh data before each load; None: nothing.
    """

    postgres_version: int | None = None
    sql_before: SqlFile | None = None

    @property
    def run(self) -> RunSettings:
        """The settings that all cells of a run share."""
        return RunSettings(self.durability, self.scale, self.postgres)


@dataclass(frozen=True)
class Cell:
    """stack × workload × topology × load, under `settings`; by id, so that it can be written down."""

    stack: str
    workload: str
    topology: Topology
    load: Load
    settings: CellSettings

    @property
    def id(self) -> str:
        version = self.settings.postgres_version
        return f"{self.stack} {self.workload} {self.topology.id} {self.load.id}" + ("" if version is None else f" pg{version}")


class Control(StrEnum):
    """A slot that measures the run itself and is no result: the anchor once more, or the anchor slowed down on purpose."""

    AGAIN = "again"
    SLOWED = "slowed"


@dataclass(frozen=True)
class PlanSlot:
    """One place in a plan: a cell to be measured as trial `number` (from 1) in `block` (from 1).

    `control` is None for a result. `planted` is the slowdown of a slowed control, as a share of the server's CPU. Slots of one
    `round` are measured together, in turns; 0: this one is measured by itself. `window_most_s`: its window may last so many
    seconds, as its workload's events ask for; None: it lasts as long as its load says. The stacks of its round
    are loaded in turns for `turns_s` seconds each; None: as long as their window, 0: not at all.
    """

    number: int
    block: int
    cell: Cell
    seed: int
    control: Control | None = None
    planted: float = 0.0
    round: int = 0
    window_most_s: float | None = None
    turns_s: float | None = None


class Until(StrEnum):
    """The state in which a run with a budget ends before its time is up.

    Its intervals have a fixed width, or leave no pair undecided.
    """

    NARROW = "narrow"
    DECIDED = "decided"


@dataclass(frozen=True)
class Plan:
    """All slots of a run, in the order in which they will be measured; frozen before the first trial."""

    title: str
    seed: int
    blocks: int
    slots: tuple[PlanSlot, ...]
    skipped: Mapping[str, str]
    """Stack or `stack workload` → why it is not in the plan."""
    command: str
    anchor: str | None = None
    """The stack that others are held against where it was measured; None: nothing is compared."""
    budget_s: float | None = None
    """Seconds after which no further block is begun; `blocks` is then the most. None: all blocks are measured."""
    until: Until = Until.NARROW
    """What is enough before `budget_s` is spent."""
    memory: tuple[RememberedSpread, ...] = ()
    """What earlier runs foretell of its scatter, as they did when it was made; none where it is judged by itself."""

    @property
    def cells(self) -> list[Cell]:
        """The cells of its slots, each once."""
        return list(dict.fromkeys(slot.cell for slot in self.slots))

    @property
    def whole_blocks(self) -> int:
        """The blocks that each of its cells has at least: `blocks`, unless groups of the suite have more."""
        if self.budget_s is not None:  # each block is a whole one then, and slots may be of a part of them
            return self.blocks
        stand = {(slot.block, slot.cell) for slot in self.slots if slot.control is None}
        return min(Counter(cell for _, cell in stand).values(), default=self.blocks)


@dataclass(frozen=True)
class SuiteGroup:
    """Stacks × workloads × topologies × loads under `settings`, by name.

    `stacks` holds stack ids, server ids (all variants), `all`, an approach such as `documented`, or `deployed`: each server's
    documented variants, the first of one that has none. `workloads` holds ids or `all`.
    """

    stacks: tuple[str, ...]
    workloads: tuple[str, ...]
    loads: tuple[Load, ...]
    settings: CellSettings
    topologies: tuple[Topology, ...] = (Topology(),)
    contract: str | None = None
    """The contract of its workloads' names; None: that of its stacks."""
    blocks: int | None = None
    """The least number of blocks that its cells have, where the suite has fewer."""


OURS = ("(our ", "(from its own table)")
"""How a claim begins that the source does not make."""


@dataclass(frozen=True)
class Claim:
    """A published statement and how it is tested: `test` is in the language of `statement`; `cannot` says why there is none.

    `says` is the statement in our words, `published` its number, `where` the table or sentence that it stands in, `note` how its
    test is meant. `reason` is our explanation, and `shown_by` names the claims of the suite that test it: without any it is not
    measured. `paper` is a statement in the same language about the published numbers themselves: if it is false, the source's own
    table refutes the claim.
    """

    id: str
    says: str
    test: str | None = None
    published: float | None = None
    where: str = ""
    reason: str = ""
    cannot: str | None = None
    paper: str | None = None
    note: str = ""
    shown_by: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """Profiles that measure what its test needs; empty: all."""
    not_refuted_by: str | None = None
    """Why a measurement here cannot refute it, such as another machine that decides it; None: it can."""

    @property
    def ours(self) -> bool:
        """True if the source does not say it: an explanation or a test of ours, or a division of its numbers."""
        return self.says.startswith(OURS)


@dataclass(frozen=True)
class Lesson:
    """A lesson of a publication: what was `wrong`, the `line` of its configuration that shows it, and what to `do`.

    `shown_by` names claims of the suite; with `not ` before one, it must not hold. Where one is otherwise in a run, the lesson
    is not shown by that run. Without any it is not measured.
    """

    wrong: str
    line: str
    do: str
    shown_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class CostStep:
    """One thing that a request may cost: `what`, and the cells `without` it and `through` it, in the words of a claim's term."""

    what: str
    without: str
    through: str


@dataclass(frozen=True)
class Condition:
    """The terms under which a publication measured, `theirs`, and ours, `here`. `where` quotes the place that says it."""

    what: str
    theirs: str
    here: str
    where: str


@dataclass(frozen=True)
class PublishedTable:
    """Published numbers, stack → value of `metric`; `marks` are the workload and the marks of the cells that they speak of."""

    title: str
    metric: str | None
    """None where nothing here measures such a number: `unmeasured` says why."""
    unit: str
    marks: str
    values: Mapping[str, float]
    window_s: float | None = None
    """How long was counted, where the numbers are counts."""
    unmeasured: str | None = None
    also: Mapping[str, str] = field(default_factory=dict)
    """Marks of single rows beside those of all: what was published of a stack under a setting of its own."""


@dataclass(frozen=True)
class Suite:
    """A parsed `suites/<id>.toml`: what to measure and how often, and what somebody published about it.

    `blocks` is 0 where a budget alone says how often, or nobody does.
    """

    id: str
    title: str
    about: str
    blocks: int
    seed: int
    groups: tuple[SuiteGroup, ...]
    source: str | None = None
    """Title and address of the publication that it replicates."""
    claims: tuple[Claim, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    conditions: tuple[Condition, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    steps: tuple[CostStep, ...] = ()
    nearest: Mapping[str, str] = field(default_factory=dict)
    """What was published and cannot be run here → the stack of ours that comes nearest to it."""
    load: Load = Load()
    settings: CellSettings = CellSettings()
    """What its file says for all groups: a cell is so unless a claim says otherwise."""
    anchor: str | None = None
    """The stack that the others are held against; None: the first."""
    controls: bool | None = None
    """Whether the plan holds controls; None: when it compares (two stacks, and three blocks that somebody asked for)."""
    budget_s: float | None = None
    until: Until = Until.NARROW
    stream: int | None = None
    """The seed of the requests of every block; None: each block has its own, from `seed`."""
    turns_s: float | None = None
    """Seconds of load in turns of each stack in each block; None: as long as its window, or as a budget has room for."""
    fits: bool = False
    """Whether windows and warm-ups may be shorter than asked for, so that enough blocks fit into the time."""

    def with_blocks(self, blocks: int) -> Suite:
        """The suite in which each cell has so many blocks, whatever its groups say."""
        return replace(self, blocks=blocks, groups=tuple(replace(group, blocks=None) for group in self.groups))
