"""What is taken from a server: whatever a cause beside it explains, and nothing else."""

from __future__ import annotations

import pytest

from fairground.judge import answers, blame
from fairground.model import Finding, Severity, Verdict
from fairground.model.cause import CAUSES, DATABASE, DATABASE_CRASHED, INSTRUMENT, Cause, DatabaseLifetime

BEFORE = DatabaseLifetime(100.0, 50.0, 60.0)


@pytest.mark.parametrize(
    ("now", "ended"),
    [
        (DatabaseLifetime(100.0, 200.0, 201.0), True),
        (DatabaseLifetime(300.0, 50.0, 60.0), True),
        (DatabaseLifetime(100.0, 200.0, 60.0), False),
        (DatabaseLifetime(100.0, 50.0, 60.0), False),
    ],
    ids=["recovered", "started again", "one count was reset by hand", "the same"],
)
def test_a_crash_shows_itself_in_all_counts_at_once(now: DatabaseLifetime, ended: bool) -> None:
    """Recovery begins them all anew, a new process has another start, and one count alone says nothing."""
    found = blame.crash(BEFORE, now)
    assert (found is not None) is ended
    if found is not None:
        assert (found.id, found.severity) == (DATABASE_CRASHED.id, Severity.VOID)
        assert found.sentence.startswith("the database crashed and recovered")


@pytest.mark.parametrize(
    ("cause", "rejected", "absolved"),
    [
        (DATABASE_CRASHED, "audit:commits", True),
        (DATABASE_CRASHED, "server-exit", True),
        (DATABASE, "no-answers", True),
        (INSTRUMENT, "audit:ledger-transfers", True),
        (INSTRUMENT, "unreachable", True),
        (INSTRUMENT, "wrong-answers", False),
        (INSTRUMENT, "case:one", False),
    ],
)
def test_a_cause_takes_what_it_explains(cause: Cause, rejected: str, absolved: bool) -> None:
    """A lost engine spoils what it counted; a wrong answer that it saw stays one."""
    blamed = Finding(rejected, Severity.REJECT, "it was so")
    found = blame.absolve((cause.finding("it happened"), blamed))
    assert answers.verdict(found) is (Verdict.VOID if absolved else Verdict.REJECTED)
    assert ("says nothing of the server" in found[1].sentence) is absolved


@pytest.mark.parametrize(("refused", "found"), [(None, None), (0, None), (7, Severity.VOID)])
def test_want_of_room_is_not_the_doing_of_who_is_held_to_a_number(refused: int | None, found: Severity | None) -> None:
    """Others took the room then. Who opens as many connections as it likes may have taken all of it itself: that is a warning."""
    held, free = blame.no_room(refused, is_held=True), blame.no_room(refused, is_held=False)
    assert (held and held.severity) == found
    assert (free and free.severity) == (None if found is None else Severity.WARN)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda one: one.id)
def test_without_its_evidence_a_cause_excuses_nobody(cause: Cause) -> None:
    """A note by that name is no cause, nor is another void."""
    blamed = Finding("audit:commits", Severity.REJECT, "it was so")
    for beside in (Finding(cause.id, Severity.NOTE, "perhaps"), Finding("steal", Severity.VOID, "the machine")):
        assert blame.absolve((beside, blamed)) == (beside, blamed)


def test_who_joins_the_group_of_a_role_makes_its_trial_void() -> None:
    """The role and the process are named; groups that nobody joined say nothing."""
    assert blame.intrusion({"server": set(), "database": set()}) is None
    found = blame.intrusion({"server": set(), "database": {"4711 helper"}})
    assert found is not None and found.severity is Severity.VOID and "4711 helper in that of the database" in found.sentence
