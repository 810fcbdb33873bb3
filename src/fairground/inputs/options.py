"""The one table of options: each is told once, for the command line, the keys of suites, and the command that measures again.

`OPTIONS` is in the order in which a help shows them. `asked` makes a suite of what a command line says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from fairground.inputs import faults, files, numbers, placing, seating, wires
from fairground.model import CellSettings, Durability, Load, PoolScope, Topology

Given = Mapping[str, Any]
"""What a command line says: the name of each option → what was typed for it, or its default."""
Parse = Callable[[str, Any], Any]
"""The spelling and what was typed → the value. LabError with the spelling for what cannot be meant."""
Value = TypeVar("Value")


class Of(StrEnum):
    """The thing that an option sets."""

    LOAD = "load"
    SETTINGS = "settings"
    TOPOLOGY = "topology"
    GROUP = "group"
    SUITE = "suite"
    VERB = "verb"
    """Nothing that is measured: how the verb goes about it."""


def as_typed(_spelling: str, typed: Value) -> Value:
    """The parser of an option that takes whatever is of its kind."""
    return typed


def if_given(parse: Parse) -> Parse:
    """The parser of an option that can be left out: None stays None."""
    return lambda spelling, typed: None if typed is None else parse(spelling, typed)


@dataclass(frozen=True)
class Option:
    """One option. `kind` is what a command line reads, `default` what it takes where nothing is typed (...: it must be typed)."""

    name: str
    help: str
    kind: object
    default: object = None
    sets: Of = Of.VERB
    fields: tuple[str, ...] = ()
    """The fields of what it sets; several take the values that `parse` gives, one each. Empty: the field of the option's name."""
    parse: Parse = as_typed
    key: str | None = None
    """The key of suites that says the same; those of settings stand in `[settings]`. None: suites cannot say it."""
    least: int | None = None
    """The least value in settings. None: any."""
    flag: object = None
    """The value of the field when this flag is given. None: it is no flag of a field."""
    always: bool = False
    """True if the command that measures again says it even where it is the default."""
    short: str | None = None
    metavar: str | None = None
    spelled: str | None = None
    argument: bool = False
    separated: bool = False
    """True if one word may hold several of them, separated by commas."""
    told: bool = False
    """True if `@FILE` stands for what a file holds: a value that may be secret, and should stand in no command."""

    @property
    def spelling(self) -> str:
        """The option as it is typed: `--pool-size`."""
        return self.spelled or "--" + self.name.replace("_", "-")

    @property
    def targets(self) -> tuple[str, ...]:
        """The fields that it sets."""
        return self.fields or (self.name,)

    def values(self, typed: object) -> dict[str, Any]:
        """Field → value, of what was typed. A flag that is not given leaves the field as it is."""
        if self.flag is not None:
            return {self.targets[0]: self.flag} if typed else {}
        value = self.parse(self.spelling, typed)
        return dict(zip(self.targets, value, strict=True)) if len(self.targets) > 1 else {self.targets[0]: value}

    def words_of(self, where: Load | CellSettings | Topology) -> list[str]:
        """The words that give `where` the values that it has; none where it has the defaults and they need not be told."""
        held = [getattr(where, field) for field in self.targets]
        usual = [getattr(type(where), field) for field in self.targets]
        if held == usual and not self.always:
            return []
        if self.flag is not None:
            return [self.spelling]
        if isinstance(held[0], tuple):
            return [word for name, value in held[0] for word in (self.spelling, f"{name}={_text(value)}")]
        return [self.spelling, ",".join(map(_text, held))]


def several(option: Option) -> Option:
    """The option in a help that takes more than one value of it."""
    return replace(option, help=f"{option.help.removesuffix('.')}; several separated by commas.")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


