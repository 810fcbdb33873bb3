"""Why transfer is slow: deadlocks times their timeout, held against the same transfers in order, from a run's own numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from builders.pages import section
from fairground.model import Limit, Run, Trial
from fairground.report.boards import BoardRow, boards
from fairground.report.run import crossing, page, story
from fairground.report.run.crossing import Crossing
from report import fixture

STACK = "alder:inline"
CROSSING, ORDERED = "transfer", "transfer-ordered"


def in_order(trial: Trial) -> Trial:
    """The same trial with ordered ids: six times as fast, and without a deadlock."""
    assert trial.result is not None and trial.database is not None
    result = replace(trial.result, completed_ok=6 * trial.result.completed_ok)
    cell = replace(trial.cell, workload=ORDERED)
    return replace(trial, number=trial.number + 500, cell=cell, result=result, database=replace(trial.database, deadlocks=0))


def run(*, ordered: bool = True, timeout: str = "") -> Run:
    """Two blocks of one stack's transfers, and the same in order beside them."""
    whole = fixture.two_blocks()
    across = tuple(one for one in whole.trials if (one.cell.stack, one.cell.workload) == (STACK, CROSSING))
    trials = (*across, *map(in_order, across)) if ordered else across
    slots = tuple(slot for slot in whole.plan.slots if (slot.cell.stack, slot.cell.workload) == (STACK, CROSSING))
    settings = {"deadlock_timeout": timeout} if timeout else {}
    return replace(whole, trials=trials, plan=replace(whole.plan, slots=slots, skipped={}), database_settings=settings)


def only(found: Run) -> Crossing:
    """The one crossing of a run."""
    (one,) = crossing.crossings(found, boards(found))
    return one


def test_deadlocks_times_their_timeout_are_held_against_the_load() -> None:
    """Counts, seconds and shares are those of the trials' evidence."""
    found = run()
    trials = [one for one in found.trials if one.cell.workload == CROSSING]
    one = only(found)
    counted = sum(trial.database.deadlocks or 0 for trial in trials if trial.database)
    assert one.deadlocks == counted > 0
    assert one.waited_s == counted * 1.0
    assert one.loaded_s == pytest.approx(2 * (3.0 + 5.0 + 0.04))
    assert one.pending == pytest.approx(counted / one.loaded_s)
    assert one.covered == pytest.approx(1 - math.exp(-counted / one.loaded_s))
    waits = [trial.database.wait_events for trial in trials if trial.database]
    busy = sum(events["running"] + events["Lock:transactionid"] for events in waits)
    assert one.locked == pytest.approx(sum(events["Lock:transactionid"] for events in waits) / busy)


def test_the_same_in_order_is_the_price_of_the_order() -> None:
    """The gain is paired by block, its interval excludes 1, and ordered transfers have no deadlock."""
    one = only(run())
    assert (one.factor, one.ordered_deadlocks) == (pytest.approx(6.0), 0)
    assert one.lost == pytest.approx(5 / 6)
    assert one.gain is not None and one.gain.low > 1
    said = " ".join(crossing.sentences(one))
    assert f"{one.deadlocks} deadlocks in 16.1 s of load." in said
    assert f"{one.deadlocks} × 1.00 s = " in said
    assert "In order the same server gives 6.00 × as much (95 % CI " in said and "with 0 deadlocks." in said
    assert "It loses 83 % of that" in said


def test_an_interval_of_thousands_is_no_finding() -> None:
    """Two blocks that disagree say what order gives in no number: in the words, the tables, the page and its heading."""
    found = run()
    one = only(found)
    assert one.gain is not None
    wide = replace(one)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(crossing.Crossing, "gain", replace(one.gain, low=0.0119, high=3730.0, count=2))
        said = " ".join(crossing.sentences(wide))
        assert "What order gives is not known: the interval's ends are 313,000 times each other (2 blocks)." in said
        assert "× as much" not in said and "It loses" not in said and crossing.cells(wide)[-1] == "–"
        assert wide.lost is None and story.lock_order([wide]) == ()
        assert "6.00 ×" not in section(page.details(found), "lock-order")


@pytest.mark.parametrize(("text", "seconds"), [("", 1.0), ("1s", 1.0), ("200ms", 0.2), ("200", 0.2), ("2min", 120.0)])
def test_the_timeout_is_the_runs_own(text: str, seconds: float) -> None:
    """A run whose PostgreSQL looks sooner loses less to each deadlock."""
    one = only(run(timeout=text))
    assert one.timeout_s == seconds
    assert one.waited_s == pytest.approx((one.deadlocks or 0) * seconds)


def test_without_the_ordered_workload_nothing_is_claimed_of_it() -> None:
    """A run of `transfer` alone tells its deadlocks, and not what order would give."""
    one = only(run(ordered=False))
    assert (one.ordered, one.factor, one.lost, one.gain) == (None, None, None, None)
    assert "what order would give is not known" in crossing.sentences(one)[-1]


