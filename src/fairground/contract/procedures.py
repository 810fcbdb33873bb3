"""Carry out the cases that need more than a URL: the server's process, its settings, its database.

What is asked, what waits for a lock, and which rows those are, the file of the cases says (`case.Disturbance`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from fairground.contract.case import Case, CaseStep, Expect, Request
from fairground.contract.exchange import CaseOutcome, Target, ask, exchange
from fairground.contract.stage import Stage
from fairground.contract.wire import HttpAnswer, Trouble
from fairground.model.wire import ACCEPT

WORKS_AGAIN_WITHIN_S = 5.0
EXITS_WITHIN_S = 5.0
POLL_S = 0.02
REFUSED_WITHIN_MS = 500
"""How much longer than its wait for a connection the fastest of `REFUSALS` refusals may take; wide, since machines are noisy."""
REFUSALS = 5
TIMER_SLACK_MS = 2
"""Timers that round down may end a wait a little early."""
GOOD_BURSTS = 3
CROWD = 32
REQUESTS_PER_CLIENT = 12

Reply = tuple[HttpAnswer | None, str | None]


def carry_out(case: Case, target: Target, stage: Stage, anew: bool = False) -> CaseOutcome:
    """Start the server with the case's settings and carry out its procedure. The time of the start is not the case's.

    `anew`: the server that runs has failed a case, and no other may suffer for that.
    """
    if anew:
        stage.stop()
    host, port = stage.start(case.settings)
    target = replace(target, host=host, port=port, deadline_s=time.monotonic() + case.timeout_s)
    seen = _PROCEDURES[case.procedure or ""](case, target, stage)
    if seen.wrong is None and case.procedure != "terminates" and not stage.alive():
        return replace(seen, wrong="the server's process ended")
    return seen


@dataclass(frozen=True)
class Means:
    """A case's means, all of which its procedure needs."""

    ask: CaseStep
    block: CaseStep
    rows: tuple[str, ...]

    @classmethod
    def of(cls, case: Case) -> Means:
        """The means that its file gives; what this procedure does not need stands in for what is not there."""
        given = case.disturbance
        some = given.ask or given.block
        assert some is not None, "the reader of cases refuses a procedure without its means"
        return cls(given.ask or some, given.block or some, given.rows)


