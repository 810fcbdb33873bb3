"""Several runs of one suite are judged as one, and a further run measures what is still undecided."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from builders.claims import trial
from cli.command import stored
from fairground import records
from fairground.claims import joined, judgement
from fairground.claims.verdict import ClaimVerdict
from fairground.inputs import manifest
from fairground.lab import replicate, site
from fairground.lab.events import Event, Replicated, Reported, Sink
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.replicate import ReplicationAsked
from fairground.model import Claim, LabError, Run, Suite, SuiteGroup
from report.fixture import two_blocks

NEAR = Claim("near", "a is more", "rps(a:x ping) > rps(b:x ping)")
FAR = Claim("far", "c is more", "rps(c:x ping) > rps(b:x ping)")
SUITE = Suite("one", "One", "", 2, 1, (), claims=(NEAR, FAR))


def run(name: str, noise: int) -> Run:
    """A run of two blocks in which a and b differ by what the noise allows, and c by far."""
    speeds = {"a:x": 1030.0, "b:x": 1000.0, "c:x": 3000.0}
    made = [
        replace(trial(stack, rps + (-1) ** (block + place) * noise, block), number=3 * block + place, round=block)
        for block in (1, 2)
        for place, (stack, rps) in enumerate(speeds.items())
    ]
    pattern = two_blocks()
    return replace(pattern, id=name, trials=tuple(made), controls=(), plan=replace(pattern.plan, blocks=2))


def test_blocks_of_several_runs_are_blocks_of_one() -> None:
    """No trial stands in the block, the round or the slot of another run's."""
    whole = joined.join([run("first", 10), run("second", 10)])
    assert [one.block for one in whole.trials] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert len({(one.round, one.cell) for one in whole.trials}) == len({one.number for one in whole.trials}) == 12
    assert (whole.plan.blocks, whole.id) == (4, "second")


def test_what_runs_measured_and_left_out_is_told_of_all() -> None:
    """Kinds of stacks, reasons for what is missing and interruptions are those of all runs, however narrow the last one is."""
    wide = two_blocks()
    cell = wide.plan.slots[0].cell
    narrow = replace(
        wide,
        id="narrow",
        stacks={cell.stack: wide.stacks[cell.stack]},
        trials=tuple(one for one in wide.trials if one.cell == cell),
        plan=replace(wide.plan, skipped={}, slots=tuple(one for one in wide.plan.slots if one.cell == cell)),
    )
    whole = joined.join([replace(wide, finished=False), narrow])
    assert whole.stacks == wide.stacks and whole.plan.skipped == wide.plan.skipped != {} and not whole.finished
    assert {slot.cell for slot in whole.plan.slots} == {slot.cell for slot in wide.plan.slots}
    assert len({slot.number for slot in whole.plan.slots}) == len(whole.plan.slots) == len(wide.plan.slots) + 2
    assert (whole.plan.whole_blocks, whole.plan.blocks) == (2, 4)
    came = replace(wide.trials[0], cell=replace(cell, stack="ginkgo:fast"))
    assert "ginkgo:fast" not in joined.join([wide, replace(narrow, trials=(*narrow.trials, came))]).plan.skipped


def test_two_runs_say_more_than_one() -> None:
    """What neither decides by itself, both do together."""
    alone = judgement.judge(SUITE, run("first", 12).trials)[0]
    both = judgement.judge(SUITE, joined.join([run(f"{place}", 12) for place in range(4)]).trials)[0]
    assert alone.verdict is ClaimVerdict.INCONCLUSIVE and both.verdict.decided


def test_what_cannot_be_joined_is_refused() -> None:
    """Runs of two machines, and a run with itself."""
    one, other = run("first", 10), run("second", 10)
    with pytest.raises(LabError, match="named twice"):
        joined.join([one, one])
    with pytest.raises(LabError, match="on different machines"):
        joined.join([one, replace(other, machine=replace(other.machine, cpu_model="another"))])


