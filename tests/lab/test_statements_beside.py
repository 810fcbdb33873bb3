"""The costliest statement of a service's database: told as it is where its constants are hidden, and by its first word elsewhere."""

from __future__ import annotations

import pytest

from fairground.lab import service
from fairground.postgres import StatementCost


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "SELECT total FROM orders WHERE customer = $1",
            "`SELECT total FROM orders WHERE customer = $1`: 9 calls, 100.00 ms each",
        ),
        ("(select 1) union (select 2)", "`(select 1) union (select 2)`"),
        ("WITH x AS (SELECT $1) SELECT x", "`WITH x AS (SELECT $1) SELECT x`"),
        ("ALTER ROLE ada PASSWORD 'of-ada'", "`ALTER …`"),
        ("COPY people FROM PROGRAM 'curl of-ada'", "`COPY …`"),
    ],
)
def test_no_constant_of_a_statement_is_kept(text: str, shown: str) -> None:
    """Of what PostgreSQL writes down with its constants, a password among them, the first word is told."""
    (part,) = service._statements({}, {text: StatementCost(9, 900.0), "SELECT $1": StatementCost(1, 100.0)})
    (finding,) = part.findings
    assert shown in finding.sentence and "of 1.0 s in statements 90%" in finding.sentence
    assert "of-ada" not in finding.sentence


def test_what_did_not_run_meanwhile_is_not_told() -> None:
    """Costs of before do not count, and nothing is said where nothing ran."""
    known = {"SELECT $1": StatementCost(5, 50.0)}
    assert list(service._statements(known, known)) == []
