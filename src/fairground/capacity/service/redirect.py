"""The redirects of a service: where they lead, and whether they are followed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from fairground.capacity.service.request import Asked
from fairground.contract.wire import HttpAnswer
from fairground.model import foreign, secret

LONGEST_PLACE = 8192
"""The characters of the longest address that a redirect is followed to. Of another one its beginning is told."""


@dataclass(frozen=True)
class Redirect:
    """A redirect. `target` None: it leads to another host, or in a circle."""

    words: str
    target: str | None

    @property
    def shown(self) -> str | None:
        """The target as it may be kept: what a service sends as a token is one."""
        return None if self.target is None else secret.redact(self.target)


def redirect_of(asked: Asked, answer: HttpAnswer) -> Redirect | None:
    """The place that a redirect names; None where the answer is none."""
    place = answer.header("location")
    if not 300 <= answer.status < 400 or place is None or asked.is_good(answer.status):
        return None
    if len(place) > LONGEST_PLACE:
        begun = foreign.line(secret.redact(place[:LONGEST_PLACE]), foreign.SENTENCE_CHARACTERS)
        return Redirect(f"{answer.status} to {begun}", None)
    scheme = "http" if asked.tls is None else "https"
    try:
        to = urlsplit(urljoin(f"{scheme}://{asked.authority}{asked.target}", place))
    except ValueError:
        return Redirect(f"{answer.status} to `{secret.redact(foreign.line(place))}`", None)
    target = (to.path or "/") + (f"?{to.query}" if to.query else "")
    hosts = [asked.authority, *(value for name, value in asked.headers if name.lower() == "host")]
    same = to.scheme == scheme and _end_of(scheme, to.netloc) in [_end_of(scheme, one) for one in hosts]
    same = same and target.isascii() and target.isprintable()
    if same and target == asked.target:
        return Redirect(f"{answer.status} to {secret.redact(target)}, which is the same place", None)
    return Redirect(f"{answer.status} to {secret.redact(target if same else foreign.line(place))}", target if same else None)


def _end_of(scheme: str, authority: str) -> tuple[str | None, int | None]:
    """Host and port that an authority names; the port of a scheme need not be written."""
    try:
        parts = urlsplit(f"//{authority}")
        return parts.hostname, parts.port or {"http": 80, "https": 443}[scheme]
    except ValueError:
        return authority, None
