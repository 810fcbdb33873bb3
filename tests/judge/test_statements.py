"""What the database was asked, held against the answers: padding is rejected, the habits of honest drivers are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from builders.contracts import SEEDS
from builders.requests import needing
from fairground.inputs import workload_files
from fairground.judge import statements, tables, thresholds
from fairground.judge.needs import RequestCount
from fairground.model import (
    AuditLine,
    DatabaseUse,
    DatabaseWork,
    Finding,
    Outcomes,
    Result,
    Severity,
    StatementWork,
    TableNeed,
    TableWork,
)

WORKLOADS = {workload.id: workload for workload in workload_files.load_workloads(SEEDS)}
RULES = thresholds.standard().rules
GOOD = 1000
LIFE = Outcomes(GOOD, 0, {}, 0, 0, 0, 0, 0, 0, 0)
RESULT = Result(
    "engine", (), 1.0, LIFE, LIFE, GOOD, GOOD, 0, 0, None, None, None, None, None, (), None, (), None, None,
)  # fmt: skip
PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text"
USERS = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"
DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2"


def use(seen: Mapping[str, int], commits: int = GOOD, work: DatabaseWork | None = None) -> DatabaseUse:
    """A database whose backends were seen after these statements."""
    sampled = statements.tally({("idle", text): count for text, count in seen.items()})
    return DatabaseUse(commits, 0, 0, 0, None, None, {}, 0, statements=sampled, work=work)


def line(workload: str, database: DatabaseUse, id: str = "statements") -> AuditLine | None:
    """One line of the audit."""
    return next((one for one in statements.lines(WORKLOADS[workload], RESULT, database, RULES) if one.id == id), None)


def found(workload: str, database: DatabaseUse) -> dict[str, Finding]:
    """The findings by id; all of them are notes."""
    all_of_them = statements.findings(WORKLOADS[workload], RESULT, database, RULES)
    assert {one.severity for one in all_of_them} <= {Severity.NOTE}
    return {one.id: one for one in all_of_them}


# ---------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("workload", "text"),
    [
        ("db-ping", PING),
        ("db-ping", f"{PING} AS text"),
        ("db-ping", "select json_build_object($1, $2, $3, $4)::text"),
        ("db-ping", f"/* traced */ {PING} -- by a tool"),
        ("db-ping", f"BEGIN; {PING}; COMMIT"),
        ("db-time", "SELECT json_build_object($1, extract($2 from now())::integer)::text"),
        ("users", 'SELECT "id", "username", "name",\n "sex", "address", "mail", "birthdate" FROM "users" ORDER BY "id"'),
        (
            "users",
            'SELECT "users"."id", "users"."username", "users"."name", "users"."sex", "users"."address", "users"."mail",'
            ' "users"."birthdate" FROM "users" ORDER BY "users"."id" ASC',
        ),
        ("tx", "SELECT pgbench_tx(1, 2, 3, -5)"),
        ("tx", "SELECT pgbench_tx($1::bigint, $2::bigint, $3::bigint, $4::integer)"),
        ("transfer", "UPDATE web_users SET credits=credits - 5 WHERE id=7"),
    ],
)
def test_forms_of_a_declared_statement(workload: str, text: str) -> None:
    """However a driver writes constants, names, comments and aliases, it is the declared statement."""
    assert statements.kind(statements.normalise(text), WORKLOADS[workload]) == "declared"


@pytest.mark.parametrize("name", ["a -- b", "a /* b", "a $$ b", 'a " b', "it''s", "ok"])
def test_a_constant_holds_what_it_likes(name: str) -> None:
    """What begins a comment outside of a text is a part of it inside, as drivers write that bind on the client."""
    made = statements.normalise(f"INSERT INTO items (name, price_cents, stock) VALUES ('{name}', 1, 2) RETURNING id, revision")
    assert made == "insert into items(name,price_cents,stock)values(?,?,?)returning id,revision"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "WITH debit AS (UPDATE web_users SET credits = credits - $1 WHERE id = $2 RETURNING id)"
            " UPDATE web_users SET credits = credits + $1 WHERE id = $3 AND EXISTS (SELECT 1 FROM debit)",
            "merged",
        ),
        ("UPDATE web_users SET credits = credits + CASE id WHEN $2 THEN -$1 ELSE $1 END WHERE id IN ($2, $3)", "merged"),
        (
            "UPDATE web_users SET credits = credits + m.by FROM (VALUES ($1, $2), ($3, $4)) AS m(id, by) WHERE web_users.id = m.id",
            "merged",
        ),
        ('UPDATE "web_users" SET "credits" = ("web_users"."credits" - $1) WHERE ("web_users"."id" = $2)', "declared"),
        ("update web_users set credits=credits+$1 where web_users.id=$2 returning web_users.id", "declared"),
    ],
)
def test_one_statement_in_place_of_two(text: str, kind: str) -> None:
    """A transfer is two statements: one that does the work of both is none of them, however it joins them."""
    assert statements.kind(statements.normalise(text), WORKLOADS["transfer"]) == kind


ORDER = ("INSERT INTO orders", "INSERT INTO order_lines", "SELECT price", "UPDATE products SET stock")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO orders (customer, key) VALUES ($1, $2) RETURNING id", "declared"),
        ("INSERT INTO order_lines (id, price) SELECT $1, price FROM products WHERE id = $2", "declared"),
        ("SELECT price FROM products WHERE id = $1", "declared"),
        ("UPDATE products SET stock = stock - $1, changed = $2::timestamp with time zone WHERE id = $3", "declared"),
        ("UPDATE products SET stock = stock - $1, changed = cast($2 as timestamp with time zone) WHERE id = $3", "declared"),
        ("UPDATE products SET stock = stock - m.by FROM (VALUES ($1, $2), ($3, $4)) AS m(id, by)", "merged"),
        ("WITH o AS (INSERT INTO orders (a) VALUES ($1) RETURNING id) INSERT INTO order_lines SELECT id FROM o", "merged"),
        ("INSERT INTO order_lines SELECT 1 UNION SELECT 2", "merged"),
    ],
)
def test_a_beginning_lacks_words_that_its_whole_statement_has(text: str, kind: str) -> None:
    """What one whole statement of a verb has by itself joins nothing; what does the work of several is found all the same."""
    order = needing(WORKLOADS["transfer"], statements=ORDER, statements_per_answer=4)
    assert statements.kind(statements.normalise(text), order) == kind


def test_a_whole_statement_is_merged_by_another_kind_of_its_verb() -> None:
    """Where the declared INSERT has its values, one that selects many rows is none of them."""
    whole = needing(WORKLOADS["transfer"], statements=("INSERT INTO lines (id) VALUES ($1)",), statements_per_answer=3)
    found = [
        statements.kind(statements.normalise(f"INSERT INTO lines (id) {rest}"), whole)
        for rest in ("VALUES (7)", "SELECT 1, '' values")
    ]
    assert found == ["declared", "merged"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BEGIN ISOLATION LEVEL READ COMMITTED", "transaction"),
        ("COMMIT", "transaction"),
        ("DISCARD ALL", "reset"),
        ("SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;", "reset"),
        ("SELECT 1", "ping"),
        ("-- ping", "ping"),
        ("", "ping"),
        ("SELECT t.oid FROM pg_catalog.pg_type AS t", "catalog"),
        ("SELECT count(*) FROM users", "other"),
        ("SELECT 1 -- SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id", "ping"),
        (f"SELECT '{USERS.replace(chr(39), '')}'", "ping"),
        ("BEGIN; SELECT count(*) FROM users; COMMIT", "other"),
        (f"SELECT 1 /* /* */ {USERS} */", "ping"),
        (f"SELECT $${USERS}$$", "ping"),
        (f"SELECT $of${USERS} $$ $of$", "ping"),
        (f"SELECT E'\\' {USERS}'", "ping"),
        (f'SELECT 1 AS "x, {USERS[7:]}"', "ping"),
        ("EXPLAIN SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id", "other"),
        ("SELECT 'id username name sex address mail birthdate' FROM users ORDER BY id", "other"),
    ],
)
def test_kinds_of_undeclared_statements(text: str, kind: str) -> None:
    """Control, pings and looks into the catalogue are known; a declared text inside a comment or constant is none."""
    assert statements.kind(statements.normalise(text), WORKLOADS["users"]) == kind


@pytest.mark.parametrize(
    ("workload", "text", "said"),
    [
        ("users", USERS.replace("address", "translate(address, 'abc', 'def') AS address"), True),
        ("users", f"SELECT json_agg(found) FROM ({USERS}) AS found", True),
        ("users", f"SELECT array_to_json(array(SELECT found FROM ({USERS}) AS found))", True),
        ("users", f"SELECT json_arrayagg(found) FROM ({USERS}) AS found", True),
        ("users", USERS.replace(" name,", " COALESCE(name, '') AS name,"), False),
        ("db-ping", PING, False),
        ("db-ping", f"SELECT upper({PING.removeprefix('SELECT ')})", True),
    ],
)
def test_what_the_database_does_for_the_server_is_named(workload: str, text: str, said: bool) -> None:
    """A declared statement that also makes texts or JSON is a note; what the contract's own statement calls is none."""
    assert statements.kind(statements.normalise(text), WORKLOADS[workload]) == "declared"
    assert ("statement-computed" in found(workload, use({text: 400}))) == said


