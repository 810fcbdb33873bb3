"""`why` of a try: what was suspected, what can be tried from outside, and what a contract would add. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fairground.capacity.service.values import Visit
from fairground.model.reason import REASONS, TOO_FEW_CONNECTIONS
from fairground.model.record import TryAsked
from fairground.report.text import words

DATABASE = "./fairground try URL --database postgresql://USER:PASSWORD@HOST/DATABASE"
AGAINST = "./fairground try URL --against URL_B"
CONTRACT = "./fairground init my-app --openapi FILE"


def sentences(found: Visit, asked: TryAsked) -> tuple[str, ...]:
    """Say what limited a service, as far as that was seen, and what to try next.

    Each suggestion has its command or its option.
    """
    return tuple(_sentences(found, asked))


def _sentences(found: Visit, asked: TryAsked) -> Iterator[str]:
    yield from _suspected(found)
    yield from _from_outside(found, asked)
    yield (
        "A contract would add data that are made anew, answers held against what is right, an audit of what was written, and"
        f" experiments that confirm a reason or withdraw it: {CONTRACT}"
    )


def _suspected(found: Visit) -> Iterator[str]:
    if not found.closed:
        yield "Nothing was loaded, so nothing limited it: ./fairground try URL"
    elif found.limited_by:
        first = found.limited_by[0]
        what = REASONS[first.id].meaning if first.id in REASONS else first.id
        yield f"Suspected is {first.id} ({what}): {first.sentence}"
        yield "No experiment has confirmed it, for nothing of a service can be changed from outside"
    else:
        yield "Nothing that was measured names a limit"
    yield from (one.sentence for one in found.findings if one.id == "statements")


def _from_outside(found: Visit, asked: TryAsked) -> Iterator[str]:
    same = "" if asked.requests is None else " --requests FILE"
    against = AGAINST + same
    if asked.database is None:
        yield f"What the service's database does meanwhile (waits, locks, statements) can be read: {DATABASE}{same}"
    if found.server is None:
        yield (
            "Its CPU is not known, for no process of it was seen. A service that the lab starts has one:"
            " ./fairground try --url URL -- COMMAND"
        )
    if len(found.closed) > 1 and _is_flat(found):
        few, many = found.closed[0].connections, found.closed[-1].connections
        yield (
            f"{words.plural(many, 'connection')} give no more than {few}: something behind takes one request after the other;"
            f" --database shows whether that is the database"
        )
    elif asked.connections is None and any(one.id == TOO_FEW_CONNECTIONS.id for one in found.limited_by):
        yield f"More connections may give more. Both services are loaded with 200 of them by {against} --connections 200"
    yield f"Whether a change helps (an index, a larger pool, another process): start the changed one beside it, then {against}"
    yield f"What it can take with an objective, confirmed: ./fairground capacity URL{same} --slo 'p99<50ms'"


def _is_flat(found: Visit) -> bool:
    """True if the most connections give hardly more good answers than the fewest, and no limit is named."""
    few, many = found.closed[0], found.closed[-1]
    named = any(one.id != TOO_FEW_CONNECTIONS.id for one in found.limited_by)
    mostly_good = all(2 * one.not_ok <= one.due for one in (few, many))
    return not named and mostly_good and many.goodput_per_s < 1.3 * few.goodput_per_s
