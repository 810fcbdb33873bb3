"""The audit's expressions are integer arithmetic over named values, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import cast

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.contracts import SEEDS
from builders.requests import asking, needing
from builders.statements import Answers
from fairground.inputs import workload_files
from fairground.measure import audit
from fairground.model import (
    Audit,
    ContractError,
    DatabaseUse,
    DatabaseWork,
    Invariant,
    LedgerCheck,
    LedgerEntry,
    LedgerRow,
    Needs,
    Outcomes,
    RequestResult,
    Result,
    TableNeed,
    TableWork,
)
from fairground.postgres import Counters, Database

NAMES = {"before": 100, "acknowledged": 7}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0", 0),
        ("42", 42),
        ("before", 100),
        ("before + acknowledged", 107),
        ("before - acknowledged", 93),
        ("-before", -100),
        ("3 * acknowledged", 21),
        ("before - 3 * acknowledged + 1", 80),
        ("(before - 3) * (acknowledged + 1)", 776),
        ("before - (acknowledged - (2 - 1))", 94),
        ("-(before + -acknowledged) * 2", -186),
    ],
)
def test_arithmetic(expression: str, value: int) -> None:
    """Integers, names, sums, differences, products and brackets have their usual values."""
    assert audit.evaluate(expression, NAMES) == value


trees = st.recursive(
    st.one_of(st.integers(-999, 999).map(str), st.sampled_from(sorted(NAMES))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
    max_leaves=12,
)


@given(trees)
def test_arithmetic_of_any_depth(expression: str) -> None:
    """An expression of any depth has the value that Python gives it."""
    assert audit.evaluate(expression, NAMES) == eval(expression, {}, dict(NAMES))


@pytest.mark.parametrize(
    "expression",
    [
        "before / 2",
        "before // 2",
        "before ** 2",
        "before % 2",
        "1.5",
        "'text'",
        "None",
        "other",
        "+before",
        "~before",
        "not before",
        "before < acknowledged",
        "before and 1",
        "before if 1 else 2",
        "before.real",
        "before[0]",
        "abs(before)",
        "__import__('os')",
        "[1, 2]",
        "(1, 2)",
        "lambda: 1",
        "(x := 1)",
        "",
        "1 +",
        "x = 1",
    ],
)
def test_anything_else_is_refused(expression: str) -> None:
    """What is not integer arithmetic over the two names is never evaluated."""
    with pytest.raises((ValueError, KeyError, SyntaxError)):
        audit.evaluate(expression, NAMES)


def test_every_workload_can_be_audited() -> None:
    """Each workload's own expressions are of that kind."""
    audited = [(one.equals, each) for each in workload_files.load_workloads(SEEDS) for one in each.audit.invariants]
    assert audited
    for expression, workload in audited:
        names = NAMES | {f"good.{one.name}": 3 for one in workload.requests}
        assert isinstance(audit.evaluate(expression, names), int)


# ---------------------------------------------------------------- lines


WORKLOAD = replace(
    asking(next(workload for workload in workload_files.load_workloads(SEEDS) if workload.id == "tx"), needs=Needs(1.0)),
    audit=Audit(
        True,
        (
            Invariant("rows", "one row each", "count", "before + acknowledged", True),
            Invariant("sum", "no loss", "total", "before"),
        ),
        (LedgerCheck("credits", "by_account"),),
    ),
)
LIFE = Outcomes(7, 0, {}, 0, 2, 0, 1, 0, 0, 0)
USE = DatabaseUse(9, 0, 0, 0, None, None, {}, 0)


def lines(after: Answers, refused: int = 0) -> dict[str, tuple[bool, int | float | None]]:
    """Every line of the audit after seven good answers and three of unknown outcome: whether it holds, and what was found.

    `refused`: how many good answers there were beside them that refused what was asked, as they had to.
    """
    life = replace(LIFE, ok=LIFE.ok + refused)
    before = audit.before(cast(Database, Answers(count=[(100,)], total=[(5,)], by_account=[(1, 10), (2, 20)])), WORKLOAD)
    result = Result(
        "engine", (), 1.0, life, life, 10, 7, 0, 0, None, None, None, None, None, (),
        {"credits": {"1": LedgerRow(7, -4, 0, 0), "2": LedgerRow(0, 0, 3, 9)}}, (), None, None, refused=refused,
    )  # fmt: skip
    return {line.id: (line.holds, line.found) for line in audit.lines(cast(Database, after), WORKLOAD, result, USE, before)}


