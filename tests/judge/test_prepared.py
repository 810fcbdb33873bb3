"""Prepared statements that a pooler loses: which errors are theirs, and what is made of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import prepared
from fairground.model import Finding, Outcomes, Result, Severity

NOTHING = Outcomes(0, 0, {}, 0, 0, 0, 0, 0, 0, 0)
RESULT = Result("engine", (), 1.0, NOTHING, NOTHING, None, 0, None, None, None, None, None, None, None, (), {}, (), None, None)
WORDS = (
    "unnamed prepared statement does not exist",
    'prepared statement "fairground_lost" does not exist',
    'prepared statement "fairground_lost" already exists',
    'bind message supplies 2 parameters, but prepared statement "fairground_lost" requires 0',
)
"""What the embedded PostgreSQL says, which a test of `postgres` holds."""
GERMAN = ("vorbereitete Anweisung »fairground_lost« existiert nicht",)
LOST = 'prepared statement "s1" does not exist'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"ok":false,"message":"ERROR: prepared statement \\"stmtcache_7\\" already exists (SQLSTATE 42P05)"}',
         'prepared statement "stmtcache_7" already exists'),
        ('asyncpg: prepared statement "__asyncpg_stmt_1__" does not exist\nHINT: …', 'prepared statement "__asyncpg_stmt_1__" does not exist'),
        ("2026-11-20 UTC [7] ERROR:  unnamed prepared statement does not exist", "unnamed prepared statement does not exist"),
        ('bind message supplies 4 parameters, but prepared statement "s0" requires 0',
         'bind message supplies 4 parameters, but prepared statement "s0" requires 0'),
        ("deadlock detected", None),
        ("this server uses prepared statements", None),
        ("", None),
    ],
)  # fmt: skip
def test_errors_of_lost_statements(text: str, error: str | None) -> None:
    """The database's words are found in answers, logs and drivers' messages, quoted or not; other errors are others'."""
    assert prepared.error(["", text], WORDS) == error


def test_errors_in_another_language() -> None:
    """They are known by the words that this database itself has said, and no others; without any nothing is known."""
    said = "FEHLER:  vorbereitete Anweisung »s_1« existiert nicht"
    assert prepared.error([said], GERMAN) == "vorbereitete Anweisung »s_1« existiert nicht"
    assert prepared.error([said], WORDS) is None and prepared.error([said], ()) is None
    assert prepared.error(["Relation »s_1« existiert nicht"], GERMAN) is None


def case(sentence: str, severity: Severity = Severity.REJECT) -> Finding:
    """A finding of a contract case."""
    return Finding("case:tx", severity, sentence)


def test_only_failures_are_excused() -> None:
    """Cases that failed with a server error become warnings; one that failed otherwise leaves all as they are."""
    refused, right = case('title: expected status 200, got 500 with the body `{"ok":false}`'), case("title", Severity.NOTE)
    found = prepared.excuse_prepared((refused, right))
    assert found == (replace(refused, severity=Severity.WARN), right)
    wrong = case("title: expected the body `[]`, got `{}`")
    assert prepared.excuse_prepared((refused, wrong)) is None
    assert prepared.excuse_prepared((case("title: expected status 200, got 404"),)) is None


@pytest.mark.parametrize(
    ("window", "completed_ok", "severity", "share"),
    [
        (replace(NOTHING, ok=60, status={500: 40}), 60, Severity.REJECT, 0.4),
        (replace(NOTHING, ok=995, status={500: 3}, shed=2), 995, Severity.WARN, 0.005),
        (replace(NOTHING, status={500: 7}), 0, Severity.REJECT, 1.0),
        (replace(NOTHING, ok=54, shed=None, unclassified=46), 54, Severity.REJECT, 0.46),
        (replace(NOTHING, ok=996, shed=None, unclassified=4), 996, Severity.WARN, 0.004),
        (replace(NOTHING, ok=60, status={404: 40}), 60, Severity.WARN, 0.0),
        (NOTHING, 0, Severity.REJECT, 1.0),
    ],
)
def test_share_decides(window: Outcomes, completed_ok: int, severity: Severity, share: float) -> None:
    """From one request in a hundred on a stack does not work here; below it is a warning; the share and the words are kept."""
    found = prepared.finding(replace(RESULT, window=window, completed_ok=completed_ok), "pgbouncer-tx 1.18.0", LOST, 0.01)
    assert (found.id, found.severity, found.evidence["failed_share"]) == ("prepared-statements", severity, share)
    assert found.evidence["error"] == LOST and LOST in found.sentence and "`pgbouncer-tx 1.18.0`" in found.sentence
    assert prepared.limit_of(found) == ("prepared-statements" if severity is Severity.REJECT else None)


@pytest.mark.parametrize(
    ("failed", "words"), [(3, "requests failed before the window, because"), (0, "no request of the load failed")]
)
def test_what_failed_before_the_window_is_said_where_it_did(failed: int, words: str) -> None:
    """An error in a log alone, say of one case of the contract, is no request that failed."""
    window = replace(NOTHING, ok=60)
    result = replace(RESULT, window=window, life=replace(window, status={500: failed}), completed_ok=60)
    assert prepared.finding(result, "pgbouncer-tx 1.18.0", LOST, 0.01).sentence.startswith(words)


def test_server_that_could_not_be_loaded() -> None:
    """Without any load the finding still says why."""
    found = prepared.finding(None, "pgbouncer-tx 1.18.0", LOST, 0.01)
    assert found.severity is Severity.REJECT and found.sentence.startswith("the server could not be measured, because ")
