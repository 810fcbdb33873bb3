"""`why`: which cell and which reason are meant, and one sentence for what cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fairground.measure import schedule
from fairground.model import Cell, Finding, LabError, Run, Severity
from fairground.model.experiment import AS_IT_WAS, Start, WhyAsked
from fairground.model.record import Head, Record, RecordKind
from fairground.model.window import WindowTally
from fairground.report.run import page
from fairground.report.run.why import goodput_change, rows, sentences, tried_by
from fairground.run import question
from report import fixture


def limited(reason: str = "pool") -> Run:
    """A run whose trials on tx were all limited by one reason."""
    run = fixture.two_blocks()
    said = Finding(reason, Severity.NOTE, "5 of the pool's 5 connections had a statement under way")
    trials = [
        replace(trial, diagnosis=reason, findings=(said,)) if trial.cell.workload == "tx" else trial for trial in run.trials
    ]
    return replace(run, trials=tuple(trials))


def test_quotas_and_deadlocks_are_asked_in_long_turns() -> None:
    """Linux grants a CPU quota every 0.1 s, and a deadlock lasts a second: in short turns neither costs what it costs a server alone."""
    run = fixture.two_blocks()
    cell, trial = run.plan.slots[0].cell, next(one for one in run.trials if one.database is not None)
    held = replace(cell, settings=replace(cell.settings, cpus=0.3))
    asked = question.pose("run", held, "throttled", [], 60.0, {})
    assert (asked.turn_s, asked.windows) == (schedule.QUOTA_TURN_S, 1)
    assert {asked.cell.load.window_s, *(one.cell.load.window_s for one in asked.experiment.changes)} == {schedule.QUOTA_TURN_S}
    refused = question.pose("run", replace(cell, load=replace(cell.load, keep_alive=False)), "backlog", [], 60.0, {})
    assert (refused.turn_s, refused.windows) == (schedule.RETRIED_TURN_S, 1)
    assert trial.database is not None
    for deadlocks, turn_s in ((0, schedule.TURN_S), (None, schedule.TURN_S), (9, schedule.DEADLOCK_TURN_S)):
        seen = replace(trial, database=replace(trial.database, deadlocks=deadlocks))
        asked = question.pose("run", cell, "pool", [trial, seen], 60.0, {})
        assert (asked.turn_s, asked.cell.load.window_s) == (turn_s, max(question.WINDOW_S, turn_s))


def test_what_a_full_database_loses_is_told_in_cores() -> None:
    """The reason's own evidence comes first; of a role that it leaves out the trial tells the cores, by its window."""
    run = fixture.two_blocks()
    trial = next(one for one in run.trials if one.result is not None and one.roles["server"].cpu_us)
    assert trial.result is not None and trial.roles["server"].cpu_us is not None
    server = trial.roles["server"].cpu_us / 1e6 / trial.result.window_s
    said = Finding("db-cpu", Severity.NOTE, "its processors are full", {"database_cores": 0.8})
    (slowed,) = question.pose("run", trial.cell, "db-cpu", [replace(trial, findings=(said,))], 60.0, {}).experiment.changes
    assert slowed.planted == pytest.approx(0.25 * 0.8 / server)


def test_words_name_one_cell() -> None:
    """A stack or its server, with a workload; what names several, or none, is said with what there is."""
    run = fixture.two_blocks()
    found: Cell = question.cell_named(run, ("birch:pool", "tx"))
    assert (found.stack, found.workload) == ("birch:pool", "tx") and question.cell_named(run, ("birch", "tx")) == found
    with pytest.raises(LabError, match="names 3 cells"):
        question.cell_named(run, ("birch",))
    with pytest.raises(LabError, match="has no cell `nobody tx`") as error:
        question.cell_named(run, ("nobody", "tx"))
    assert "alder:inline" in str(error.value.hint)


def test_an_id_names_its_own_cell() -> None:
    """The id of a cell on the lab's own PostgreSQL is a part of one on another version, and means the first alone."""
    run = fixture.two_blocks()
    slot = next(one for one in run.plan.slots if (one.cell.stack, one.cell.workload) == ("birch:pool", "tx"))
    other = replace(slot.cell, settings=replace(slot.cell.settings, postgres_version=17))
    both = replace(run, plan=replace(run.plan, slots=(slot, replace(slot, cell=other))))
    assert question.cell_named(both, slot.cell.id.split()) == slot.cell
    assert question.cell_named(both, other.id.split()) == question.cell_named(both, ("birch", "pg17")) == other
    with pytest.raises(LabError, match="names 2 cells"):
        question.cell_named(both, ("birch", "tx"))


