"""The small language in which a published statement is tested: two products, compared. Imports nothing of the lab.

    rps(go:pgx ping c100) / rps(node:pm2 ping c100) > 1.5        a ratio of two cells
    p99(node:pm2 ping c1000) > 100ms                             a cell against a number
    rps(python:raw ping c1000) ~ 8.9 * rps(python:raw ping c100) equal within a tolerance
    errors(STACK WORKLOAD pgbouncer-tx) > 10%                    a share
    diagnosis(STACK WORKLOAD) is deadlock                        the named limit
    rps(…) > 1 and rps(…) > 1                            what is said of several loads or stacks

The words in parentheses are a stack, a workload, and as many marks of a cell as are needed to mean one (`cells.marks`). A stack
with a `*` is a pattern: rps(go:pgx ping) / rps(* ping) > 1 is held against each other stack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fairground.model.reason import REASONS

RATIO_METRICS = ("rps", "answers", "bytes", "interval", "min", "p50", "p75", "p90", "p95", "p99", "max", "mean", "cpu")
"""Above zero and varying by factors: goodput, answers and bytes per second, ms from one good answer to the next,
latencies in ms, server CPU in µs per good answer."""
SHARE_METRICS = ("errors", "shed")
"""Of the window's requests: without a good answer, answered 503."""
COUNT_METRICS = ("timeouts", "connecterrors", "deadlocks")
WORD_METRICS = ("diagnosis",)
NO_REASON = "none"
"""The word of a diagnosis for trials that name no reason."""
METRICS = (*RATIO_METRICS, *SHARE_METRICS, *COUNT_METRICS, *WORD_METRICS)

UNITS = {"": 1.0, "%": 0.01, "ms": 1.0, "s": 1000.0, "us": 0.001, "µs": 0.001, "x": 1.0, "k": 1000.0}
"""Unit → factor to the metrics' own unit: latencies are in ms, shares in parts of 1."""

TOKEN = re.compile(
    r"\s*(?:(?P<term>[a-z0-9]+)\((?P<words>[^()]*)\)|(?P<number>\d+(?:\.\d+)?)(?P<unit>%|ms|us|µs|s|x|k)?(?![\w.])"
    r"|(?P<op><=|>=|<|>|~|\bis\b)|(?P<times>[*/])|(?P<word>[a-z][a-z-]*))"
)


JOINED = re.compile(r"\s+and\s+")


class StatementError(ValueError):
    """The error that a text is no statement: one sentence that says where and why."""


@dataclass(frozen=True)
class Term:
    """One metric of one cell, named by its words."""

    metric: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.metric}({' '.join(self.words)})"


@dataclass(frozen=True)
class Product:
    """`factor` × terms above ÷ terms below."""

    factor: float
    above: tuple[Term, ...] = ()
    below: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.above + self.below

    def __str__(self) -> str:
        above = [f"{self.factor:,.10g}"] if self.factor != 1 or not self.above else []
        return " / ".join([" * ".join([*above, *map(str, self.above)]), *map(str, self.below)])


@dataclass(frozen=True)
class Statement:
    """`left op right`; for `is` the right side is `word`."""

    left: Product
    op: str
    right: Product
    word: str | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.left.terms + self.right.terms

    @property
    def pattern(self) -> str:
        """The pattern that stands in place of a stack; empty: there is none."""
        return next((term.words[0] for term in self.terms if "*" in term.words[0]), "")

    @property
    def kind(self) -> str:
        """`ratio`, `number` (shares and counts, which may be zero) or `word`."""
        if self.op == "is":
            return "word"
        return "ratio" if all(term.metric in RATIO_METRICS for term in self.terms) else "number"

    @property
    def against_one(self) -> bool:
        """True if a ratio of cells is held against 1: it says which side is more, and no bound."""
        divided = bool(self.left.below or self.right.terms)
        return self.kind == "ratio" and divided and self.right.factor == 1


