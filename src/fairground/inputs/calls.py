"""Requests that were sent once, as requests of a load: equal ones become one with a weight."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from fairground.model import Expectation, LabError, LoadRequest
from fairground.model.slot import literal_of

FRAMED = {"content-length", "connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade"}
"""Headers that the lab writes itself, or that are of a connection alone."""
CONDITIONAL = {"if-none-match", "if-modified-since"}
"""They ask for an answer without a body, which a browser had already."""
PORTS = {"http": 80, "https": 443}
LONGEST_NAME = 60


@dataclass(frozen=True)
class Call:
    """One request as somebody sent it. `status` None: what answer is good is not known."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    status: int | None

    def without(self, names: Collection[str]) -> Call:
        """The request without its headers of these names, which are in small letters."""
        return replace(self, headers=tuple(one for one in self.headers if one[0].lower() not in names))


def load_requests(shown: str, calls: Iterable[Call], url: str) -> tuple[tuple[LoadRequest, ...], frozenset[str]]:
    """The calls to the service at `url` as requests, and the names of those whose good status is not known.

    LabError where none of them goes there.
    """
    every = list(calls)
    for call in every:
        _require_url(shown, call.url)
    count = Counter(call for call in every if _is_at(call.url, url))
    if not count:
        others = sorted({urlsplit(_whole(call.url)).netloc for call in every})
        there = f"they go to {', '.join(others[:3])}" if others else "it has none"
        raise LabError(f"no request of `{shown}` goes to {urlsplit(url).netloc}: {there}", "name their service's URL")
    requests, unsettled = list[LoadRequest](), set[str]()
    names = unique_names(f"{call.method} {urlsplit(_whole(call.url)).path}" for call in count)
    for name, (call, weight) in zip(names, count.items(), strict=True):
        expect = Expectation(call.status or 200)
        headers = tuple((key, literal_of(value)) for key, value in call.headers if _is_sent(key, value, call.url))
        body = None if call.body is None else literal_of(call.body)
        requests.append(LoadRequest(name, call.method, literal_of(_target(call.url)), headers, body, expect, weight=weight))
        if call.status is None:
            unsettled.add(name)
    return tuple(requests), frozenset(unsettled)


def _require_url(shown: str, url: str) -> None:
    try:
        urlsplit(_whole(url))
    except ValueError as error:
        raise LabError(f"`{url}` in `{shown}` is not a valid URL ({error})", "for instance http://127.0.0.1:3000/") from None


def unique_names(texts: Iterable[str]) -> Iterator[str]:
    """A name of small letters, digits and dashes for each text, no two alike."""
    seen = Counter[str]()
    for text in texts:
        name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_NAME].rstrip("-") or "request"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def _is_sent(header: str, value: str, url: str) -> bool:
    """True for a header that says more than the URL and the connection do: a `Host` of another name is one."""
    name = header.lower()
    if name == "host":
        return value.lower() != urlsplit(_whole(url)).netloc.lower()
    return name not in FRAMED | CONDITIONAL and not name.startswith(":")


def _whole(url: str) -> str:
    """A URL with its scheme; what is a path alone stays one."""
    return url if "://" in url or url.startswith("/") else f"http://{url}"


def _is_at(asked: str, url: str) -> bool:
    """True if a request goes to the service: to its scheme's host and port, or to a path alone."""
    one, other = urlsplit(_whole(asked)), urlsplit(url)
    if not one.netloc:
        return True
    if one.scheme not in PORTS:  # a WebSocket, for one
        return False
    try:
        ports = [part.port or PORTS.get(part.scheme) for part in (one, other)]
    except ValueError:
        return False
    return one.hostname == other.hostname and ports[0] == ports[1]


def _target(url: str) -> str:
    """Path and query; what no request line may hold is percent-encoded."""
    parts = urlsplit(_whole(url))
    return quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=string.punctuation)
