"""`run --why`: which reasons of a run get an experiment, in which order, and how their time is shared out."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.cli import follow, say, streams
from fairground.lab import pages, reasons, why
from fairground.lab.events import Event, Finished, RecordOpened, Said, TriedReason, Trying
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import Finding, LabError, MachineError, Run, Severity, Trial
from fairground.model.experiment import AS_IT_WAS, Start, WhyAsked
from fairground.model.record import Head, Record, RecordEnd, RecordKind
from fairground.model.window import WindowTally
from fairground.report.boards import boards
from fairground.report.rendering import render
from fairground.report.run import page
from fairground.report.run.controls import Controls
from fairground.report.run.headline import headline
from fairground.report.run.why import TriedBy, standings, tried_by
from fairground.run.doubts import doubts
from report import fixture


def named(by_workload: dict[str, str]) -> Run:
    """A run whose trials were limited by one reason on each workload."""
    run = fixture.two_blocks()
    return replace(run, trials=tuple(limited(trial, by_workload.get(trial.cell.workload)) for trial in run.trials))


def limited(trial: Trial, reason: str | None, *others: str) -> Trial:
    findings = tuple(Finding(one, Severity.NOTE, f"{one}, said the counters") for one in (reason, *others) if one)
    return replace(trial, diagnosis=reason, findings=findings)


def record(run: Run, asked: WhyAsked, factor: float) -> Record[WhyAsked, Start]:
    """An experiment whose changes gave so many times the goodput."""
    labels = [AS_IT_WAS, *(one.label for one in asked.experiment.changes)]
    rates = {label: round(1000 * (1.0 if label == AS_IT_WAS else factor)) for label in labels}
    starts = tuple(
        Start(number, {label: (WindowTally(rate + number, 0, 1.0, None),) for label, rate in rates.items()}, 9.0)
        for number in range(1, 4)
    )
    versions = {"fairground": "1"}
    head: Head[WhyAsked] = Head(1, RecordKind.WHY, f"{asked.reason}-why", "", 1.0, run.machine, versions, {}, {}, asked)
    return Record(Path(), head, starts, RecordEnd(2.0, "narrow"))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[WhyAsked]:
    """Experiments end at once, each with twice the goodput; those that were asked for."""
    asked = list[WhyAsked]()

    def experiment(_: Inputs, one: WhyAsked) -> Iterator[Event]:
        asked.append(one)
        made = record(fixture.two_blocks(), one, 2.0)
        yield RecordOpened(made)
        yield Finished(made)

    monkeypatch.setattr(why, "try_reason", experiment)
    monkeypatch.setattr(pages, "write", lambda one: one.folder)
    return asked


def events(run: Run, within_s: float, before: TriedBy | None = None, tick_s: float = 0.0) -> list[Event]:
    """What is told; the clock goes on by `tick_s` each time it is read."""
    moments = iter(range(1000))
    inputs = Inputs(Places.of({}, None, None), "")
    return list(reasons.try_reasons(run, before or {}, inputs, within_s, lambda: next(moments) * tick_s))


def test_the_most_common_reason_comes_first_and_each_once(measured: list[WhyAsked]) -> None:
    """Each reason has one experiment, that of most trials first; one without an experiment stays a suspicion, and is said."""
    run = named({"tx": "pool", "ping": "app-cpu", "transfer": "serialised"})
    found = doubts(run, (), lambda _: None)
    assert [one.trials for one in found] == sorted((one.trials for one in found), reverse=True)
    assert {one.reason: one.asked is None for one in found} == {"pool": False, "app-cpu": False, "serialised": True}
    said = events(run, 600.0)
    assert [one.reason for one in measured] == [one.reason for one in found if one.asked is not None]
    assert {one.run for one in measured} == {run.id}
    assert [type(one) for one in said] == [Said, Trying, TriedReason, Trying, TriedReason]
    assert isinstance(said[0], Said) and said[0].sentence.startswith("serialised stays a suspicion: there is no experiment on")


def test_the_cell_is_the_one_where_the_reason_is_clearest() -> None:
    """A cell whose trials all name the reason goes before one with another opinion, and one with no other reason beside it first."""
    run = fixture.two_blocks()
    mixed, beside = "alder:inline", "birch:pool"

    def tell(trial: Trial) -> Trial:
        if trial.cell.workload != "tx":
            return limited(trial, None)
        if trial.cell.stack == mixed:
            return limited(trial, "pool" if trial.block == 1 else "app-cpu")
        return limited(trial, "pool", *(["app-serial"] if trial.cell.stack == beside else []))

    found = doubts(replace(run, trials=tuple(map(tell, run.trials))), (), lambda _: None)
    (pool,) = [one.asked for one in found if one.reason == "pool"]
    assert pool is not None and pool.cell.stack not in (mixed, beside) and pool.cell.workload == "tx"


def test_time_is_shared_and_never_exceeded(measured: list[WhyAsked]) -> None:
    """A minute each where it lasts; what no time is left for is named with the command that goes on."""
    run = named({"tx": "pool", "ping": "app-cpu", "transfer": "deadlock"})
    said = events(run, 130.0, tick_s=50.0)
    assert len(measured) == 1 and measured[0].budget_s <= 130.0 - 50.0
    assert isinstance(said[-1], Said) and said[-1].sentence.startswith("no time is left for ") and "--why 3m" in said[-1].sentence
    measured.clear()
    events(run, 180.0)
    assert [one.budget_s + reasons.SETUP_S for one in measured] == [60.0, 90.0, 180.0]  # the clock stands still


def test_experiments_are_of_the_runs_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their records name it as the run's command does, and so does the command that makes the rest."""
    run, commands = named({"tx": "pool", "ping": "app-cpu"}), list[str]()

    def experiment(inputs: Inputs, one: WhyAsked) -> Iterator[Event]:
        commands.append(inputs.command)
        yield Finished(record(fixture.two_blocks(), one, 2.0))

    monkeypatch.setattr(why, "try_reason", experiment)
    monkeypatch.setattr(pages, "write", lambda one: one.folder)
    inputs, moments = Inputs(Places.of({}, None, None), "./fairground run one --database @db"), iter(range(1000))
    *_, last = reasons.try_reasons(run, {}, inputs, 130.0, lambda: next(moments) * 50.0)
    assert len(commands) == 1 and commands[0].endswith("s --database @db")
    assert isinstance(last, Said) and last.sentence.endswith(" --why 3m --database @db")


