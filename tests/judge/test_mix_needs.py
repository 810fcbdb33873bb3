"""What the answers to a mix need together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from builders.facts import outcomes
from builders.mix import day_at
from builders.requests import needing
from fairground.generators import engine_plan
from fairground.judge import answers, needs, statements, thresholds
from fairground.judge.written import Probe, with_probes
from fairground.measure import audit, prober
from fairground.model import (
    Audit,
    AuditLine,
    DatabaseUse,
    DatabaseWork,
    Load,
    Needs,
    RequestResult,
    Result,
    TableNeed,
    TableWork,
    Workload,
)
from fairground.model.work import StatementWork

RULES = thresholds.standard().rules
USE = DatabaseUse(1_000, 0, 20_000, 0, None, None, {}, 0)
PAGE, CREATE, REMOVE = (
    "select id from entries where person = $1",
    "insert into entries values ($1)",
    "delete from entries where id = $1",
)


@pytest.fixture
def day(tmp_path: Path) -> Workload:
    """The mix of the tests: 6 pages, 2 entries that are made, 1 that is thrown away."""
    return day_at(tmp_path)


def result(pages: int = 600, made: int = 200, removed: int = 100) -> Result:
    """A load with so many good answers to each."""
    requests = {
        name: RequestResult(outcomes(good), outcomes(good), None)
        for name, good in (("page", pages), ("create", made), ("remove", removed))
    }
    together = outcomes(pages + made + removed)
    return Result(
        "engine", (), 1.0, together, together, together.ok, together.ok, 0, 0, None, None, None, None, None, (), {}, (), None, None,
        requests=requests,
    )  # fmt: skip


def work(rows: int = 6_100, inserted: int = 200, deleted: int = 100, pages: int = 600) -> DatabaseWork:
    """What an honest server leaves in the counters, or what is said otherwise."""
    asked = {PAGE: StatementWork(pages, rows, 1.0), CREATE: StatementWork(200, 0, 1.0), REMOVE: StatementWork(100, 0, 1.0)}
    return DatabaseWork({"entries": TableWork(700, rows, 0, inserted, 0, deleted)}, None, asked)


def lines(day: Workload, found: Result, use: DatabaseUse) -> dict[str, AuditLine]:
    """Every line that the counters decide, by id."""
    told = (*answers.work_lines(day, found, use), *statements.lines(day, found, use, RULES))
    return {line.id: line for line in told}


def test_an_honest_mix_holds(day: Workload) -> None:
    """Commits, scans, rows read and rows written are sums over the requests, each by its own good answers."""
    found = lines(day, result(), replace(USE, work=work()))
    assert {id: line.expected_min for id, line in found.items()} == {
        "commits": 1_000, "rows": 6_000, "commits-most": 0, "scans-entries": 700, "rows-entries": 6_000, "inserted-entries": 200,
        "deleted-entries": 100, "statements": 800, "rows-returned": 6_000,
    }  # fmt: skip
    assert all(line.holds for line in found.values())
    assert (
        found["commits"].sentence
        == "at least, for each good answer: 1 × commit for `page`, 1 × commit for `create`, 2 × commit for `remove`"
    )


@pytest.mark.parametrize(
    ("lie", "broken"),
    [
        (replace(USE, commits=999, work=work()), {"commits"}),
        (replace(USE, work=work(rows=5_999)), {"rows-entries", "rows-returned"}),
        (replace(USE, work=work(inserted=199)), {"inserted-entries"}),
        (replace(USE, work=work(deleted=99)), {"deleted-entries"}),
        (replace(USE, work=work(pages=599)), {"statements"}),
        (replace(USE, commits=10**6, work=work()), {"commits-most"}),
    ],
)
def test_each_lie_breaks_its_line(lie: DatabaseUse, broken: set[str], day: Workload) -> None:
    """A page from a cache, an entry that was not made or not thrown away: the one line that speaks of it does not hold."""
    assert {id for id, line in lines(day, result(), lie).items() if not line.holds} == broken


def test_a_merged_statement_of_one_request_is_declared_of_another(day: Workload) -> None:
    """A statement is declared where any request needs it; what merges several of one request is still told."""
    two = day.change(
        lambda one: replace(one, needs=Needs(statements=("UPDATE a SET x = x - 1 WHERE id = $1", "UPDATE a SET x = x + 1 WHERE id = $2"),
                                             statements_per_answer=2)) if one.name == "remove" else one
    )  # fmt: skip
    merged = statements.normalise("UPDATE a SET x = CASE WHEN id = 1 THEN x - 1 ELSE x + 1 END WHERE id IN (1, 2)")
    assert statements.kind(merged, two) == "merged"
    assert statements.kind(statements.normalise(PAGE), two) == statements.DECLARED


def test_what_nobody_declares_is_said(day: Workload) -> None:
    """Its answers are held against no counter, and no upper bound is made up for them."""
    some = day.change(lambda one: replace(one, needs=None) if one.name == "page" else one)
    (said,) = needs.audit_findings(some)
    assert "what `page` needs" in said.sentence and needs.audit_findings(day) == ()
    assert "commits-most" not in lines(some, result(), replace(USE, commits=10**9, work=work()))


def reading(day: Workload) -> Workload:
    """The mix, whose pages need no commit."""
    return day.change(
        lambda one: replace(one, needs=replace(one.need, commits_per_answer=0)) if one.name == "page" else one,
    )


def test_reads_of_which_no_commit_is_asked_may_make_some(day: Workload) -> None:
    """A pool that asks `SELECT 1` before each page commits twice for it; far more commits still pay for answers from elsewhere."""
    mostly_read = result(pages=9_000, made=1_000, removed=0)
    found = [lines(reading(day), mostly_read, replace(USE, commits=commits))["commits-most"] for commits in (19_000, 60_000)]
    assert [line.holds for line in found] == [True, False] and "4 × commit for `page`" in found[0].sentence
    nobody = day.change(lambda one: replace(one, needs=replace(one.need, commits_per_answer=0)))
    assert "commits-most" not in lines(nobody, mostly_read, replace(USE, commits=10**9))


@pytest.mark.parametrize(("commits", "rollbacks", "most"), [(200, 800, 1.0), (0, 10**6, 0.8), (200, 0, 0.2)])
def test_a_session_of_a_mix_that_reads_may_end_with_a_rollback(commits: int, rollbacks: int, most: float, day: Workload) -> None:
    """As many as pages were read stand behind them, whatever else the mix writes; more of them pay for no entry."""
    asked = {statements.normalise(PAGE): {"idle": 80}, statements.normalise(CREATE): {"idle": 20}}
    use = replace(USE, commits=commits, rollbacks=rollbacks, statements=asked)
    line = lines(reading(day), result(pages=800, made=200, removed=0), use)["statements"]
    assert (line.found, line.holds) == (most, most >= RULES.statement_least)


@pytest.mark.parametrize(
    ("commits", "rollbacks", "holds"),
    [(300, 800, True), (210, 800, False), (200, 10**6, False), (1000, 300, True)],
    ids=["sessions that read", "writes in batches", "rollbacks that pay", "some roll back"],
)
def test_a_write_of_a_mix_needs_its_commit(commits: int, rollbacks: int, holds: bool, day: Workload) -> None:
    """Rollbacks stand for pages alone, and for one each."""
    told = lines(day, result(pages=800, made=300, removed=0), replace(USE, commits=commits, rollbacks=rollbacks))
    assert told["commits"].holds is holds


def test_writes_among_the_answers(day: Workload) -> None:
    """Reads ask for no flush of the log and for no transaction number."""
    assert needs.written_answers(day, result()) == 300 and needs.writes_among(90, day, result()) == 30


def test_answers_that_write_at_times_are_held_to_no_commit(day: Workload) -> None:
    """Nobody knows which of them wrote: no transaction, no flush and no moment is asked for, and no request of the lab's own sent."""
    seldom = TableNeed(scans=1, deleted=0.4)
    mix = day.change(
        lambda one: replace(one, ledger=(), needs=Needs(tables={"entries": seldom})) if one.name == "remove" else one
    )
    assert needs.written_answers(mix, result()) == 200
    alone = replace(mix, requests=(mix.request("remove"),), audit=Audit(writes=True))
    assert needs.written_answers(alone, result()) == 0 and prober.request_of(alone) is None
    asked = cast(list[dict[str, object]], engine_plan.plan(alone, Load(), "h", 80, 7, {})["requests"])
    assert [one["log"] for one in asked] == [None]
    always = needing(alone, tables={"entries": replace(seldom, deleted=1)})
    assert needs.written_answers(always, result()) == result().done and prober.request_of(always) is not None