LOADS = (
    Option("connections", "Connections at once, one or several: 10,100; with --count 16 unless told.", str, "100", Of.LOAD,
           parse=numbers.counts, key="connections", always=True),
    Option("close", "A new connection for each request.", bool, False, Of.LOAD, ("keep_alive",), key="keep_alive", flag=False),
    Option("window", "Seconds measured.", numbers.Seconds, 5.0, Of.LOAD, ("window_s",), numbers.positive, "window_s",
           always=True),
    Option("warmup", "Least and most seconds of warm-up; one number for both.", str, "2,20", Of.LOAD,
           ("warmup_min_s", "warmup_max_s"), numbers.span, "warmup", always=True),
    Option("timeout_ms", "Longest wait for an answer.", int, 10_000, Of.LOAD, (), numbers.wait_for_answer, "timeout_ms",
           always=True),
    Option("generator", "Load generators, one or several: engine,wrk,ab,hey,k6,vegeta,oha.", str, "engine", Of.LOAD,
           parse=lambda _, text: numbers.names(text), key="generator"),
    Option("threads", "Threads of the generator (default: 1, or as many as it has cores of its own).", int | None, None, Of.LOAD,
           (), if_given(numbers.positive), "threads"),
    Option("rate", "Open loop: requests per second; --connections is then the most.", float | None, None, Of.LOAD,
           ("rate_per_s",), if_given(numbers.rate), "rate_per_s"),
    Option("arrivals", "How the requests of a rate are spaced: poisson or constant.", str, "poisson", Of.LOAD,
           parse=numbers.spacing, key="arrivals"),
    Option("requests", "Send this many requests instead of measuring a window; with --count, in each start.", int | None, None,
           Of.LOAD, (), if_given(numbers.positive), "requests"),
    Option("think_ms", "Closed loop: pause of each connection before its next request, in ms.", float, 0.0, Of.LOAD,
           parse=numbers.pause, key="think_ms"),
    Option("stage", "Closed loop of k6: to MANY connections within SECONDS, from --connections on; repeatable. They make"
           " the window.", list[str] | None, None, Of.LOAD, ("stages",),
           lambda spelling, texts: numbers.stages(spelling, texts or ()), "stages", metavar="SECONDS=MANY"),
    Option("fault", "What goes wrong in the window: none, database-restart@3s, database-crash@3s, connections-cut@3s,"
           " pooler-restart@3s or stall=500ms@3s, one or several.", str, "none", Of.LOAD, parse=faults.parse, key="faults"),
)  # fmt: skip
ONE_PATH = (
    Option("proxy", "Before the server: none, nginx or nginx-close.", str, "none", Of.TOPOLOGY,
           parse=lambda _, text: numbers.names(text), key="proxies"),
    Option("pooler", "Behind it: none, pgbouncer-session, pgbouncer-tx, pgcat-session or pgcat-tx.", str, "none",
           Of.TOPOLOGY, parse=lambda _, text: numbers.names(text), key="poolers"),
    Option("pooler_size", "Connections of the pooler to the database.", int, Topology.pooler_size, Of.TOPOLOGY, (),
           numbers.positive, "pooler_size"),
    Option("pooler_clients", "Connections that the pooler accepts.", int, Topology.pooler_clients, Of.TOPOLOGY, (),
           numbers.positive, "pooler_clients"),
    Option("wire", "A distance, as what a round trip takes: none, server=0.2ms, database=1ms or both joined by +.", str, "none",
           Of.TOPOLOGY, parse=wires.parse, key="wires"),
)  # fmt: skip
"""Those of a verb that measures over one path."""
HOPS = tuple(several(one) if one.kind is str else one for one in ONE_PATH)
SETTINGS = (
    Option("workers", "Processes or threads of each server (default: its seats, or 2 where they are shared).", int | None, None,
           Of.SETTINGS, (), if_given(numbers.positive), "workers", least=1, always=True),
    Option("pool_size", "Connections to the database, over all workers.", int, CellSettings.pool_size, Of.SETTINGS, (),
           numbers.positive, "pool_size", least=1, always=True),
    Option("pool_per_worker", "Give each worker a pool of that size instead.", bool, False, Of.SETTINGS, ("pool_scope",),
           key="pool_scope", flag=PoolScope.PER_WORKER),
    Option("pool_wait_ms", "Longest wait for a connection; 0: none (default: no limit).", int | None, None, Of.SETTINGS,
           parse=lambda _, value: numbers.wait(value), key="pool_wait_ms", least=0),
    Option("no_prepared", "No named prepared statements.", bool, False, Of.SETTINGS, ("prepared",), key="prepared", flag=False),
    Option("durable", "fsync and synchronous_commit on.", bool, False, Of.SETTINGS, ("durability",), key="durability",
           flag=Durability.DURABLE),
    Option("scale", "pgbench scale of the data.", int, CellSettings.scale, Of.SETTINGS, (), numbers.positive, "scale", least=1,
           always=True),
    Option("cpus", "Processors that the server may use, such as 1.5 (default: all).", float | None, None, Of.SETTINGS,
           key="cpus"),
    Option("memory_mb", "Memory that the server may use, in MB (default: all).", int | None, None, Of.SETTINGS, key="memory_mb",
           least=16),
    Option("pin", "Cores of a role: server=0, database=1-3; repeatable.", list[str] | None, None, Of.SETTINGS,
           parse=lambda spelling, texts: numbers.pins(spelling, texts or ()), key="pin", metavar="ROLE=CORES"),
    Option("postgres", "A setting of PostgreSQL: work_mem=8MB; repeatable.", list[str] | None, None, Of.SETTINGS,
           parse=lambda spelling, texts: numbers.assignments(spelling, texts or ()), key="postgres", metavar="NAME=VALUE"),
)  # fmt: skip
ONE_VERSION = Option(
    "postgres_version", "PostgreSQL of the lab's own: 16, 17 or 18 (default: 18).", str | None, None, Of.SETTINGS,
    parse=if_given(numbers.majors), key="postgres_versions", metavar="MAJOR",
)  # fmt: skip
"""The option of a verb which measures on one version."""
VERSION = several(ONE_VERSION)
"""The version beneath the cells; several make a group of each."""
SEATS = Option(
    "seats", "Cores of roles: apart (default; shared with --cpus), shared, or server=0-1,database=2,generator=3.", str | None,
    None, Of.SETTINGS, parse=if_given(seating.parse), key="seats",
)  # fmt: skip
"""The option that fills in the pins that are not said; it is itself no field of the settings."""
SQL_BEFORE = Option(
    "sql_before", "A file of SQL that is run on each fresh database before the load.", Path | None, None, Of.SETTINGS,
    parse=if_given(files.sql_of), metavar="FILE",
)  # fmt: skip
"""The option that a suite has no key for: its file is found from where the command is typed."""
PLACE = Option(
    "place", "A role on a host that has joined --hosts: generator=HOST, database=HOST, server=HOST.",
    list[str] | None, None, parse=lambda spelling, texts: placing.parse(spelling, texts or ()), metavar="ROLE=HOST",
)  # fmt: skip
"""The option that places roles beside the suite's settings, since the hosts belong to whoever measures."""
PLACE_OTHERS = replace(PLACE, help="A role on a host that has joined --hosts: generator=HOST, database=HOST.")
"""The one of a verb whose servers are on the lab's machine."""
SUITE = (
    Option("blocks", "How often everything is measured (default: the suite's, or 4).", int | None, None, Of.SUITE, (),
           if_given(numbers.repeats), "blocks"),
    Option("seed", "Seed of order and requests (default: the suite's, or 1).", int | None, None, Of.SUITE, key="seed"),
    Option("stream", "Seed of the requests alone, as a trial's page names it.", int | None, None, Of.SUITE),
    Option("budget", "Add blocks until intervals are narrow or the time is up: 20m.", str | None, None, Of.SUITE, ("budget_s",),
           if_given(numbers.seconds)),
    Option("until", "What ends it early: `narrow` or `decided` (then the budget is 30m unless told).", str | None, None,
           Of.SUITE, parse=if_given(numbers.until)),
    Option("anchor", "The stack that the others are held against (default: the first documented one).", str | None, None,
           Of.SUITE, key="anchor"),
    Option("controls", "Measure the anchor again, and slowed down (default: from 2 stacks on, where --blocks or --budget gives 3"
           " blocks).", bool | None, None, Of.SUITE, key="controls"),
    Option("turns", "Seconds of load in turns of each stack and block (default: those of its window).", float | None, None,
           Of.SUITE, ("turns_s",), if_given(numbers.turns), "turns_s"),
)  # fmt: skip
STACK = Option("stack", "A stack, or a server for all of its stacks; several separated by commas.", list[str] | None, None,
               Of.GROUP, ("stacks",), key="stacks", short="-s", separated=True)  # fmt: skip