def test_tally_is_bounded_and_loses_nothing() -> None:
    """Statements that differ in constants are one, the rarest share a name, and all samples are counted."""
    samples = {("idle", f"SELECT {'a' * number}"): number for number in range(1, 101)}
    samples |= {("running", "SELECT 7"): 500, ("idle", "SELECT 8"): 500}
    seen = statements.tally(samples)
    assert seen["select ?"] == {"running": 500, "idle": 500}
    assert len(seen) == statements.MOST_TEXTS + 1
    assert sum(sum(doing.values()) for doing in seen.values()) == sum(samples.values())


def test_declared_tables_and_functions_exist() -> None:
    """What the workloads declare is in the contract's schema, and whoever asks the database declares a statement."""
    schema = SEEDS.sql["schema"]
    for workload in WORKLOADS.values():
        need = workload.first.need
        assert bool(need.statements) is workload.uses_database
        for name in (*need.tables, *need.functions):
            assert f"{'FUNCTION' if name in need.functions else 'TABLE'} {name} (".replace("_tx (", "_tx(") in schema


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize("padding", ["SELECT 1", "SELECT count(*) FROM users", "SELECT now()"])
def test_padded_commits_do_not_hold(padding: str) -> None:
    """Enough commits with another statement behind them are found out, also where some are honest."""
    for honest in (0, 20):
        padded = line("users", use({padding: 400 - honest, USERS: honest}))
        assert padded is not None and not padded.holds


