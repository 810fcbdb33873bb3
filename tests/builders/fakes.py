"""A host, a database and an engine that are none: what a session does in which order, in milliseconds and without a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.facts import facts, outcomes
from builders.fake_databases import GOOD, FakeDatabases
from fairground.contract import Report
from fairground.host import Child, RoleMeter
from fairground.host.cgroup import Group, Groups
from fairground.measure import loaded, session, stack, turntaking
from fairground.measure.arm import StackArm
from fairground.measure.bench import Bench
from fairground.model import (
    Audit,
    Cell,
    CellSettings,
    Finding,
    Invariant,
    LabError,
    Load,
    LoadRequest,
    Needs,
    Result,
    Severity,
    Stack,
    Topology,
    Workload,
)
from fairground.model.answerlog import AnswerLog

LOAD = Load(connections=4, window_s=1.0, warmup_min_s=0.0, warmup_max_s=0.0)
WORKLOAD = Workload(
    id="write",
    title="write a row",
    why="",
    requests=(LoadRequest("write", "POST", "/write", needs=Needs()),),
    audit=Audit(True, (Invariant("rows", "one row for each good answer", "SELECT count(*) FROM rows", "before + acknowledged"),)),
    limit_sql=None,
)
"""Each good answer leaves a row."""
GENERATOR_US = 20.0
"""What an answer costs the generator."""


@dataclass
class Server:
    """How one server behaves. `rows`: those in its database; `keeps`: the share of its answers that leaves one."""

    starts: bool = True
    not_ready: str | None = None
    wrong_case: bool = False
    keeps: float = 1.0
    altered: tuple[str, ...] = ()
    """Statements that are carried out in its database before it starts."""
    ends_with: int | None = None
    """The exit code with which it ends once it is loaded."""
    engine_fails: bool = False
    engine_dies: bool = False
    """Whether its engine ends on its first turn, and leaves no result."""
    without_room: int = 0
    """So many of its connections the database refuses since others have taken all."""
    crashes: bool = False
    """Whether the database server crashes once it is loaded, and recovers without the rows that it was given."""
    unreadable: bool = False
    """Whether its database is gone when it is audited."""
    silent: bool = False
    """Whether it is sent requests and answers none of them."""
    unreachable: bool = False
    """Whether no connection to it ever stands: its engine has a result without a window."""
    will_not_stop: bool = False
    """Whether stopping it fails."""
    leaves: bool = False
    """Whether a process of its own is left behind."""
    settled: int = 0
    """Good answers in the settled half second of each of its turns; 0: its turns are too short for one."""
    rows: int = 7
    loaded: bool = False
    commits: int = GOOD
    """So many of them its database counts."""
    hands_in_late: bool = False
    """Whether it counts them only once its server is gone."""
    deadlocks: list[int] = field(default_factory=list)
    """What its database has counted of them at each reading; none are left: 0."""
    transactions: list[int] = field(default_factory=list)
    """The next number of a transaction at each reading; none are left: unknown."""
    flushes: list[int] = field(default_factory=list)
    """Flushes of the log at each reading; none are left: nobody counts."""
    warm_up: Sequence[tuple[int, float]] = ()
    """Good answers of each second before its window, and what each of them costs the server, in µs of CPU."""
    used_us: float = 0.0


@dataclass
class World:
    """Servers by their label; `log` holds everything that was done to them, in order. `watch_failure`: why nobody looks on."""

    servers: Mapping[str, Server]
    log: list[str] = field(default_factory=list)
    watch_failure: str | None = None
    database_ends: bool = False
    """Whether the database server ends once somebody is loaded."""
    room: int = 497

    @property
    def ended(self) -> str | None:
        """Why the database server is there no more."""
        return "ended with exit code -9" if self.database_ends and any(one.loaded for one in self.servers.values()) else None

    def does(self, label: str, what: str) -> None:
        """Note it."""
        self.log.append(f"{label} {what}")

    def arms(self) -> list[StackArm]:
        """One arm for each server."""
        return [
            StackArm(
                label,
                Cell(label, WORKLOAD.id, Topology(), LOAD, CellSettings()),
                WORKLOAD,
                7,
                cast(Stack, FakeStack(label)),
                0.0,
                server.altered,
            )
            for label, server in self.servers.items()
        ]

    def bench(self) -> Bench:
        """What a session is given."""
        keeper = SimpleNamespace(require=lambda: None, spun_ns=lambda: None, awake=False, groups=Groups(None, ()), environ={})
        return Bench(cast(Any, keeper), cast(Any, FakeDatabases(self)), Path(__file__), (), cores=2)

    def moved_into(self, monkeypatch: pytest.MonkeyPatch) -> World:
        """In place of processes, databases, engines and clocks that take time."""
        monkeypatch.setattr(stack, "Route", lambda *words: FakePath(self, words[3].stack))
        monkeypatch.setattr(stack, "contract", FakeContract(self))
        monkeypatch.setattr(stack.machine, "fingerprint", lambda _: None)
        monkeypatch.setattr(loaded.machine, "pace_us", lambda: 10.0)
        monkeypatch.setattr(loaded.generators, "start", lambda *words: FakeEngine(self, self.label_at(words[3].port)))
        monkeypatch.setattr(
            loaded.engine, "EngineSession", lambda _, plan: FakeEngine(self, self.label_at(plan["target"]["port"]), True)
        )
        monkeypatch.setattr(loaded.running, "start_engine", lambda *_: None)
        hurried = SimpleNamespace(sleep=lambda _: None, monotonic=loaded.time.monotonic)
        for module in (loaded, turntaking):
            monkeypatch.setattr(module, "time", hurried)
        monkeypatch.setattr(session, "ArmWatch", lambda *_: FakeWatch(self.watch_failure))
        return self

    def label_at(self, port: int) -> str:
        """Whose port it is: they are numbered from 1."""
        return list(self.servers)[port - 1]


@dataclass(frozen=True)
class FakeStack:
    """A stack of which only its id and what it skips are looked at."""

    id: str
    server: Any = field(
        default_factory=lambda: SimpleNamespace(
            skip={}, folder=Path(__file__).parent, paths={}, port=None, database=None, is_told=lambda name: True
        )
    )
    backlog: int | None = None
    skip: Mapping[str, str] = field(default_factory=dict)


class FakeWatch:
    """Nobody looks on."""

    def __init__(self, failure: str | None) -> None:
        self.failure, self.turn = failure, None

    def __enter__(self) -> FakeWatch:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""


class FakeGroup(Group):
    """A cgroup whose processes need as much CPU as their server has used: without one, none."""

    def __init__(self, server: Server | None) -> None:
        super().__init__(None, ())
        self._server = server

    def cpu_ns(self) -> int:
        return 0 if self._server is None else round(self._server.used_us * 1000)


class FakeChild:
    """A process that is none."""

    def __init__(self, server: Server | None = None) -> None:
        self.group, self.bounds, self._server = FakeGroup(server), {}, server

    def exit_code(self) -> int | None:
        """How it ended, once it was loaded."""
        return self._server.ends_with if self._server is not None and self._server.loaded else None

    def alive(self) -> list[Any]:
        """None."""
        return []

    def pin(self, cores: object) -> None:
        """It runs nowhere."""


class FakePath:
    """What stands between a generator that is none and a database that is none."""

    def __init__(self, world: World, label: str) -> None:
        self._world, self._label, self._server = world, label, world.servers[label]
        self.meters: dict[str, Any] = {}
        self.server, self.pooler = None, None
        self.host, self.port = "127.0.0.1", list(world.servers).index(label) + 1
        self.server_port = self.port

    def open_wire(self) -> None:
        """There is none."""

    def open_pooler(self) -> None:
        """There is none."""

    def open_server(self, _: object) -> None:
        """LabError where it cannot be executed."""
        self._world.does(self._label, "start")
        if not self._server.starts:
            raise LabError("no such program")
        self.server = cast(Child, FakeChild(self._server))
        self.meters["server"] = RoleMeter(self.server)

    def wait(self, _: float) -> str | None:
        return self._server.not_ready

    def holders(self) -> tuple[str, ...]:
        """Its port is its own."""
        return ()

    def ways_of_listening(self, _: int | None) -> list[Finding]:
        """It is not exposed, and has room for everybody."""
        return []

    def listens(self) -> bool:
        return self._server.not_ready is None

    def open_proxy(self, ready: bool) -> None:
        """There is none."""

    def ask_server(self) -> None:
        self._world.does(self._label, "asked to end")

    def close(self) -> tuple[Finding, ...]:
        self._world.does(self._label, "stop")
        if self._server.will_not_stop:
            raise OSError("it cannot be stopped")
        return (Finding("strays", Severity.WARN, "the server left 1 process behind"),) if self._server.leaves else ()


class FakeContract:
    """Cases that a server passes, or not."""

    def __init__(self, world: World) -> None:
        self._world = world

    def select(self, *_: object, **__: object) -> tuple[()]:
        return ()

    def run(self, _: Sequence[object], *, address: tuple[str, int], **__: object) -> Report:
        label = self._world.label_at(address[1])
        self._world.does(label, "verify")
        wrong = Finding("case:one", Severity.REJECT, "one case: it is wrong")
        return Report((wrong,) if self._world.servers[label].wrong_case else ())


def held(good: int, settled: int = 0) -> dict[str, Any]:
    """What an engine says that stands still after so many good answers: a thousand a second, and `settled` in half of the turn."""
    part = {"ok": settled, "active_us": 500_000 if settled else 0}
    return {"event": "held", "ok": good, "not_ok": 0, "active_us": good * 1000, "settled": part}


class FakeEngine:
    """An engine that tells of good answers, in one piece or in turns, without a request."""

    def __init__(self, world: World, label: str, in_turns: bool = False) -> None:
        self._world, self._label, self._server, self._in_turns = world, label, world.servers[label], in_turns
        self._used, child = Server(), FakeChild()
        child.group = FakeGroup(self._used)
        self.child = cast(Child, child)
        self._told, self._good, self.log = [held(0)], 0, AnswerLog()
        self._warming = list(self._server.warm_up)

    def meter(self) -> RoleMeter:
        """What it used."""
        return RoleMeter(self.child, closely=True)

    def pin(self, cores: Sequence[int] | None) -> None:
        """It runs nowhere."""

    def measure(self, window_s: float | None = None) -> None:
        """One second of load, unless the engine or its server fails."""
        self._world.does(self._label, "measure" if window_s is None else f"measure {window_s:g} s")
        self._warming = []
        self._told = [] if self._server.unreachable else [{"event": "window"}, self._second(), {"event": "drain"}]
        if not self._in_turns and not self._server.unreachable:
            self._answer()

    def _second(self) -> dict[str, Any]:
        return {"event": "second", "ok": GOOD, "not_ok": 0, "p99_us": 1000}

    def _answer(self) -> None:
        self._server.loaded = True
        if self._server.silent:
            return
        self._good += GOOD
        self._server.rows += 0 if self._server.crashes else round(GOOD * self._server.keeps)

    def go(self, requests: int | None = None) -> None:
        """Answer for one turn, which ends by itself where it has so many requests."""
        self._world.does(self._label, "turn" if requests is None else f"turn of {requests}")
        self._answer()
        if requests is not None:
            self.hold()

    def hold(self) -> None:
        self._told = [] if self._server.engine_dies or self._server.unreachable else [held(self._good, self._server.settled)]

    def halt(self) -> None:
        self._told = []

    def event(self, _: float) -> dict[str, Any] | None:
        if self._server.engine_fails:
            raise LabError("the load engine has been silent", exit_code=3)
        if self._warming:
            good, cost_us = self._warming.pop(0)
            self._server.used_us += good * cost_us
            self._used.used_us += good * GENERATOR_US
            return self._second() | {"ok": good}
        return self._told.pop(0) if self._told else None

    def stop(self) -> None:
        self._world.does(self._label, "engine ends")

    def result(self) -> Result:
        """All that it told as a result. LabError where it was ended by somebody."""
        if self._server.engine_dies:
            raise LabError("the load engine ended with exit code -9 and no result: it said nothing", exit_code=3)
        made = facts(window=outcomes(self._good, in_flight=LOAD.connections if self._server.silent else 0)).result
        assert made is not None
        return made