def test_lines_after_a_crash() -> None:
    """Counters say nothing, writes may be missing up to a bound, and what must add up in itself still must."""
    was = audit.before(cast(Database, Answers(count=[(100,)], total=[(5,)], by_account=[(1, 10), (2, 20)])), WORKLOAD)
    result = Result(
        "engine", (), 1.0, LIFE, LIFE, 10, 7, 0, 0, None, None, None, None, None, (),
        {"credits": {"1": LedgerRow(7, -4, 0, 0), "2": LedgerRow(0, 0, 3, 9)}}, (), None, None,
    )  # fmt: skip
    use = replace(USE, commits=None, rows_read=None)
    workload = asking(WORKLOAD, ledger=(LedgerEntry("credits", "from", "1"),))

    def found(count: int, total: int, account: int, most: int | None) -> dict[str, bool]:
        after = Answers(count=[(count,)], total=[(total,)], by_account=[(1, account), (2, 20)])
        lines = audit.lines(cast(Database, after), workload, result, use, was, most_lost=most)
        return {line.id: line.holds for line in lines}

    assert found(107, 5, 6, None) == {"rows": True, "sum": True, "ledger-credits": True}
    assert found(104, 5, 8, None) == {"rows": False, "sum": True, "ledger-credits": False}
    assert found(104, 5, 8, 3) == {"rows": True, "sum": True, "ledger-credits": True}
    assert found(103, 5, 8, 3)["rows"] is False and found(111, 5, 8, 3)["rows"] is False
    assert found(104, 4, 8, 3)["sum"] is False


MIX = replace(
    WORKLOAD,
    requests=tuple(replace(WORKLOAD.first, name=name, needs=None) for name in ("make", "remove")),
    audit=Audit(True, (Invariant("rows", "as many as were made and not removed", "count", "before + good.make - good.remove"),)),
)


def holds_for(rows: int, uncounted: int = 0, most_lost: int | None = None) -> bool:
    """True if so many rows are right where 100 stood before, 600 were made and 200 removed."""
    none = Outcomes(0, 0, {}, 0, 0, 0, 0, 0, 0, 0)
    made, removed = (replace(none, ok=count, status={500: 30}) for count in (600, 200))
    result = Result(
        "engine", (), 1.0, none, made.join(removed), 860, 800, 0, 0, None, None, None, None, None, (), {}, (), None, None,
        uncounted_most=uncounted, requests={"make": RequestResult(none, made, None), "remove": RequestResult(none, removed, None)},
    )  # fmt: skip
    was = audit.Before({"rows": 100}, {})
    found = audit.lines(
        cast(Database, Answers(count=[(rows,)])), MIX, result, replace(USE, commits=None), was, most_lost=most_lost
    )
    (line,) = (one for one in found if one.id == "rows")
    return line.holds


def test_what_a_fault_puts_in_doubt_may_be_any_request_of_a_mix() -> None:
    """Ten answers 5xx may each have been done: ten rows too many hold, and so do ten too few, but no more."""
    assert holds_for(500) and not holds_for(501) and not holds_for(499)
    assert holds_for(505, uncounted=10) and holds_for(510, uncounted=10) and holds_for(490, uncounted=10)
    assert not holds_for(511, uncounted=10) and not holds_for(489, uncounted=10)


def test_what_a_crash_took_of_a_mix_does_not_cancel_out() -> None:
    """Of 50 writes that it may have taken 40 made rows or 40 removed ones hold, and 60 of either are too many."""
    assert all(holds_for(rows, most_lost=50) for rows in (460, 500, 540))
    assert not any(holds_for(rows, most_lost=50) for rows in (440, 560))
    assert holds_for(560, uncounted=10, most_lost=50) and not holds_for(561, uncounted=10, most_lost=50)


def test_lines_of_an_honest_server() -> None:
    """Counters, invariants and ledgers hold where the database moved by what was acknowledged; unknown requests are allowed."""
    for rows in (107, 110):
        found = lines(Answers(count=[(rows,)], total=[(5,)], by_account=[(1, 6), (2, 77)]))
        assert found == {
            "commits": (True, 9),
            "commits-most": (True, 9),
            "rows": (True, rows),
            "sum": (True, 5),
            "ledger-credits": (True, 0),
        }


