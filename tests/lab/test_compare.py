"""`compare` before it starts anything, and of two runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from fairground.cli import compared
from fairground.cli.compare import OPTIONS, _asked
from fairground.lab import capacity, compare
from fairground.lab.events import Said
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.measure import rounds
from fairground.measure.rounds import RoundsEffort
from fairground.model import CellSettings, Finding, LabError, Load, Run, Severity, Topology, Verdict, Workload
from fairground.model.contract import SqlFile
from fairground.model.pair import Round, WindowPair, WindowTally
from fairground.model.record import CapacityAsked, ComparisonAsked, Record
from fairground.report import two_runs
from fairground.report.compared import Compared
from fairground.report.comparison import ComparisonLine
from fairground.stats.differences import Difference, DifferenceWord
from fairground.stats.intervals import Interval
from report import fixture


def test_a_budget_that_is_too_short_is_said_first() -> None:
    """Before anything is built or started the person hears that nothing will be called."""
    places = Places.of({})
    stack = places.load_servers()[0].stacks[0].id
    asked = ComparisonAsked("a", "b", stack, stack, None, "ping", Load(), CellSettings(), 1, 1.0, 0.005, 5, 0.01, 0.1)
    events = compare.compare_stacks(Inputs(places, ""), asked)
    first = next(events)
    assert isinstance(first, Said) and "will stay inconclusive" in first.sentence


def test_quotas_and_deadlocks_ask_for_long_windows_and_turns() -> None:
    """What somebody asked for stays where it is longer, and where there is neither."""
    places, free, held = Places.of({}), CellSettings(), CellSettings(cpus=0.5)
    short, long = Load(window_s=1.0), Load(window_s=4.0)
    assert compare.long_enough(places, "ping", free, short, 0.03) == (short, 0.03)
    assert compare.long_enough(places, "ping", held, short, 0.03) == (replace(short, window_s=2.0), 2.0)
    assert compare.long_enough(places, "ping", held, long, 3.5) == (long, 3.5)
    assert compare.long_enough(places, "transfer", free, short, 0.03) == (replace(short, window_s=5.0), 5.0)
    assert compare.long_enough(places, "transfer-ordered", free, short, 0.03) == (short, 0.03)


def test_the_command_asks_for_them() -> None:
    """Turns, windows and pairs of a workload whose requests lock each other out, and of one whose do not."""
    places = Places.of({})
    known = places.load_servers()
    stack = known[0].stacks[0].id
    given = {option.name: option.default for option in OPTIONS} | {"a": stack, "b": stack}
    for workload, seconds in (("transfer", (5.0, 5.0)), ("ping", (1.0, 0.03))):
        asked = _asked(places, {**given, "workload": workload}, known)
        assert (asked.load.window_s, asked.turn_s) == seconds, workload


def test_a_stack_is_held_against_itself_with_a_file_of_sql(tmp_path: Path) -> None:
    """The file is B's alone: both sides are named, and its text stands in what is asked, so that the record has it."""
    places, file = Places.of({}), tmp_path / "index.sql"
    known = places.load_servers()
    stack = known[0].stacks[0].id
    file.write_text("CREATE INDEX ON somewhere (something);\n", encoding="utf-8")
    given = {option.name: option.default for option in OPTIONS} | {"a": stack, "sql_before": file}
    asked = _asked(places, given, known)
    assert (asked.label_a, asked.label_b) == (stack, f"{stack} with index.sql")
    assert asked.settings.sql_before == SqlFile(str(file), file.read_text(encoding="utf-8"))
    a, b = compare._arms(places, asked)
    assert a.stack == b.stack
    effort = RoundsEffort(places.workload(asked.workload), asked.load, asked.settings)
    assert [rounds._arm(side, effort, 1).data.before for side in (a, b)] == [None, asked.settings.sql_before]


@pytest.mark.parametrize("beside", [{"b": "stack"}, {"revisions": "main,."}, {"a": None}])
def test_one_difference_is_compared(beside: dict[str, object], tmp_path: Path) -> None:
    """SQL beside another stack or revision would be two differences at once; without a stack there is nothing to hold it against."""
    places, file = Places.of({}), tmp_path / "index.sql"
    known = places.load_servers()
    stack = known[0].stacks[0].id
    file.write_text("SELECT 1", encoding="utf-8")
    said = {name: stack if value == "stack" else value for name, value in beside.items()}
    given = {option.name: option.default for option in OPTIONS} | {"a": stack, "sql_before": file} | said
    with pytest.raises(LabError, match="name two stacks, or one stack and `--revisions` or `--sql-before`"):
        _asked(places, given, known)


def test_a_start_has_the_pairs_that_its_time_allows() -> None:
    """Three were asked for; the first start took so long that the next have one. A comparison that goes on knows its earlier ones."""
    load, one, had = Load(window_s=1.0, warmup_min_s=2.0), WindowTally(1000, 0, 1.0, 1e5), list[int]()
    asked = ComparisonAsked("a", "b", "one:a", "one:b", None, "ping", load, CellSettings(), 1, 66.0, 0.005, 3, 0.01, 0.1)
    effort = RoundsEffort(cast(Workload, None), load, CellSettings(), pairs=3)

    def slow(effort: RoundsEffort, _: Path, number: int) -> Round:
        had.append(effort.pairs)
        return Round(number, (WindowPair(number, 1, "a", one, one),) * effort.pairs, 20.0)

    record = cast(Record[ComparisonAsked, Round], SimpleNamespace(folder=Path(), head=SimpleNamespace(asked=asked)))
    made = list[Round]()
    for _ in range(3):
        made.append(compare.next_start(slow, effort, record, made))
    assert had == [3, 1, 1] and [one.number for one in made] == [1, 2, 3]


