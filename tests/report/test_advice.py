"""`why` of a try: each sentence that advises ends with a command, and nothing is advised that was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairground.capacity.service.values import Closed, Visit
from fairground.model import Finding, Severity
from fairground.model.reason import APP_SERIAL, TOO_FEW_CONNECTIONS, Reason
from fairground.model.record import TryAsked
from fairground.report import advice

ASKED = TryAsked("http://127.0.0.1:3000/x", "GET", (), None, "p99<50ms", 2, 5000, True, False, None)
ONE = Closed(1, 100.0, None, None, 200, 0, None, None, None)
VISIT = Visit(ASKED.url, "GET", ASKED.objective, None, None, "process 7", closed=(ONE, replace(ONE, connections=100)))


def test_a_suspicion_is_said_and_what_would_tell_more() -> None:
    """It is no more than a suspicion, and a database and a contract would say more."""
    said = advice.sentences(replace(VISIT, limited_by=(APP_SERIAL.finding("one thread was full"),)), ASKED)
    assert said[0].startswith("Suspected is app-serial (") and said[0].endswith("one thread was full")
    assert any("--database postgresql://" in one for one in said) and "init my-app" in said[-1]


@pytest.mark.parametrize(
    ("limits", "not_ok", "behind"),
    [((), 0, True), ((TOO_FEW_CONNECTIONS,), 0, True), ((APP_SERIAL,), 0, False), ((), 150, False)],
    ids=["nothing is named", "only too few connections", "one thread was full", "a rate limit refuses most"],
)
def test_something_behind_is_blamed_where_nothing_else_is(limits: Sequence[Reason], not_ok: int, behind: bool) -> None:
    """That more connections give no more has a cause already where a limit is named, or where answers are refused."""
    many = replace(VISIT.closed[1], not_ok=not_ok)
    named = tuple(one.finding("as it was seen") for one in limits)
    said = advice.sentences(replace(VISIT, closed=(VISIT.closed[0], many), limited_by=named), ASKED)
    assert any("100 connections give no more than 1" in one for one in said) is behind


def test_what_was_done_is_not_advised() -> None:
    """With its database read, the statement is told in place of how to read it."""
    found = Finding("statements", Severity.NOTE, "of 9 s in statements 99% went to `SELECT`")
    said = advice.sentences(replace(VISIT, findings=(found,)), replace(ASKED, database="postgresql://x/y"))
    assert found.sentence in said and not any("can be read" in one for one in said)


@pytest.mark.parametrize(("most", "advised"), [(None, True), (2, False)])
def test_more_connections_are_not_advised_to_who_bounds_them(most: int | None, advised: bool) -> None:
    """A service with room for two connections can take no two hundred."""
    found = replace(VISIT, closed=(ONE,), limited_by=(TOO_FEW_CONNECTIONS.finding("nothing was full"),))
    said = advice.sentences(found, replace(ASKED, connections=most))
    assert any("More connections may give more" in one for one in said) is advised


def test_nothing_loaded_nothing_limits() -> None:
    """A try without a load is told how to load."""
    assert advice.sentences(replace(VISIT, closed=()), ASKED)[0].endswith("./fairground try URL")