def test_deadlocks_that_nobody_counted_are_unknown() -> None:
    """On a database that tells no counts nothing is multiplied, and no share is made up."""
    found = run()
    blind = replace(found, trials=tuple(replace(one, database=None) for one in found.trials))
    one = only(blind)
    assert (one.deadlocks, one.waited_s, one.pending, one.covered, one.locked) == (None, None, None, None, None)
    assert "the database's count of deadlocks is not known" in crossing.sentences(one)[0]
    assert "an unknown number of deadlocks" in crossing.sentences(one)[1]
    assert "–" in crossing.cells(one)


def test_a_transfer_without_deadlocks_blames_none() -> None:
    """When no deadlock happened, the words say so."""
    found = run()
    calm = [replace(one, database=replace(one.database, deadlocks=0)) for one in found.trials if one.database]
    one = only(replace(found, trials=tuple(calm)))
    assert "no deadlock in 16.1 s of load" in crossing.sentences(one)[0]
    assert not any("pending" in sentence for sentence in crossing.sentences(one))


def test_the_page_has_the_section_where_the_run_holds_transfers() -> None:
    """The section shows the table and the sentences, pgbench's own rates among them; other runs have none."""
    found = run()
    limits = tuple(
        Limit(name, "pgbench", rate, "25 clients") for name, rate in (("transfer", 700.0), ("transfer-ordered", 9000.0))
    )
    shown = section(page.details(replace(found, limits=limits)), "lock-order")
    assert "pgbench alone does 700 such transactions a second crossing and 9,000 in order" in shown
    assert "no server and no language is in that difference" in shown
    near = tuple(replace(limit, rate_per_s=9000.0) for limit in limits)
    assert "may meet few deadlocks" in (crossing.pgbench_words(replace(found, limits=near)) or "")
    assert "6.00 ×" in shown and "as long as it takes" in shown
    none = replace(found, trials=tuple(one for one in found.trials if one.cell.workload != CROSSING))
    assert '<section id="lock-order">' not in page.details(none)


def test_markdown_has_the_same_numbers_as_the_page() -> None:
    """The generated part of the document is one table, one line for each stack, and its run."""
    found = run()
    text = crossing.markdown(found, boards(found))
    rows = [line for line in text.splitlines() if line.startswith("| alder")]
    assert len(rows) == 1 and rows[0].count("|") == len(crossing.HEADS) + 1
    assert f"Run `{found.id}`" in text
    assert " ".join(crossing.sentences(only(found))) in text


def told(found: Run) -> tuple[str, ...]:
    """The story of a run."""
    shown = boards(found)
    return story.story(shown, crossing.crossings(found, shown))


def test_lock_order_comes_first_where_both_orders_were_measured() -> None:
    """The gain is that of the ordered workload over the other; without it nothing is said of order."""
    found = run()
    before = sum(trial.database.deadlocks or 0 for trial in found.trials if trial.database)
    first, second, *_ = told(found)
    assert first == "On `transfer` lock order decides."
    gain = "With its rows locked in one order (`transfer-ordered`) the same stack gives 6 times as much"
    assert second == f"{gain}, with 0 deadlocks in place of {before:,}."
    assert not any("locked first" in sentence for sentence in told(run(ordered=False)))


def crossed(stack: str, connections: int, ordered_per_s: float, *gains: float) -> Crossing:
    """A stack whose rate in order is known, and what order gave it in each block."""
    cell = fixture.two_blocks().trials[0].cell
    cell = replace(cell, stack=stack, workload=CROSSING, load=replace(cell.load, connections=connections))
    across = {block: ordered_per_s / gain for block, gain in enumerate(gains, start=1)}
    row = BoardRow(stack, cell, (), ordered_per_s / gains[0], None, across)
    by_block = dict.fromkeys(across, ordered_per_s)
    return Crossing(row, BoardRow(stack, replace(cell, workload=ORDERED), (), ordered_per_s, None, by_block), 1.0, ORDERED)


def test_one_stack_under_two_loads_is_one_stack() -> None:
    """What the choice of stack does is told under one load: fewer connections give less, and that is no choice."""
    first, second = story.lock_order([crossed(stack, some, 30.0 * some, 3, 3.1) for stack in "ab" for some in (10, 100)])
    assert first == "On `transfer` the order of two row locks matters more than the choice of stack."
    assert "the same 2 stacks give 3 times as much" in second


def test_a_stack_whose_gain_is_not_known_is_a_choice_all_the_same() -> None:
    """In order it is ten times slower than the others, and that is more than order does."""
    both = [crossed("a", 10, 3000.0, 3, 3.1), crossed("b", 10, 3000.0, 3, 3.1)]
    wide = crossed("c", 10, 300.0, 1, 100)
    assert wide.is_wide and story.lock_order(both)[0].endswith("matters more than the choice of stack.")
    assert story.lock_order([*both, wide])[0] == "On `transfer` lock order decides."


def test_one_sure_stack_makes_the_others_no_surer() -> None:
    """Where the gain of one of two may be none, the sizes are rough."""
    first, second = story.lock_order([crossed("a", 10, 3000.0, 3, 3.1), crossed("b", 10, 3000.0, 1.2, 3.3, 1.2, 3.3)])
    assert first == "On `transfer` lock order seems to decide." and second.endswith("; so few blocks leave the sizes rough.")
