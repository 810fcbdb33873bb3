"""The file that remembers: each run once, the newest of each machine, private, and no more than a sentence where it is damaged."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from builders.trials import CELL, trial
from fairground import records
from fairground.model import LabError, Machine, Plan, PlanSlot, Run
from fairground.records import memory


@pytest.fixture
def run() -> Run:
    """Two stacks of four blocks."""
    rates = {"a:plain": (100.0, 110.0, 95.0, 104.0), "b:plain": (90.0, 92.0, 101.0, 85.0)}
    trials = tuple(
        trial(stack, block, rate, 1e4 / rate) for stack, some in rates.items() for block, rate in enumerate(some, start=1)
    )
    cells = dict.fromkeys(one.cell for one in trials)
    plan = Plan("t", 1, 4, tuple(PlanSlot(place, 1, cell, 1) for place, cell in enumerate(cells, start=1)), {}, "c")
    machine = Machine("hash", "a CPU", 2, 2**33, "6.1", None, None, None, None, {})
    return Run(1, "first", Path(), 100.0, plan, machine, {}, {}, {}, {CELL.workload: {}}, trials, (), True)


def test_nothing_is_known_at_first(tmp_path: Path, run: Run) -> None:
    """A machine without a run has the weak prior, of both quantities, in turns and in whole windows."""
    found = records.foretell(records.load_memory(tmp_path), "a machine", run.plan)
    assert len(found) == 4 and {one.runs for one in found} == {0}


def test_a_run_is_remembered_once(tmp_path: Path, run: Run) -> None:
    """A run that is added again, such as one that went on, takes its own place."""
    for one in (run, run, replace(run, id="later", started_unix_s=run.started_unix_s + 1)):
        records.add_run(tmp_path, one)
    known = records.load_memory(tmp_path)
    assert [one.run for one in known.runs] == [run.id, "later"]
    found = records.foretell(known, run.machine.group, run.plan)
    assert {one.runs for one in found if not one.in_turns and one.quantity == "goodput"} == {2}
    assert {one.runs for one in records.foretell(known, "another machine", run.plan)} == {0}
    assert stat.S_IMODE((tmp_path / memory.FILE).stat().st_mode) == 0o600


def test_only_what_the_plan_names_is_kept_in_it(tmp_path: Path, run: Run) -> None:
    """A record does not list every workload that the machine ever saw."""
    records.add_run(tmp_path, run)
    (slot, *_) = run.plan.slots
    small = replace(run.plan, slots=(slot,))
    for one in records.foretell(records.load_memory(tmp_path), run.machine.group, small):
        assert set(one.workloads) <= {slot.cell.workload} and set(one.stacks) <= {slot.cell.stack}


def test_the_oldest_runs_are_forgotten(tmp_path: Path, run: Run) -> None:
    """Of each machine by itself."""
    other = replace(run.machine, cores=99)
    records.add_run(tmp_path, replace(run, machine=other, started_unix_s=0.0))
    for number in range(memory.MOST_RUNS + 2):
        records.add_run(tmp_path, replace(run, id=f"r{number}", started_unix_s=float(number)))
    known = records.load_memory(tmp_path).runs
    assert len(known) == memory.MOST_RUNS + 1 and "r0" not in {one.run for one in known}
    assert sum(one.machine == other.group for one in known) == 1


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"version": 2, "runs": []}', '{"version": 1, "runs": [{"run": 1}]}', "\xff"],
)
def test_a_damaged_file_is_a_sentence(tmp_path: Path, run: Run, text: str) -> None:
    """It says where it is, and the next run begins it anew."""
    (tmp_path / memory.FILE).write_text(text, encoding="latin-1")
    with pytest.raises(LabError, match="not known") as raised:
        records.load_memory(tmp_path)
    assert "\n" not in str(raised.value) and memory.FILE in str(raised.value)
    records.add_run(tmp_path, run)
    assert [one.run for one in records.load_memory(tmp_path).runs] == [run.id]


@pytest.mark.parametrize("number", [-1.0, 0.0])
def test_a_variance_that_is_none_is_damage(tmp_path: Path, run: Run, number: float) -> None:
    """Somebody edited it."""
    records.add_run(tmp_path, run)
    found = json.loads((tmp_path / memory.FILE).read_bytes())
    found["runs"][0]["seen"][0]["variance"] = number
    (tmp_path / memory.FILE).write_text(json.dumps(found))
    with pytest.raises(LabError, match="not known"):
        records.load_memory(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path, run: Run) -> None:
    """Neither read nor written through."""
    there = tmp_path / "elsewhere.json"
    there.write_text("{}")
    (tmp_path / memory.FILE).symlink_to(there)
    with pytest.raises(LabError, match="link"):
        records.load_memory(tmp_path)
    records.add_run(tmp_path, run)
    assert there.read_text() == "{}" and not (tmp_path / memory.FILE).is_symlink()


def test_a_plan_keeps_what_it_is_judged_with(tmp_path: Path, run: Run) -> None:
    """Where there is no cache any more, the run is judged as it was."""
    records.add_run(tmp_path, run)
    known = records.foretell(records.load_memory(tmp_path), run.machine.group, run.plan)
    kept: Plan = replace(run.plan, memory=known)
    assert kept.memory == known and run.plan.memory == ()
