"""A session of arms: the one way in which the lab measures.

    with ArmSession(bench, arms, folder) as session:     # every arm on a database of its own: reset, start, verify
        for window in session.play(schedule):         # one after the other, or in turns
            ...
    session.ended                                     # stopped, audited and judged, each arm by itself

Small cloud machines change speed by a quarter, in phases of half a second to minutes. Turns of a tenth of a second, in changing
order, share each phase out between all arms, so that the ratios of their windows are steady where their values are not. What
differs from one start of a process to the next is real, too: the session is the unit of evidence, not the window.

An arm that fails has a finding and is not loaded any more; the others go on. A session never raises for what a server does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from fairground.host import disk
from fairground.judge import validity
from fairground.measure.arm import Arm, ArmWindow, CheckArm, CountedArm, Ended, NullArm, PgbenchArm, ServiceArm, StackArm
from fairground.measure.bench import Bench
from fairground.measure.checked import CheckedStack
from fairground.measure.counted import CountedStack
from fairground.measure.loaded import Loaded
from fairground.measure.pgbench import Pgbench
from fairground.measure.schedule import Ask, Counted, Schedule, Turns, Whole
from fairground.measure.service import NullResponder, Reached
from fairground.measure.stack import StartedStack
from fairground.measure.stand import Stand, machines_between
from fairground.measure.turntaking import Told
from fairground.measure.watch import ArmWatch, ClockReading, WatchedArm, roles_between
from fairground.model import Doing, LabError, RoleUse, Severity, StorageError, Verdict, clash_of
from fairground.model.cause import INSTRUMENT
from fairground.model.secret import PRIVATE_FOLDER

OWN_SESSIONS, SESSIONS_OF_ARM = 4, 2
"""The lab's own sessions at once, and those more for each arm that is up."""
LEAST_SILENCE_S = 0.5
"""Whoever takes the processors for a moment makes a server that has answered before silent for less."""
VOID_THEN, TOO_SHORT = ", and the machine was void", ", which is too short to blame it"