def test_a_further_run_measures_what_is_undecided_alone() -> None:
    """The cells that the open claim rests on, in their own field; a decided claim's are left out."""
    found = run("first", 40)
    judged = judgement.judge(SUITE, found.trials)
    left = joined.open_claims_of(judged)
    assert [one.claim.id for one in left] == ["near"]
    narrowed = joined.narrow(SUITE, found, left, 1)
    (group,) = narrowed.groups
    assert (group.stacks, group.workloads, narrowed.seed, narrowed.controls) == (("a:x", "b:x"), ("ping",), SUITE.seed + 1, False)
    assert isinstance(group, SuiteGroup) and group.loads == (found.trials[0].cell.load,)

    for anchor, kept in (("b:x", "b:x"), ("c:x", None)):
        assert joined.narrow(replace(SUITE, anchor=anchor), found, left, 1).anchor == kept


def test_it_goes_on_until_nothing_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further run is narrower, at most four are made, and all are judged together by what so many looks allow."""
    measured = list[Suite]()

    def fake(chosen: Suite, _inputs: Inputs, _sink: Sink) -> Generator[Event]:
        measured.append(chosen)
        made = run(f"run-{len(measured)}", 40)
        folder = stored(replace(made, plan=replace(made.plan, title=chosen.title)), tmp_path)
        yield Reported(folder / "report.html", replace(made, folder=folder))

    monkeypatch.setattr("fairground.lab.run.run_suite", fake)
    monkeypatch.setattr(manifest, "load_suite", lambda *_: SUITE)
    asked = ReplicationAsked("users", decided=True)
    inputs = Inputs(Places.of(os.environ, results=tmp_path))
    ends = [one for one in replicate.replicate_suites(inputs, asked) if isinstance(one, Replicated)]
    assert len(ends) == 1 and 1 < len(measured) <= joined.MOST_RUNS
    assert ends[0].found.runs == tuple(f"run-{place}" for place in range(1, len(measured) + 1))
    assert [len(one.groups) for one in measured[1:]] == [1] * (len(measured) - 1)
    assert "judged together" in ends[0].path.read_text()
    last = records.load_run(ends[0].path.parent)
    assert records.judged_runs_of(last, SUITE.id)[1] == joined.MOST_RUNS
    with pytest.raises(LabError, match="begins anew"):
        list(replicate.replicate_suites(inputs, replace(asked, resume="latest")))


def test_two_stored_runs_are_judged_together(tmp_path: Path) -> None:
    """By their names, and not where one is of another suite."""
    made = two_blocks()
    places = Places.of(os.environ, results=tmp_path)
    title = replicate.suite(Inputs(places), ReplicationAsked("users")).title
    first, second = (
        stored(replace(made, id=f"{made.id}-{place}", plan=replace(made.plan, title=title)), tmp_path).name for place in (1, 2)
    )
    asked = ReplicationAsked("users", of_runs=(first, second))
    (end,) = replicate.replicate_suites(Inputs(places), asked)
    assert isinstance(end, Replicated) and end.found.runs == (first, second) and end.path.parent.name == second
    list(site.write(tmp_path, tmp_path / "public"))
    assert "of 2 runs, judged together" in (tmp_path / "public" / second / end.path.name).read_text()
    third = stored(replace(made, id=f"{made.id}-3"), tmp_path).name
    with pytest.raises(LabError, match="is of none of the suites users"):
        list(replicate.replicate_suites(Inputs(places), replace(asked, of_runs=(first, third))))


def test_runs_that_are_gone_are_judged_no_more(tmp_path: Path) -> None:
    """A page that is made anew names those that are there; no name leads out of the folder of results."""
    first, second = (stored(replace(two_blocks(), id=name), tmp_path / "results") for name in ("first", "second"))
    outside = stored(replace(two_blocks(), id="outside"), tmp_path)
    last = records.load_run(second)
    assert records.judged_runs_of(last, "users") == ([last], 1)
    records.write_judged(second, "users", (first.name, f"../{outside.name}", second.name), 3)
    runs, looks = records.judged_runs_of(last, "users")
    assert ([one.id for one in runs], looks) == ([first.name, second.name], 3)
    shutil.rmtree(first)
    assert records.judged_runs_of(last, "users") == ([last], 3)
    assert records.judged_runs_of(last, "lookup") == ([last], 1)
