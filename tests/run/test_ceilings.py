"""Which cell of a run stands for a workload where this machine's limit on it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from builders.contracts import SEEDS
from fairground import records
from fairground.inputs import workload_files
from fairground.measure import Bench, ceiling
from fairground.model import CellSettings, DatabaseEnded, LabError, Limit, Load, Qualification, StorageError, Workload
from fairground.report.boards import boards
from fairground.run import ceilings
from report.fixture import run

WORKLOADS = {one.id: one for one in workload_files.load_workloads(SEEDS)}


BENCH = Bench(cast(Any, None), cast(Any, None), Path("engine"), (), 2, databases=lambda version: cast(Any, version or 18))
"""Its database servers are their versions."""


def test_the_limit_is_measured_with_the_smallest_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cells whose pools differ, the smallest is asked, once; a limit that cannot be measured is said and ends nothing."""
    asked: list[int] = []

    def refuse(
        _bench: Bench, _folder: Path, _workload: Workload, _load: Load, settings: CellSettings, clients: int | None
    ) -> None:
        assert clients is None
        asked.append(settings.pool_size)
        raise LabError("pgbench came to nothing")

    monkeypatch.setattr(ceiling, "measure", refuse)
    whole = run(1)
    slot = next(one for one in whole.plan.slots if one.cell.workload == "tx")
    cells = [replace(slot.cell, settings=replace(slot.cell.settings, pool_size=size)) for size in (2000, 25, 500)]
    slots = tuple(replace(slot, number=number, cell=cell) for number, cell in enumerate(cells, 1))
    known = replace(whole, limits=(), plan=replace(whole.plan, slots=slots))
    assert "no limit for tx: pgbench came to nothing" in list(ceilings.measure(BENCH, known, WORKLOADS))
    assert asked == [25]


@pytest.mark.parametrize("error", [DatabaseEnded("it ended"), StorageError("the disk is full")])
def test_what_ends_a_run_ends_it_while_its_limits_are_measured(error: LabError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials after it would all be void, and none of them be left to measure again."""

    def end(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ceiling, "measure", end)
    with pytest.raises(type(error)):
        list(ceilings.measure(BENCH, replace(run(1), limits=()), WORKLOADS))


def test_each_version_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """pgbench loads the server of each version; what is known of one is not measured again, and stands on its own board."""

    def measured(
        bench: Any, _folder: Path, workload: Workload, _load: Load, _settings: CellSettings, clients: int | None
    ) -> Limit:
        assert clients is None
        return Limit(workload.id, "pgbench", float(bench.database), "")

    kept: list[Limit] = []
    monkeypatch.setattr(ceiling, "measure", measured)
    monkeypatch.setattr(records, "append_limit", lambda _folder, limit: kept.append(limit))
    whole = run(1)
    slot = next(one for one in whole.plan.slots if one.cell.workload == "tx")
    cells = [replace(slot.cell, settings=replace(slot.cell.settings, postgres_version=one)) for one in (17, 16, None)]
    slots = tuple(replace(slot, number=number, cell=cell) for number, cell in enumerate(cells, 1))
    known = replace(whole, limits=(Limit("tx", "pgbench", 1.0, "", postgres_version=16),), plan=replace(whole.plan, slots=slots))
    list(ceilings.measure(BENCH, known, WORKLOADS))
    assert [(one.postgres_version, one.rate_per_s) for one in kept] == [(None, 18.0), (17, 17.0)]
    shown = boards(replace(known, limits=(*known.limits, *kept), trials=()))
    told = {one.condition.rpartition(" · ")[2]: one.limit for one in shown}
    assert {name: limit and limit.rate_per_s for name, limit in told.items()} == {
        "PostgreSQL 17": 17.0, "PostgreSQL 16": 1.0, "PostgreSQL 18": 18.0,
    }  # fmt: skip


class Asked:
    """A run of eight blocks of `workloads`, whose limits are measured again: what was asked, and what was kept."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *known: Limit, fails: bool = False, workloads: Sequence[str] = ("tx", "ping")
    ) -> None:
        whole = run(1)
        found = {one.cell.workload: one for one in whole.plan.slots}
        like = found["ping"]
        first = [found.get(name, replace(like, cell=replace(like.cell, workload=name))) for name in workloads]
        first = [
            replace(one, cell=replace(one.cell, load=like.cell.load)) for one in first
        ]  # who shares a limit is not told by loads
        self.slots = [replace(one, block=block) for block in range(1, 9) for one in first]
        self.known, self.fails = list(known), fails
        self.asked: list[tuple[str, int | None, str]] = []
        plan = replace(whole.plan, slots=tuple(self.slots), blocks=8)
        monkeypatch.setattr(ceiling, "measure", self.measure)
        monkeypatch.setattr(records, "load_run", lambda _: replace(whole, plan=plan, limits=tuple(self.known)))
        monkeypatch.setattr(records, "append_limit", lambda _, limit: self.known.append(limit))
        self.again = ceilings.Again(BENCH, whole.folder, WORKLOADS)

    def measure(
        self, _: Bench, folder: Path, workload: Workload, _load: Load, _settings: CellSettings, clients: int | None
    ) -> Limit:
        """In place of what measures."""
        self.asked.append((workload.id, clients, folder.name))
        if self.fails:
            raise LabError("pgbench came to nothing")
        return Limit(workload.id, "pgbench", 50.0, "anew", clients)

    def play(self, rounds: int = 2) -> None:
        """Each workload has so many rounds in each block."""
        for slot in self.slots:
            for _ in range(rounds):
                self.again([slot])