class ArmSession:
    """Arms that are up at once, for the length of a `with`. `on` hears which of them does what.

    `folder` takes raw data: a folder for each arm, or of a session of one arm the data itself. A mapping names each arm's own,
    by its label.
    """

    def __init__(
        self,
        bench: Bench,
        arms: Sequence[Arm],
        folder: Path | Mapping[str, Path],
        on: Callable[[str, Doing], None] = lambda *_: None,
    ) -> None:
        assert len({arm.label for arm in arms}) == len(arms), "two arms have one label"
        _require_apart(arms)
        _require_reached(bench, arms)
        bench.require()
        _require_connections(bench, arms)
        self._bench, self._number = bench, 0
        self._folders = list(folder.values()) if isinstance(folder, Mapping) else [folder]
        bench.require_room(self._folders, disk.LEAST_BEFORE_BYTES)
        self._seen = {arm.label: WatchedArm(None) for arm in arms}
        looks = bench.database if any(isinstance(arm, StackArm) for arm in arms) else None
        beside = next((arm.database for arm in arms if isinstance(arm, ServiceArm) and arm.database is not None), None)
        if beside is not None:
            self._watch = ArmWatch(self._seen, beside.connect, ours=False)
        else:
            self._watch = ArmWatch(self._seen, None if looks is None else looks.watch)
        self._loaded: dict[str, Loaded] = {}
        for place, arm in enumerate(arms, 1):
            if isinstance(folder, Mapping):
                mine = folder[arm.label]
            else:
                mine = folder if len(arms) == 1 else folder / arm.folder
            mine.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._loaded[arm.label] = self._prepared(arm, place, mine, on)
        self.ended: Mapping[str, Ended] = {}
        """Each arm's end by its label, once the session is over."""

    def _prepared(self, arm: Arm, place: int, folder: Path, on: Callable[[str, Doing], None]) -> Loaded:
        seen = self._seen[arm.label]
        if not isinstance(arm, StackArm | PgbenchArm):
            served = NullResponder if isinstance(arm, NullArm) else Reached
            return served(self._bench, arm, folder, self._watch, seen, on)
        assert self._bench.database is not None, "an arm with a database needs a database server"
        database = self._bench.database.arm(place, arm.stack.server.database if isinstance(arm, StackArm) else None)
        kind: type[Pgbench] | type[StartedStack] = Pgbench
        if isinstance(arm, StackArm):
            seen.database = database.name
            kind = {CheckArm: CheckedStack, CountedArm: CountedStack}.get(type(arm), StartedStack)
        return kind(self._bench, arm, folder, self._watch, seen, on, database=database)

    @property
    def failed(self) -> frozenset[str]:
        """The labels of arms that cannot be loaded any more."""
        return frozenset(label for label, loaded in self._loaded.items() if loaded.failed)

    @property
    def void(self) -> str | None:
        """The reason why the first arm that is void is; None where none is, and until the session is over."""
        return next((one.void for one in self.ended.values() if one.void), None)

    def __enter__(self) -> ArmSession:
        self._watch.__enter__()
        try:
            for loaded in self._loaded.values():
                loaded.begin()  # the next one's data is copied while this one's server comes up
            for loaded in self._loaded.values():
                loaded.open()
            for loaded in self._loaded.values():
                loaded.ready()  # the cases of all starts have written by now
            self._know_connecting()
        except BaseException:
            self._stop()
            raise
        return self

    def _know_connecting(self) -> None:
        """Find out what a connection costs the database server, which all arms share: the first one that is up measures it."""
        stacks = [one for one in self._loaded.values() if isinstance(one, StartedStack) and not one.failed]
        cost_us = stacks[0].connecting_us() if stacks else None
        for one in stacks:
            one.connect_cpu_us = cost_us

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                for loaded in self._loaded.values():
                    loaded.end_turns()
        finally:
            self._stop()
        if kind is None:
            self.ended = {label: loaded.judge() for label, loaded in self._loaded.items()}
            if any(one.verdict in (Verdict.VOID, Verdict.REJECTED) for one in self.ended.values()):
                # Else a full disk or a database that has ended would be called a fault of theirs, again and again.
                self._bench.require_room(self._folders, disk.LEAST_AFTER_BYTES)
                self._bench.require()
                self._require_servers()

    def _stop(self) -> None:
        """Stop everything, whatever of it goes wrong: first who loads, then what is loaded, which is asked to end together."""
        self._watch.__exit__()
        for loaded in self._loaded.values():
            if self._watch.failure is not None and isinstance(loaded.arm, StackArm):
                sentence = f"the lab stopped looking at connections and memory: {self._watch.failure}"
                loaded.find("watch", Severity.VOID, sentence)
        arms = list(self._loaded.values())
        with ExitStack() as last_first:  # each is stopped even where another cannot be
            for loaded in reversed(arms):
                last_first.callback(loaded.close)
            for loaded in reversed(arms):
                last_first.callback(loaded.ask_to_end)  # all at once: each takes a while
            for loaded in reversed(arms):
                if loaded.turns is not None:
                    last_first.callback(loaded.turns.stop)

    def _require_servers(self) -> None:
        """Raise StorageError where the folder of a server was removed: it could not be started any more."""
        for loaded in self._loaded.values():
            if isinstance(loaded.arm, StackArm) and not (folder := loaded.arm.stack.server.folder).is_dir():
                raise StorageError(f"the server's folder `{folder}` was removed", "restore it, or leave its stacks out")

    # ------------------------------------------------------------ loading

    def play(self, schedule: Schedule) -> Iterator[ArmWindow]:
        """Load as the schedule asks, and yield each window. It ends with the schedule, or when no arm is left to load."""
        windows: list[ArmWindow] = []
        while len(self.failed) < len(self._loaded) and (ask := schedule.next(tuple(windows), self.failed)) is not None:
            failed = self.failed
            made = self.load(ask)
            windows += made
            yield from made
            if not made and self.failed == failed:
                return  # the question cannot be answered, and asked once more it could not be either

    def load(self, ask: Ask) -> tuple[ArmWindow, ...]:
        """The windows of one question; none where its arm has failed, which is among that arm's findings."""
        self._number += 1
        if isinstance(ask, Turns):
            return self._in_turns(ask)
        window = self._whole(ask)
        return () if window is None else (window,)

    def _whole(self, ask: Whole | Counted) -> ArmWindow | None:
        loaded = self._loaded[ask.arm]
        if loaded.failed:
            return None
        try:
            if isinstance(ask, Counted):
                assert isinstance(loaded, CountedStack), "only a counted arm can be asked to work off requests"
                return loaded.count(ask, self._number)
            return loaded.whole(ask, self._number)
        except (LabError, psycopg.Error) as error:
            loaded.find(INSTRUMENT.id, Severity.VOID, " ".join(str(error).split()))
            return None

    # ------------------------------------------------------------ turns

    def _in_turns(self, ask: Turns) -> tuple[ArmWindow, ...]:
        """One window of each arm, in turns. An arm that fails in it has no window, and the others keep theirs."""
        for label in ask.arms:
            self._guarded(label, lambda loaded: loaded.begin_turns(ask.load_of(loaded.arm.label)))
        here = [label for label in ask.arms if not self._loaded[label].failed]
        before = self._still(here)
        for label in here:
            if not ask.warm_up:
                self._guarded(label, lambda loaded: loaded.begin_turns(ask.load_of(loaded.arm.label)).measure())
            self._seen[label].open_window(afresh=False)
            self._loaded[label].on(label, Doing("turns", 0.0, ask.loaded_s(label)))
        for label in ask.sequence:
            self._guarded(label, lambda loaded: self._turn(ask, loaded))
        for label in here:
            self._seen[label].close_window()
            self._loaded[label].notice_end()
        after = self._still(here)
        found = [window for label in here if (window := self._window(ask, label, before, after)) is not None]
        if not all(window.settled_s for window in found):  # a settled part is never held against turns as a whole
            found = [replace(window, settled_ok=0, settled_s=0.0) for window in found]
        for window in found:
            self._loaded[window.arm].windows.append(window)
        return tuple(found)

    def _turn(self, ask: Turns, loaded: Loaded) -> None:
        """Load an arm for one turn."""
        label = loaded.arm.label
        loaded.begin_turns(ask.load_of(label)).turn(ask.turn_of(label))

    def _guarded(self, label: str, do: Callable[[Loaded], object]) -> None:
        """Do something with an arm unless it has failed; what of ours goes wrong makes it void."""
        loaded = self._loaded[label]
        if loaded.failed:
            return
        try:
            do(loaded)
        except LabError as error:
            loaded.find(INSTRUMENT.id, Severity.VOID, error.message)

    def _still(self, labels: Sequence[str]) -> _Still:
        counts = {}
        for label in labels:
            taking = self._loaded[label].turns
            assert taking is not None
            counts[label] = _Counts(taking.told, dict(taking.shared_us), ClockReading(self._seen[label].meters))
        meters = [meter for label in labels for meter in self._seen[label].meters.values()]
        return _Still(self._bench.stand(meters), counts)

    def _window(self, ask: Turns, label: str, before: _Still, after: _Still) -> ArmWindow | None:
        """Make a window of what an arm did between two moments.

        A window without a good answer is none: left out, it would flatter its arm. Silence rejects the arm,
        unless the machine was void, or it has answered before and the window was short: then the arm is void.
        """
        loaded, seen = self._loaded[label], self._seen[label]
        if loaded.failed:
            return None
        was, now = before.counts[label], after.counts[label]
        told = now.told - was.told
        roles = roles_between(seen.meters, was.reading, now.reading)
        metered = all(self._loaded[one].arm.is_metered(counts.reading.clocks) for one, counts in after.counts.items())
        lab, host, there = machines_between(before.stand, after.stand, self._used(before, after), metered)
        for role, us in now.shared_us.items():
            roles[role] = replace(roles[role], cpu_us=us - was.shared_us.get(role, 0.0))
        lasted_s = after.stand.here.host.at_s - before.stand.here.host.at_s
        spoiled = self._bench.disturbances(lasted_s, host, there, loaded.arm.machine_cell)
        if told.ok == 0:
            silent, asked_s = told.not_ok == 0, ask.loaded_s(label)
            short = asked_s < LEAST_SILENCE_S and bool(loaded.windows)
            excuses = [why for why, holds in ((VOID_THEN, validity.is_spoiled(spoiled)), (TOO_SHORT, short)) if silent and holds]
            sentence = f"it gave no good answer in a whole window of {asked_s:.2g} s ({told.not_ok:,} others)"
            loaded.find("no-good-answer", Severity.VOID if excuses else Severity.REJECT, sentence + "".join(excuses[:1]))
            return None
        loaded.phases_s["turns"] = loaded.phases_s.get("turns", 0.0) + told.active_s
        return ArmWindow(
            arm=label,
            number=self._number,
            load=ask.load_of(label),
            ok=told.ok,
            not_ok=told.not_ok,
            window_s=told.active_s,
            roles=roles | {"lab": lab},
            host=host,
            machine=spoiled,
            database=seen.so_far() if seen.database is not None else None,
            warm_up=ask.warm_up,
            settled_ok=told.settled_ok,
            settled_s=told.settled_s,
            unsettled=not told.settled_s,
            lingered_s=max(0.0, told.active_s - ask.loaded_s(label)) / ask.turns_of(label),
        )

    def _used(self, before: _Still, after: _Still) -> list[RoleUse]:
        """Return what all arms' roles used between two moments; the database server, which they share, counts once."""
        found: dict[tuple[str, str], RoleUse] = {}
        for label, was in before.counts.items():
            for role, use in roles_between(self._seen[label].meters, was.reading, after.counts[label].reading).items():
                found["" if role == "database" else label, role] = use
        return list(found.values())