def test_honest_statements_hold() -> None:
    """A driver that resets after each use, one that pings before it, and a query for each row are honest, and named."""
    resets = use({USERS: 30, "DISCARD ALL": 370})
    pings = use({USERS: 200, "SELECT 1": 200}, commits=2 * GOOD)
    queries_rows = use({USERS: 10, "SELECT mail FROM users WHERE id = $1": 990}, commits=101 * GOOD)
    plain = use({USERS: 400})
    for database in (resets, pings, queries_rows, plain):
        held = line("users", database)
        assert held is not None and held.holds
    assert found("users", resets)["statement-reset"].evidence["share"] == 0.925
    assert found("users", pings)["statement-ping"].evidence == {"share": 0.5, "of": 400, "statement": "select ?"}
    assert found("users", queries_rows)["statement-other"].evidence["statement"] == "select mail from users where id=?"
    assert not [name for name in found("users", plain) if name.startswith("statement-")]


@pytest.mark.parametrize(
    "slow",
    [
        {("Lock:advisory", "SELECT pg_advisory_lock(7)"): 900, ("idle", "SELECT pg_advisory_unlock(7)"): 300},
        {("Lock:relation", "LOCK TABLE users IN EXCLUSIVE MODE"): 900, ("idle in transaction", "LOCK TABLE users"): 40},
        {("Timeout:PgSleep", "SELECT pg_sleep(0.1)"): 900, ("idle", "SELECT pg_sleep(0.1)"): 30},
        {("running", "SELECT count(*) FROM pgbench_accounts"): 900, ("idle", "SELECT count(*) FROM pgbench_accounts"): 20},
        {("Lock:tuple", "SELECT id FROM web_users WHERE id = 1 FOR UPDATE"): 900, ("idle", "SELECT id FROM web_users"): 30},
    ],
    ids=["advisory lock", "table lock", "sleep", "scan", "row lock"],
)
def test_what_takes_long_before_the_declared_statement_is_no_padding(slow: Mapping[tuple[str, str], int]) -> None:
    """Samples weigh time, and the audit asks for calls. A quick statement in as many samples is one that pays."""
    seen = {**slow, ("running", USERS): 10, ("idle", USERS): 60}
    sampled = replace(use({}, commits=2 * GOOD), statements=statements.tally(seen))
    told = line("users", sampled)
    assert told is not None and told.holds
    quick = {("idle", "SELECT 1"): 900, ("running", "SELECT 1"): 900, ("idle", USERS): 60}
    paid = line("users", replace(use({}, commits=2 * GOOD), statements=statements.tally(quick)))
    assert paid is not None and not paid.holds


