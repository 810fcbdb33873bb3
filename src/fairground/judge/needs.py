"""The needs of all good answers of a load together: of a mix the sum over its requests. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairground.model import DatabaseUse, Finding, LoadRequest, Needs, Result, Severity, Workload

Each = Callable[[Needs], float]
"""What one good answer to a request needs."""


@dataclass(frozen=True)
class RequestCount:
    """The counts of one request in a generator's whole life: good answers, and how often it was sent."""

    request: LoadRequest
    good: int
    sent: int
    may_roll_back: bool = False
    """True if its transaction may end with a rollback: it needs no commit, or nothing that is declared of it writes."""


def counts_of(workload: Workload, result: Result) -> tuple[RequestCount, ...]:
    """The counts of each request of a workload. One that was never sent has none."""
    if not workload.is_mix:
        reads = not workload.audit.writes and _may_roll_back(workload.first)
        return (RequestCount(workload.first, result.done, (result.life or result.window).total, reads),)
    known = result.requests
    return tuple(
        RequestCount(one, known[one.name].done, known[one.name].life.total, _may_roll_back(one))
        for one in workload.requests
        if one.name in known
    )


def _may_roll_back(request: LoadRequest) -> bool:
    need = request.need
    return not need.commits_per_answer or not (request.writes or need.most_written or need.functions)


def transactions_of(counts: Sequence[RequestCount], database: DatabaseUse) -> int | None:
    """The transactions that may stand behind answers: all commits, and a rollback for each good answer that writes nothing.

    Sessions of object mappers end so what they only read. None: nobody counted.
    """
    most = sum(one.good for one in counts if one.may_roll_back)
    return None if database.commits is None else database.commits + min(database.rollbacks or 0, most)


def sum_of(counts: Sequence[RequestCount], each: Each) -> float:
    """The sum over all good answers."""
    return sum(one.good * each(one.request.need) for one in counts)


def least(counts: Sequence[RequestCount], each: Each) -> int:
    """The sum over all good answers, in whole numbers."""
    return math.floor(sum_of(counts, each) + 1e-9)


def most(counts: Sequence[RequestCount], each: Each, free: float) -> int:
    """The sum over all requests, whatever became of them, and over `free` more of the one that may do most."""
    highest = max((each(one.request.need) for one in counts), default=0.0)
    return math.ceil(sum(one.sent * each(one.request.need) for one in counts) + free * highest)


def per_answer(counts: Sequence[RequestCount], each: Each) -> float:
    """The mean need of a good answer; 0 where there is none."""
    good = sum(one.good for one in counts)
    return sum_of(counts, each) / good if good else 0.0


def words(counts: Sequence[RequestCount], each: Each, noun: str) -> str:
    """Say what each good answer needs: `at least 1 commit for each good answer`, or of each request of a mix."""
    if len(counts) == 1:
        return f"at least {each(counts[0].request.need):g} {noun} for each good answer"
    return f"at least, for each good answer: {words_of_mix(counts, each, noun)}"


def words_of_mix(counts: Sequence[RequestCount], each: Each, noun: str) -> str:
    """Say what an answer to each request of a mix needs: 1 × commit for `page`, 2 × commit for `remove`."""
    needed = [(each(one.request.need), one.request.name) for one in counts]
    return ", ".join(f"{amount:g} × {noun} for `{name}`" for amount, name in needed if amount)


def written_answers(workload: Workload, result: Result) -> int:
    """The good answers of which each left something in the database: all of a workload that writes, of a mix some requests'."""
    if not workload.is_mix:
        return 0 if workload.first.writes_at_times else result.done
    return sum(one.good for one in counts_of(workload, result) if one.request.writes)


def writes_among(good: int, workload: Workload, result: Result) -> int:
    """The number of these good answers that left something in the database, by their share in a result."""
    return int(good * written_answers(workload, result) / result.done) if result.done else good


def audit_findings(workload: Workload) -> tuple[Finding, ...]:
    """A note on requests of which nobody declares what they need of the database."""
    names = [one.name for one in workload.requests if one.needs is None]
    if not names:
        return ()
    of = " and ".join(f"`{name}`" for name in names) if workload.is_mix else "an answer"
    sentence = f"the contract does not say what {of} needs of the database, so that answers were not held against its counters"
    return (Finding("unaudited", Severity.NOTE, sentence),)
