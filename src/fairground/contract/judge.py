"""Judge one answer: None when it is right, else what is wrong with it, in words for a person."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from fairground.contract import expected
from fairground.contract.case import Expect, Request
from fairground.contract.expected import AskDatabase, parse_json, quote_bytes
from fairground.contract.rules import difference
from fairground.contract.wire import HttpAnswer
from fairground.model.contract import Contract

DATE_WITHIN_S = 2.0
"""A `date: now` may be so much older than the answer."""
NO_BODY = (204, 304)


@dataclass(frozen=True)
class AnswerJudge:
    """The contract that answers are held against, the database that knows right ones, and what requests had in their slots."""

    contract: Contract
    probe: AskDatabase | None = None
    sent: Mapping[str, object] = field(default_factory=dict)


def problem(answer: HttpAnswer, request: Request, expect: Expect, known: AnswerJudge) -> str | None:
    """Return what is wrong with `answer` to `request`, or None if it is right."""
    if answer.status not in expect.statuses:
        wanted = " or ".join(str(status) for status in expect.statuses)
        return f"expected status {wanted}, got {answer.status}{_with_body(answer.body)}"
    own_error = expect.own_error and answer.status >= 400
    found = _head(answer, request, own_error) or _headers(answer, expect, known, own_error)
    if found is not None:
        return found
    if request.method == "HEAD" or answer.status in NO_BODY:
        return None  # bytes after such an answer are the connection's surplus
    if answer.status >= 400 and (found := None if own_error else _error(answer, known)) is not None:
        return found
    return _content(answer, expect, known) if answer.status < 400 or expect.means_error else None


def _head(answer: HttpAnswer, request: Request, own_error: bool) -> str | None:
    """Return what is wrong with the head of an answer, or None if it is right.

    It says where the answer ends, in a way that the client's version of HTTP knows.
    A framework's own error may end with its connection, as HTTP lets it.
    """
    chunked, length = answer.header("transfer-encoding") is not None, answer.header("content-length")
    if chunked and request.version == "1.0":
        return "the answer to an HTTP/1.0 request is chunked, which HTTP/1.0 does not know"
    lengthless = own_error or request.method == "HEAD" or answer.status in NO_BODY
    if not lengthless and not chunked and length is None and answer.version == "1.1" and not answer.says("close"):
        return "the answer has neither `content-length` nor chunks, so its end cannot be known"
    return None


def _headers(answer: HttpAnswer, expect: Expect, known: AnswerJudge, own_error: bool) -> str | None:
    """Hold the headers against the rules of the case and of the contract: a framework's own error against the case's alone."""
    theirs = {} if own_error else known.contract.errors.headers.get(str(answer.status), {})
    for name, value in theirs.items():
        if answer.header(name) != value:
            return f"the answer {answer.status} lacks `{name}: {value}`{_with_body(answer.body)}"
    wanted = {**(known.contract.answers.headers if answer.status < 400 else {}), **expect.headers}
    said = ((name, answer.header(name), rule) for name, rule in wanted.items())
    return next((found for one in said if (found := header_problem(*one, answer.waited_s))), None)


def header_problem(name: str, value: str | None, rule: object, waited_s: float = 0.0) -> str | None:
    """Return what is wrong with a header, or None. Rules are `text`, `now`, `absent`, `{equals = …}`, `{one_of = […]}`."""
    if rule == "absent":
        return None if value is None else f"the answer has a header `{name}`, which it must not have"
    if value is None:
        return f"the answer has no header `{name}`"
    if rule == "now":
        return _date_problem(name, value, waited_s)
    if isinstance(rule, Mapping):
        right = [str(one) for one in rule.get("one_of", [rule.get("equals")])]
        return None if value in right else f"the header `{name}` is {quote_bytes(value.encode())}, expected {' or '.join(right)}"
    return None if value.strip() else f"the header `{name}` is empty"


def _date_problem(name: str, value: str, waited_s: float) -> str | None:
    try:
        old_s = time.time() - parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return f"the header `{name}` is {quote_bytes(value.encode())}, and no date of HTTP"
    return None if -DATE_WITHIN_S <= old_s <= DATE_WITHIN_S + 1 + waited_s else f"the header `{name}` is {old_s:.0f} s old"


def _content(answer: HttpAnswer, expect: Expect, known: AnswerJudge) -> str | None:
    """Content type and body, as the case says them. Where it names no type, a good answer has that of the contract."""
    if not expect.judges_body:
        return None
    types = expect.content_types or (() if answer.status >= 400 else known.contract.answers.content_type)
    if (found := _type_problem(answer, types, "`content-type")) is not None:
        return found
    if expect.matches is not None and not re.search(expect.matches, answer.body.decode("utf-8", "backslashreplace")):
        return f"expected a body that matches `{expect.matches}`, got {quote_bytes(answer.body)}"
    if expect.body is not None and (found := expected.problem(answer, expect.body, known.probe, known.sent)) is not None:
        return found
    if expect.holds is not None and known.probe is not None:
        any_case = bool(expect.body and expect.body.get("any_case"))
        return expected.disproof(answer, expect.holds, known.probe, known.sent, any_case)
    return None


def _error(answer: HttpAnswer, known: AnswerJudge) -> str | None:
    """Hold an error against the contract's rules of errors."""
    rules = known.contract.errors
    if (found := _type_problem(answer, rules.content_type, "an error with `content-type")) is not None:
        return found
    if rules.body is None:
        return None
    try:
        value = parse_json(answer.body)
    except ValueError as error:
        return f"the error is not JSON ({error}): {quote_bytes(answer.body)}"
    return difference(value, rules.body, {}, "the error object")


def _type_problem(answer: HttpAnswer, types: tuple[str, ...], what: str) -> str | None:
    got = answer.header("content-type")
    if not types or (got is not None and got.lower() in (one.lower() for one in types)):
        return None
    return f"expected {what}: {' or '.join(types)}`, got {'none' if got is None else quote_bytes(got.encode())}"


def _with_body(body: bytes) -> str:
    return f" with the body {quote_bytes(body)}" if body else ""