def test_what_a_name_hides_is_left_to_the_scans() -> None:
    """EXECUTE and FETCH show no text. Where no scans are counted or declared, they stand behind no answer."""
    hidden, work = {"EXECUTE get_users(17)": 380, "FETCH ALL FROM c": 20}, DatabaseWork({}, None)
    assert line("users", use(hidden, work=work)) is None
    assert {"statements-unknown", "statement-hidden"} <= found("users", use(hidden, work=work)).keys()
    for told in (line("users", use(hidden)), line("db-ping", use(hidden, work=work))):
        assert told is not None and not told.holds
    padded = line("users", use({**hidden, "SELECT 1": 400}, work=work))
    assert padded is not None and not padded.holds


def test_executions_are_counted_by_the_text_that_was_prepared() -> None:
    """`pg_stat_statements` keeps the whole PREPARE; what it prepares is the statement."""
    for text, holds in (
        (f"PREPARE get_users (int) AS {USERS}", True),
        (f"prepare a as {USERS}", True),
        ("PREPARE a AS SELECT 1", False),
    ):
        work = DatabaseWork({}, None, {text: StatementWork(GOOD, 100 * GOOD, 5.0)})
        told, returned = line("users", use({}, work=work)), line("users", use({}, work=work), "rows-returned")
        assert told is not None and told.holds is holds and returned is not None and returned.holds is holds


def test_a_transaction_is_no_surprise_where_it_is_needed() -> None:
    """BEGIN and COMMIT belong to a transfer, and are named around a single statement."""
    assert "statement-transaction" not in found("transfer", use({DEBIT: 200, "COMMIT": 200}))
    assert "statement-transaction" in found("users", use({USERS: 200, "COMMIT": 200}))


@pytest.mark.parametrize(
    ("commits_asked", "seen", "holds"), [(0, PING, True), (0, "SELECT 1", False), (1, PING, True), (1, "SELECT 1", False)]
)
def test_a_session_that_reads_may_end_with_a_rollback(commits_asked: int, seen: str, holds: bool) -> None:
    """As those of object mappers do. Transactions of other statements answer nothing however they end."""
    asked = needing(WORKLOADS["db-ping"], commits_per_answer=float(commits_asked))
    rolled_back = replace(use({seen: 500}, commits=5), rollbacks=GOOD)
    (one,) = [each for each in statements.lines(asked, RESULT, rolled_back, RULES) if each.id == "statements"]
    assert one.holds is holds


def test_too_few_samples_are_no_verdict() -> None:
    """With too few samples there is no line, and a note says what was not checked."""
    few = use({"SELECT 1": RULES.statement_samples - 1})
    assert line("users", few) is None
    assert "the statements (fewer than 30 samples)" in found("users", few)["statements-unknown"].sentence


