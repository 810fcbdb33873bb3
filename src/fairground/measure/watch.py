"""The watch over working servers: memory, connections, wait events and statements, five times a second, each given to its arm."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psycopg

from fairground.host import Meter, RoleMeter, open_descriptors, stolen_us
from fairground.judge import statements
from fairground.model import DatabaseUse, DatabaseWork, Look, RoleUse
from fairground.model.answerlog import AnswerLog
from fairground.model.work import difference
from fairground.postgres import Activity, Counters, Hygiene, activity, activity_beside, hygiene
from fairground.topology import Census, Pooler

INTERVAL_S = 0.2
LOOKED_AT = ("server", "database")
"""Roles whose CPU is read at each look: whose work a stall may be."""
HYGIENE_EVERY = 5
"""Once in this many samples of the window, and once after it, the database server is searched for strangers."""

Connect = Callable[[], "psycopg.Connection[tuple[object, ...]]"]


@dataclass
class WatchedArm:
    """A record of what was seen of one arm.

    `database`: the name of its database, None where it has none; `meters` grow as roles start.
    Connections are counted from its start to its stop. What its backends wait for and run counts in its windows, while it is the
    arm on turn: in between they are idle, whatever limits it.
    """

    database: str | None
    meters: dict[str, Meter] = field(default_factory=dict)
    pooler: Pooler | None = None
    counts_connections: bool = True
    """False once a fault has cut them: then old ones and their successors are there at once."""
    allowed: tuple[int, int] | None = None
    """The connections that it may hold, and those that the database lets it have at once; None: any number."""
    connections_peak: int | None = None
    pids: frozenset[int] = frozenset()
    """The backends of the last look."""
    pooler_clients_peak: int | None = None
    pooler_waiting_peak: int | None = None
    wait_events: Counter[str] = field(default_factory=Counter)
    wait_samples: int = 0
    statements: Counter[tuple[str, str]] = field(default_factory=Counter)
    """In its window: (what a backend did, its last statement) → how often that was seen."""
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The same in all of its windows together: what the audit holds its whole life against."""
    hygiene: list[Hygiene] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    """In a window of one piece: memory of the server and CPU of its roles, one after the other."""
    logs: list[AnswerLog] = field(default_factory=list)
    """Of each load: when its good answers came, as far as its generator tells."""
    in_window: bool = False
    looking: bool = False
    ask_holders: Callable[[], tuple[str, ...]] | None = None
    """Says who holds its server's port and is none of its own: asked once, in its first window."""
    held_by: tuple[str, ...] = ()
    looked_after: bool = False
    console: psycopg.Connection[tuple[object, ...]] | None = None

    def open_window(self, afresh: bool = True) -> None:
        """Begin the window: from now on samples are its own. `afresh`: those of an earlier window are forgotten."""
        for meter in self.meters.values():
            meter.start()
        if afresh:
            self.wait_events.clear()
            self.statements.clear()
            self.wait_samples = 0
            self.looks = []
        self.looking = afresh
        self.in_window = True

    def close_window(self) -> None:
        """End the window; connections go on being counted."""
        self.in_window = self.looking = False

    def look(self) -> None:
        """Take one look at its roles, in a window of one piece."""
        if self.looking:
            cpu_us = {role: self.meters[role].cpu_ns() / 1000 for role in LOOKED_AT if role in self.meters}
            meter = self.meters.get("server")
            memory_bytes = None if meter is None else meter.memory_bytes
            look = Look(time.time(), memory_bytes, cpu_us, stolen_us())
            if isinstance(meter, RoleMeter):
                alive = meter.child.alive()
                look = replace(look, descriptors=open_descriptors(alive), threads=meter.threads_now, processes=len(alive))
            self.looks.append(look)

    def look_at_port(self) -> None:
        """Ask once who holds the server's port while it is loaded."""
        if self.ask_holders is not None:
            ask, self.ask_holders = self.ask_holders, None
            self.held_by = ask()

    def take(self, now: Activity, on_turn: bool) -> None:
        """One sample of its database."""
        if self.counts_connections:
            self.connections_peak = max(self.connections_peak or 0, count_held(now.pids, self.pids, self.allowed))
        self.pids = now.pids
        if self.in_window and on_turn:
            self.wait_events.update(now.waits)
            self.wait_samples += 1
            self.statements.update(now.statements)
            self.asked.update(now.statements)

    def look_for_strangers(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        """The first sample of the window, every fifth, and the first after it."""
        over = bool(self.hygiene) and not self.in_window and not self.looked_after
        if over or (self.in_window and self.wait_samples and (self.wait_samples - 1) % HYGIENE_EVERY == 0):
            self.hygiene.append(hygiene(connection))
            self.looked_after = over

    def count(self, seen: Census) -> None:
        """One sample of its pooler."""
        if self.counts_connections:
            self.pooler_clients_peak = max(self.pooler_clients_peak or 0, seen.clients)
        self.pooler_waiting_peak = max(self.pooler_waiting_peak or 0, seen.waiting)

    def so_far(self) -> DatabaseUse:
        """Return what its backends were seen waiting for; the database's counters are read once the server is gone."""
        return DatabaseUse(
            commits=None,
            rollbacks=None,
            rows_read=None,
            deadlocks=None,
            wal_bytes=None,
            connections_peak=self.connections_peak,
            wait_events=dict(self.wait_events),
            wait_samples=self.wait_samples,
            statements=statements.tally(self.statements),
        )


def count_held(now: frozenset[int], before: frozenset[int], allowed: tuple[int, int] | None) -> int:
    """Count the connections that an arm holds, by its backends of two looks. `allowed`: as that of a `WatchedArm`.

    A backend lives on for some milliseconds after its client has hung up. So beyond what is allowed only those count that stand
    in two looks running, unless there are more than may still end.
    """
    if allowed is None or len(now) > allowed[1]:
        return len(now)
    return max(len(now & before), min(len(now), allowed[0]))


class ArmWatch:
    """A thread that samples all arms of a session. It is ours, so its CPU is counted as the lab's.

    `connect` opens a connection to the database server, None where no arm has a database. `turn` is the label of the arm that is
    loaded now; None: none is, or nobody takes turns.
    """

    def __init__(self, arms: Mapping[str, WatchedArm], connect: Connect | None, ours: bool = True) -> None:
        """`ours`: the databases are those of arms, on a server of the lab's; else each is a service's own."""
        self._arms, self._connect, self._ending, self._ours = arms, connect, threading.Event(), ours
        self.turn: str | None = None
        self.failure: str | None = None
        """Why it ended before its time: then what it counted is too little to be believed."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> ArmWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._sample()
        except Exception as error:  # in a thread nobody else would hear of it
            self.failure = f"{type(error).__name__}: {error}"

    def _sample(self) -> None:
        connection: psycopg.Connection[tuple[object, ...]] | None = None
        while not self._ending.wait(INTERVAL_S):
            for arm in self._loaded():
                for meter in list(arm.meters.values()):
                    meter.sample()
                arm.look()
                arm.look_at_port()
            if self._connect is not None:
                try:
                    connection = connection or self._connect()
                    self._look(connection)
                except psycopg.Error:
                    connection = None  # the database is restarting, or gone: the session will find that out itself
            for arm in self._arms.values():
                _ask_pooler(arm)
        for one in (connection, *(arm.console for arm in self._arms.values())):
            if one is not None:
                one.close()

    def _loaded(self) -> list[WatchedArm]:
        """The arms that are loaded now. The others have nothing to tell, and looking takes time from those that have."""
        turn = self.turn
        return [arm for label, arm in self._arms.items() if arm.in_window and turn in (label, None)]

    def _look(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        """One sample of every database. Where the turn changed meanwhile, nobody knows whose it was: connections alone count."""
        turn = self.turn
        found = activity(connection) if self._ours else activity_beside(connection)
        kept = turn if turn == self.turn else None
        for label, arm in self._arms.items():
            if arm.database is not None:
                arm.take(found.get(arm.database, Activity({}, ())), label == kept)
                if self._ours and (label == kept or not arm.in_window):
                    arm.look_for_strangers(connection)


def _ask_pooler(arm: WatchedArm) -> None:
    if arm.pooler is None:
        return
    try:
        arm.console = arm.console or arm.pooler.connect()
        arm.count(arm.pooler.census(arm.console))
    except psycopg.Error:
        arm.console = None  # the pooler is starting, or gone


class ClockReading:
    """All CPU clocks of some roles at one moment."""

    def __init__(self, meters: Mapping[str, Meter]) -> None:
        self.clocks = {role: meter.clock() for role, meter in meters.items()}


def roles_between(meters: Mapping[str, Meter], before: ClockReading, after: ClockReading) -> dict[str, RoleUse]:
    """Return what each role used between two readings."""
    return {role: meters[role].use(before.clocks[role], after.clocks[role]) for role in before.clocks if role in after.clocks}


def database_use(
    counters: Counters, seen: WatchedArm | None, wal_bytes: int | None, work: DatabaseWork | None = None
) -> DatabaseUse:
    """The database from its own counters and from what was seen meanwhile; `seen` None: nobody looked on."""
    looks = seen.hygiene if seen else []
    vacuums, strangers = [one.autovacuums for one in looks], [one.foreign for one in looks]
    ends = (looks[0].checkpoints, looks[-1].checkpoints) if looks else (None, None)
    return DatabaseUse(
        commits=counters.commits,
        rollbacks=counters.rollbacks,
        rows_read=counters.rows_read,
        deadlocks=counters.deadlocks,
        wal_bytes=wal_bytes,
        connections_peak=seen.connections_peak if seen else None,
        wait_events=dict(seen.wait_events) if seen else {},
        wait_samples=seen.wait_samples if seen else 0,
        pooler_clients_peak=seen.pooler_clients_peak if seen else None,
        pooler_waiting_peak=seen.pooler_waiting_peak if seen else None,
        sessions=counters.sessions,
        checkpoints=difference(*ends),
        hygiene_samples=len(looks),
        autovacuum_samples=_samples(vacuums),
        foreign_samples=_samples(strangers),
        temp_files=counters.temp_files,
        statements=statements.tally(seen.asked) if seen else {},
        work=work,
    )


def _samples(counts: Sequence[int | None]) -> int | None:
    """Count the samples in which something was seen; None where one of them could not see, or there was none."""
    return sum(bool(count) for count in counts) if counts and None not in counts else None
