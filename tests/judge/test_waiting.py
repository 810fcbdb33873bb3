"""What limits a cell that waits: for locks, timers, or a connection of its pool."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import bottleneck
from fairground.judge.pools import held_cell_of
from fairground.model import (
    DatabaseWork,
    Latency,
    PathWire,
    StatementWork,
    Topology,
)
from judge.limited_cells import CELL, DATABASE, HOST, REASONS, latency, limit, limits, outcomes, result, roles

LOCKED = {"running": 60, "Lock:transactionid": 30, "Lock:tuple": 10, "idle": 1000}


FREE = {"running": 71, "Lock:transactionid": 29, "idle": 10}


@pytest.mark.parametrize(
    ("events", "deadlocks", "said"),
    [
        (LOCKED, 0, "db-lock"),
        (LOCKED, None, "db-lock"),
        (LOCKED, 3, "deadlock"),
        (FREE, 3, None),
        ({"idle": 500}, 0, None),
        ({}, 0, None),
        ({"LWLock:WALWrite": 90, "running": 10}, 0, "db-commit"),
        ({"IO:WalSync": 29, "running": 71}, 0, None),
    ],
)
def test_limit_by_locks(events: dict[str, int], deadlocks: int | None, said: str | None) -> None:
    """Busy backends that wait for row locks are the limit, by deadlocks where there were any; idle ones do not thin them out."""
    assert limit({}, database=replace(DATABASE, wait_events=events, deadlocks=deadlocks)) == said


def test_a_lock_is_called_what_it_is() -> None:
    """Advisory locks are no row locks, and the evidence tells them apart for the experiment."""
    named = {"advisory": "an advisory lock", "tuple": "a row lock", "transactionid": "a row lock", "relation": "a table lock"}
    for event, said in ((f"Lock:{name}", said) for name, said in named.items()):
        waiting = replace(DATABASE, wait_events={event: 40, "running": 60}, deadlocks=0)
        (found,) = bottleneck.limits(CELL, result(), {}, HOST, waiting, 2, REASONS)
        assert f"waited for {said}" in found.sentence
        assert ("waiting_for_advisory_locks" in found.evidence) is (event == "Lock:advisory")


def test_waiting_goes_before_work() -> None:
    """Locks are named first, and full cores beside them; deadlocks alone, since what they leave is their consequence."""
    locked = replace(DATABASE, wait_events=LOCKED)
    assert limits(roles(server=1.0, database=0.9), database=locked) == ["db-lock", "app-cpu"]
    assert limits(roles(server=1.0, database=0.9), database=replace(locked, deadlocks=3)) == ["deadlock"]
    assert limit(roles(server=1.0, database=0.9), database=None) == "app-cpu"


@pytest.mark.parametrize(
    ("p50_us", "delayed", "said"),
    [
        (41_000, 900, "delayed-ack"),
        (38_000, 500, "delayed-ack"),
        (50_000, 500, "delayed-ack"),
        (37_999, 900, None),
        (50_001, 900, None),
        (41_000, 499, None),
        (None, 900, None),
        (41_000, None, None),
    ],
)
def test_limit_by_delayed_acknowledgements(p50_us: int | None, delayed: int | None, said: str | None) -> None:
    """Answers that take 40 ms while the kernel delays as many acknowledgements are named; either alone is not."""
    host = replace(HOST, tcp={} if delayed is None else {"TcpExtDelayedACKs": delayed})
    assert limit({}, result(latency_ok=latency(p50_us)), host) == said


@pytest.mark.parametrize(
    ("p75_us", "said"), [(43_900, "delayed-ack"), (50_000, "delayed-ack"), (50_001, "db-lock"), (55_519, "db-lock")]
)
def test_scattered_answers_wait_for_no_acknowledgement(p75_us: int, said: str) -> None:
    """Their median may be 41 ms by chance while sockets to the database have delayed acknowledgements: locks are named then."""
    host = replace(HOST, tcp={"TcpExtDelayedACKs": 900})
    slow = replace(latency(41_439), p75_us=p75_us)
    assert limit({}, result(latency_ok=slow), host, replace(DATABASE, wait_events=LOCKED)) == said


def test_work_explains_answers_of_40_ms() -> None:
    """The kernel holds back acknowledgements of requests that wait for a processor as long; what else is waited for is still said."""
    host, slow = replace(HOST, tcp={"TcpExtDelayedACKs": 900}), result(latency_ok=latency(44_000))
    full = roles(server=1.0, database=0.9)
    assert limits(full, slow, host) == ["app-cpu"]
    assert limits(full, slow, host, replace(DATABASE, wait_events=LOCKED)) == ["db-lock", "app-cpu"]


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (PathWire(server_ms=42), "wire"),
        (PathWire(server_ms=20, database_ms=20), "wire"),
        (PathWire(server_ms=1), "delayed-ack"),
    ],
)
def test_a_wire_explains_answers_of_40_ms(wire: PathWire, said: str) -> None:
    """A request whose answer is that long on its way has a delayed acknowledgement."""
    host, far = replace(HOST, tcp={"TcpExtDelayedACKs": 900}), replace(CELL, topology=Topology(wire=wire))
    assert limit({}, result(latency_ok=latency(42_000)), host, cell=far) == said


@pytest.mark.parametrize(("delay_ms", "each", "said"), [(10, 4, "wire"), (10, 1, "delayed-ack"), (1, 4, "delayed-ack")])
def test_round_trips_to_the_database_explain_answers_of_40_ms(delay_ms: float, each: int, said: str) -> None:
    """A transfer has four statements, each of which is on its way for as long."""
    host, far = (
        replace(HOST, tcp={"TcpExtDelayedACKs": 900}),
        replace(CELL, topology=Topology(wire=PathWire(database_ms=delay_ms))),
    )
    asked = {f"statement {number}": StatementWork(1000, 0, 1.0) for number in range(each)}
    silent = replace(DATABASE, wait_events={"idle in transaction": 200}, work=DatabaseWork({}, statements=asked))
    slow = latency(42_000, mean_us=42_000.0)
    assert limit({}, result(latency_ok=slow), host, silent, far) == said


@pytest.mark.parametrize(("busy", "said"), [(0, "wire"), (190, "delayed-ack")])
def test_a_database_far_away_explains_them_where_nobody_counts_statements(busy: int, said: str) -> None:
    """As on the lab's own: its backends wait for the wire. Where they work, answers are not on it."""
    host = replace(HOST, tcp={"TcpExtDelayedACKs": 900})
    far = replace(CELL, topology=Topology(wire=PathWire(database_ms=10)))
    seen = replace(DATABASE, wait_events={"idle in transaction": 200 - busy, "running": busy}, wait_samples=10)
    assert limit({}, result(latency_ok=latency(42_000, mean_us=42_000.0)), host, seen, far) == said