def test_workloads_without_a_database_have_no_lines() -> None:
    """Where no answer needs the database nothing is held against it."""
    seen = use({"SELECT 1": 400}, work=DatabaseWork({}))
    assert statements.lines(WORKLOADS["ping"], RESULT, seen, RULES) == ()
    assert found("ping", seen) == {}


# ---------------------------------------------------------------- counters


def test_counted_statements_are_exact() -> None:
    """Where the database counts statements, one fewer than the answers does not hold, whatever the samples show."""
    for calls, holds in ((GOOD, True), (GOOD - 1, False)):
        work = DatabaseWork({"users": TableWork(GOOD, 100 * GOOD)}, None, {USERS: StatementWork(calls, 100 * calls, 5.0)})
        counted = line("users", use({"SELECT 1": 400}, work=work))
        assert counted == AuditLine(
            "statements", "at least 1 of the declared statements run for each good answer", calls, GOOD, None
        )
        assert counted.holds is holds


def test_a_portal_that_is_fetched_in_part_does_not_hold() -> None:
    """The table was read whole for each answer, and the declared statement returned one row of it."""
    for rows, holds in ((100 * GOOD, True), (GOOD, False)):
        work = DatabaseWork({"users": TableWork(GOOD, 100 * GOOD)}, None, {USERS: StatementWork(GOOD, rows, 5.0)})
        counted = line("users", use({}, work=work), "rows-returned")
        assert counted is not None and (counted.found, counted.holds) == (rows, holds)


@pytest.mark.parametrize(("holds", "read"), [(1, {"items": 100}), (1, {"items": 1, "orders": 1}), (0, {"items": 100}), (10, {})])
def test_an_answer_may_hold_fewer_rows_than_it_reads(holds: int, read: Mapping[str, int]) -> None:
    """A sum reads many rows and returns one, as does a join of two tables: the line asks for no more than the answer holds."""
    text, tables = "SELECT count(*) FROM items", {name: TableNeed(rows=rows) for name, rows in read.items()}
    asked = needing(WORKLOADS["page"], rows_per_answer=holds, statements=(text,), tables=tables)
    work = DatabaseWork({}, None, {text: StatementWork(GOOD, GOOD, 5.0)})
    every = statements.lines(asked, RESULT, use({}, work=work), RULES)
    returned = next((one for one in every if one.id == "rows-returned"), None)
    assert (returned is not None) == bool(holds and read) and (returned is None or returned.holds)


@pytest.mark.parametrize(("rows", "entries", "found"), [(0, 20, 20), (20, 90, 20), (0, 19, 19), (0, 90, 90)])
def test_rows_that_an_index_holds_are_read(rows: int, entries: int, found: int) -> None:
    """Entries of indexes count where too few rows were read, and are held to the same bounds: they pay for no other answers."""
    work = DatabaseWork({"items": TableWork(GOOD, rows * GOOD, 0, index_entries=entries * GOOD)})
    counted = line("page", use({}, work=work), "rows-items")
    assert counted is not None and (counted.found, counted.holds) == (found * GOOD, found == 20)


def test_tables_and_functions_are_held_against_the_answers() -> None:
    """Scans, rows and calls below what the answers need do not hold; a table that is gone does not either."""
    full = use({}, work=DatabaseWork({"users": TableWork(GOOD, 100 * GOOD)}))
    assert all(one.holds for id in ("scans-users", "rows-users") if (one := line("users", full, id)) or pytest.fail(id))
    thin = use({}, work=DatabaseWork({"users": TableWork(GOOD - 1, 100 * GOOD - 1)}))
    gone = use({}, work=DatabaseWork({}))
    for database in (thin, gone):
        for id in ("scans-users", "rows-users"):
            short = line("users", database, id)
            assert short is not None and not short.holds
    tables = dict.fromkeys(("pgbench_accounts", "pgbench_tellers", "pgbench_branches"), TableWork(GOOD, GOOD))
    for calls, holds in ((GOOD, True), (GOOD - 1, False)):
        called = line("tx", use({}, work=DatabaseWork(tables, {"pgbench_tx": calls})), "calls-pgbench_tx")
        assert called is not None and called.holds is holds
    assert line("tx", use({}, work=DatabaseWork(tables)), "calls-pgbench_tx") is None
    assert "`track_functions` is off" in found("tx", use({}, work=DatabaseWork(tables)))["statements-unknown"].sentence