def test_what_is_decided_is_not_asked_again(measured: list[WhyAsked]) -> None:
    """A confirmed or withdrawn reason is left out; one that stayed open is tried once more."""
    run = named({"tx": "pool", "ping": "app-cpu"})
    first = {one.reason: one.asked for one in doubts(run, (), lambda _: None)}
    assert first["pool"] is not None and first["app-cpu"] is not None
    tried = tried_by([record(run, first["pool"], 2.0), replace(record(run, first["app-cpu"], 1.0), entries=())])
    events(run, 600.0, tried)
    assert [one.reason for one in measured] == ["app-cpu"]


def test_an_experiment_that_cannot_be_made_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, and the next is made; what the machine refuses ends it all."""
    run = named({"tx": "pool", "ping": "app-cpu"})

    def fails(error: LabError) -> list[Event]:
        def experiment(*_: object) -> Iterator[Event]:
            raise error
            yield

        monkeypatch.setattr(why, "try_reason", experiment)
        return events(run, 600.0)

    said = [one.sentence for one in fails(LabError("`birch` cannot run here")) if isinstance(one, Said)]
    assert len(said) == 2 and all(one.endswith("stays a suspicion: `birch` cannot run here") for one in said)
    with pytest.raises(MachineError, match="disk"):
        fails(MachineError("the disk is full"))


def test_too_little_time_is_refused() -> None:
    """Three starts do not fit into half a minute."""
    assert (reasons.budget_s(None), reasons.budget_s("3m")) == (None, 180.0)
    with pytest.raises(LabError, match="`--why 30s` is too short: an experiment takes 45 s"):
        reasons.budget_s("30s")


def test_standing_is_told_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirmed and withdrawn reasons are told as such, with interval and record; the others are suspicions. Links only in a site."""
    run = named({"tx": "pool", "ping": "app-cpu", "transfer": "db-lock"})
    first = {one.reason: one.asked for one in doubts(run, (), lambda _: None)}
    assert first["pool"] is not None and first["app-cpu"] is not None
    tried = tried_by([record(run, first["pool"], 2.0), record(run, first["app-cpu"], 1.0)])
    shown = boards(run)
    assert {one.reason: one.word for one in standings(shown, tried)} == {
        "pool": "confirmed by experiment",
        "app-cpu": "withdrawn by experiment",
        "db-lock": "suspicion (not tested)",
    }
    limits = headline(run, shown, Controls.of(run), tried)[1]
    assert limits.startswith(
        "Limits confirmed by experiment: pool (1 cell); withdrawn by experiment: app-cpu (1 cell); suspected"
    )
    alone, of_site = page.html(run, tried), page.html(run, tried, "../index.html")
    for markup in (alone, of_site):
        assert "pool is confirmed: with a pool of 50 in place of 25 goodput rises by 100 %" in markup
        assert "suspicion (not tested)" in markup and "pool-why" in markup
    assert 'href="../pool-why/why.html"' in of_site and "why.html" not in alone
    sink = io.StringIO()
    monkeypatch.setattr(say, "out", streams.Terminal(file=sink, width=140, color_system=None))
    monkeypatch.setattr(streams, "out", say.out)
    say.the_summary(run, Path("report.html"), False, tried)
    assert "pool confirmed" in sink.getvalue() and "db-lock (4 cells): suspicion (not tested)" in sink.getvalue()