def test_good_answers_by_name_are_in_invariants(day: Workload) -> None:
    """An entry that may or may not have been made widens upwards, one that may have been thrown away downwards."""
    names = {"before": 50, "acknowledged": 900, "good.page": 600, "good.create": 200, "good.remove": 100}
    assert audit.evaluate("before + good.create - good.remove", names) == 150
    late = result()
    doubtful = {name: replace(one, life=replace(one.life, timeout=3)) for name, one in late.requests.items()}
    assert audit.bounds_of("before + good.create - good.remove", names, replace(late, requests=doubtful)) == (147, 153)


def test_probes_count_for_their_request(day: Workload) -> None:
    """The lab's own entries are acknowledged writes of `create`, in its counts and in its person's ledger."""
    probe = Probe({"sessions.person": "7", "title": "milk"}, True)
    found = with_probes(result(), [probe], day.request("create"))
    assert found.requests["create"].done == 201 and found.requests["page"].done == 600
    assert found.ledgers is not None and found.ledgers["lists"]["7"].acknowledged_sum == 1


def test_loads_add_up_by_request(day: Workload) -> None:
    """Several loads of one arm are one account, for each request as for all."""
    joined = audit.join_results([result(), result(10, 20, 30)])
    assert {name: one.done for name, one in joined.requests.items()} == {"page": 610, "create": 220, "remove": 130}
    again = result().with_life_of(joined)
    assert again.requests["page"].window.ok == 600 and again.requests["page"].done == 610
    assert result().goodput_of_per_s("page") == pytest.approx(600)