def parse(text: str) -> Statement:
    """The statement that `text` makes. Raises StatementError."""
    tokens = _tokens(text)
    places = [place for place, token in enumerate(tokens) if token.lastgroup == "op" or token["op"]]
    if len(places) != 1:
        raise StatementError(f"`{text}` needs exactly one of < > <= >= ~ is")
    left, op, right = tokens[: places[0]], tokens[places[0]]["op"], tokens[places[0] + 1 :]
    if op == "is":
        if len(left) != 1 or len(right) != 1 or not right[0]["word"]:
            raise StatementError(f"`{text}` is not a statement: write `diagnosis(STACK WORKLOAD) is NAME`")
        term = _term(left[0], WORD_METRICS)
        if right[0]["word"] not in (NO_REASON, *REASONS):
            raise StatementError(f"`{text}`: `{right[0]['word']}` is no reason: write {NO_REASON}, {', '.join(REASONS)}")
        return Statement(Product(1.0, (term,)), op, Product(1.0), right[0]["word"])
    found = Statement(_product(text, left), op, _product(text, right))
    if not found.terms:
        raise StatementError(f"`{text}` names no cell: write for instance rps(STACK WORKLOAD)")
    if len({term.words[0] for term in found.terms if "*" in term.words[0]}) > 1:
        raise StatementError(f"`{text}` has two patterns: write one, with a * in it")
    if found.kind == "ratio" and not (found.left.factor and found.right.factor):
        raise StatementError(f"`{text}` compares with zero, and this metric is always above it")
    if found.kind == "number" and (len(found.left.above), found.left.below, found.right.terms) != (1, (), ()):
        raise StatementError(f"`{text}`: shares and counts can be zero, so they are compared with a number and not divided")
    if found.kind == "number" and (not found.left.factor or (not found.right.factor and found.op in ("<", ">="))):
        raise StatementError(f"`{text}` is so or not whatever is measured: shares and counts are 0 at least")
    return found


def parse_all(text: str) -> tuple[Statement, ...]:
    """The statements that `text` joins by `and`; all of them are claimed. Raises StatementError."""
    return tuple(parse(part) for part in JOINED.split(text))


def with_stacks(statement: Statement, others: Mapping[str, str]) -> Statement:
    """The statement with other stacks, by the name that stands in it."""

    def put(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(one, words=(others.get(one.words[0], one.words[0]), *one.words[1:])) for one in terms)

    def side(product: Product) -> Product:
        return replace(product, above=put(product.above), below=put(product.below))

    return replace(statement, left=side(statement.left), right=side(statement.right))


def _tokens(text: str) -> list[re.Match[str]]:
    tokens, place = [], 0
    while text[place:].strip():
        token = TOKEN.match(text, place)
        if token is None:
            raise StatementError(f"`{text}` cannot be read from `{text[place:].strip()}` on")
        tokens.append(token)
        place = token.end()
    return tokens


def _product(text: str, tokens: list[re.Match[str]]) -> Product:
    """factor (("*" | "/") factor)*"""
    if len(tokens) % 2 == 0 or any(not token["times"] for token in tokens[1::2]):
        raise StatementError(f"`{text}`: write metrics and numbers with * or / between them on both sides")
    factor, above, below = 1.0, list[Term](), list[Term]()
    for place, token in enumerate(tokens[::2]):
        divided = place > 0 and tokens[2 * place - 1]["times"] == "/"
        if token["number"]:
            value = float(token["number"]) * UNITS[token["unit"] or ""]
            if divided and value == 0:
                raise StatementError(f"`{text}` divides by zero")
            factor = factor / value if divided else factor * value
        elif token["term"]:
            (below if divided else above).append(_term(token, METRICS[: -len(WORD_METRICS)]))
        else:
            raise StatementError(f"`{text}`: `{token[0].strip()}` is neither a number nor a metric")
    if not math.isfinite(factor):
        raise StatementError(f"`{text}` has a number beyond bounds")
    return Product(factor, tuple(above), tuple(below))


def _term(token: re.Match[str], allowed: tuple[str, ...]) -> Term:
    metric, words = token["term"], tuple((token["words"] or "").split())
    if metric not in allowed:
        raise StatementError(f"`{token[0].strip()}`: use one of {', '.join(allowed)} here")
    if len(words) < 2:
        raise StatementError(f"`{token[0].strip()}` names no cell: write {metric}(STACK WORKLOAD …)")
    return Term(metric, words)