def test_json_has_the_standing_and_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    """Each reason of a run with its experiments: record, outcome, ratio with its bounds; none for one that was not tested."""
    run = named({"tx": "pool", "ping": "app-cpu"})
    asked = next(one.asked for one in doubts(run, (), lambda _: None) if one.reason == "pool")
    assert asked is not None
    say.the_summary(run, Path("report.html"), True, tried_by([record(run, asked, 2.0)]))
    found = {one["reason"]: one for one in json.loads(capsys.readouterr().out)["reasons"]}
    assert found["app-cpu"]["standing"] == "suspicion (not tested)" and found["app-cpu"]["experiments"] == []
    (experiment,) = found["pool"]["experiments"]
    assert (experiment["record"], experiment["outcome"], experiment["cell"]) == ("pool-why", "confirmed", asked.cell.id)
    middle, low, high = experiment["changes"][0]["ratio"]
    assert low <= middle <= high and middle == pytest.approx(2.0, rel=0.01)


def test_the_record_has_a_page() -> None:
    """What was changed, what it did in each start, and the run that it names; a link only in a site."""
    run = named({"tx": "pool"})
    (doubt,) = doubts(run, (), lambda _: None)
    assert doubt.asked is not None
    made = record(run, doubt.asked, 2.0)
    alone, of_site = (dict(render(made, home).files)["why.html"] for home in (None, "../index.html"))
    assert "pool is confirmed" in alone and "pool, said the counters" in alone and alone.count('<th scope="row">') == 3
    assert "With a pool of 50 in place of 25 goodput rises" in alone
    assert run.id in alone and "report.html" not in alone and f'href="../{run.id}/report.html"' in of_site
    for awake in (True, False):
        head = replace(made.head, machine=replace(made.head.machine, awake=awake))
        assert ("kept from idling" in dict(render(replace(made, head=head)).files)["why.html"]) == awake


def test_experiments_are_shown_as_they_go(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Which one it is, what is beside it, and what came of it; with --json a line for each."""
    run, lines = named({"tx": "pool"}), list[str]()
    (doubt,) = doubts(run, (), lambda _: None)
    assert doubt.asked is not None
    made = record(run, doubt.asked, 2.0)
    monkeypatch.setattr(say, "note", lines.append)
    passing = (one for one in (Trying(doubt.asked, 1, 2), TriedReason(made)))
    assert list(follow.follow(lambda _: passing, follow.Voice(as_json=True))) == []
    assert lines[0].startswith(f"experiment 1/2: pool of {doubt.asked.cell.id}, at most ")
    assert lines[1].startswith("beside it: with a pool of 50") and lines[2].startswith("pool is confirmed: ")
    row = json.loads(capsys.readouterr().out)
    assert (row["event"], row["id"], row["outcome"]) == ("why", "pool-why", "confirmed")