def test_delayed_acknowledgements_need_answers_and_counters() -> None:
    """Without latency, without the machine's counters or without an answer nothing is said of them."""
    host = replace(HOST, tcp={"TcpExtDelayedACKs": 900})
    assert limit({}, result(latency_ok=None), host) is None
    assert limit({}, result(latency_ok=latency(41_000)), None) is None
    assert limit({}, result(outcomes(ok=0), latency_ok=latency(41_000)), host) is None


@pytest.mark.parametrize(
    ("p50_us", "p99_us", "said"), [(204_000, 208_000, True), (204_000, 900_000, False), (9_000, 9_100, False)]
)
def test_answers_that_all_take_as_long_may_wait_for_a_timer(p50_us: int, p99_us: int, said: bool) -> None:
    """Connections were too few for it by Little's law, and the sentence says what else it may be; short or scattered ones have no word."""
    held = Latency(1000, 1, 1_000_000.0, p99_us, p50_us, p50_us, p99_us, p99_us, None)
    held = replace(held, p99_us=p99_us)
    (found,) = bottleneck.limits(CELL, result(latency_ok=held), roles(server=0.3), HOST, DATABASE, 2, REASONS)
    assert found.id == "too-few-connections" and ("as if a timer held it" in found.sentence) is said


BUSY_POOL = replace(DATABASE, wait_events={"running": 1200, "Client:ClientRead": 50}, wait_samples=50)


