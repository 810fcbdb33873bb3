"""A capacity measured for real, briefly: the phases on animals of the zoo, and what becomes of a server that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders import quiet, zoo
from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ROOT
from builders.steps import outcomes, step
from fairground.capacity import drive, loadcurve, objective
from fairground.capacity.drive import Climb, Up
from fairground.capacity.search import Capacity, Goal, Pace
from fairground.host import Keeper
from fairground.inputs import manifest, workload_files
from fairground.judge import validity
from fairground.judge.clocks import with_cpu
from fairground.model import BadAnswer, Cell, CellSettings, LabError, Load, Outcomes, Topology
from fairground.postgres import Database

MOST = 200.0
GOAL = Goal(width=0.5, initial_s=0.5, final_s=1.0, sum_s=1.0, least_requests=10, longest_s=5, most_rate=MOST)
PACE = Pace(GOAL, search_until_s=60, confirm_window_s=1.0, warmup_s=0.5, step_s=1, overload_s=1)
Made = Callable[..., Climb]


def test_each_step_has_its_own_cpu() -> None:
    """CPU that is read each second is given to the steps of whole seconds; where a step has none it is unknown."""
    steps = [replace(step(1000), duration_s=2.0), replace(step(1000), duration_s=1.0)]
    clocks = [{"server": at * 100.0, "generator": at * at * 1e5} for at in (0, 1, 2, 3)]
    found = with_cpu(steps, clocks)
    assert [one.cpu_us["server"] for one in found] == [200, 100]
    assert [one.busiest_thread_share for one in found] == [pytest.approx(0.2), pytest.approx(0.5)]
    assert with_cpu([replace(step(1000), duration_s=1.5)], clocks)[0].cpu_us == {}
    assert with_cpu(steps, clocks[:2])[1].cpu_us == {}


class Silent:
    """A server that is up and gives so many good answers to each load, on a machine that is void for the first so many."""

    def __init__(self, good: list[int], void: int, life: Outcomes | None = None) -> None:
        self._good, self._void, self._life, self.loads, self.rejected = good, void, life, 0, ""
        self.shapes = list[Load]()

    def load(self, shape: Load, *_: object) -> Any:
        self.loads += 1
        self.shapes.append(shape)
        silent = BadAnswer("timeout", None, "no whole answer within 2000 ms", "GET /ping", None)
        sent = SimpleNamespace(window=outcomes(0, timeout=9), life=self._life, samples=(silent,))
        return SimpleNamespace(ok=self._good.pop(0), whole=sent, void="others worked" if self.loads <= self._void else None)

    def reject(self, sentence: str) -> None:
        self.rejected = sentence


def closed(up: Silent, monkeypatch: pytest.MonkeyPatch, given: Load | None = None) -> Any:
    """What the first load of a search makes of a server."""
    monkeypatch.setattr(drive.time, "sleep", lambda _: None)
    load = given or Load()
    names = {"stack": SimpleNamespace(id="a:b"), "workload": SimpleNamespace(id="ping"), "cell": SimpleNamespace(load=load)}
    climb = SimpleNamespace(pace=PACE, _shape=lambda _: load, _seed=lambda: 1, _drain_s=10.0, **names)
    return Climb._closed(cast(Any, climb), cast(Any, up))


def test_a_server_that_others_silence_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence on a void machine says nothing of the server, and after some tries the search says of what. On a quiet one it rejects."""
    up = Silent([0, 0, 7], void=2)
    assert closed(up, monkeypatch).ok == 7 and not up.rejected
    up = Silent([0, 0, 7], void=1)
    assert closed(up, monkeypatch) is None and up.rejected == (
        "it gave no good answer to ping: 9 × timeout; for instance `GET /ping`: no whole answer within 2000 ms"
    )
    up = Silent([0] * 9, void=9)
    with pytest.raises(LabError, match="others worked"):
        closed(up, monkeypatch)
    assert up.loads == drive.SPOILED and not up.rejected


def test_a_server_whose_answers_outlast_the_first_window_is_loaded_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Good answers that came after the window are answers: the next window lasts as long as one is waited for."""
    up = Silent([0, 7], void=0, life=outcomes(50))
    assert closed(up, monkeypatch).ok == 7 and not up.rejected
    assert [shape.window_s for shape in up.shapes] == [1.0, 10.0]
    up = Silent([0, 0], void=0, life=outcomes(50))
    assert closed(up, monkeypatch) is None and up.rejected and up.loads == 2


@pytest.mark.parametrize(("asked", "threads", "opened"), [(10, 1, (10, 1)), (2, 4, (2, 2)), (1000, 1, (50, 1))])
def test_the_first_load_opens_no_more_connections_than_asked(
    monkeypatch: pytest.MonkeyPatch, asked: int, threads: int, opened: tuple[int, int]
) -> None:
    """`--connections` is the most that is opened in any load; each thread of the generator has one of them at least."""
    up = Silent([7], void=0)
    closed(up, monkeypatch, Load(asked, threads=threads))
    assert [(shape.connections, shape.threads) for shape in up.shapes] == [opened]


@pytest.mark.parametrize(
    ("void", "rejected"), [("the database crashed and recovered", None), (None, "`a` is rejected: it gave nothing")]
)
def test_what_a_search_saw_of_a_void_arm_rejects_nobody(void: str | None, rejected: str | None) -> None:
    """Answers that did not come while the database crashed were not the server's to give."""
    arm = SimpleNamespace(label="a")
    session = SimpleNamespace(ended={"a": SimpleNamespace(rejected=None, void=void)})
    up = Up(cast(Any, session), cast(Any, arm))
    up.reject("it gave nothing")
    assert up.rejected == rejected


