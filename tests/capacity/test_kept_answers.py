"""What is kept of a service's answer: a secret in it is taken out, and who goes on asks the service anew."""

from __future__ import annotations

import gzip

import pytest

from fairground.capacity.service.parts import ServiceChecks
from fairground.capacity.service.values import Conduct

WORD = b"S3cr3t-1"


def scrub(content: bytes) -> bytes:
    """Take the secret out."""
    return content.replace(WORD, b"(hidden)")


def checks(body: bytes, coding: str | None = None, target: str | None = None) -> ServiceChecks:
    """What is kept of an answer with this body."""
    seen = Conduct(200, "text/plain", body, len(body), True, (), coding, target)
    return ServiceChecks.of(seen, None).without_secrets(scrub)


@pytest.mark.parametrize(
    ("body", "coding", "target"),
    [
        (b"you came with " + WORD, None, None),
        (gzip.compress(b"you came with " + WORD, mtime=0), "gzip", None),
        (b"hello", None, "/home?token=S3cr3t-1"),
    ],
)
def test_a_secret_of_an_answer_is_not_kept(body: bytes, coding: str | None, target: str | None) -> None:
    """Packed or not; nor is a token in the place that a redirect led to. That bodies are compared is still said."""
    kept = checks(body, coding, target)
    assert kept.conduct.body == (b"(hidden)" if coding else scrub(body))
    assert WORD.decode() not in (kept.target or "")
    assert not kept.is_whole and kept.is_compared and kept.body_bytes == len(body)


@pytest.mark.parametrize(("body", "coding"), [(b"hello", None), (gzip.compress(b"hello", mtime=0), "gzip"), (b"no gzip", "gzip")])
def test_an_honest_answer_is_kept_whole(body: bytes, coding: str | None) -> None:
    """To the byte, with the place of its redirect."""
    kept = checks(body, coding, "/home?page=1")
    assert kept.is_whole and (kept.conduct.body, kept.target) == (body, "/home?page=1")
    assert ServiceChecks.of(Conduct(200, None, None, 2, True, ()), None).without_secrets(scrub).is_whole
