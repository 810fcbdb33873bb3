"""The one table of reasons: complete, and in plain words."""

from __future__ import annotations

import pytest

from fairground.model import Severity
from fairground.model.reason import DB_LOCK, OF_ROLE, REASONS, Reason
from fairground.report.run import grid


@pytest.mark.parametrize("reason", REASONS.values(), ids=list(REASONS))
def test_a_reason_is_whole(reason: Reason) -> None:
    """Each says its meaning to somebody who never saw its id, its sign, and its experiment or why there is none."""
    assert reason.meaning.replace(" ", "-") != reason.id and len(reason.meaning.split()) > 2
    assert reason.sign
    assert bool(reason.predictions) != bool(reason.untested)


def test_no_two_reasons_are_alike() -> None:
    """Neither an id nor a meaning stands twice, nor a role."""
    assert len({one.meaning for one in REASONS.values()}) == len(REASONS)
    assert len(OF_ROLE) == sum(one.role is not None for one in REASONS.values()) == 5


def test_a_finding_names_its_reason() -> None:
    """It is a note unless said otherwise, and keeps the evidence."""
    found = DB_LOCK.finding("it waited", waiting_for_locks=0.4)
    assert (found.id, found.severity, found.evidence) == ("db-lock", Severity.NOTE, {"waiting_for_locks": 0.4})
    assert DB_LOCK.finding("it waited", Severity.WARN).severity is Severity.WARN


def test_the_legend_says_every_reason_in_plain_words() -> None:
    """A page says the meaning of each; of one that a record from elsewhere names, that nobody knows it; of none, nothing."""
    assert {id: grid.meaning(id) for id in REASONS} == {id: one.meaning for id, one in REASONS.items()}
    assert (grid.meaning("tired"), grid.meaning("")) == ("no reason that this lab knows", "")