@pytest.mark.parametrize(("equals", "right", "wrong"), [
    ("before + 3 * acknowledged", (121, 124, 130), (120, 131)),
    ("before - acknowledged", (93, 92, 90), (94, 89)),
    ("before", (100, 103), (99, 104)),
])  # fmt: skip
def test_what_may_exceed_does_so_as_its_answers_do(equals: str, right: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    """Each request of unknown outcome may have moved the number as a good answer does: by three, or downwards."""
    bound = Invariant("rows", "as its answers say", "count", equals, may_exceed=True)
    workload = replace(WORKLOAD, audit=Audit(True, (bound,)))

    def holds(rows: int, uncounted: int | None = 0) -> bool:
        result = Result(
            "engine", (), 1.0, LIFE, LIFE, 10, 7, 0, 0, None, None, None, None, None, (), {}, (), None, None,
            uncounted_most=uncounted,
        )  # fmt: skip
        after = cast(Database, Answers(count=[(rows,)]))
        found = audit.lines(after, workload, result, replace(USE, commits=None), audit.Before({"rows": 100}, {}))
        return next(one.holds for one in found if one.id == "rows")

    assert all(map(holds, right)) and not any(map(holds, wrong))
    assert all(holds(rows, None) for rows in (right[0], right[0] + (right[-1] - right[0]) * 9)) and not holds(wrong[0], None)


def test_lines_of_a_liar() -> None:
    """A lost row, one too many, a moved sum and a wrong account are each a line that does not hold."""
    for rows in (106, 111):
        found = lines(Answers(count=[(rows,)], total=[(4,)], by_account=[(1, 10), (2, 20)]))
        assert found == {
            "commits": (True, 9),
            "commits-most": (True, 9),
            "rows": (False, rows),
            "sum": (False, 4),
            "ledger-credits": (False, 1),
        }


def test_what_was_refused_leaves_nothing() -> None:
    """Good answers that had to be errors are asked for neither rows nor commits, and a row that one of them left is too many."""
    honest = Answers(count=[(107,)], total=[(5,)], by_account=[(1, 6), (2, 77)])
    assert lines(honest, refused=30) == lines(honest)
    wrote = lines(Answers(count=[(111,)], total=[(5,)], by_account=[(1, 6), (2, 77)]), refused=30)
    assert wrote["rows"] == (False, 111)


def test_refusals_add_up() -> None:
    """Several loads of one arm have refused what each of them did."""
    one = Result("engine", (), 1.0, LIFE, LIFE, 10, 7, 0, 0, None, None, None, None, None, (), {}, (), None, None, refused=3)
    assert audit.join_results([one, replace(one, refused=1)]).refused == 4
    assert audit.join_results([one, one]).done == 2 * (LIFE.ok - 3)


@pytest.mark.parametrize(("kind", "part"), [(Decimal, "37"), (float, "37"), (Decimal, "9" * 40)])
def test_a_fraction_is_no_whole_number(kind: type[Decimal] | type[float], part: str) -> None:
    """What a server leaks of a sum, of a number that may be exceeded or of an account is not cut off; 5.00 is 5."""
    found = lines(Answers(count=[(kind("107.00"),)], total=[(kind("5.00"),)], by_account=[(1, kind("6.00")), (2, 77)]))
    assert found == lines(Answers(count=[(107,)], total=[(5,)], by_account=[(1, 6), (2, 77)]))
    rows, total, account = (kind(f"{whole}.{part}") for whole in (107, 5, 6))
    found = lines(Answers(count=[(rows,)], total=[(total,)], by_account=[(1, account), (2, 77)]))
    assert (found["rows"], found["sum"], found["ledger-credits"]) == ((False, None), (False, None), (False, 1))


def test_a_failing_statement_is_a_line() -> None:
    """A statement that fails after the load, say on a dropped table, is a line that found nothing."""
    gone = psycopg.errors.UndefinedTable("gone")
    found = lines(Answers(count=gone, total=[(5,)], by_account=[(1, 6), (2, 20)]))
    assert found["rows"] == (False, None)


def test_a_failing_ledger_is_a_line() -> None:
    """So is a ledger whose statement fails: a server that dropped the table is found out, not the lab."""
    gone = psycopg.errors.UndefinedTable("gone")
    found = lines(Answers(count=[(107,)], total=[(5,)], by_account=gone))
    assert found["ledger-credits"] == (False, None)


def test_a_null_sum_is_a_line() -> None:
    """An emptied table, whose sum is NULL, is a line that found nothing."""
    found = lines(Answers(count=[(107,)], total=[(None,)], by_account=[(1, 6), (2, 20)]))
    assert found["sum"] == (False, None)


@pytest.mark.parametrize(("total", "accounts", "whose"), [
    ([(None,)], [], "invariant `sum`"), ([], [], "invariant `sum`"), ([("x",)], [], "invariant `sum`"),
    ([(Decimal("NaN"),)], [], "invariant `sum`"), ([(Decimal("5.37"),)], [], "invariant `sum`"), ([(5,)], [(1, 0.5)], "ledger `credits`"),
    ([(5,)], [(1, None)], "ledger `credits`"), ([(5,)], [(1,)], "ledger `credits`"),
])  # fmt: skip
def test_a_statement_that_gives_no_number_before_the_load_is_the_contracts_mistake(
    total: list[object], accounts: list[object], whose: str
) -> None:
    """It is said with its name, and is no fault of the lab's; afterwards it is a line that does not hold."""
    answers = Answers(count=[(100,)], total=total, by_account=accounts)
    with pytest.raises(ContractError, match=f"the {whose} gives no whole number before the load: `[a-z_]+`"):
        audit.before(cast(Database, answers), WORKLOAD)
    found = lines(answers)
    assert not (found["sum"][0] and found["ledger-credits"][0])


def test_work_on_a_table_that_stands_for_another_is_its() -> None:
    """The audit reads counters as the workload names tables."""
    workload = needing(WORKLOAD, tables={"world": TableNeed(1, 1, also=("World",))})
    now = DatabaseWork({"world": TableWork(1, 1), "World": TableWork(9, 9), "fortune": TableWork(4, 4)})
    before = audit.Before({}, {}, DatabaseWork({"World": TableWork(2, 2)}))
    found = audit.work(cast(Database, SimpleNamespace(work=lambda: now)), before, workload)
    assert found is not None and found.tables == {"world": TableWork(8, 8), "fortune": TableWork(4, 4)}


def test_what_was_counted_before_the_load_pays_for_no_answer() -> None:
    """Commits, rollbacks and rows are those since then. All sessions count, since a pool that was open may ping later."""
    database = cast(Database, SimpleNamespace(counters=lambda: Counters(100, 10, 1000, 2, 7)))
    assert audit.counters(database, None).commits == 100
    was = audit.Before({}, {}, None, Counters(60, 4, 900, 1, 3))
    assert audit.counters(database, was) == Counters(40, 6, 100, 2, 7)


def test_results_are_joined_and_unknown_stays_unknown() -> None:
    """Outcomes and ledgers of several loads add up; a kind that one load cannot tell is unknown of all, never 0."""
    one = Result(
        "engine", (), 1.0, LIFE, LIFE, 10, 7, 0, 0, None, None, None, None, None, (),
        {"credits": {"1": LedgerRow(7, -4, 0, 0)}}, (), None, None,
    )  # fmt: skip
    other = replace(one, life=replace(LIFE, status={500: 2}, wrong_body=None), ledgers={"credits": {"1": LedgerRow(1, 3, 2, 5)}})
    found = audit.join_results([one, other])
    assert found.life == replace(LIFE, ok=14, status={500: 2}, wrong_body=None, timeout=4, reset=2)
    assert found.ledgers == {"credits": {"1": LedgerRow(8, -1, 2, 5)}}


def test_results_without_a_ledger_have_none_together() -> None:
    """A generator that keeps no ledger leaves it unknown; an empty one would say that nothing was sent."""
    plain = (None, None, None, None, None, ())
    kept = Result("engine", (), 1.0, LIFE, LIFE, 10, 7, 0, 0, *plain, {"credits": {}}, (), None, None)
    assert audit.join_results([kept, replace(kept, ledgers=None)]).ledgers is None
    assert audit.join_results([replace(kept, ledgers=None)]).ledgers is None
    assert audit.join_results([kept, kept]).ledgers == {"credits": {}}
