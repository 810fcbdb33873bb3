"""From counters to findings, verdict and limit: every check fires where it should and keeps silent where it should not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.contracts import SEEDS
from fairground.inputs import workload_files
from fairground.judge import answers, thresholds
from fairground.model import (
    AuditLine,
    BadAnswer,
    Finding,
    LedgerRow,
    PoolScope,
    Severity,
    Topology,
    Verdict,
    Workload,
)
from judge.limited_cells import CELL, DATABASE, outcomes, result

WORKLOADS = {workload.id: workload for workload in workload_files.load_workloads(SEEDS)}
RULES = thresholds.standard().rules


def test_errors_that_a_workload_is_about_are_noted() -> None:
    """`transfer` says that deadlocks are its subject: a 500 is a note there, any other failure and any other workload warn."""
    failed = result(outcomes(status={500: 3}))
    assert WORKLOADS["transfer"].errors_expected == (500,) and not WORKLOADS["transfer-ordered"].errors_expected
    assert names(answers.window(failed, (500,))) == [("errors", Severity.NOTE)]
    assert names(answers.window(failed, ())) == [("errors", Severity.WARN)]
    for other in ({"status": {500: 3, 502: 1}}, {"status": {500: 3}, "timeout": 1}):
        assert names(answers.window(result(outcomes(**other)), (500,))) == [("errors", Severity.WARN)]
    assert names(answers.window(replace(failed, completed_ok=0), (500,))) == [("no-answers", Severity.REJECT)]


@pytest.mark.parametrize(("failed", "outside"), [({}, 50), ({"timeout": 1}, 0)], ids=["slow", "silent"])
def test_answers_outside_of_a_silent_window_are_counted_where_nothing_failed(failed: dict[str, int], outside: int) -> None:
    """Whether a server was slow or silent shows in the generator's whole life."""
    silent = replace(result(outcomes(ok=0)), completed_ok=0, life=outcomes(ok=50, **failed))
    assert [one.evidence["outside"] for one in answers.window(silent)] == [outside]


def names(findings: tuple[Finding, ...]) -> list[tuple[str, Severity]]:
    """What was found, without the words."""
    return [(finding.id, finding.severity) for finding in findings]


# ---------------------------------------------------------------- verdict


@pytest.mark.parametrize(
    ("severities", "verdict"),
    [
        ([], Verdict.VALID),
        ([Severity.NOTE], Verdict.VALID),
        ([Severity.NOTE, Severity.WARN], Verdict.WARNED),
        ([Severity.VOID, Severity.WARN], Verdict.VOID),
        ([Severity.VOID, Severity.REJECT, Severity.WARN, Severity.NOTE], Verdict.REJECTED),
        ([Severity.REJECT], Verdict.REJECTED),
    ],
)
def test_the_gravest_finding_decides(severities: list[Severity], verdict: Verdict) -> None:
    """Rejected before void before warned before valid, in whatever order they were found."""
    findings = [Finding(str(number), severity, "") for number, severity in enumerate(severities)]
    assert answers.verdict(findings) == verdict
    assert answers.verdict(reversed(findings)) == verdict


# ---------------------------------------------------------------- what came back


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({}, []),
        ({"in_flight": 0, "status": {}}, []),
        ({"wrong_body": 1}, [("wrong-answers", Severity.REJECT), ("errors", Severity.WARN)]),
        ({"malformed": 1}, [("malformed", Severity.REJECT), ("errors", Severity.WARN)]),
        ({"status": {500: 1}}, [("errors", Severity.WARN)]),
        ({"shed": 1}, [("errors", Severity.WARN)]),
        ({"timeout": 1}, [("errors", Severity.WARN)]),
        ({"connect": 1}, [("errors", Severity.WARN)]),
        ({"reset": 1}, [("errors", Severity.WARN)]),
        ({"unsent": 1}, [("errors", Severity.WARN)]),
        ({"in_flight": 1}, [("errors", Severity.WARN)]),
        ({"ok": 0, "shed": 5}, [("no-answers", Severity.REJECT)]),
        ({"ok": 0}, [("no-answers", Severity.REJECT)]),
        ({"shed": None, "timeout": None, "wrong_body": None, "malformed": None}, []),
    ],
)
def test_answers(counts: dict[str, Any], found: list[tuple[str, Severity]]) -> None:
    """A wrong answer rejects, an error warns, no good answer at all rejects; a kind that was not told is no error."""
    assert names(answers.outcomes(result(outcomes(**counts)))) == found