WORKLOAD = Option("workload", "A workload, or several separated by commas (default: all of the contract).", list[str] | None,
                  None, Of.GROUP, ("workloads",), key="workloads", short="-w", separated=True)  # fmt: skip
CONTRACT = Option("contract", "The contract of the workloads (default: that of the stacks).", str | None, None, Of.GROUP,
                  key="contract", metavar="NAME")  # fmt: skip
"""The option by which workloads need no prefix, whatever the stacks."""
SHARED = (
    Option("database", "Use this PostgreSQL instead of the embedded one; @FILE holds its URL.", str | None, None, metavar="URL",
           told=True),
    Option("servers", "Read servers from another folder.", Path | None, None, metavar="DIR"),
    Option("results", "Where runs are kept (default: results).", Path | None, None, metavar="DIR"),
    Option("quiet", "Print only the summary.", bool, False, short="-q"),
    Option("as_json", "Print the result as JSON on stdout.", bool, False, spelled="--json"),
)  # fmt: skip
"""Those of every verb that measures."""

COUNT = Option("count", "Count instructions and system calls for an answer, under QEMU; time is not measured.", bool, False)
"""The option that counts work in place of measuring time."""
DRY_RUN = Option("dry_run", "Print the plan and its time; measure nothing.", bool, False)
WHERE = Option("where", "With --count: tell which functions and system calls make the difference.", bool, False)
COUNTERS = Option("counters", "With --count: read the processor's own counters, in place of the emulation.", bool, False)
WHY = Option("why", "Then, within this time, experiments on what limited it: 3m.", str | None, None, metavar="TIME")
NO_PRIOR = Option("no_prior", "Judge by this run alone, and not by what earlier ones here scattered by.", bool, False)
HOSTS = (
    Option("hosts", "Where hosts have joined: an address, or hosts.toml. They measure, or --place says what.", str | None, None,
           metavar="ADDRESS"),
    PLACE,
    Option("tls", "With --hosts: the folder of the fleet's certificate.", Path | None, None, metavar="DIR"),
)  # fmt: skip
PROGRESS = Option("progress", "With --json: also a line a second about what is being measured.", bool, False)