def test_scans_are_told_where_one_request_may_make_them() -> None:
    """Of a workload of one request also where it declares none: nobody else scans its tables."""
    asked = needing(WORKLOADS["page"], tables={"items": TableNeed(rows=20)}, statements=())
    every = statements.lines(asked, RESULT, use({}, work=DatabaseWork({"items": TableWork(3, 20 * GOOD)})), RULES)
    assert [(one.found, one.expected_min) for one in every if one.id == "scans-items"] == [(3, 0)]


def test_a_query_for_each_row_is_named() -> None:
    """A table that is scanned far more often than the answers need is a finding with scans for each answer and rows for each."""
    seen = found(
        "users", use({USERS: 400}, work=DatabaseWork({"users": TableWork(101 * GOOD, 200 * GOOD), "web_users": TableWork(9, 9)}))
    )
    assert seen["scans-users"].evidence == {"scans_per_answer": 101.0, "rows_per_scan": 1.98, "needed": 1.0}
    assert "scans-web_users" not in seen


def test_a_table_that_is_read_whole_is_named() -> None:
    """Ten thousand rows for each answer that needs one are named with table and rows, and whether an index was in it."""
    for sequential, said in (
        (10_000 * GOOD, "missing, or is not used"),
        (9, "does not select"),
        (None, "missing, or is not used"),
    ):
        seen = found("tx", use({}, work=DatabaseWork({"pgbench_accounts": TableWork(GOOD, 10_001 * GOOD, sequential)})))
        whole = seen["unindexed-pgbench_accounts"]
        assert whole.severity is Severity.NOTE and said in whole.sentence
        assert "10,001 rows of `pgbench_accounts` were read for each good answer, which needs 1: an index" in whole.sentence
        assert (whole.evidence["rows_per_answer"], whole.evidence["rows"]) == (10_001, 10_001 * GOOD)


@pytest.mark.parametrize(
    ("workload", "table", "rows"),
    [
        ("tx", "pgbench_tellers", 100),
        ("tx", "pgbench_tellers", 1000),
        ("users", "users", 100),
        ("users", "users", 1100 - 1),
        ("transfer", "web_users", 2),
    ],
)
def test_tables_that_are_read_as_they_should(workload: str, table: str, rows: int) -> None:
    """A small table is read whole by the planner's choice, and rows that an answer holds have to be read: nothing is said."""
    seen = found(workload, use({}, work=DatabaseWork({table: TableWork(2 * GOOD, rows * GOOD, rows * GOOD)})))
    assert f"unindexed-{table}" not in seen


def test_nobody_knows_what_was_read() -> None:
    """Without counters or answers nothing is said of rows; of two tables the one with more rows is."""
    workload = WORKLOADS["tx"]
    counts = (RequestCount(workload.first, GOOD, GOOD),)
    assert tables.read_whole(counts, None, RULES) is None
    many = {"a": TableWork(1, 5000 * GOOD), "b": TableWork(1, 9000 * GOOD)}
    assert tables.read_whole((RequestCount(workload.first, 0, GOOD),), DatabaseWork(many), RULES) is None
    worst = tables.read_whole(counts, DatabaseWork(many), RULES)
    assert worst is not None and (worst.table, worst.needed) == ("b", 0)


def test_work_since_a_moment() -> None:
    """Counters are differences, what was not counted before counts from 0, and what is unknown stays unknown."""
    before = DatabaseWork({"users": TableWork(2, 200)}, {"f": 3}, {"a": StatementWork(1, 1, 2.0), "b": StatementWork(4, 4, 4.0)})
    assert TableWork(5, 500, 400).since(TableWork(2, 200, 150)) == TableWork(3, 300, 250)
    entries = TableWork(5, 500, index_entries=50)
    assert entries.since(TableWork(2, 200, index_entries=20)).index_entries == 30 and (entries + entries).index_entries == 100
    assert TableWork(5, 500, 400).since(TableWork(2, 200)) == TableWork(3, 300, None)
    after = DatabaseWork(
        {"users": TableWork(5, 500), "new": TableWork(1, 1)},
        {"f": 4, "g": 1},
        {"a": StatementWork(3, 3, 5.0), "b": StatementWork(4, 4, 4.0), "c": StatementWork(1, 0, 1.0)},
    )
    assert after.since(before) == DatabaseWork(
        {"users": TableWork(3, 300), "new": TableWork(1, 1)},
        {"f": 1, "g": 1},
        {"a": StatementWork(2, 2, 3.0), "c": StatementWork(1, 0, 1.0)},
    )
    assert replace(after, functions=None, statements=None).since(before).functions is None