@pytest.mark.parametrize(
    ("counts", "bad"),
    [
        ({"timeout": 2, "in_flight": 3, "unsent": 4}, 0),
        ({"shed": 1}, 1),
        ({"status": {500: 2, 404: 1}}, 3),
        ({"wrong_body": 1, "malformed": 1, "connect": 1, "reset": 1}, 4),
        ({"unclassified": 2, "shed": None}, 2),
    ],
)
def test_silence_is_told_from_bad_answers(counts: dict[str, Any], bad: int) -> None:
    """The finding says how many requests got something worse than silence."""
    (found,) = answers.window(replace(result(outcomes(ok=0, **counts)), completed_ok=0))
    assert found.evidence["bad"] == bad


@pytest.mark.parametrize(
    ("status", "wrong"),
    [({}, 0), ({500: 3, 503: 1}, 0), ({408: 1, 429: 2}, 0), ({200: 2}, 2), ({404: 3, 500: 9}, 3), ({200: 1, 302: 1, 400: 1}, 3)],
)
def test_a_status_that_denies_the_contract(status: dict[int, int], wrong: int) -> None:
    """Success for what does not exist, and a refusal of what does, reject in the whole life; failures and the client's pace do not."""
    sample = BadAnswer("status", max(status, default=0), "status 200 instead of 404", "POST /lookup", None)
    found = answers.denials(result(life=outcomes(status=status), samples=(sample,)), WORKLOADS["lookup"])
    assert names(found) == ([("wrong-status", Severity.REJECT)] if wrong else [])
    assert [finding.evidence["wrong"] for finding in found] == ([wrong] if wrong else [])


def test_a_denied_answer_has_its_reason() -> None:
    """The sentence has counts and the first sample's reason; a status that the workload is about is none."""
    sample = BadAnswer("status", 200, "status 200 instead of 404", "POST /lookup", "{}")
    (found,) = answers.denials(result(outcomes(status={200: 12}), samples=(sample,)), WORKLOADS["lookup"])
    assert found.sentence == (
        "12 of 1,012 answers had a status that the contract forbids there (12 × status 200): status 200 instead of 404 with the body `{}`"
    )
    about = replace(WORKLOADS["lookup"], errors_expected=(404,))
    assert answers.denials(result(outcomes(status={404: 12})), about) == ()
    taken = result(outcomes(status={404: 12}))  # of rows that a crash may have taken
    assert not answers.denials(taken, WORKLOADS["lookup"], 12) and answers.denials(taken, WORKLOADS["lookup"], 11)


def test_answers_outside_the_window_count_as_wrong() -> None:
    """A wrong body in the warm-up rejects although the window has none; an error there is not the window's."""
    findings = answers.outcomes(result(life=outcomes(wrong_body=2, shed=3)))
    assert names(findings) == [("wrong-answers", Severity.REJECT)]


def test_a_window_in_which_nothing_could_be_sent_says_so() -> None:
    """A server that hangs since the warm-up has every connection waiting: its window has no request at all."""
    (hangs,) = answers.window(result(outcomes(ok=0), in_flight_start=16))
    assert "inside the window, in which none was sent: 16 from before it were still unanswered" in hangs.sentence
    (errs,) = answers.window(result(outcomes(ok=0, shed=7), in_flight_start=16))
    assert "inside the window, of 7 requests (7 × 503)" in errs.sentence


