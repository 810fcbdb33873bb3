"""Looking on while a server works: memory, connections and wait events, five times a second."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping

import psycopg

from fairground.model import HostUse, RoleUse
from fairground.postgres import Database, waits
from fairground.process import HostReading, RoleMeter, host_use
from fairground.topology import Census, Pooler

INTERVAL_S = 0.2


class Watch:
    """A thread that samples from the server's start to its stop. It is ours, so its CPU is counted as the lab's."""

    def __init__(self, database: Database, meters: dict[str, RoleMeter], pooler: Pooler | None = None) -> None:
        self._database, self.meters, self._pooler = database, meters, pooler
        self._ending, self._in_window = threading.Event(), False
        self.connections_peak: int | None = None
        self.pooler_clients_peak: int | None = None
        self.pooler_waiting_peak: int | None = None
        self.wait_events: Counter[str] = Counter()
        self.wait_samples = 0
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

    def _count(self, seen: Census) -> None:
        self.pooler_clients_peak = max(self.pooler_clients_peak or 0, seen.clients)
        self.pooler_waiting_peak = max(self.pooler_waiting_peak or 0, seen.waiting)

    def _take(self, seen: Mapping[str, int]) -> None:
        self.connections_peak = max(self.connections_peak or 0, sum(seen.values()))
        if self._in_window:
            self.wait_events.update(seen)
            self.wait_samples += 1


class Reading:
    """All CPU clocks at one moment."""

    def __init__(self, meters: Mapping[str, RoleMeter]) -> None:
        self.clocks = {role: meter.clock() for role, meter in meters.items()}
        self.lab_ns = time.process_time_ns()
        self.host = HostReading.now()


def between(meters: Mapping[str, RoleMeter], before: Reading, after: Reading) -> tuple[dict[str, RoleUse], HostUse]:
    """What each role used between two readings, the lab among them, and what the machine did."""
    roles = {role: meters[role].use(before.clocks[role], after.clocks[role]) for role in before.clocks if role in after.clocks}
    roles["lab"] = RoleUse((after.lab_ns - before.lab_ns) / 1000, None, None, "process clock")
    # A given database is no role of ours, so what it used cannot be told from what strangers used: unknown, not foreign.
    known = [use.cpu_us for use in roles.values()] + ([] if "database" in roles else [None])
    return roles, host_use(before.host, after.host, known)