# ---------------------------------------------------------------- time


def test_busiest_statement() -> None:
    """The statement that ran most is the counted one where time is counted, else that of most samples at work."""
    sampled = DatabaseUse(
        1, 0, 0, 0, None, None, {}, 0, statements=statements.tally({("running", "SELECT a"): 30, ("running", "SELECT b"): 10, ("idle", "SELECT c"): 99}),
    )  # fmt: skip
    assert statements.busiest(sampled) == ("select a", 0.75)
    counted = DatabaseWork({}, None, {"SELECT x($1)": StatementWork(1, 1, 90.0), "SELECT y": StatementWork(9, 9, 10.0)})
    assert statements.busiest(replace(sampled, work=counted)) == ("select x(?)", 0.9)
    assert statements.busiest(use({})) is None


# ---------------------------------------------------------------- what pays for many answers at once


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"BEGIN; {PING}; COMMIT", statements.DECLARED),
        (";".join([PING, *["BEGIN;COMMIT"] * 2]), "other"),
        (f"DO $$ BEGIN PERFORM 1; {PING}; END $$", "other"),
    ],
)
def test_many_statements_in_one_message_are_not_the_declared_one(text: str, kind: str) -> None:
    """A transaction around the declared statement is its; a message of many statements, or a block around it, is not."""
    assert statements.kind(statements.normalise(text), WORKLOADS["db-ping"]) == kind


@pytest.mark.parametrize(("more", "holds"), [(0, True), (1, False)])
def test_far_more_commits_than_requests_need(more: int, holds: bool) -> None:
    """Commits may be a few times what requests need, and some for each connection; one more is a payment."""
    most = RULES.paid_most * GOOD + RULES.paid_free * 3
    told = line("db-ping", replace(use({}, commits=int(most) + more), sessions=2), "commits-most")
    assert told is not None and told.holds is holds


def test_a_query_for_each_row_pays_for_nothing() -> None:
    """Its commits are as many as the scans of the table; the same number of commits without them is a payment."""
    asked = use({USERS: 400}, commits=101 * GOOD, work=DatabaseWork({"users": TableWork(101 * GOOD, 200 * GOOD)}))
    for database, holds in ((asked, True), (use({USERS: 400}, commits=101 * GOOD), False)):
        told = line("users", database, "commits-most")
        assert told is not None and told.holds is holds


@pytest.mark.parametrize(("scans", "rows", "said"), [(100, 10_000, False), (2_000, 2_000, False), (1, 10_000, True)])
def test_many_scans_of_few_rows_lack_no_index(scans: int, rows: int, said: bool) -> None:
    """Queries for each row by a primary key, or on a table of a hundred rows, read many rows in all; a table that is read whole is one scan."""
    work = DatabaseWork({"web_users": TableWork(scans * GOOD, rows * GOOD, 0)})
    assert (tables.read_whole((RequestCount(WORKLOADS["db-ping"].first, GOOD, GOOD),), work, RULES) is not None) is said


@pytest.mark.parametrize(("rows", "holds"), [(99 * GOOD, False), (100 * GOOD, True), (400 * (GOOD + 100), True), (10**9, False)])
def test_far_more_rows_than_requests_need(rows: int, holds: bool) -> None:
    """A table's rows have a bound on both sides where a workload says how many an answer reads."""
    told = line("users", use({}, work=DatabaseWork({"users": TableWork(GOOD, rows)})), "rows-users")
    assert told is not None and told.holds is holds