def test_answers_sentences() -> None:
    """The sentences give the numbers, and the first sample's reason."""
    bad = outcomes(wrong_body=3, status={500: 12, 404: 1}, timeout=2_000)
    sample = BadAnswer("wrong_body", 200, "`ok` is false", "POST /tx", "{}")
    wrong, errors = answers.outcomes(result(bad, samples=(sample,)))
    assert wrong.sentence == "3 of 3,016 answers had the right status and a wrong body: `ok` is false with the body `{}`"
    assert errors.sentence == (
        "66.84% of the window's requests got no good answer: 1 × status 404, 12 × status 500, 3 × wrong body, 2,000 × timeout"
        "; for instance `POST /tx`: `ok` is false with the body `{}`"
    )
    assert errors.evidence == {"not_ok": 2016, "expected": 0, "sent": 3016}


def test_a_sample_of_wrong_answers_tells_the_share_of_all() -> None:
    """Wrong answers are counted among those that were compared; where not all were, the interval of the share is told."""
    bad = outcomes(ok=9_990, wrong_body=10)
    (all_seen,) = answers.life(replace(result(life=bad), compared=10_000))
    assert all_seen.sentence.startswith("10 of the 10,000 answers that were compared had the right status and a wrong body: ")
    (some_seen,) = answers.life(replace(result(life=bad), compared=100))
    assert "10 of the 100 answers that were compared" in some_seen.sentence
    assert "(5.52% to 17.44% of all, with a confidence of 95 %)" in some_seen.sentence
    assert some_seen.evidence == {"wrong_body": 10, "compared": 100, "sent": 10_000}


# ---------------------------------------------------------------- the warm-up


@pytest.mark.parametrize(("warmup", "severity"), [([], Severity.NOTE), ([5, 9], Severity.NOTE), ([5, 9, 14], Severity.WARN)])
def test_short_warmup_is_a_choice(warmup: list[int], severity: Severity) -> None:
    """A warm-up too short to be judged is noted; one that had its time and did not settle is a warning."""
    (finding,) = answers.warmup(warmup, False, RULES)
    assert (finding.id, finding.severity) == ("warm-up", severity)
    assert finding.evidence["seconds"] == len(warmup)
    assert answers.warmup(warmup, True, RULES) == ()


def test_settled_is_steadiness() -> None:
    """Equal seconds have settled, growing ones have not."""
    assert answers.has_settled([1000] * 8, RULES)
    assert not answers.has_settled([100, 200, 400, 800, 1600, 3200], RULES)


def test_fewer_seconds_settle_a_warmup_that_turns_follow() -> None:
    """Two equal seconds are enough then, and two that differ are not; the seconds before them do not count."""
    two = RULES.settled_before_turns
    assert two < RULES.settled_last and not answers.has_settled([1000] * two, RULES)
    assert answers.has_settled([400, *[1000] * two], RULES, last=two)
    assert not answers.has_settled([1000, 800, 1000], RULES, last=two)
    spent = [(900, 50), (700, 70), (710, 71)]
    assert answers.has_settled([1000, 700, 1000], RULES, spent, two) and not answers.has_settled([1000, 700, 1000], RULES, spent)


@pytest.mark.parametrize(
    ("rates", "spent", "settled"),
    [
        ([1000, 700, 1000], [(900, 90), (910, 91), (890, 90)], True),  # a slow second of the machine: both cost more in it
        ([1000, 700, 1000], [(900, 90), (1300, 130), (950, 95)], True),  # so slow that the same work costs half as much again
        ([1000, 700, 1000], [(900, 50), (700, 60), (550, 55)], False),  # still compiling: cheaper against the generator
        ([600, 800, 1000], [(300, 30), (400, 40), (510, 50)], False),  # cheap already, but more and more of them
        ([600, 800, 1000], [(510, 50), (490, 50), (500, 50)], True),  # a machine that gets faster: as many in its own time
        ([588, 626, 667], [(294, 59), (313, 58), (333, 67)], False),  # it waits less and less: an answer costs both the same
        ([1000, 700, 1000], [], False),  # nobody told what they cost
        ([1000, 700, 1000], [(900, 0), (900, 0), (900, 0)], False),  # nobody told what the generator costs
        ([0, 0, 0], [(0, 0), (0, 0), (0, 0)], False),  # nothing has started
    ],
)
def test_steady_costs_settle_a_warmup_where_rates_scatter(
    rates: list[int], spent: list[tuple[float, float]], settled: bool
) -> None:
    """A server that still gets cheaper, or faster, has not settled; the machine's pace is in neither."""
    assert answers.has_settled(rates, RULES, spent) is settled


