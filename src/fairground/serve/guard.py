"""Admit only a browser with the token, at the address that was told, from a page of the lab's own."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "fairground"


class Guard:
    """Around an application: refuses a foreign Host, a foreign Origin and whoever lacks the token, and adds the policies.

    `hosts` are the values of Host that are the lab's own, such as `127.0.0.1:8600`. `scripts` are the hashes of the lab's
    scripts: a browser runs no other.

    The token comes once in the URL (`?token=…`) and from then on in a cookie that no script can read.
    """

    def __init__(self, app: App, token: str, hosts: Sequence[str], scripts: Sequence[str]) -> None:
        self._app, self._token, self._hosts = app, token, frozenset(hosts)
        self._cookie = f"{COOKIE}-{hosts[0].rpartition(':')[2]}"  # cookies do not tell ports apart, and there may be two labs
        hashes = " ".join(f"'sha256-{one}'" for one in scripts)
        policy = (
            f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        names = [name.lower() for name, _ in scope["headers"]]
        if any(names.count(name) > 1 for name in (b"origin", b"host")):
            await self._answer(send, 400, "A request has one Origin and one Host.")
            return
        if refused := self._refused(scope, headers):
            await self._answer(send, 403, refused)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and self._is_token(given):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            place = scope["path"] + (f"?{rest}" if rest else "")
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await self._answer(send, 303, "", [(b"location", _safe(place)), (b"set-cookie", cookie.encode())])
            return
        if not self._is_token(_cookie(headers.get("cookie", ""), self._cookie)):
            await self._answer(send, 403, "This lab wants its token: open the address that `./fairground serve` printed.")
            return
        await self._app(scope, receive, self._with_policies(send))

    def _refused(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Say why a request is refused before anybody looks for a token; None: it is not."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return "This lab is not at the address in `Host`: open the address that `./fairground serve` printed."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "Another site's page asked for this: the lab answers to its own pages only."
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return "What changes something is asked for by the lab's own page, and names its Origin."
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _with_policies(self, send: Send) -> Send:
        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        return send_on

    async def _answer(self, send: Send, status: int, text: str, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *more]
        await self._with_policies(send)({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})


def _cookie(header: str, name: str) -> str:
    """The value of a cookie; empty without it."""
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _safe(place: str) -> bytes:
    """A path of this host: two slashes at its beginning would name another."""
    return ("/" + place.lstrip("/\\")).encode("ascii", "ignore").replace(b"\r", b"").replace(b"\n", b"")
