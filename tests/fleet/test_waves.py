"""A run with a budget on several hosts: as many blocks at once as there are hosts, until the time is up or all is narrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from builders.paths import ROOT
from builders.trials import trial
from fairground import records
from fairground.fleet import cluster
from fairground.fleet.choice import Fleet
from fairground.fleet.cluster import Done
from fairground.fleet.order import Order, OrderAnswer, OrderWork
from fairground.host import build
from fairground.inputs import manifest
from fairground.lab import hosts
from fairground.lab.events import Began, Event, Planned, Said
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Plan, PlanSlot, Run, Trial
from fairground.run.plan import estimate_s
from fleet.made import MACHINE, member, plan

TWO = Fleet((member("a"), member("b")))
Spread = Callable[[PlanSlot], float]


class Hosts:
    """Hosts that answer each order at once, with trials of 9 s; `waves`: the blocks of the orders that were given together."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, spread: Spread) -> None:
        self.spread, self.waves = spread, list[list[int]]()
        self.lost = frozenset[int]()
        """Blocks whose orders fail."""
        monkeypatch.setattr(cluster, "carried_out", self._carried_out)

    def _carried_out(self, _: object, orders: Sequence[tuple[bytes, Any]], **__: object) -> Iterator[Done]:
        told = [Order.from_json(text) for text, _ in orders]
        self.waves.append(sorted({order.plan.slots[0].block for order in told if order.work is OrderWork.SHARE}))
        for place, order in enumerate(told):
            if order.work is OrderWork.SHARE and order.plan.slots[0].block in self.lost:
                yield Done(place, None, "it broke")
            else:
                trials = tuple(self._made(slot) for slot in order.plan.slots) if order.work is OrderWork.SHARE else ()
                yield Done(place, OrderAnswer("a", MACHINE, {"engine": "1"}, trials=trials).to_json())

    def _made(self, slot: PlanSlot) -> Trial:
        noise = numpy.random.default_rng(slot.number).normal(0, self.spread(slot))
        return replace(trial(slot.cell.stack, slot.block, 100.0 * math.exp(noise)), number=slot.number, cell=slot.cell)


def begun(folder: Path, planned: Plan) -> Run:
    """A run of a plan, of which nothing is measured."""
    made = records.create_run(
        folder, planned, started_unix_s=0.0, machine=MACHINE, versions={"engine": "1"},
        database_settings={}, stacks={}, workloads={},
    )  # fmt: skip
    return records.load_run(made)


def measured(known: Run) -> tuple[Run, list[str]]:
    """The run after two hosts measured it, and what was said."""
    events: list[Event] = list(hosts.measure_shares(known, TWO, {}, " --hosts hosts.toml"))
    assert [one.hosts for one in events if isinstance(one, Began)] == [2]  # the time that is left is told by it
    left_s = estimate_s(slot for slot in known.plan.slots if slot.number not in records.done_of(known.everything))
    assert [one.left_s for one in events if isinstance(one, Planned)] == [pytest.approx(left_s / 2)]
    return records.load_run(known.folder), [one.sentence for one in events if isinstance(one, Said)]


def test_what_is_narrow_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After six blocks, two at once: the run has ended as it should, and nothing is missing."""
    fleet = Hosts(monkeypatch, lambda _: 0.001)
    found, said = measured(begun(tmp_path, replace(plan(40), budget_s=3600.0)))
    assert fleet.waves == [[1, 2], [3, 4], [5, 6]]
    assert found.finished and found.ending is not None and found.ending.blocks == 6 and said == []


def test_hosts_share_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A block of four trials takes 36 s: in 100 s two hosts make two waves, and a third would end too late."""
    fleet = Hosts(monkeypatch, lambda _: 0.2)
    found, _ = measured(begun(tmp_path, replace(plan(40), budget_s=100.0)))
    assert fleet.waves == [[1, 2], [3, 4]]
    assert found.ending is not None and found.ending.reason == "the next block would have ended after the budget of 1.67 min"


def test_what_an_order_takes_beside_its_trials_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A database starts for each order: by the lab's clock a wave of 36 s takes 60, so that of 150 s two are left."""
    fleet = Hosts(monkeypatch, lambda _: 0.2)
    monkeypatch.setattr(hosts.time, "monotonic", lambda: 60.0 * len(fleet.waves))
    measured(begun(tmp_path, replace(plan(40), budget_s=150.0)))
    assert fleet.waves == [[1, 2], [3, 4]]