# ---------------------------------------------------------------- the database


@pytest.mark.parametrize(("peak", "found"), [(None, []), (0, []), (25, []), (26, [("connections", Severity.REJECT)])])
def test_connection_budget(peak: int | None, found: list[tuple[str, Severity]]) -> None:
    """One connection more than POOL_SIZE rejects; exactly POOL_SIZE does not."""
    assert names(answers.budget(replace(DATABASE, connections_peak=peak), CELL)) == found


@pytest.mark.parametrize(("peak", "found"), [(None, []), (400, [("connections", Severity.NOTE)])])
def test_connections_of_who_is_told_no_pool_are_noted(peak: int | None, found: list[tuple[str, Severity]]) -> None:
    """They are counted and shown, and nobody is rejected for them."""
    assert names(answers.untold(replace(DATABASE, connections_peak=peak))) == found


@pytest.mark.parametrize(
    ("clients", "held", "found"),
    [
        (25, 20, []),
        (26, 20, [("connections", Severity.REJECT)]),
        (25, 21, [("pooler-size", Severity.WARN)]),
        (None, None, []),
    ],
)
def test_connection_budget_behind_a_pooler(clients: int | None, held: int | None, found: list[tuple[str, Severity]]) -> None:
    """Behind a pooler POOL_SIZE is held against the connections to it, and the pooler's size against those to the database."""
    cell = replace(CELL, topology=Topology(pooler="pgbouncer-tx", pooler_size=20))
    use = replace(DATABASE, connections_peak=held, pooler_clients_peak=clients)
    assert names(answers.budget(use, cell)) == found


@pytest.mark.parametrize(
    ("peak", "refused", "pooler", "found"),
    [
        (25, None, None, []),
        (25, 0, None, []),
        (25, 3, None, [("connections", Severity.REJECT)]),
        (26, 3, None, [("connections", Severity.REJECT)]),
        (20, 3, "pgbouncer-tx", [("pooler-size", Severity.WARN)]),
    ],
)
def test_what_the_database_refused(peak: int, refused: int | None, pooler: str | None, found: list[tuple[str, Severity]]) -> None:
    """A connection that the database refused is a breach, said once with its number; behind a pooler it is the pooler's."""
    cell = replace(CELL, topology=Topology(pooler=pooler, pooler_size=20))
    told = answers.budget(replace(DATABASE, connections_peak=peak, pooler_clients_peak=0, refused=refused), cell)
    assert names(told) == found
    assert not found or "refused 3 connections" in told[0].sentence


@pytest.mark.parametrize(
    ("pool", "pooler", "limit"), [(1, None, 3), (8, None, 10), (25, None, 32), (100, None, 125), (100, "pgbouncer-tx", 25)]
)
def test_connections_that_the_database_allows(pool: int, pooler: str | None, limit: int) -> None:
    """The budget and a quarter more, at least two: that of the server, or of the pooler that stands before the database."""
    cell = replace(CELL, settings=replace(CELL.settings, pool_size=pool), topology=Topology(pooler=pooler, pooler_size=20))
    assert answers.connection_limit(cell, RULES) == limit


def test_connection_budget_of_all_workers() -> None:
    """A pool for each worker allows the sum of them."""
    cell = replace(CELL, settings=replace(CELL.settings, pool_size=10, workers=3, pool_scope=PoolScope.PER_WORKER))
    assert answers.budget(replace(DATABASE, connections_peak=30), cell) == ()
    assert names(answers.budget(replace(DATABASE, connections_peak=31), cell)) == [("connections", Severity.REJECT)]


