"""Rounds of two arms, live: turns are taken, what is planted shows, and a wrong arm ends them with its name and its reason."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from builders import zoo
from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ENGINE, ROOT
from fairground.host import Child, Keeper, Limits, burner
from fairground.inputs import manifest, workload_files
from fairground.measure import Bench, session
from fairground.measure.arm import StackArm
from fairground.measure.rounds import RoundsEffort, Side, one_round
from fairground.measure.schedule import TURN_ROUND_TRIPS, TURN_S, InTurns
from fairground.measure.session import ArmSession
from fairground.measure.turntaking import Told, TurnTaking
from fairground.model import Cell, CellSettings, Load, PathWire, Stack, Topology, Verdict
from fairground.model.pair import Round
from fairground.postgres import Database

pytestmark = pytest.mark.live


@pytest.mark.nightly
@pytest.mark.parametrize(("share", "apart"), [(0.25, 0.06), (0.002, 0.001)])
def test_burner_keeps_its_share(keeper: Keeper, share: float, apart: float) -> None:
    """Beside a program that computes all the time, the burner uses its share of that, and no more for looking how much it is."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    busy = keeper.spawn([sys.executable, "-c", "while True: pass"], role="busy", env={})
    burning = burner.plant(keeper, ENGINE, busy, share)
    try:
        busy_s, burning_s = [], []
        for enough_s in (1.0, 4.0):  # what it took to start is left out
            until = time.monotonic() + 60
            while ran_s(busy) < enough_s and time.monotonic() < until:
                time.sleep(0.05)
            busy_s.append(ran_s(busy))
            burning_s.append(ran_s(burning))
        assert (burning_s[1] - burning_s[0]) / (busy_s[1] - busy_s[0]) == pytest.approx(share, abs=apart)
    finally:
        burning.stop(0.0)
        busy.stop()


@pytest.mark.nightly
@pytest.mark.parametrize(("share", "among"), [(0.5, 0), (0.25, 16)])
def test_burner_beside_a_server_spends_elsewhere(keeper: Keeper, share: float, among: int) -> None:
    """Its share of what the server uses goes by on another core, and is not the server's: also where many others compute there."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("there is one core: nothing is beside it")
    busy = keeper.spawn([sys.executable, "-c", "while True: pass"], role="busy", env={}, limits=Limits(cores=(first,)))
    other = keeper.spawn([sys.executable, "-c", CROWD, str(among)], role="other", env={}, limits=Limits(cores=(others[0],)))
    burning = burner.beside(keeper, ENGINE, busy, share, other, among, (others[0],))
    try:
        spent_s = []
        for enough_s in (1.0, 4.0):
            until = time.monotonic() + 60
            while ran_s(busy) < enough_s and time.monotonic() < until:
                time.sleep(0.05)
            spent_s.append([ran_s(busy), ran_s(burning)])
        (busy_before, burned_before), (busy_after, burned_after) = spent_s
        assert (burned_after - burned_before) / (busy_after - busy_before) == pytest.approx(share, abs=0.06)
        assert burning.pid in (other.group.pids() or ()) and burning.pid not in (busy.group.pids() or ())
    finally:
        for one in (burning, other, busy):
            one.stop(0.0)


CROWD = """
import os, sys, time
if any(os.fork() == 0 for _ in range(int(sys.argv[1]))):
    os.setsid()  # as a backend of PostgreSQL does
    while True: pass
