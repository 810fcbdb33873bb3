"""The language of claims: what is read, and what is refused in which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.claims.statement import Product, Statement, StatementError, Term, parse

GO = Term("rps", ("go:pgx", "ping", "c100"))
NODE = Term("rps", ("node:pm2", "ping", "c100"))


def test_ratio_of_two_cells() -> None:
    """A quotient compared with a number keeps what stands above and below the line apart."""
    found = parse("rps(go:pgx ping c100) / rps(node:pm2 ping c100) > 1.5")
    assert found == Statement(Product(1.0, (GO,), (NODE,)), ">", Product(1.5))
    assert found.kind == "ratio"
    assert found.terms == (GO, NODE)


def test_numbers_carry_units() -> None:
    """Latencies are held in ms and shares in parts of one, however they are written."""
    assert parse("p99(a b) < 1.5s").right.factor == 1500
    assert parse("p99(a b) < 250us").right.factor == 0.25
    assert parse("errors(a b) <= 10%").right.factor == 0.1
    assert parse("rps(a b) ~ 2 * 3k / 4 * rps(c d)").right == Product(1500.0, (Term("rps", ("c", "d")),))


def test_diagnosis() -> None:
    """`is` compares the named limit of one cell with a word."""
    found = parse("diagnosis(go:pgx transfer c100) is delayed-ack")
    assert (found.kind, found.word, found.terms) == ("word", "delayed-ack", (Term("diagnosis", ("go:pgx", "transfer", "c100")),))


def test_share_is_compared_with_a_number() -> None:
    """Shares and counts may be zero and are asked of each trial."""
    assert parse("timeouts(a b wait=0) <= 0").kind == "number"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "needs exactly one of"),
        ("rps(a b)", "needs exactly one of"),
        ("rps(a b) > 1 > 2", "needs exactly one of"),
        ("rps(a b) >", "write metrics and numbers"),
        ("rps(a b) rps(c d) > 1", "write metrics and numbers"),
        ("speed(a b) > 1", "use one of rps"),
        ("rps(a) > 1", "names no cell"),
        ("2 > 1", "names no cell"),
        ("rps(a b) > fast", "neither a number nor a metric"),
        ("rps(a b) / 0 > 1", "divides by zero"),
        ("rps(a b) > 0", "compares with zero"),
        ("0 * rps(a b) < rps(c d)", "compares with zero"),
        ("errors(a b) / errors(c d) > 1", "not divided"),
        ("errors(a b) < 0", "whatever is measured"),
        ("timeouts(a b) >= 0%", "whatever is measured"),
        ("0 * errors(a b) > 1%", "whatever is measured"),
        ("diagnosis(a b) > 1", "use one of rps"),
        ("rps(a b) is deadlock", "use one of diagnosis"),
        ("diagnosis(a b) is 4", "write `diagnosis"),
        ("diagnosis(a b) is db-locks", "`db-locks` is no reason: write none, prepared-statements, "),
        ("rps(a b) > 1 ; rm", "cannot be read from `; rm` on"),
        ("rps(a b) > " + "9" * 400, "beyond bounds"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """What is no statement is refused with the place or the rule."""
    with pytest.raises(StatementError, match=words):
        parse(text)


@given(st.text(alphabet="rpseo()<>~*/%. 019is-k", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail in another way."""
    try:
        parse(text)
    except StatementError as error:
        assert "\n" not in str(error)