@pytest.mark.parametrize(
    ("workload", "commits", "found"),
    [("tx", 1500, []), ("tx", 1501, [("commits-per-answer", Severity.NOTE)]), ("tx", None, []), ("ping", 9999, [])],
)
def test_chatter(workload: str, commits: int | None, found: list[tuple[str, Severity]]) -> None:
    """More than one and a half commits for each request are noted, where the workload commits at all."""
    assert names(answers.chatter(WORKLOADS[workload], result(), replace(DATABASE, commits=commits), RULES)) == found


def test_chatter_needs_requests() -> None:
    """No request, no ratio."""
    assert answers.chatter(WORKLOADS["tx"], result(outcomes(ok=0)), DATABASE, RULES) == ()


@pytest.mark.parametrize(
    ("line", "holds", "words"),
    [
        (AuditLine("a", "a", 5, 5, 5), True, None),
        (AuditLine("a", "a", 4, 5, 5), False, "a: found 4, expected 5"),
        (AuditLine("a", "a", 6, 5, 5), False, "a: found 6, expected 5"),
        (AuditLine("a", "a", 7_000, 5, None), True, None),
        (AuditLine("a", "a", 4, 5_000, None), False, "a: found 4, expected at least 5,000"),
        (AuditLine("a", "a", 7, 5, 7), True, None),
        (AuditLine("a", "a", 8, 5, 7), False, "a: found 8, expected 5 to 7"),
        (AuditLine("a", "a", None, 5, 7), False, "a: found nothing, expected 5 to 7"),
        (AuditLine("a", "a", 5, None, None), False, "a: found 5, expected at least nothing"),
    ],
)
def test_audit_findings(line: AuditLine, holds: bool, words: str | None) -> None:
    """A line of the audit that does not hold is a rejection with both numbers; nothing found never holds."""
    assert line.holds == holds
    findings = answers.audit_findings([line])
    assert [finding.sentence for finding in findings] == ([] if holds else [words])
    assert all(finding.severity is Severity.REJECT and finding.id == "audit:a" for finding in findings)


def work(workload: Workload, good: int, commits: int | None, rows: int | None) -> list[tuple[str, bool]]:
    """The work lines by id, and whether they hold."""
    lines = answers.work_lines(workload, result(outcomes(ok=good)), replace(DATABASE, commits=commits, rows_read=rows))
    return [(line.id, line.holds) for line in lines]


def test_work_lines() -> None:
    """Fewer commits or rows than the answers need do not hold; a workload without the database has no such line."""
    tx, users = WORKLOADS["tx"], WORKLOADS["users"]
    assert work(WORKLOADS["ping"], 1000, 0, 0) == []
    assert work(tx, 1000, 1000, 10**9)[0] == ("commits", True)
    assert work(tx, 1000, 999, 10**9)[0] == ("commits", False)
    assert work(tx, 1000, None, 10**9)[0] == ("commits", False)
    rows = int(1000 * users.first.need.rows_per_answer)
    assert rows > 0
    assert ("rows", True) in work(users, 1000, 10**9, rows)
    assert ("rows", False) in work(users, 1000, 10**9, rows - 1)


@pytest.mark.parametrize(
    ("workload", "commits", "rollbacks", "holds"),
    [
        ("users", 0, 1000, True),  # a session that is closed
        ("db-ping", 10, 990, True),
        ("users", 0, 999, False),  # one answer is cached
        ("users", 50, 50, False),  # several answers share a transaction
        ("tx", 0, 1000, False),  # nothing is kept of what was acknowledged
        ("transfer", 999, 1000, False),
    ],
)
def test_a_transaction_counts_however_it_ends_where_it_only_reads(
    workload: str, commits: int, rollbacks: int, holds: bool
) -> None:
    """An answer that reads may end with a rollback. One that writes needs its commit, and a cache makes neither."""
    ended = replace(DATABASE, commits=commits, rollbacks=rollbacks)
    lines = {line.id: line for line in answers.work_lines(WORKLOADS[workload], result(outcomes(ok=1000)), ended)}
    assert lines["commits"].holds is holds


# ---------------------------------------------------------------- the audit's arithmetic

counts = st.integers(0, 10**9)