def _answers(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """The case's own steps, under its settings."""
    return exchange(case.steps, target)


def _pool_exhausted(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """Requests that wait for a locked row take every connection; then one more request needs one."""
    size, full, means = case.settings.pool_size, threading.Event(), Means.of(case)
    with ThreadPoolExecutor(size + 1) as crowd:
        with stage.holding(means.rows[0]):
            blocked = [crowd.submit(_block_once_admitted, means, target, full) for _ in range(size)]
            filled = _until(lambda: stage.waiting() >= size, WORKS_AGAIN_WITHIN_S)
            full.set()
            if not filled:
                return CaseOutcome(
                    f"only {stage.waiting()} of {size} connections were used by {size} requests that wait for a lock"
                )
            if case.settings.pool_wait_ms is None:
                seen, late = _one_more_waits(means, target, crowd)
            else:
                seen, late = _one_more_is_refused(means, target, case.settings.pool_wait_ms), None
        replies = [future.result() for future in [*blocked, *([late] if late else [])]]
    if seen.wrong is not None:
        return seen
    wrong = next((wrong for _, wrong in replies if wrong), None)
    if wrong is not None:
        return replace(seen, wrong=f"a request that waited was then not answered well: {wrong}")
    wrong = _burst(target, size, means.ask) or _burst(target, size, means.ask)
    return (
        seen if wrong is None else replace(seen, wrong=f"after the pool had been exhausted, `{means.ask.request.line}`: {wrong}")
    )


def _block_once_admitted(means: Means, target: Target, full: threading.Event) -> Reply:
    """The request that waits for a row, again while it is answered 503: a pool may still be opening its connections."""
    while True:
        answer, wrong = ask(means.block.request, means.block.expect, target)
        if answer is None or answer.status != 503 or full.is_set():
            return answer, wrong
        time.sleep(POLL_S)


def _one_more_is_refused(means: Means, target: Target, pool_wait_ms: int) -> CaseOutcome:
    took_ms, line = [], means.ask.request.line
    for _ in range(REFUSALS):
        started_s = time.monotonic()
        _, wrong = ask(means.ask.request, Expect((503,)), target)
        took_ms.append(round((time.monotonic() - started_s) * 1000, 1))
        if wrong is not None:
            return CaseOutcome(f"`{line}` while every connection was in use: {wrong}")
    evidence: dict[str, int | float | str | None] = {"fastest_ms": min(took_ms), "slowest_ms": max(took_ms)}
    if min(took_ms) < pool_wait_ms - TIMER_SLACK_MS:
        return CaseOutcome(
            f"`{line}` was refused after {min(took_ms)} ms, before the wait of {pool_wait_ms} ms for a connection had passed",
            evidence=evidence,
        )
    if min(took_ms) > pool_wait_ms + REFUSED_WITHIN_MS:
        return CaseOutcome(
            f"`{line}` was refused only after {min(took_ms)} ms under a wait of {pool_wait_ms} ms for a connection",
            evidence=evidence,
        )
    return CaseOutcome(None, evidence=evidence)


def _one_more_waits(means: Means, target: Target, crowd: ThreadPoolExecutor) -> tuple[CaseOutcome, Future[Reply]]:
    late = crowd.submit(ask, means.ask.request, means.ask.expect, target)
    time.sleep(1.0)
    if not late.done():
        return CaseOutcome(None), late
    answer, wrong = late.result()
    got = wrong if answer is None else f"answered {answer.status}"
    return CaseOutcome(f"`{means.ask.request.line}` while every connection was in use should have waited: {got}"), late


def _connections_within_pool(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """A crowd larger than the pool asks the database while the lab counts the connections."""
    asked = Means.of(case).ask
    with ThreadPoolExecutor(CROWD) as crowd:
        futures = [crowd.submit(_burst, target, 1, asked) for _ in range(CROWD * REQUESTS_PER_CLIENT)]
        peak = stage.connections()
        while not all(future.done() for future in futures):
            peak = max(peak, stage.connections())
            time.sleep(POLL_S)  # a connection that was closed ends meanwhile
        wrongs = [wrong for future in futures if (wrong := future.result())]
    peak = max(peak, stage.connections())
    evidence: dict[str, int | float | str | None] = {"peak": peak, "allowed": case.settings.pool_size, "requests": len(futures)}
    if peak > case.settings.pool_size:
        return CaseOutcome(
            f"the server had {peak} connections to the database, allowed are {case.settings.pool_size}",
            evidence=evidence,
        )
    if wrongs:
        return CaseOutcome(
            f"`{asked.request.line}` from {CROWD} clients, {len(wrongs)} of {len(futures)} answers wrong: {wrongs[0]}",
            evidence=evidence,
        )
    return CaseOutcome(None if peak else "no connection to the database was seen while it was asked", evidence=evidence)


def _database_restarts(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """The database goes and comes back under a client that keeps asking."""
    asked = Means.of(case).ask
    _burst(target, case.settings.pool_size, asked)
    back = threading.Event()
    with ThreadPoolExecutor(1) as crowd:
        meanwhile = crowd.submit(_ask_until, back, asked, target)
        try:
            stage.restart_database()
        finally:
            back_s = time.monotonic()
            back.set()
        seen = _works_again(case, target, back_s)
        wrong = meanwhile.result()
    return (
        seen
        if wrong is None or seen.wrong
        else replace(seen, wrong=f"`{asked.request.line}` while the database was away: {wrong}")
    )


def _connections_severed(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    _burst(target, case.settings.pool_size, Means.of(case).ask)
    stage.sever_connections()
    return _works_again(case, target, time.monotonic())


def _ask_until(back: threading.Event, asked: CaseStep, target: Target) -> str | None:
    """Ask while the database is away: good answers, errors and silence are all right; a dead server or nonsense is not."""
    while not back.is_set():
        answer, wrong = ask(
            asked.request, Expect((*asked.expect.statuses, 500, 503)), replace(target, deadline_s=time.monotonic() + 1.0)
        )
        if wrong is not None and (answer is not None or "time" not in wrong):
            return wrong
        time.sleep(POLL_S)
    return None


def _works_again(case: Case, target: Target, since_s: float) -> CaseOutcome:
    """Bursts over the whole pool until several in a row are good: one good answer could come from the only new connection."""
    good, last, asked = 0, "nothing was asked", Means.of(case).ask
    until_s = since_s + WORKS_AGAIN_WITHIN_S
    while good < GOOD_BURSTS and time.monotonic() < until_s:
        wrong = _burst(replace(target, deadline_s=until_s), case.settings.pool_size, asked)
        good, last = (good + 1, last) if wrong is None else (0, wrong)
        time.sleep(POLL_S)
    took_ms = round((time.monotonic() - since_s) * 1000)
    if good < GOOD_BURSTS:
        return CaseOutcome(
            f"`{asked.request.line}` did not work again within {WORKS_AGAIN_WITHIN_S:g} s: {last}",
            evidence={"waited_ms": took_ms},
        )
    return CaseOutcome(None, evidence={"works_again_ms": took_ms})


def _deadlock(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """The lab holds the second row, a request holds the first and waits for it, the lab wants the first.

    The request waited first, so that it goes.
    """
    means = Means.of(case)
    first, second = means.rows
    line = means.block.request.line
    for _attempt in range(3):
        with ThreadPoolExecutor(1) as crowd:
            with stage.holding(second) as hold:
                request = crowd.submit(ask, means.block.request, Expect((500,)), target)
                if not _until(lambda: stage.waiting() >= 1, WORKS_AGAIN_WITHIN_S):
                    return CaseOutcome(f"`{line}` did not wait for a locked row")
                lab_won = hold.take(first)
            _, wrong = request.result()
        if lab_won:
            break
    else:
        return CaseOutcome("the database ended the lab's transaction and not the server's, three times over")
    if wrong is not None:
        return CaseOutcome(f"`{line}` that the database ended for a deadlock: {wrong}")
    for _again in range(2):
        _, wrong = ask(means.block.request, means.block.expect, target)
        if wrong is not None:
            return CaseOutcome(f"`{line}` after a deadlock, on the same connection: {wrong}")
    return CaseOutcome(None)


def _order_of_locks(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """Check that a request changes its first row before its second, by what it has done where it waits.

    Where it waits for the first, that is nothing yet. Where it waits for the second, it has changed the first, uncommitted.
    """
    means = Means.of(case)
    first, second = means.rows
    line, free = means.block.request.line, dict[str, bool]()
    for held, other in ((first, second), (second, first)):
        with ThreadPoolExecutor(1) as crowd:
            with stage.holding(held) as hold:
                request = crowd.submit(ask, means.block.request, means.block.expect, target)
                waits = _until(lambda: stage.waiting() >= 1, WORKS_AGAIN_WITHIN_S)
                free[other] = hold.is_free(other)
            _, wrong = request.result()
        if not waits:
            return CaseOutcome(f"`{line}` did not wait for the row of `{held}`")
        if wrong is not None:
            return CaseOutcome(f"`{line}`, after waiting for a lock: {wrong}")
    if not free[second]:
        return CaseOutcome(f"`{line}` had changed the row of `{second}` before it could change that of `{first}`")
    return CaseOutcome(f"`{line}` had committed its first change before its second" if free[first] else None)


def _hang_up_in_transaction(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """More clients than connections hang up while their requests wait for a lock; then a full pool of them must work."""
    clients, means = 2 * case.settings.pool_size, Means.of(case)
    line = means.block.request.line
    with stage.holding(means.rows[0]):
        for _ in range(clients):
            with target.wire() as wire:
                wire.send(target.encode(means.block.request))
                _until(lambda: stage.waiting() >= 1, 0.2)
                wire.abort()
    for _ in range(GOOD_BURSTS):
        wrong = _burst(target, case.settings.pool_size, means.block)
        if wrong is not None:
            return CaseOutcome(
                f"after {clients} clients had hung up during a transaction, `{line}`: {wrong}", evidence={"hang_ups": clients}
            )
    return CaseOutcome(None, evidence={"hang_ups": clients})


def _terminates(case: Case, target: Target, stage: Stage) -> CaseOutcome:
    """SIGTERM while one client is idle and one is in the middle of a request."""
    request = Request("GET", target.known.contract.ready.path, headers=(ACCEPT,)).fill(target.known.contract.paths)
    with target.wire() as idle, target.wire() as midway:
        idle.send(target.encode(request))
        idle.answer("GET")
        midway.send(target.encode(request)[: len(request.line) + len(" HT")])
        end = stage.stop()
    evidence: dict[str, int | float | str | None] = {"seconds": round(end.seconds, 2), "exit_code": end.code}
    if end.forced or end.seconds > EXITS_WITHIN_S:
        return CaseOutcome(
            f"the server had not ended, with all its processes, {EXITS_WITHIN_S:g} s after SIGTERM", evidence=evidence
        )
    try:
        with target.wire():
            return CaseOutcome("the port still accepts connections after the server's end", evidence=evidence)
    except Trouble:
        return CaseOutcome(None, evidence=evidence)


def _burst(target: Target, count: int, step: CaseStep) -> str | None:
    """Send a request `count` times at once, each on its own connection: the first thing wrong."""
    with ThreadPoolExecutor(count) as crowd:
        replies = list(crowd.map(lambda _: ask(step.request, step.expect, target), range(count)))
    return next((wrong for _, wrong in replies if wrong), None)


def _until(holds: Callable[[], bool], within_s: float) -> bool:
    """Wait until `holds`, at most `within_s`."""
    until_s = time.monotonic() + within_s
    while not (held := holds()) and time.monotonic() < until_s:
        time.sleep(POLL_S)
    return held


NEEDS_TOLD = {"pool-exhausted": "pool_wait_ms", "connections-within-pool": "pool_size"}
"""A procedure → the name of what a server must be told, to be held to it."""
_PROCEDURES: dict[str, Callable[[Case, Target, Stage], CaseOutcome]] = {
    "answers": _answers,
    "pool-exhausted": _pool_exhausted,
    "connections-within-pool": _connections_within_pool,
    "database-restarts": _database_restarts,
    "connections-severed": _connections_severed,
    "deadlock": _deadlock,
    "order-of-locks": _order_of_locks,
    "hang-up-in-transaction": _hang_up_in_transaction,
    "terminates": _terminates,
}
