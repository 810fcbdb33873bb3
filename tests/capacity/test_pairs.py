"""Two services that are held against each other: what is told of their answers before a word on their speed."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from fairground.capacity.service import pairs
from fairground.capacity.service.values import Conduct

TEXT = b"one line, one line, one line"
SAME = Conduct(200, "text/plain", TEXT, len(TEXT), True, ())


def said(a: Conduct, b: Conduct) -> list[str]:
    """What is told of B beside A."""
    return [one.sentence for one in pairs.other_answers(a, b)]


def packed(level: int) -> Conduct:
    """The same text, as gzip of this level."""
    body = gzip.compress(TEXT * 9, level)
    return replace(SAME, body=body, body_bytes=len(body), coding="gzip")


def test_bodies_are_what_they_hold() -> None:
    """Two services that compress the same text otherwise give the same answer; another text is told."""
    assert packed(1).body != packed(9).body and said(packed(1), packed(9)) == []
    assert said(SAME, replace(SAME, body=b"other", body_bytes=5)) == [
        "its answer is another one: status 200 and 5 bytes, against 200 and 28"
    ]
    assert said(replace(packed(1), coding="br"), replace(packed(9), coding="br")) != [], "bytes that cannot be read are compared"


@pytest.mark.parametrize(("other", "told"), [(200, []), (201, ["its answers to `order` are others: status 201, against 200"])])
def test_each_of_several_requests_has_its_status(other: int, told: list[str]) -> None:
    """A side that answers another request otherwise is not simply faster."""
    one, two = (replace(SAME, statuses={"list": 200, "order": status}) for status in (200, other))
    assert said(one, two) == told
