"""The resources that roles, machine and database used over a window or a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairground.model.work import DatabaseWork


@dataclass(frozen=True)
class RoleUse:
    """The resources that one role (server, proxy, pooler, database, generator) used inside the window."""

    cpu_us: float | None
    memory_peak_bytes: int | None
    threads_peak: int | None
    source: str
    """How CPU was read: `cgroup2`, `cgroup1` or `schedstat`."""
    periods: int | None = None
    """Scheduler periods in which the role had something to run, where it has a CPU quota."""
    throttled_periods: int | None = None
    """Those of them in which the quota was used up."""
    bounds: Mapping[str, str] = field(default_factory=dict)
    """`cores`, `cpus`, `memory` → how the role was held to them, in words."""
    busiest_thread_share: float | None = None
    """Share of the window that its busiest thread was running."""
    busiest_thread_waited_share: float | None = None
    """Share of the window that this thread was ready and waited for a processor."""
    involuntary_switches_per_s: float | None = None
    """How often this thread was taken off its processor; read of the generator."""
    pressure_cpu_some_share: float | None = None
    """Share of the window in which some thread of the role waited for a processor, where its cgroup tells."""
    cpu_us_by_second: tuple[float, ...] = ()
    """CPU in each whole second of the window; read of the server."""
    host: str | None = None
    """The host that it ran on, or the hosts; None: the lab's own machine."""
    cores: int | None = None
    """The cores of that host; None: it ran on the lab's own machine."""
    instructions: int | None = None
    """Instructions in user space, of the server; None: this machine does not count them."""
    dropped_connections: int | None = None
    """Connections that its listen queues had no room for, each try counted; None: no queue of its own is known."""
    stopped_share: float | None = None
    """The share of the looks at it in which a signal had stopped its process; None: nobody looked."""


@dataclass(frozen=True)
class HostUse:
    """The machine over the window."""

    steal_share: float | None
    busy_share: float | None
    foreign_cpu_us: float | None
    """CPU used by processes that are none of our roles."""
    pressure_cpu_some_share: float | None
    tcp: Mapping[str, int]
    """Differences of the kernel's TCP counters (retransmits, delayed ACKs, …)."""
    pressure_io_full_share: float | None = None
    """Share of the window in which all that had work waited for the disk."""
    canary_before_us: float | None = None
    """What a fixed piece of work took before the load …"""
    canary_after_us: float | None = None
    """… and after it: the pace of one processor."""
    frequency_change_share: float | None = None
    """Clock rate at the window's end over that at its beginning, less 1."""
    heat_throttles: int | None = None
    """Times that a processor slowed down because it was hot."""
    swapped_pages: int | None = None
    memory_kills: int | None = None
    """Processes that the kernel killed for want of memory."""
    major_faults: int | None = None
    """Page faults that had to wait for a disk."""
    periods: int | None = None
    """Scheduler periods of the lab's own cgroup, where it has a CPU quota (as in a container) …"""
    throttled_periods: int | None = None
    """… and those of them in which it was used up."""
    steal_step_share: float | None = None
    """One step of the clock that counts steal: `steal_share` is right to within so much."""
    stranger: str | None = None
    """The name of the process that used most of `foreign_cpu_us` …"""
    stranger_cpu_us: float | None = None
    """… and how much."""


UNUSED = "unused"
"""The state of a backend that has been idle for a second."""


@dataclass(frozen=True)
class DatabaseUse:
    """The database over the whole life of the trial's database (verification and load)."""

    commits: int | None
    rollbacks: int | None
    rows_read: int | None
    deadlocks: int | None
    wal_bytes: int | None
    connections_peak: int | None
    wait_events: Mapping[str, int]
    """Samples of `pg_stat_activity` in the window: wait event (or `running`, `idle`, `idle in transaction`) → backends seen.

    Those that have been idle for a second are `unused`.
    """
    wait_samples: int
    pooler_clients_peak: int | None = None
    """The server's connections to the pooler, where there is one; `connections_peak` is then the pooler's to the database."""
    pooler_waiting_peak: int | None = None
    """Those of them that waited for a connection of the pooler at once."""
    sessions: int | None = None
    """Connections that were opened to the trial's database, the lab's own few among them."""
    refused: int | None = None
    """Connections that the database refused, because the server's role had as many as it may; None where nobody is told."""
    no_room: int | None = None
    """Connections of the server for which the database had no room, since all that it allows in all were taken; None as above."""
    connect_cpu_us: float | None = None
    """CPU of the database for one connection, as it was measured before the load."""
    checkpoints: int | None = None
    """Checkpoints in the window."""
    hygiene_samples: int = 0
    """How often in the window it was looked for strangers' work in the database server."""
    autovacuum_samples: int | None = None
    """Those in which an autovacuum worked on the trial's database."""
    foreign_samples: int | None = None
    """Those in which a session of another database was at work."""
    temp_files: int | None = None
    statements: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Samples in the window: what a backend was last asked, constants taken out → what it did meanwhile → backends seen."""
    work: DatabaseWork | None = None
    """What the database counted over the load, from before its first request to after the server's end."""