TX, PING = Limit("tx", "pgbench", 200.0, "8 clients", 8), Limit("ping", "null-responder", 900.0, "null")


def test_limits_are_measured_again_beside_later_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first round of a workload in blocks 2, 4 and 8, with the clients that did most; each is kept with its block."""
    here = Asked(monkeypatch, TX, PING)
    here.play()
    each = [("tx", 8), ("ping", None)]
    assert here.asked == [(*one, f"block-{block}") for block in (2, 4, 8) for one in each]
    assert [(one.workload, one.block) for one in here.known[2:]] == [(name, block) for block in (2, 4, 8) for name, _ in each]


def test_workloads_without_a_database_share_a_limit_of_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The null responder is measured once in a block under a load, and again in the next block. pgbench's limits are each their own."""
    here = Asked(monkeypatch, PING, replace(PING, workload="lookup"), TX, workloads=("lookup", "tx", "ping"))
    here.play()
    assert [(name, place) for name, _, place in here.asked] == [
        (name, f"block-{n}") for n in (2, 4, 8) for name in ("lookup", "tx")
    ]
    assert [(one.workload, one.block) for one in here.known[3:]] == [
        (name, n) for n in (2, 4, 8) for name in ("lookup", "tx", "ping")
    ]


def test_a_limit_that_nobody_knows_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not be measured before the first trial. One that cannot be measured again leaves what is known."""
    here = Asked(monkeypatch, PING)
    here.play()
    assert {name for name, _, _ in here.asked} == {"ping"}
    failing = Asked(monkeypatch, TX, fails=True)
    failing.play()
    assert len(failing.asked) == 3 and failing.known == [TX]
    assert failing.again.failures() == [f"no limit for tx in block {block}: pgbench came to nothing" for block in (2, 4, 8)]
    assert failing.again.failures() == [] == here.again.failures()


def test_a_run_that_goes_on_measures_no_limit_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose limit is stored are done."""
    here = Asked(monkeypatch, TX, replace(TX, block=2), replace(TX, block=8), PING, replace(PING, block=4))
    here.play()
    assert [(name, place) for name, _, place in here.asked] == [("ping", "block-2"), ("tx", "block-4"), ("ping", "block-8")]


def test_a_run_has_one_limit_of_each_workload() -> None:
    """The geometric mean of what was measured, which its detail tells; that of another version is another limit."""
    whole = replace(run(1), limits=(TX, PING, replace(TX, rate_per_s=50.0, block=2), replace(TX, postgres_version=16)))
    found = whole.limit("tx")
    assert found is not None and found.rate_per_s == pytest.approx(100.0) and found.clients == 8
    assert found.detail == "8 clients; measured 2 times in the run, 50 to 200/s"
    assert whole.limit("ping") == PING and whole.limit("users") is None
    stalled = replace(whole, limits=(TX, replace(TX, rate_per_s=0.0, block=2), replace(PING, rate_per_s=0.0)))
    assert stalled.limit("tx") == TX and stalled.limit("ping") is None, "a rate of 0 is no limit"
    assert whole.limit("tx", 16) == replace(TX, postgres_version=16)
    (board,) = [one for one in boards(whole) if one.workload == "tx"]
    assert board.limit == found


@pytest.mark.parametrize("budget_s", [None, 60.0])
def test_the_engine_is_qualified_where_all_cells_have_three_blocks(
    budget_s: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further blocks of single cells make no run that compares. With a budget, slots may be those of some blocks alone."""
    asked: list[Path] = []

    def qualify(_bench: Bench, folder: Path) -> Qualification:
        asked.append(folder)
        return Qualification(True, 1.0, ())

    monkeypatch.setattr(ceiling, "qualify", qualify)
    monkeypatch.setattr(records, "write_qualification", lambda *_: None)
    two = run(2)
    known = replace(
        two, folder=tmp_path, qualification=None, limits=tuple(Limit(one, "pgbench", 1.0, "") for one in two.workloads)
    )
    more = tuple(replace(two.plan.slots[0], block=block) for block in (3, 4))
    planned = replace(two.plan, slots=(*two.plan.slots, *more), blocks=4, budget_s=budget_s)
    assert list(ceilings.measure(BENCH, replace(known, plan=planned), WORKLOADS)) == []
    assert len(asked) == (budget_s is not None)
