"""Looking on while a server works: memory, connections and wait events, five times a second."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import psycopg

from fairground.model import DatabaseUse, HostUse, RoleUse
from fairground.postgres import Counters, Database, Hygiene, hygiene, waits
from fairground.process import HostReading, RoleMeter, host_use
from fairground.topology import Census, Pooler

INTERVAL_S = 0.2
HYGIENE_EVERY = 5
"""Every so many samples of the window, and once after it, it is looked for strangers in the database server."""


class Watch:
    """A thread that samples from the server's start to its stop. It is ours, so its CPU is counted as the lab's."""

    def __init__(self, database: Database, meters: dict[str, RoleMeter], pooler: Pooler | None = None) -> None:
        self._database, self.meters, self._pooler = database, meters, pooler
        self._ending, self._in_window, self._looked_after = threading.Event(), False, False
        self.connections_peak: int | None = None
        self.pooler_clients_peak: int | None = None
        self.pooler_waiting_peak: int | None = None
        self.wait_events: Counter[str] = Counter()
        self.wait_samples = 0
        self.hygiene: list[Hygiene] = []
        self.failure: str | None = None
        """Why it ended before its time: then what it counted is too little to be believed."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def open_window(self) -> None:
        """From now on samples of memory and wait events are the window's."""
        for meter in self.meters.values():
            meter.start()
        self._in_window = True

    def close_window(self) -> None:
        """The window is over; connections go on being counted."""
        self._in_window = False

    def _run(self) -> None:
        try:
            self._sample()
        except Exception as error:  # in a thread nobody else would hear of it
            self.failure = f"{type(error).__name__}: {error}"

    def _sample(self) -> None:
        connection: psycopg.Connection[tuple[object, ...]] | None = None
        console: psycopg.Connection[tuple[object, ...]] | None = None
        while not self._ending.wait(INTERVAL_S):
            for meter in list(self.meters.values()):
                meter.sample()
            try:
                connection = connection or self._database.connect("postgres")
                self._take(dict(waits(connection)))
                self._look_for_strangers(connection)
            except psycopg.Error:
                connection = None  # the database is restarting, or gone: the trial will find that out itself
            if self._pooler is not None:
                try:
                    console = console or self._pooler.connect()
                    self._count(self._pooler.census(console))
                except psycopg.Error:
                    console = None  # likewise
        for one in (connection, console):
            if one is not None:
                one.close()

    def _look_for_strangers(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        """The first sample of the window, every fifth, and the first after it."""
        over = bool(self.hygiene) and not self._in_window and not self._looked_after
        if over or (self._in_window and (self.wait_samples - 1) % HYGIENE_EVERY == 0):
            self.hygiene.append(hygiene(connection))
            self._looked_after = over

    def _count(self, seen: Census) -> None:
        self.pooler_clients_peak = max(self.pooler_clients_peak or 0, seen.clients)
        self.pooler_waiting_peak = max(self.pooler_waiting_peak or 0, seen.waiting)

    def _take(self, seen: Mapping[str, int]) -> None:
        self.connections_peak = max(self.connections_peak or 0, sum(seen.values()))
        if self._in_window:
            self.wait_events.update(seen)
            self.wait_samples += 1


class Reading:
    """All CPU clocks at one moment; `spun_ns`: that of what keeps the processors from idling, None where nothing does."""

    def __init__(self, meters: Mapping[str, RoleMeter], spun_ns: int | None) -> None:
        self.clocks = {role: meter.clock() for role, meter in meters.items()}
        self.lab_ns = time.process_time_ns()
        self.host = HostReading.now(spun_ns)


def between(meters: Mapping[str, RoleMeter], before: Reading, after: Reading) -> tuple[dict[str, RoleUse], HostUse]:
    """What each role used between two readings, the lab among them, and what the machine did."""
    roles = {role: meters[role].use(before.clocks[role], after.clocks[role]) for role in before.clocks if role in after.clocks}
    roles["lab"] = RoleUse((after.lab_ns - before.lab_ns) / 1000, None, None, "process clock")
    # A given database is no role of ours, so what it used cannot be told from what strangers used: unknown, not foreign.
    known = [use.cpu_us for use in roles.values()] + ([] if "database" in roles else [None])
    return roles, host_use(before.host, after.host, known)


def database_use(counters: Counters, watch: Watch | None, wal_bytes: int | None) -> DatabaseUse:
    """The database from its own counters and from what was seen meanwhile; `watch` None: nobody looked on."""
    seen = watch.hygiene if watch else []
    vacuums, strangers = [one.autovacuums for one in seen], [one.foreign for one in seen]
    ends = (seen[0].checkpoints, seen[-1].checkpoints) if seen else (None, None)
    return DatabaseUse(
        commits=counters.commits,
        rollbacks=counters.rollbacks,
        rows_read=counters.rows_read,
        deadlocks=counters.deadlocks,
        wal_bytes=wal_bytes,
        connections_peak=watch.connections_peak if watch else None,
        wait_events=dict(watch.wait_events) if watch else {},
        wait_samples=watch.wait_samples if watch else 0,
        pooler_clients_peak=watch.pooler_clients_peak if watch else None,
        pooler_waiting_peak=watch.pooler_waiting_peak if watch else None,
        sessions=counters.sessions,
        checkpoints=None if ends[0] is None or ends[1] is None else ends[1] - ends[0],
        hygiene_samples=len(seen),
        autovacuum_samples=_samples(vacuums),
        foreign_samples=_samples(strangers),
        temp_files=counters.temp_files,
    )


def _samples(counts: Sequence[int | None]) -> int | None:
    """In how many samples something was seen; None where one of them could not see, or there was none."""
    return sum(bool(count) for count in counts) if counts and None not in counts else None