@pytest.fixture
def made(keeper: Keeper, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Climbs of animals on a machine whose noise does not count, with one pass over the curve."""
    monkeypatch.setattr(validity, "findings", quiet.without_the_machine(validity.findings))
    monkeypatch.setattr(loadcurve, "_generators_fault", lambda *_: None)
    monkeypatch.setattr(drive, "CURVE_PASSES", 1)
    bench = bench_on(keeper, database)
    workloads = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}

    def make(animal: str, workload: str, slo: str = "p50<900ms,errors<50%", pace: Pace = PACE, budget_s: float = 120) -> Climb:
        (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), animal)
        load = Load(200, model="open", timeout_ms=2000)
        cell = Cell(stack.id, workload, Topology(), load, CellSettings(workers=1, pool_size=8, scale=1))
        return Climb(bench, cell, stack, workloads[workload], objective.parse(slo), pace, budget_s, tmp_path, 7)

    return make


def whole(subject: Climb) -> Capacity:
    """The capacity after all of its phases, which is what its parts say by themselves."""
    made = list(subject.run())
    assert made == subject.parts
    return subject.found


@pytest.mark.live
def test_all_phases(made: Made) -> None:
    """A server that keeps every rate asked of it is confirmed at the highest, with curve, overload and CPU, and nothing runs on."""
    found = whole(made("healthy", "tx"))
    assert (found.rejected, found.notes) == (None, ())
    assert (found.confirmed_per_s, found.missed_from_per_s) == (MOST, None)
    assert [(one.rate_per_s, one.kept, one.trials) for one in found.confirmations] == [(MOST, 3, 3)]
    assert [round(point.step.rate_per_s / MOST, 3) for point in found.curve] == [0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5]
    assert all(point.step.cpu_us["server"] > 0 for point in found.curve)
    assert sum(point.step.due for point in found.curve) == sum(point.step.outcomes.total for point in found.curve)
    assert found.over is not None and found.over.factor == pytest.approx(1.5)
    assert len(found.over_seconds) == 4


@pytest.mark.live
def test_a_rate_that_no_server_keeps(made: Made) -> None:
    """A lowest rate beyond what the server can do ends the search there; nothing is confirmed, and no curve is drawn."""
    pace = replace(PACE, goal=replace(GOAL, least_rate=50_000, most_rate=60_000))
    found = whole(made("healthy", "ping", "p50<100ms", pace))
    assert found.measured and found.found.lower is None
    assert (found.confirmed_per_s, found.fresh, found.curve, found.over) == (None, (), (), None)
    assert "lowest rate" in found.ended


@pytest.mark.live
def test_what_the_budget_has_no_time_for_is_said(made: Made) -> None:
    """Phases that do not fit are left out with a sentence each."""
    found = whole(made("healthy", "ping", pace=replace(PACE, search_until_s=20), budget_s=1))
    assert found.measured and found.curve == () and found.over is None
    assert found.notes and all("the budget" in note for note in found.notes)


@pytest.mark.live
@pytest.mark.parametrize(
    ("animal", "workload", "words"),
    [("wrong-json", "ping", "contract"), ("lost-tx", "tx", "rejected"), ("never-ready", "ping", "become ready")],
)
def test_a_wrong_server_has_no_capacity(made: Made, animal: str, workload: str, words: str) -> None:
    """What fails the contract, the audit or its start is rejected with the reason, and leaves nothing behind."""
    subject = made(animal, workload)
    subject.bench = replace(subject.bench, ready_timeout_s=zoo.NEVER_READY_S)
    found = whole(subject)
    assert found.rejected is not None and words in found.rejected
    assert found.confirmed_per_s is None
    assert not subject.bench.keeper.orphans()


@pytest.mark.live
@pytest.mark.nightly
def test_a_server_settles_after_an_overload(made: Made) -> None:
    """After an overload light loads are made until they are answered well, and everything that was acknowledged is audited."""
    subject = made("healthy", "tx")
    shape = replace(subject.cell.load, warmup_min_s=0.1)
    with subject._up("overload") as up:
        loaded = up.load(shape, 1, ((20_000, 0.5),))
        up.settle(shape, 200, 100_000)
        calm = up.load(shape, 2, ((100, 0.5),))
    assert loaded is not None and loaded.steps[0].due > 5000
    assert calm is not None and calm.steps[0].outcomes.not_ok == 0
    assert up.rejected is None and not up.failed