def test_the_question_is_what_most_trials_named() -> None:
    """The reason with its sentence, and changes of the cell with windows of a second."""
    asked = question.of_run(limited(), ("birch", "tx"), None, 60.0)
    assert asked.reason == "pool" and "5 of the pool's 5" in asked.sentence
    assert [one.cell.settings.pool_size for one in asked.experiment.changes] == [2 * 25, 4 * 25]
    assert {asked.cell.load.window_s, *(one.cell.load.window_s for one in asked.experiment.changes)} == {question.WINDOW_S}


@pytest.mark.parametrize(
    ("words", "reason", "sentence"),
    [
        (("birch", "tx"), "bad luck", "`bad luck` is not a reason"),
        (("birch", "tx"), "serialised", "there is no experiment on `serialised`"),
        (("cedar", "transfer"), None, "has no number"),
        (("elm", "tx"), None, "nothing that was measured names a limit"),
    ],
)
def test_what_cannot_be_asked_is_said(words: tuple[str, ...], reason: str | None, sentence: str) -> None:
    """One sentence each, for reasons that are none, without an experiment, and cells without number or reason."""
    with pytest.raises(LabError, match=sentence):
        question.of_run(fixture.two_blocks(), words, reason, 60.0)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.81, "goodput rises by 81 %"),
        (0.81, "goodput falls by 19 %"),
        (1.004, "goodput rises by 0.4 %"),
        (11.2, "there is 11 times the goodput"),
        (213.0, "there is 210 times the goodput"),
    ],
)
def test_a_change_is_told_as_people_tell_it(ratio: float, said: str) -> None:
    """Per cent as far as that is easy to read, times beyond; one decimal place where it is small."""
    assert goodput_change(ratio) == said


def test_experiments_stand_on_the_page_of_their_run() -> None:
    """The reason in the grid has its sign, and its picture the sentence; other cells have none."""
    run = limited()
    asked = question.of_run(run, ("birch", "tx"), None, 60.0)
    rates = {AS_IT_WAS: 1000, **{one.label: 1800 for one in asked.experiment.changes}}
    starts = tuple(
        Start(number, {label: (WindowTally(rate + number, 0, 1.0, None),) for label, rate in rates.items()}, 9.0)
        for number in range(3)
    )
    head: Head[WhyAsked] = Head(1, RecordKind.WHY, "one", "", 1.0, run.machine, {}, {}, {}, asked)
    found = tried_by([Record(Path(), head, starts)])
    markup = page.html(run, found)
    assert markup.count(">✓</b></small>") == 1
    assert "pool is confirmed: with a pool of 50 in place of 25 goodput rises by 80 % (97.5 % CI +80 … +80 %, 3 starts)" in markup
    assert ">✓</b></small>" not in page.html(run)


def test_without_a_start_the_reason_stays_a_suspicion() -> None:
    """The sentence says what is lacking."""
    asked = question.of_run(limited(), ("birch", "tx"), None, 60.0)
    first, second = sentences(asked, ())
    assert first.startswith("pool stays a suspicion: with a pool of 50 in place of 25 it could not be measured twice")
    assert second == "0 sound starts are too few to tell: 3 are needed, which a longer `--budget` gives."
    assert rows(asked, ())["outcome"] == "open"


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((0.995, 1.001, 1.008), "No gain refutes nothing here: a server may make no use of what it is given."),
        ((0.8, 1.0, 1.3), "The interval holds both a change that matters and one that does not: a longer `--budget` narrows it."),
    ],
)
def test_no_gain_of_what_cannot_refute_asks_for_no_longer_budget(ratios: tuple[float, ...], said: str) -> None:
    """Of one worker more the reason stays open, and what would narrow the interval is told where it is wide."""
    asked = question.of_run(limited(), ("birch", "tx"), None, 60.0)
    asked = replace(asked, experiment=replace(asked.experiment, changes=asked.experiment.changes[:1], refutes=False))
    label = asked.experiment.changes[0].label
    rates = [{AS_IT_WAS: 10_000, label: round(10_000 * ratio)} for ratio in ratios]
    starts = [
        Start(number, {name: (WindowTally(rate, 0, 1.0, None),) for name, rate in some.items()}, 9.0)
        for number, some in enumerate(rates)
    ]
    first, second = sentences(asked, starts)
    assert first.startswith("pool stays a suspicion: ") and second == said
