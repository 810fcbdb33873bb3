"""Judge one answer: None when it is right, else what is wrong with it, in words for a person."""

from __future__ import annotations

import json
import re
import time

from fairground.contract.case import Expect, Request
from fairground.contract.facts import KnownData
from fairground.contract.wire import HttpAnswer

JSON_TYPE = "application/json; charset=utf-8"


def problem(answer: HttpAnswer, request: Request, expect: Expect, facts: KnownData) -> str | None:
    """Return what is wrong with `answer` to `request`, or None if it is right."""
    if answer.status not in expect.statuses:
        wanted = " or ".join(str(status) for status in expect.statuses)
        return f"expected status {wanted}, got {answer.status}{_with_body(answer.body)}"
    own_error = expect.own_error and answer.status >= 400
    found = _head(answer, request, own_error)
    if found is not None:
        return found
    if request.method == "HEAD" or answer.status == 204:
        return None  # bytes after such an answer are the connection's surplus
    if answer.status >= 400:
        return None if own_error else _error_object(answer)
    return _content(answer, expect, facts)


def quote_bytes(data: bytes, limit: int = 120) -> str:
    """Bytes for a sentence: escaped, in quotes, shortened."""
    text = data[:limit].decode("utf-8", "backslashreplace").encode("unicode_escape").decode("ascii").replace("`", "'")
    return f"`{text}`" + (f" and {len(data) - limit} bytes more" if len(data) > limit else "")


def _head(answer: HttpAnswer, request: Request, own_error: bool) -> str | None:
    """Return what is wrong with the head of an answer, or None if it is right.

    It says where the answer ends, in a way that the client's version of HTTP knows, and when to come again after a 503.
    A framework's own error may end with its connection, as HTTP lets it.
    """
    chunked, length = answer.header("transfer-encoding") is not None, answer.header("content-length")
    if chunked and request.version == "1.0":
        return "the answer to an HTTP/1.0 request is chunked, which HTTP/1.0 does not know"
    if answer.status == 503 and answer.header("retry-after") != "1":
        return f"the answer 503 lacks `retry-after: 1`{_with_body(answer.body)}"
    lengthless = own_error or request.method == "HEAD" or answer.status == 204
    if not lengthless and not chunked and length is None and answer.version == "1.1" and not answer.says("close"):
        return "the answer has neither `content-length` nor chunks, so its end cannot be known"
    return None


def _content(answer: HttpAnswer, expect: Expect, facts: KnownData) -> str | None:
    """Content type and body of a good answer."""
    if expect.body is None and expect.answer is None:
        return None
    if (got := answer.header("content-type")) != JSON_TYPE:
        return f"expected `content-type: {JSON_TYPE}`, got {'none' if got is None else quote_bytes(got.encode())}"
    if expect.body is not None and answer.body != expect.body.encode():
        return f"expected the body {quote_bytes(expect.body.encode())}, got {quote_bytes(answer.body)}"
    kind, _, key = (expect.answer or "").partition(":")
    if kind == "time":
        return _moment(answer.body, rb'\{"serverTime":(\d+)\}', time.time(), facts.tolerance_s)
    if kind == "db-time":
        return _moment(answer.body, rb'\{"serverTime" : (\d+)\}', time.time() + facts.clock_offset_s, facts.tolerance_s)
    if kind == "users":
        return _difference(answer.body, list(facts.users))
    if kind == "account":
        return _difference(answer.body, facts.accounts[key])
    return None


def _error_object(answer: HttpAnswer) -> str | None:
    if (got := answer.header("content-type")) != JSON_TYPE:
        return f"expected an error with `content-type: {JSON_TYPE}`, got {'none' if got is None else quote_bytes(got.encode())}"
    try:
        value = _parsed(answer.body)
    except ValueError as error:
        return f"the error is not JSON ({error}): {quote_bytes(answer.body)}"
    if not isinstance(value, dict) or value.get("ok") is not False or not isinstance(value.get("message"), str):
        return f'expected an error object `{{"ok":false,"message":"…"}}`, got {quote_bytes(answer.body)}'
    return None


def _moment(body: bytes, form: bytes, now_s: float, tolerance_s: float) -> str | None:
    match = re.fullmatch(form, body)
    if match is None:
        text = form.decode().replace("\\", "").replace("(d+)", "<unix seconds>")
        return f"expected the text `{text}`, got {quote_bytes(body)}"
    off_s = int(match[1]) - now_s
    return None if abs(off_s) <= tolerance_s else f"the time is off by {off_s:.0f} s (allowed: {tolerance_s:g} s)"


def _difference(body: bytes, expected: object) -> str | None:
    """The first place where the JSON in `body` differs from `expected`, types included."""
    try:
        value = _parsed(body)
    except ValueError as error:
        return f"the body is not JSON ({error}): {quote_bytes(body)}"
    return _first_difference(value, expected, "the body")


def _first_difference(got: object, expected: object, where: str) -> str | None:
    if isinstance(expected, (list, tuple)) and isinstance(got, list):
        if len(got) != len(expected):
            return f"{where} has {len(got)} elements, expected {len(expected)}"
        pairs = (
            (_first_difference(a, b, f"element {number} of {where}"))
            for number, (a, b) in enumerate(zip(got, expected, strict=True))
        )
        return next((found for found in pairs if found), None)
    if isinstance(expected, dict) and isinstance(got, dict):
        if set(got) != set(expected):
            return f"{where} has the keys {', '.join(map(str, got))}; expected {', '.join(expected)}"
        return next(
            (found for key in expected if (found := _first_difference(got[key], expected[key], f"`{key}` in {where}"))), None
        )
    if type(got) is not type(expected) or got != expected:
        return f"{where} is {quote_bytes(json.dumps(got).encode())}, expected {quote_bytes(json.dumps(expected).encode())}"
    return None


def _parsed(body: bytes) -> object:
    """JSON as a strict reader takes it: UTF-8, no key twice, no NaN. ValueError otherwise."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    def constant(name: str) -> object:
        raise ValueError(f"`{name}` is not JSON")

    value: object = json.loads(body.decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)
    return value


def _with_body(body: bytes) -> str:
    return f" with the body {quote_bytes(body)}" if body else ""