@given(st.integers(-(10**9), 10**9), counts, counts)
def test_invariant_without_slack_is_equality(expected: int, unknown: int, off: int) -> None:
    """An invariant that may not be exceeded holds for exactly the expected value, whatever is unknown."""
    for found in (expected - off, expected + off):
        assert answers.invariant_line("i", "s", found, expected, unknown, False).holds == (found == expected)


@given(st.integers(-(10**9), 10**9), counts, st.integers(-(10**9), 10**9))
def test_invariant_with_slack(expected: int, unknown: int, off: int) -> None:
    """One that may be exceeded holds from the acknowledged to the acknowledged and unknown together, both included."""
    line = answers.invariant_line("i", "s", expected + off, expected, unknown, True)
    assert line.holds == (0 <= off <= unknown)


def test_invariant_without_numbers_does_not_hold() -> None:
    """A statement that gave nothing is no success."""
    assert not answers.invariant_line("i", "s", None, 5, 0, True).holds
    assert not answers.invariant_line("i", "s", 5, None, 0, True).holds


accounts = st.dictionaries(
    st.integers(1, 40).map(str), st.tuples(st.integers(-50, 50), st.integers(1, 9), st.booleans()), min_size=1, max_size=12
)


def ledger(story: Mapping[str, tuple[int, int, bool]]) -> tuple[dict[str, LedgerRow], dict[str, int], dict[str, int]]:
    """Rows, and values before and after, of accounts that moved by just what is said; some with a request of unknown outcome."""
    rows = {name: LedgerRow(count, total, int(unknown), 3 * unknown) for name, (total, count, unknown) in story.items()}
    before = {str(number): 100 for number in range(1, 50)}
    after = before | {name: before[name] + row.acknowledged_sum for name, row in rows.items()}
    return rows, before, after


@given(accounts)
def test_ledger_of_an_honest_server_holds(story: dict[str, tuple[int, int, bool]]) -> None:
    """Accounts that moved by what was acknowledged hold, those with nothing acknowledged stayed where they were."""
    line = answers.ledger_line("credits", *ledger(story))
    assert line.holds
    assert (line.found, line.expected_min, line.expected_max) == (0, 0, 0)


@given(accounts, st.integers(1, 49).map(str), st.integers(-9, 9).filter(bool))
def test_ledger_finds_every_wrong_account(story: dict[str, tuple[int, int, bool]], account: str, off: int) -> None:
    """One account that moved otherwise is always found, unless a request of unknown outcome names it."""
    rows, before, after = ledger(story)
    after[account] += off
    line = answers.ledger_line("credits", rows, before, after)
    excused = account in rows and rows[account].unknown_count > 0
    assert line.holds == excused
    assert line.found == (0 if excused else 1)


def test_ledger_of_accounts_that_do_not_exist() -> None:
    """An acknowledged request that adds to an account without a row is wrong; one of unknown outcome is not."""
    strange = {"99": LedgerRow(1, 2, 0, 0), "98": LedgerRow(0, 0, 0, 0), "97": LedgerRow(1, 2, 1, 2)}
    assert answers.ledger_line("credits", strange, {"1": 5}, {"1": 5}).found == 1


def test_ledger_of_accounts_whose_rows_went() -> None:
    """A row that went, as a count by groups does, is right where requests emptied it, and else wrong."""
    before, emptied = {"1": 3, "2": 4}, LedgerRow(3, -3, 0, 0)
    assert answers.ledger_line("messages", {"1": emptied}, before, {"2": 4}).holds
    assert answers.ledger_line("messages", {"1": emptied}, before, {}).found == 1


def test_ledger_sentence() -> None:
    """The sentence says how many rows were held to how many entries."""
    rows = {"1": LedgerRow(3, 7, 0, 0), "2": LedgerRow(1, 2, 1, 5)}
    line = answers.ledger_line("credits", rows, {"1": 0, "2": 0, "3": 0}, {"1": 7, "2": 99, "3": 0})
    assert line.sentence == "each of 2 rows moved by exactly what 4 acknowledged entries say (credits); rows that moved otherwise"


def test_a_clean_result_has_no_findings() -> None:
    """Nothing is found where nothing is wrong."""
    assert answers.outcomes(result()) == ()