time.sleep(600)
"""
"""A program of so many processes that compute all the time, and one that waits for them."""


def ran_s(child: Child) -> float:
    """How long a process and those that it started have had a processor, each in one thread, to the nanosecond."""
    pids = [child.pid, *(one.pid for one in psutil.Process(child.pid).children())]
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9


@dataclass(frozen=True)
class Place:
    """Where two animals are compared."""

    bench: Bench
    effort: RoundsEffort
    folder: Path

    def rounds(self, one: Side, other: Side, pairs: int, most: int = 1, **changes: object) -> list[Round]:
        """As many rounds of so many pairs."""
        effort, made = replace(self.effort, pairs=pairs, **changes), list[Round]()
        while len(made) < most and not (made and made[-1].rejected):
            made.append(one_round(self.bench, (one, other), effort, self.folder, len(made) + 1))
        return made


def workload(name: str) -> object:
    """A workload at scale 1."""
    return workload_files.render(next(one for one in workload_files.load_workloads(SEEDS) if one.id == name), 1)


@pytest.fixture
def place(keeper: Keeper, database: Database, tmp_path: Path) -> Place:
    """A bench for two healthy animals on `tx`."""
    load = Load(connections=4, window_s=0.5, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=3000)
    bench = bench_on(keeper, database)
    return Place(bench, RoundsEffort(workload("tx"), load, CellSettings(workers=1, pool_size=4, scale=1)), tmp_path)


def animal(name: str) -> Stack:
    """A stack of the zoo."""
    return manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), name)[0]


def test_turns_are_taken_and_nothing_is_left(place: Place) -> None:
    """Two rounds of two pairs: both arms answer, who begins takes turns, what each wrote is audited, nothing runs on.

    A label may be a revision's name with a slash; each arm's log and document lie in a folder of its own.
    """
    made = place.rounds(Side("a", animal("healthy")), Side("healthy@origin/main", animal("healthy")), 2, most=2)
    found = [pair for one in made for pair in one.pairs]
    assert [(pair.round, pair.number) for pair in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [pair.first == "a" for pair in found] == [False, True, True, False]
    assert {file.relative_to(place.folder).as_posix() for file in place.folder.rglob("*.*")} >= {
        "a/server.log",
        "a/turns/engine.json",
        "healthy@origin-main/server.log",
        "healthy@origin-main/turns/engine.json",
    }
    assert all(window.ok > 0 and window.not_ok == 0 for pair in found for window in (pair.a, pair.b))
    assert all(window.generator_cpu_us for pair in found for window in (pair.a, pair.b))
    assert not [one.rejected for one in made if one.rejected]
    assert not place.bench.keeper.orphans()


@pytest.mark.nightly
def test_planted_slowdown_is_in_the_servers_cpu(place: Place) -> None:
    """Half as much again, planted in B's own group, shows as about that much more CPU per answer."""
    if place.bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    (made,) = place.rounds(Side("a", animal("healthy")), Side("b", animal("healthy"), planted=0.5), 4)
    ratios = [
        pair.b.cpu_us_per_answer / pair.a.cpu_us_per_answer
        for pair in made.pairs
        if pair.a.cpu_us_per_answer and pair.b.cpu_us_per_answer
    ]
    assert 1.2 < math.exp(sum(map(math.log, ratios)) / len(ratios)) < 2.0
    assert not place.bench.keeper.orphans()