@pytest.mark.parametrize("verb", ["compare", "capacity"])
def test_a_path_that_cannot_be_had_is_said_before_anything_is_built(verb: str, tmp_path: Path) -> None:
    """The sentence names the hop, and what would install it."""
    places = Places.of({"PATH": str(tmp_path)})
    stack, path = places.load_servers()[0].stacks[0].id, Topology(pooler="pgbouncer-tx")
    two = ComparisonAsked(
        "a", "b", stack, stack, None, "ping", Load(), CellSettings(), 1, 900.0, 0.005, 5, 0.01, 0.1, topology=path
    )
    one = CapacityAsked(((stack, "ping"),), "p99<50ms", 60.0, 0.05, Load(), CellSettings(), 1, path)
    inputs = Inputs(places, "")
    with pytest.raises(LabError, match="`pgbouncer-tx` needs `pgbouncer` on PATH") as caught:
        next(compare.compare_stacks(inputs, two) if verb == "compare" else capacity.capacity(inputs, one))
    assert caught.value.exit_code == 3 and "pgbouncer" in (caught.value.hint or "")


@pytest.mark.parametrize(("version", "said"), [("17.6", True), ("18.2", False)])
def test_runs_on_two_major_versions_of_postgres_are_told_so(version: str, said: bool) -> None:
    """What the database changed is in the ratios, which is said; a minor version is not a change to speak of."""
    first = replace(fixture.run(2), versions={"PostgreSQL": "18.1"})
    _, notes = two_runs.compare_runs(first, replace(first, versions={"PostgreSQL": version}))
    assert any("A was measured with PostgreSQL 18 and B with 17" in note for note in notes) is said


def test_means_of_two_runs_are_of_as_many_blocks() -> None:
    """Further blocks of one run are in neither the ratio nor the mean beside it."""
    long = fixture.run(4)
    slow = [replace(one, result=replace(one.result, completed_ok=1)) for one in long.trials if one.block > 2 and one.result]
    longer = replace(long, trials=(*(one for one in long.trials if one.block <= 2), *slow))
    told, _ = two_runs.compare_runs(longer, fixture.run(2))
    assert told and all(line.a == pytest.approx(line.b) for line in told)


def test_what_is_rejected_in_one_run_is_told_and_called_nothing() -> None:
    """A cell that no longer answers right is no line less, and the blocks that are left of it are not like the others."""
    sound = fixture.run(4)
    cell = next(one.cell for one in sound.trials if all(t.goodput_per_s for t in sound.trials if t.cell == one.cell))
    wrong = Finding("wrong-answers", Severity.REJECT, "3 of 9 answers had a wrong body.")

    def rejected(blocks: int) -> Run:
        trials = [
            replace(one, verdict=Verdict.REJECTED, findings=(wrong,)) if one.cell == cell and one.block <= blocks else one
            for one in sound.trials
        ]
        return replace(sound, trials=tuple(trials))

    lines, notes = two_runs.compare_runs(sound, rejected(4))
    assert cell.id not in [line.cell for line in lines]
    said = f"{cell.id}: B is rejected in 4 of 4 blocks, so nothing is called: 3 of 9 answers had a wrong body"
    assert said in notes and two_runs.regression(rejected(4), sound) is None
    lines, notes = two_runs.compare_runs(sound, rejected(2))
    assert [(line.difference.word, line.need) for line in lines if line.cell == cell.id] == [(DifferenceWord.INCONCLUSIVE, None)]
    assert said.replace("4 of 4", "2 of 4") in notes
    assert two_runs.regression(sound, rejected(2)) == f"{cell.id} is rejected in B: 3 of 9 answers had a wrong body"
    lines, notes = two_runs.compare_runs(sound, sound)
    assert two_runs.regression(sound, sound) is None and not any(note.startswith(f"{cell.id}:") for note in notes)
    assert [line.difference.word for line in lines if line.cell == cell.id] == [DifferenceWord.EQUIVALENT]


def test_runs_without_a_number_in_common_speak_of_no_ratios() -> None:
    """Where all of one run is rejected, only that is said; and cells of one run alone are counted."""
    sound = fixture.run(2)
    none = replace(sound, trials=tuple(replace(one, verdict=Verdict.REJECTED) for one in sound.trials))
    lines, notes = two_runs.compare_runs(sound, none)
    assert not lines and notes and not any("ratio" in note for note in notes)
    fewer = replace(sound, plan=replace(sound.plan, slots=sound.plan.slots[:1]))
    others = len({slot.cell for slot in sound.plan.slots}) - 1
    assert f"{others} cells of A alone: nothing is compared of them" in two_runs.compare_runs(sound, fewer)[1]


def test_a_comparison_without_a_number_is_no_success() -> None:
    """Where the machine or the database spoiled every pair, the exit code says that nothing was measured; one number will do."""
    nothing = Difference(DifferenceWord.INCONCLUSIVE, None, None, None, None)
    known = replace(nothing, ratio=Interval(1.02, 0.98, 1.06, 5, 0.95))
    line = ComparisonLine("tx c8", "goodput", "/s", None, None, nothing, True)
    with pytest.raises(typer.Exit) as ended:
        compared.leave(Compared("b against a", "a", "b", (line, line), ()), None)
    assert ended.value.exit_code == 3
    compared.leave(Compared("b against a", "a", "b", (line, replace(line, difference=known)), ()), None)
