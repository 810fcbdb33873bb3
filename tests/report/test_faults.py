"""What a run says of faults: a row for each cell with one, in the page, in Markdown and in words; and the line of a trial's page."""

from __future__ import annotations

from dataclasses import replace

from builders.facts import outcomes
from fairground.cli import columns
from fairground.judge import recovery
from fairground.model import Cell, Fault, FaultKind, Recovery, Run, Trial, Verdict
from fairground.report.run import faults, page
from fairground.report.trial import trial_page
from report import fixture

STACK, WORKLOAD = "alder:inline", "tx"
FAULT = Fault(FaultKind.DATABASE_RESTART, 3.0)


def recovered(silent: int, failed: int = 50) -> Recovery:
    """An outage of so many tenths after three seconds at 1,000/s, in a window of six."""
    good = [100] * 30 + [0] * silent + [100] * (30 - silent)
    return recovery.recovery(3.0, 0.2, (good, [0] * 30 + [failed] + [0] * 29), 6.0, outcomes(sum(good)))


def run(*found: Recovery | None, verdict: Verdict = Verdict.VALID) -> Run:
    """The fixture's stack under a fault alone: a block for each of these recoveries."""
    whole = fixture.run(len(found))
    plain = [one for one in whole.trials if (one.cell.stack, one.cell.workload) == (STACK, WORKLOAD)]
    cell = replace(plain[0].cell, load=replace(plain[0].cell.load, fault=FAULT))
    trials = tuple(_trial(one, cell, each, verdict) for one, each in zip(plain, found, strict=True))
    slots = tuple(
        replace(slot, cell=cell)
        for slot in whole.plan.slots
        if (slot.cell.stack, slot.cell.workload, slot.control) == (STACK, WORKLOAD, None)
    )
    return replace(whole, trials=trials, plan=replace(whole.plan, slots=slots))


def _trial(plain: Trial, cell: Cell, found: Recovery | None, verdict: Verdict) -> Trial:
    said = () if found is None else (recovery.finding(FAULT, found),)
    return replace(plain, cell=cell, recovery=found, findings=said, verdict=verdict, diagnosis=None)


def test_a_row_holds_the_medians_of_its_trials() -> None:
    """The middle of three trials, and how many there were."""
    (row,) = faults.rows(run(recovered(4), recovered(2), recovered(9)))
    assert row.values == ("1,000", "1.9 %", "0.4", "0.4", "0.4", "3")
    assert row.document["fault"] == "database-restart@3s" and row.document["recovered_s"] == 0.4


def test_a_row_says_how_many_recovered() -> None:
    """Where one of two trials did not come back, the time is that of the other, and that is said."""
    (row,) = faults.rows(run(recovered(4), recovered(28)))
    assert row.values[-2:] == ("0.4 (1 of 2)", "2")
    assert (row.document["recovered_s"], row.document["recovered"], row.document["trials"]) == (0.4, 1, 2)
    (row,) = faults.rows(run(recovered(30), recovered(30)))
    assert row.values[-3:] == ("not in the window", "not in the window", "2")


def test_a_rejected_trial_has_no_times() -> None:
    """Wrong answers and lost writes reject as ever; a void trial counts nowhere."""
    (row,) = faults.rows(run(recovered(4), verdict=Verdict.REJECTED))
    assert row.values == ("—", "—", "—", "—", "—", "1 without a number")
    assert faults.rows(run(recovered(4), verdict=Verdict.VOID)) == ()


def test_the_manuals_part_has_a_table_for_each_fault() -> None:
    """The quickest first; below it when stacks came back, and how many did not."""
    text = faults.markdown((*faults.rows(run(recovered(4))), *faults.rows(run(recovered(30)))))
    assert "### `database-restart@3s` on `tx`" in text and f"| {STACK} | 1,000 | 1.9 % | 0.4 | 0.4 | 0.4 | 1 |" in text
    assert text.endswith("1 of 2 stacks had their full rate again in the window, after 0.4 s.\n")
    assert faults.markdown(faults.rows(run(recovered(30)))).endswith("None of 1 stack had its full rate again in the window.\n")


def test_a_stack_is_back_where_most_of_its_trials_were() -> None:
    """One of three that recovered makes no stack that recovers, and two do; a table without a number says so."""
    often, seldom = (faults.rows(run(recovered(4), last, recovered(30))) for last in (recovered(4), recovered(30)))
    assert seldom[0].values[-2:] == ("0.4 (1 of 3)", "3")
    assert faults.markdown((*often, *seldom)).endswith("1 of 2 stacks had their full rate again in the window, after 0.4 s.\n")
    assert faults.markdown(faults.rows(run(recovered(4), verdict=Verdict.REJECTED))).endswith("\nNo stack has a number.\n")


def test_a_crash_has_a_column_of_what_was_lost() -> None:
    """The sum of its trials; other faults have no such column, and a crash of which nobody counts it has none."""
    crash, other = replace(recovered(4), lost=312), recovered(4)
    assert f"| {STACK} | 1,000 | 1.9 % | 0.4 | 0.4 | 0.4 | 2 | 330 |" in faults.markdown(
        faults.rows(run(crash, replace(crash, lost=18)))
    )
    (row,) = faults.rows(run(crash, other))
    assert row.lost == row.document["lost"] == 312
    assert faults.LOST not in faults.markdown(faults.rows(run(other)))


def test_the_page_has_a_table_of_faults_where_there_are_some() -> None:
    """The section and its link are there with a fault, and not without."""
    broken, plain = run(recovered(4), recovered(5)), fixture.run()
    text = page.details(broken)
    assert 'href="details.html#faults"' in page.html(broken) and "details.html#faults" not in page.html(plain)
    assert 'id="t-faults"' in text and 'href="#faults"' in text and "database-restart@3s" in text
    assert "t-faults" not in page.details(plain)


def test_a_trials_page_says_it_in_a_line() -> None:
    """The sentence stands at the top of the page, beside the verdict."""
    broken = run(recovered(4))
    text = trial_page.html(broken, broken.trials[0])
    assert "the database&#39;s restart at 3 s: 50 answers failed" in text.split("</header>")[0]


def test_a_small_table_is_aligned() -> None:
    """The first column stands to the left, the others to the right, each as wide as its widest cell."""
    assert columns.table(("what", "n"), [("a", "1,000"), ("longer", "2")]) == ["what        n", "a       1,000", "longer      2"]
