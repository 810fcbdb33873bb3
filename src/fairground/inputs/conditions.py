"""Read topologies and settings as a person writes them, and check them against what there is.

They are written in a suite or on the command line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairground.inputs import numbers, options
from fairground.model import (
    POOLERS,
    PROXIES,
    ROLES,
    CellSettings,
    Durability,
    LabError,
    PathWire,
    PoolScope,
    SuiteGroup,
    Topology,
)
from fairground.model.source import shape_key

NONE = "none"
"""The word with which a person writes that a hop does not exist."""

SETTING_NAME = re.compile(r"[a-z_][a-z0-9_.]*", re.IGNORECASE)


@dataclass(frozen=True)
class SettingsTable:
    """`[settings]` of a suite: the fields of `Settings`, tables as tables."""

    workers: int | None = shape_key("processes or threads of the server; without it, those of its seat")
    pool_size: int = shape_key("connections to the database", CellSettings.pool_size)
    pool_scope: PoolScope = shape_key(
        "whose they are: of all workers (`total`), or of each (`per-worker`)", CellSettings.pool_scope
    )
    pool_wait_ms: int | None = shape_key("the longest wait for a connection of the pool")
    prepared: bool = shape_key("whether statements are prepared by name", CellSettings.prepared)
    durability: Durability = shape_key("`durable` (fsync, synchronous commit) or `relaxed`", CellSettings.durability)
    scale: int = shape_key("pgbench's scale of the data", CellSettings.scale)
    cpus: float | None = shape_key("processors that the server may use")
    memory_mb: int | None = shape_key("memory that the server may use, in MB")
    pin: dict[str, tuple[int, ...]] = shape_key("cores of a role, as a table: `pin = { server = [0] }`", {})
    postgres: dict[str, str | int | float | bool] = shape_key(
        'settings of PostgreSQL, as a table: `postgres = { work_mem = "8MB" }`', {}
    )

    def settings(self) -> CellSettings:
        """The values; whether they make sense is for `mistakes` to say."""
        own = {name: value for name, value in vars(self).items() if name not in ("workers", "pin", "postgres")}
        workers = CellSettings.workers if self.workers is None else self.workers
        return CellSettings(workers, **own, pin=numbers.by_role(self.pin), postgres=numbers.overrides(self.postgres))


def mistakes(settings: CellSettings) -> Iterator[tuple[str, str, str]]:
    """Find what cannot be meant in settings: (the field, what is wrong with it, what to do)."""
    for key, least in options.LEAST.items():
        value = getattr(settings, key)
        if value is not None and value < least:
            yield key, f"is below {least}", f"write at least {least}"
    if settings.cpus is not None and settings.cpus < 0.01:
        yield "cpus", "is below 0.01", "write how many processors the server may use, such as 1.5"
    for role, cores in settings.pin:
        if role not in ROLES:
            yield "pin", f"names a role `{role}` that does not exist", f"roles: {', '.join(ROLES)}"
        if not cores or min(cores) < 0:
            yield "pin", f"gives `{role}` no core, or one below 0", f"write `{role} = [0]` for the first core, or leave it out"
    for name, value in settings.postgres:
        if not SETTING_NAME.fullmatch(name) or not value:
            yield "postgres", f"has `{name}` = `{value}`, which is not a setting with a value", 'for instance `work_mem = "8MB"`'


def load_mistakes(said: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Find what cannot be meant in a load, by the keys of suites, in the form of `mistakes`. A value of None: not said."""
    for key in ("requests", "think_ms", "stages"):
        if said[key] and said["rate_per_s"] is not None:
            yield key, "and `rate_per_s` exclude each other", "leave one of them out"
    if said["stages"] and said["requests"]:
        yield "stages", "and `requests` exclude each other", "leave one of them out"
    for seconds, ends in said["stages"] or ():
        if not 0 < seconds < math.inf or ends < 0:
            yield "stages", f"has `[{seconds:g}, {ends}]`", "write seconds above 0, and connections: `[[20.0, 150], [30.0, 600]]`"


def check(settings: CellSettings) -> CellSettings:
    """The settings of a command line; LabError with the option when they cannot be meant."""
    for key, wrong, hint in mistakes(settings):
        raise LabError(f"`--{key.replace('_', '-')}` {wrong}", hint)
    return settings


def on_versions(group: SuiteGroup, versions: Sequence[int | None]) -> tuple[SuiteGroup, ...]:
    """The group on each of these versions of PostgreSQL: stacks are compared on one of them."""
    return tuple(replace(group, settings=replace(group.settings, postgres_version=version)) for version in versions)


def topologies(
    proxies: Sequence[str],
    poolers: Sequence[str],
    size: int | None,
    clients: int | None,
    wires: Sequence[PathWire | None] = (None,),
) -> tuple[Topology, ...]:
    """Every proxy with every pooler and every wire, `none` among them; sizes are those of poolers.

    LabError for a name that does not exist.
    """
    for noun, names, there in (("proxy", proxies, PROXIES), ("pooler", poolers, POOLERS)):
        for name in names:
            if name not in (NONE, *there):
                raise LabError(f"there is no {noun} `{name}`", f"choose among {', '.join((NONE, *there))}")
    size, clients = size or Topology.pooler_size, clients or Topology.pooler_clients
    found = [
        Topology(_named(proxy), wire=wire) if pooler == NONE else Topology(_named(proxy), pooler, size, clients, wire)
        for proxy in proxies or (NONE,)
        for pooler in poolers or (NONE,)
        for wire in wires
    ]
    return tuple(dict.fromkeys(found))


def _named(name: str) -> str | None:
    return None if name == NONE else name
