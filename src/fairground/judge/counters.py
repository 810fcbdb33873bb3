"""A trial's counters, and what is read off them: processors by role, what was full, what backends waited for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairground.judge.tables import ReadWhole
from fairground.judge.thresholds import Reasons
from fairground.model import Cell, DatabaseUse, HostUse, Result, RoleUse
from fairground.model.use import UNUSED

IDLE = ("idle", UNUSED)
"""The states of a backend that does nothing."""


@dataclass(frozen=True)
class TrialCounters:
    """A trial's counters, what is read off them (`used` are processors by role), and from where on they explain something."""

    cell: Cell
    result: Result
    roles: Mapping[str, RoleUse]
    host: HostUse | None
    database: DatabaseUse | None
    cores: int
    at: Reasons
    whole: ReadWhole | None = None
    """A table that is read whole for each answer."""

    @property
    def used(self) -> Mapping[str, float]:
        window_us = self.result.window_s * 1e6
        return {role: use.cpu_us / window_us for role, use in self.roles.items() if use.cpu_us is not None}

    @property
    def used_here(self) -> Mapping[str, float]:
        """Processors that each role used, of the roles that were on the lab's machine."""
        return {role: used for role, used in self.used.items() if self.roles[role].host is None}

    def cores_for(self, role: str) -> int:
        """The cores of the machine that a role was on."""
        use = self.roles.get(role)
        return self.cores if use is None or use.cores is None else use.cores

    @property
    def given(self) -> float:
        """Share of a processor's time that the hypervisor left to this machine: nothing can be fuller than that."""
        return 1.0 - ((self.host.steal_share or 0.0) if self.host else 0.0)

    @property
    def cores_full(self) -> float:
        """The share of the window from which on processors count as full."""
        return self.at.cores_full * self.given

    @property
    def thread_full(self) -> float:
        """The share of the window from which on a thread has no time left."""
        return self.at.thread_full * self.given

    @property
    def full(self) -> bool:
        return sum(self.used_here.values()) >= self.cores_full * self.cores

    @property
    def is_filled(self) -> bool:
        """True if the machine was full, whoever filled it: a given database's processors are in no role."""
        return self.busy_share >= self.at.cores_full

    @property
    def busy_share(self) -> float:
        """The share of the machine that anybody used; 0 where nobody knows."""
        return 0.0 if self.host is None or self.host.busy_share is None else self.host.busy_share

    @property
    def unread(self) -> str:
        """Say that the database was at work and nobody read its processors, as a part of a sentence; empty where they were."""
        return " (the database's processors are not read)" if self.busy_backends and "database" not in self.used else ""

    @property
    def idle(self) -> bool:
        """True if the machine, each seat and the generator had time left for clearly more work."""
        away = [(used, self.roles[role].cores) for role, used in self.used.items() if role not in self.used_here]
        return (
            max(sum(self.used_here.values()), self.busy_share * self.cores) < self.at.idle_cores * self.cores
            and all(cores is None or used < self.at.idle_cores * cores for used, cores in away)
            and all(sum(used.values()) < self.at.idle_cores * len(cores) for cores, used in self.seats)
            and (self.result.busiest_thread_share or 0.0) < self.at.generator_idle
        )

    @property
    def seats(self) -> list[tuple[frozenset[int], dict[str, float]]]:
        """Cores that roles are pinned to, with the processors that each of the roles used; those that overlap stand together."""
        found: list[tuple[frozenset[int], dict[str, float]]] = []
        for role, cores in self.cell.settings.pin:
            if role in self.used:
                meets = [one for one in found if one[0] & set(cores)]
                found = [one for one in found if one not in meets]
                roles = {name: used for _, some in meets for name, used in some.items()}
                found.append((frozenset(cores).union(*(own for own, _ in meets)), {**roles, role: self.used[role]}))
        return found

    @property
    def busy_backends(self) -> int:
        """Samples of backends that were not idle."""
        return self._backends(lambda event: event not in IDLE)

    def backends_in(self, *states: str) -> float:
        """Backends in one of these states at a look, on average; 0 where nobody looked."""
        looks = 0 if self.database is None else self.database.wait_samples
        return self._backends(lambda event: event.startswith(states)) / looks if looks else 0.0

    def _backends(self, counts: Callable[[str], bool]) -> int:
        return 0 if self.database is None else sum(n for event, n in self.database.wait_events.items() if counts(event))

    @property
    def in_flight(self) -> float | None:
        """Requests under way on average, by Little's law."""
        latency = self.result.latency_ok
        return None if latency is None or latency.mean_us is None else self.result.goodput_per_s * latency.mean_us / 1e6

    def share_waiting(self, *prefixes: str) -> float:
        """Share of the busy backends' samples whose wait event begins with one of `prefixes`; 0 where too few tell."""
        if self.database is None or self.busy_backends < self.at.busy_samples:
            return 0.0
        return sum(n for event, n in self.database.wait_events.items() if event.startswith(prefixes)) / self.busy_backends

    def tcp(self, name: str) -> int | None:
        return None if self.host is None else self.host.tcp.get(name)
