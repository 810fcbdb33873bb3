"""What a database had counted when the load ended: what comes later pays for no answer, but for what is handed in late."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import psycopg
import pytest

from builders.contracts import SEEDS
from fairground.inputs import workload_files
from fairground.measure import audit
from fairground.model import DatabaseUse, DatabaseWork, Fault, FaultKind, Outcomes, Result, Second, TableWork
from fairground.postgres import Counters, Database

WORKLOADS = {one.id: one for one in workload_files.load_workloads(SEEDS)}
USERS = WORKLOADS["users"]
GOOD = 10_000
LIFE = Outcomes(GOOD, 0, {}, 0, 0, 0, 0, 0, 0, 0)
RESULT = Result(
    "engine", (), 8.0, LIFE, LIFE, 8000, 8000, 0, 0, None, None, None, None, None, (), None, (), None, None,
)  # fmt: skip
"""Eight seconds of a load of ten: 1,000 answers a second."""
ZERO = Counters(0, 0, 0, 0, 0)


def at(answers: int, open_transactions: int = 0, ended: bool = False) -> Database:
    """A database that has counted what so many answers need."""

    def counters() -> Counters:
        if ended:
            raise psycopg.OperationalError("connection refused")
        return Counters(answers, 0, 100 * answers, 0, 1)

    work = DatabaseWork({"users": TableWork(answers, 100 * answers, 0)})
    found = SimpleNamespace(counters=counters, work=lambda: work, count_backends=lambda _: open_transactions)
    return cast(Database, found)


def broken(by_the_end: Database, result: Result = RESULT) -> dict[str, float | None]:
    """What lines that do not hold found, where the database had counted all of it once the server was gone."""
    was = audit.Before({}, {}, DatabaseWork({}), ZERO)
    was_then = audit.with_end(was, by_the_end, USERS, [result], [])
    assert was_then is not None
    use = DatabaseUse(GOOD, 0, 100 * GOOD, 0, None, None, {}, 0, work=at(GOOD).work())
    return {one.id: one.found for one in audit.lines(at(GOOD), USERS, result, use, was_then) if not one.holds}


@pytest.mark.parametrize("by_the_end", [GOOD, 9000, 8000])
def test_what_backends_hand_in_late_is_counted(by_the_end: int) -> None:
    """They keep what they counted in their last second, an idle one up to ten seconds: two seconds of answers may come later."""
    assert broken(at(by_the_end)) == {}


@pytest.mark.parametrize("by_the_end", [0, 7900])
def test_what_is_paid_after_the_load_is_not(by_the_end: int) -> None:
    """Answers from memory, and a bulk of statements once the server was asked to end."""
    paid = {"commits": by_the_end, "rows": 100 * by_the_end, "scans-users": by_the_end, "rows-users": 100 * by_the_end}
    assert broken(at(by_the_end)) == paid


def test_what_is_handed_in_late_is_of_the_last_second() -> None:
    """After a stall, or with a last step of many connections, that is far more than two seconds of the mean."""
    last = Second(7, 4000, 0, None, None, None, None)
    assert broken(at(2000), replace(RESULT, seconds=(replace(last, second=6, ok=10), last))) == {}
    assert broken(at(1900), replace(RESULT, seconds=(last,)))["commits"] == 1900


def test_what_was_counted_by_the_end_of_a_fault_is_unknown() -> None:
    """Answers after it may be all there are, and nobody has handed in what they needed."""
    was = audit.Before({}, {}, DatabaseWork({}), ZERO)
    stall = Fault(FaultKind.STALL, 1.5, 4000)
    assert audit.with_end(was, at(0), USERS, [RESULT], [], stall) == was


def test_open_transactions_are_counted_when_they_end() -> None:
    """A server that never ends its transactions is honest, and so is one whose database could not be asked."""
    assert broken(at(0, open_transactions=1)) == {} and broken(at(0, ended=True)) == {}


def test_who_writes_is_held_to_each_moment() -> None:
    """Nothing is asked of the database between loads that write: a worker may carry out later what was acknowledged."""
    was = audit.Before({}, {}, DatabaseWork({}), ZERO)
    assert audit.with_end(was, at(0), WORKLOADS["tx"], [RESULT], []) == was
    assert audit.with_end(was, at(0), WORKLOADS["ping"], [RESULT], []) == was
    assert audit.with_end(None, at(0), USERS, [RESULT], []) is None


def test_an_earlier_load_says_nothing_of_a_later_one() -> None:
    """Where the last end could not be looked at, there is none."""
    was = audit.Before({}, {}, DatabaseWork({}), ZERO)
    once = audit.with_end(was, at(5000), USERS, [RESULT], [])
    assert once is not None and once.end is not None and once.end.rate_per_s == 1000
    assert audit.with_end(once, at(0, ended=True), USERS, [RESULT], []) == replace(once, end=None)