@dataclass(frozen=True)
class _Counts:
    """The counts of one arm's engine so far, what shared roles had used on its turns, and its own clocks."""

    told: Told
    shared_us: Mapping[str, float]
    reading: ClockReading


@dataclass(frozen=True)
class _Still:
    """A moment at which every engine stands still."""

    stand: Stand
    counts: Mapping[str, _Counts]


def _require_apart(arms: Sequence[Arm]) -> None:
    """Raise LabError where two servers have one port, or one database, whatever they are told: they cannot be up at once."""
    for one, other in itertools.combinations((arm for arm in arms if isinstance(arm, StackArm)), 2):
        if (why := clash_of(one.stack.server, other.stack.server)) is not None:
            sentence = f"`{one.label}` and `{other.label}` {why}, so that they cannot be up at once"
            raise LabError(sentence, "compare them by a run, which measures each by itself")


def _require_reached(bench: Bench, arms: Sequence[Arm]) -> None:
    """Raise LabError where a server could not reach its database by the names that it has compiled in."""
    for arm in (one for one in arms if isinstance(one, StackArm)):
        compiled, topology, database = arm.stack.server.database, arm.cell.topology, bench.database
        if compiled is None or database is None:
            continue
        has = f"`{arm.label}` connects to port {compiled.port} of `{compiled.host}` whatever it is told"
        if topology.pooler is not None or topology.wire is not None and topology.wire.database_ms is not None:
            raise LabError(f"{has}, so that nothing can stand between it and its database", "leave out pooler and wire")
        if database.shared:
            raise LabError(f"{has}, as a user of its own: {database.shared}", "leave out `--database`")
        if database.admin.port != compiled.port:
            where = f"the database is at port {database.admin.port}"
            raise LabError(f"{has}, and {where}", f"free port {compiled.port}: ss -ltnp 'sport = :{compiled.port}'")


def _require_connections(bench: Bench, arms: Sequence[Arm]) -> None:
    """Raise LabError where the database server has no room for all pools: servers would be refused connections."""
    pools = [one for arm in arms if isinstance(arm, StackArm) and (one := arm.connections_at_once) is not None]
    if not pools or bench.database is None:
        return
    most, wanted = bench.database.room(), sum(pools) + OWN_SESSIONS + SESSIONS_OF_ARM * len(arms)
    if wanted > most:
        held = f"{sum(pools)} of {len(pools)} servers' pools, and a few of the lab's own"
        sentence = f"the database server has room for {most} connections, and {wanted} are needed at once: {held}"
        raise LabError(sentence, "raise its `max_connections`, ask for a smaller `--pool-size`, or measure fewer stacks at once")