OPTIONS = (
    PROGRESS,
    Option("suite", "A suite, such as suites/demo.toml.", Path | None, None, argument=True),
    STACK,
    WORKLOAD,
    CONTRACT,
    *LOADS,
    *HOPS,
    *SETTINGS,
    VERSION,
    SQL_BEFORE,
    SEATS,
    Option("profile", "A profile of the suite, such as full.", str | None, None),
    *SUITE,
    COUNT,
    COUNTERS,
    WHY,
    NO_PRIOR,
    Option("resume", "Go on with an interrupted run: its id, or `latest`.", str | None, None, metavar="RUN"),
    DRY_RUN,
    *HOSTS,
    *SHARED,
)
"""Those of `run`."""

SUITE_HAS_ITS_OWN = (WORKLOAD, CONTRACT, *LOADS, *HOPS, *SETTINGS, VERSION, SQL_BEFORE)
"""What a suite says itself, so that nobody can say it beside a suite."""


def some(*names: str, among: Sequence[Option] = OPTIONS) -> tuple[Option, ...]:
    """The options of these names, for a verb that takes a few of them."""
    known = {one.name: one for one in among}
    return tuple(known[name] for name in names)


LEAST: Mapping[str, int] = {one.targets[0]: one.least for one in SETTINGS if one.least is not None}
"""The least value of each field of settings that has one."""
OF_A_LOAD = tuple(one.key for one in LOADS if one.key and one.targets == (one.key,) and one.key != "connections")
"""Keys of suites that are fields of every load of a group as they stand."""