@pytest.mark.parametrize(
    ("events", "held", "said"),
    [
        ({"running": 190, "idle": 10}, 4, "small-pool"),
        ({"idle in transaction": 1100, "running": 100}, 25, "idle-transaction"),
        ({"unused": 1000, "running": 215, "Lock:tuple": 10, "idle": 25}, 25, "pool-leak"),
        ({"running": 1200, "idle": 50}, 25, "pool"),
        ({"running": 100, "idle": 1150}, 25, "too-few-connections"),
        ({"running": 20, "unused": 1200, "idle": 30}, 25, "too-few-connections"),
        ({"running": 50, "idle": 150}, 4, "too-few-connections"),
    ],
    ids=[
        "four of 25",
        "held in transactions",
        "most not given back",
        "full",
        "free",
        "one does for all",
        "four, and they are free",
    ],
)
def test_each_way_in_which_a_pool_limits_has_its_own_sentence(events: dict[str, int], held: int, said: str) -> None:
    """The counters in hand decide; where some connections were free the pool is no limit."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    seen = replace(DATABASE, wait_events=events, connections_peak=held)
    (found,) = bottleneck.limits(CELL, waiting, roles(server=0.3, database=0.1), HOST, seen, 2, REASONS)
    assert found.id == said
    assert ("nothing was full" in found.sentence) is (said == "too-few-connections")


def test_a_pool_that_gives_nothing_back_is_named_without_a_good_answer() -> None:
    """All of its connections have been idle for long, and each request fails."""
    failed = result(outcomes(ok=3, timeout=64), latency_ok=latency(900, mean_us=1000.0))
    leaked = replace(DATABASE, wait_events={"unused": 1250}, connections_peak=25)
    assert limit(roles(server=0.1), failed, database=leaked) == "pool-leak"
    leaking = replace(leaked, wait_events={"unused": 1190, "running": 60})
    assert limit(roles(server=0.1), failed, database=leaking) == "pool-leak"
    at_once = replace(failed, window=outcomes(ok=3, status={500: 9000}))
    assert limit(roles(server=0.1), at_once, database=leaked) is None


def test_few_samples_name_no_lock() -> None:
    """Six busy backends in a whole window say nothing of what limits it."""
    six = replace(DATABASE, wait_events={"Lock:tuple": 6, "idle": 500})
    assert limit({}, database=six) is None
    assert limit({}, database=replace(six, wait_events={"Lock:tuple": 60, "idle": 500})) == "db-lock"


def test_one_deadlock_is_not_the_limit_of_thousands_of_answers() -> None:
    """It holds its rows for one of ten seconds."""
    (found,) = bottleneck.limits(CELL, result(), {}, HOST, replace(DATABASE, wait_events=LOCKED, deadlocks=1), 2, REASONS)
    assert found.id == "db-lock" and "1 deadlock was too rare" in found.sentence


def test_limit_by_pool() -> None:
    """A pool whose connections are all at work while the cores have time, and more requests than connections, is named."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    assert limit(roles(server=0.3, database=0.4), waiting, database=BUSY_POOL) == "pool"
    assert limit(roles(server=1.0, database=0.9), waiting, database=BUSY_POOL) == "app-cpu"
    assert limit(roles(server=0.3, generator=0.2), waiting, replace(HOST, busy_share=0.98), BUSY_POOL) is None
    assert limit(roles(server=0.3), result(latency_ok=latency(900, mean_us=1000.0)), database=BUSY_POOL) is None
    assert limit(roles(server=0.3), waiting, database=replace(BUSY_POOL, wait_events={"running": 500})) == "too-few-connections"
    behind = replace(CELL, topology=Topology(pooler="pgbouncer-tx"))
    assert limit(roles(server=0.3, database=0.4), waiting, database=BUSY_POOL, cell=behind) == "pool"


@pytest.mark.parametrize(("held", "told", "untold"), [(4, "small-pool", "pool"), (25, "pool", "pool")])
def test_who_was_told_no_size_is_judged_by_what_it_held(held: int, told: str, untold: str) -> None:
    """Its pool is as large as it chose, and no sentence says that it was told another."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    seen = replace(DATABASE, wait_events={"running": 50 * held}, connections_peak=held)
    used = roles(server=0.3, database=0.4)
    assert limit(used, waiting, database=seen) == told
    (found,) = bottleneck.limits(held_cell_of(CELL, seen), waiting, used, HOST, seen, 2, REASONS)
    assert found.id == untold and found.evidence["pool_size"] == held and "told" not in found.sentence