def test_pauses_are_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host that waits before it tries again is at work: by the clock no time goes by beside its trials."""
    fleet, known = Hosts(monkeypatch, lambda _: 0.2), begun(tmp_path, replace(plan(40), budget_s=125.0))
    monkeypatch.setattr(hosts.stopping.retry, "paused_s", lambda trials: 6.0 * len({one.block for one in trials}))
    monkeypatch.setattr(hosts.time, "monotonic", lambda: 42.0 * len(fleet.waves))
    measured(known)
    assert fleet.waves == [[1, 2], [3, 4], [5, 6]]


def test_time_goes_to_what_is_still_wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once `ping` is narrow its slots are left out, and said to be unneeded."""
    Hosts(monkeypatch, lambda slot: 0.2 if slot.cell.workload == "tx" else 0.001)
    found, _ = measured(begun(tmp_path, replace(plan(10), budget_s=3600.0)))
    blocks = {workload: {one.block for one in found.trials if one.cell.workload == workload} for workload in ("tx", "ping")}
    assert blocks == {"tx": set(range(1, 11)), "ping": set(range(1, 7))}
    assert found.finished and found.ending is not None and len(found.ending.unneeded) == 2 * 4


def test_a_wave_that_lost_a_trial_ends_the_run_openly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is missing is said, of what was asked for; going on measures it, and the run ends as ever."""
    fleet = Hosts(monkeypatch, lambda _: 0.001)
    fleet.lost = frozenset({4})
    known = begun(tmp_path, replace(plan(40), budget_s=3600.0))
    found, said = measured(known)
    assert fleet.waves == [[1, 2], [3, 4]] and not found.finished
    again = f"./fairground run --resume {known.id} --hosts hosts.toml"
    assert said[0].endswith("is not measured: it broke") and said[-1] == f"4 of 16 trials are missing; go on with: {again}"
    fleet.lost, fleet.waves = frozenset(), []
    found, said = measured(found)
    assert fleet.waves == [[], [4], [5, 6]] and found.finished and said == []


def test_without_a_budget_all_is_given_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scheduler has the whole plan, and gives it to whoever is free."""
    fleet = Hosts(monkeypatch, lambda _: 0.001)
    found, said = measured(begun(tmp_path, plan(8)))
    assert fleet.waves == [list(range(1, 9))] and found.finished and found.ending is None and said == []


def test_several_hosts_have_a_longer_plan() -> None:
    """Within the same budget three hosts can measure more blocks than one; `tests/run/test_plan_budget.py` says how many."""
    places = Places.of({})
    suite = replace(manifest.load_suite(places.suites / "demo.toml"), blocks=0, budget_s=600.0)
    alone, three = (hosts.dry_run(suite, Inputs(places), count).blocks for count in (1, 3))
    assert three > alone


@pytest.mark.parametrize(
    ("command", "held", "message", "hint"),
    [
        ("./fairground run -s one", True, "is measured into by another process", None),
        ("./fairground run --database @db", False, "each host has its own database", "go on on this machine, without `--hosts`"),
    ],
)
def test_what_cannot_go_on_on_hosts_is_refused(
    command: str, held: bool, message: str, hint: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is built or sent."""
    folder = begun(tmp_path, replace(plan(1), command=command)).folder
    monkeypatch.setattr(manifest, "stacks_of", lambda *_: [])
    monkeypatch.setattr(hosts, "require_stacks", lambda *_: None)
    monkeypatch.setattr(hosts, "_ready", lambda *_: pytest.fail("hosts are asked"))
    with records.hold_record(folder) if held else nullcontext(), pytest.raises(LabError, match=message) as refused:
        list(hosts.resume(folder, TWO, Inputs(Places(results=tmp_path))))
    assert hint is None or refused.value.hint == hint


@pytest.mark.parametrize(("there", "refused"), [(None, False), ("another", True)])
def test_a_host_with_another_contract_is_refused(there: str | None, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host uses its own copy, so it must be the lab's to the letter: nothing is measured with another one."""
    places = Places.of({}, ROOT / "tests" / "zoo")
    chosen = manifest.find_stack(places.load_servers(), "healthy")
    own = build.contract_versions(chosen)
    versions = own if there is None else {name: there for name in own}
    answers = [OrderAnswer(name, MACHINE, versions).to_json() for name in "ab"]
    monkeypatch.setattr(cluster, "send", lambda *_: None)
    monkeypatch.setattr(cluster, "ready", lambda *_: answers)
    with (
        pytest.raises(LabError, match="host `a` has another copy of a contract: contract seeds was") if refused else nullcontext()
    ):
        list(hosts._ready(TWO, plan(1), chosen))