@pytest.mark.parametrize(("updated", "holds"), [(19 * GOOD, True), (19 * GOOD - 1, False), (90 * GOOD, False)])
def test_rows_that_are_written_are_held_against_the_answers(updated: int, holds: bool) -> None:
    """An answer that writes nineteen rows leaves as many counted, and four times as many pay for something else."""
    need = TableNeed(scans=0, updated=19)
    asked = needing(WORKLOADS["tx"], tables={"t": need}, functions={}, statements=())
    work = DatabaseWork({"t": TableWork(0, 0, None, 0, updated)})
    found = {one.id: one for one in statements.lines(asked, RESULT, use({}, work=work), RULES)}
    assert found["updated-t"].found == updated and found["updated-t"].holds is holds


@pytest.mark.parametrize("workload", ["transfer", "transfer-ordered"])
@pytest.mark.parametrize(("updated", "holds"), [(2 * GOOD, True), (GOOD // 5, False)])
def test_a_transfer_writes_two_rows(workload: str, updated: int, holds: bool) -> None:
    """Updates that find no row scan the table as often, and the ledger knows sums alone."""
    told = line(
        workload,
        use({DEBIT: GOOD}, work=DatabaseWork({"web_users": TableWork(2 * GOOD, 0, updated=updated)})),
        "updated-web_users",
    )
    assert told is not None and told.holds is holds


def test_a_table_may_stand_for_another() -> None:
    """What a server does on one or the other is added up, and what it does on a third is neither's."""
    seen = {
        "t": TableWork(1, 1, 1, updated=1),
        "T": TableWork(GOOD - 1, GOOD - 1, 0, updated=GOOD - 1),
        "u": TableWork(GOOD, GOOD),
    }
    asked = needing(WORKLOADS["tx"], tables={"t": TableNeed(1, 1, updated=1, also=("T",))}, functions={}, statements=())
    work = DatabaseWork(seen).join_tables(asked.tables_in_place)
    assert work.tables == {"t": TableWork(GOOD, GOOD, 1, updated=GOOD), "u": TableWork(GOOD, GOOD)}
    lines = {one.id: one for one in statements.lines(asked, RESULT, use({}, work=work), RULES)}
    assert all(lines[id].holds for id in ("rows-t", "updated-t"))
    apart = {one.id: one for one in statements.lines(asked, RESULT, use({}, work=DatabaseWork(seen)), RULES)}
    assert not apart["rows-t"].holds and not apart["updated-t"].holds


@pytest.mark.parametrize(("most", "holds"), [(None, False), (41.0, True)])
def test_an_answer_may_make_as_many_commits_as_its_workload_says(most: float | None, holds: bool) -> None:
    """An honest server that commits each of twenty rows by itself makes more commits than it needs, and is told apart from a payer."""
    asked = needing(WORKLOADS["tx"], most_commits_per_answer=most)
    found = {one.id: one for one in statements.lines(asked, RESULT, use({}, commits=21 * GOOD), RULES)}
    assert found["commits-most"].holds is holds


@pytest.mark.parametrize(("workload", "holds"), [("db-ping", False), ("tx", True)])
def test_rollbacks_pay_for_answers_no_more_than_commits(workload: str, holds: bool) -> None:
    """Where they count as commits they have the same bound. A write that fails rolls back, and is no payment."""
    paying = replace(use({}, commits=0), rollbacks=5 * GOOD)
    asked = {one.id: one for one in statements.lines(WORKLOADS[workload], RESULT, paying, RULES)}
    assert asked["commits-most"].holds is holds
    session = {one.id: one for one in statements.lines(WORKLOADS[workload], RESULT, replace(paying, rollbacks=GOOD), RULES)}
    assert session["commits-most"].holds


def test_texts_of_a_server_are_not_kept_for_ever() -> None:
    """Each of its statements may be a text of its own, of 16 kB."""
    for number in range(statements.KEPT_TEXTS + 10):
        assert statements.normalise(f"SELECT {number} AS one") == "select ?"
    assert statements.normalise.cache_info().currsize == statements.KEPT_TEXTS