def test_roles_keep_to_the_cores_that_they_are_pinned_to(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers and what is planted in them run on the server's cores, engines on the generator's."""
    if place.bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    pinned = replace(place.effort.settings, pin=(("server", (first,)), ("generator", (last,))))
    seen = dict[str, set[tuple[int, ...]]]()
    turn = TurnTaking.turn
    before = set(psutil.Process().children(recursive=True))  # what an earlier test began may be ending

    def look(taking: TurnTaking, seconds: float) -> None:
        for process in set(psutil.Process().children(recursive=True)) - before:
            with suppress(psutil.Error):  # it ended while we looked
                words, cores = process.cmdline(), tuple(process.cpu_affinity())
                for role, sign in (("server", "serve.py"), ("burner", "burn"), ("generator", "run")):
                    if sign in words:
                        seen.setdefault(role, set()).add(cores)
        turn(taking, seconds)

    monkeypatch.setattr(TurnTaking, "turn", look)
    place.rounds(Side("a", animal("healthy")), Side("b", animal("healthy"), 0.2), 1, settings=pinned)
    assert seen == {"server": {(first,)}, "burner": {(first,)}, "generator": {(last,)}}


def test_both_arms_stand_behind_the_path_that_is_asked(place: Place) -> None:
    """With a pooler, and 5 ms on the way from it to the database, no connection of either arm can have an answer sooner."""
    path = Topology(pooler="pgbouncer-tx", wire=PathWire(database_ms=5.0))
    settings = replace(place.effort.settings, prepared=False)
    (made,) = place.rounds(Side("a", animal("healthy")), Side("b", animal("healthy")), 1, topology=path, settings=settings)
    assert made.rejected is None and made.pairs
    for window in (made.pairs[0].a, made.pairs[0].b):
        assert 0 < window.rate_per_s <= place.effort.load.connections / 0.005
    assert not place.bench.keeper.orphans()


def test_slow_answers_lengthen_turns(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn is several answers of the slowest arm long: with 30 ms each at least 180."""
    lasting, turn = list[float](), TurnTaking.turn

    def noted(taking: TurnTaking, seconds: float) -> None:
        lasting.append(seconds)
        turn(taking, seconds)

    monkeypatch.setattr(TurnTaking, "turn", noted)
    place.rounds(Side("a", animal("healthy")), Side("b", animal("dreamer")), 1, workload=workload("ping"))
    assert lasting[0] == TURN_S and TURN_ROUND_TRIPS * 0.030 <= lasting[-1] <= place.effort.load.window_s


def test_a_window_without_a_good_answer_rejects_its_arm(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out of the ratios, it would flatter its arm. (On a void machine the arm is void: that is another test's.)"""
    monkeypatch.setattr(session.validity, "is_spoiled", lambda _: False)

    def still(self: ArmSession, labels: Sequence[str]) -> session._Still:
        found = real(self, labels)
        told = {label: replace(one, told=Told()) for label, one in found.counts.items()}
        return replace(found, counts=told)

    real = ArmSession._still
    monkeypatch.setattr(ArmSession, "_still", still)
    (made,) = place.rounds(Side("a", animal("healthy")), Side("b", animal("healthy")), 1)
    assert made.pairs == () and made.rejected is not None
    assert "no good answer in a whole window of " in made.rejected
    assert not place.bench.keeper.orphans()


@pytest.mark.parametrize(
    ("name", "words", "each"),
    [
        ("wrong-json", "", 2),
        ("never-ready", "become ready", 2),
        ("dies-midway", "ended by itself with exit code 3", 100),
    ],
)
def test_a_wrong_arm_ends_the_rounds_with_its_reason(place: Place, name: str, words: str, each: int) -> None:
    """What is not right is not compared: the finding is the guilty arm's alone, and nothing runs on."""
    asked = workload("ping" if name == "wrong-json" else "tx")
    load = replace(place.effort.load, connections=16)  # some animals misbehave under load only
    if name == "never-ready":
        place = replace(place, bench=replace(place.bench, ready_timeout_s=zoo.NEVER_READY_S))
    (made,) = place.rounds(Side("a", animal("healthy")), Side("b", animal(name)), each, most=9, workload=asked, load=load)
    rejects = {label: [one.sentence for one in found if str(one.severity) == "reject"] for label, found in made.findings.items()}
    assert made.rejected is not None and [label for label, sentences in rejects.items() if sentences] == ["b"]
    assert any(words in sentence for sentence in rejects["b"])  # what lies in two ways may be caught by either first
    assert not place.bench.keeper.orphans()


def test_an_arm_that_fails_its_audit_leaves_the_other_its_number(place: Place) -> None:
    """Each arm is audited on a database of its own: the guilty one is rejected by name, and the other's answers stand."""
    load, settings = replace(place.effort.load, connections=16), place.effort.settings
    arms = []
    for label, name in (("good", "healthy"), ("bad", "lost-tx")):
        stack = animal(name)
        cell = Cell(stack.id, "tx", Topology(), load, settings)
        arms.append(StackArm(label, cell, workload("tx"), 7, stack))
    with ArmSession(place.bench, arms, place.folder) as session:
        windows = list(session.play(InTurns(("good", "bad"), load, 2, lambda _: True)))
    good, bad = session.ended["good"], session.ended["bad"]
    assert bad.verdict is Verdict.REJECTED and (bad.rejected or "").startswith("`bad` is rejected: ")
    assert good.verdict is not Verdict.REJECTED and good.rejected is None
    assert all(line.holds for line in good.audit) and good.audit
    assert sum(window.ok for window in windows if window.arm == "good") > 0


@pytest.mark.nightly
def test_a_slowdown_beside_the_server_costs_it_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is spent beside it is the database's; nothing runs on, no stranger is seen, and both arms are sound."""
    if place.bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    planted, real = list[tuple[float, Child]](), burner.beside

    def beside(keeper: Keeper, engine: Path, server: Child, share: float, other: Child, *more: Any) -> Child:
        planted.append((share, other))
        return real(keeper, engine, server, share, other, *more)

    monkeypatch.setattr(burner, "beside", beside)
    stack, load = animal("healthy"), replace(place.effort.load, connections=16)
    cell = Cell(stack.id, "tx", Topology(), load, place.effort.settings)
    arms = [
        StackArm("plain", cell, workload("tx"), 7, stack),
        StackArm("slowed", cell, workload("tx"), 7, stack, 0.5, slowed="database"),
    ]
    with ArmSession(place.bench, arms, place.folder) as session:
        windows = list(session.play(InTurns(("plain", "slowed"), load, 2, lambda _: True)))
    assert planted == [(0.5, place.bench.database.child)]
    assert {window.arm for window in windows if window.ok} == {"plain", "slowed"}
    assert not [window.void for window in windows if "other processes" in (window.void or "")]
    assert not [one.rejected for one in session.ended.values() if one.rejected]
    assert not place.bench.keeper.orphans()
