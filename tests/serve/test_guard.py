"""Who may ask the lab in a browser: everything that is not the lab's own page with its token is refused, in one sentence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairground.serve.guard import Guard

HOST = "127.0.0.1:8600"
TOKEN = "secret-of-this-lab"
COOKIE = f"fairground-8600={TOKEN}"


async def _inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def _ask(method: str = "GET", path: str = "/", query: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of an answer; `headers` with underscores for dashes."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    told = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in told.items()],
    }
    asyncio.run(Guard(_inner, TOKEN, (HOST, "localhost:8600"), ("abc",))(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, sent[1]["body"].decode()


def test_the_token_opens_and_is_not_kept_in_the_address() -> None:
    """The address with the token leads on without it and sets a cookie that scripts cannot read; the cookie opens."""
    status, headers, _ = _ask(query=f"a=1&token={TOKEN}")
    assert (status, headers["location"]) == (303, "/?a=1")
    assert headers["set-cookie"] == f"{COOKIE}; Path=/; HttpOnly; SameSite=Strict"
    assert _ask(cookie=f"other=1; {COOKIE}")[::2] == (200, "inside")
    assert _ask(host="localhost:8600", cookie=COOKIE)[0] == 200


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"cookie": "fairground-8600=guess"},
        {"cookie": f"fairground-8601={TOKEN}"},
        {"cookie": "\xff=;;=\x00"},
        {"query": "token=guess"},
        {"query": "token="},
        {"cookie": COOKIE, "host": "evil.example:8600"},
        {"cookie": COOKIE, "host": "127.0.0.1"},
        {"cookie": COOKIE, "host": ""},
        {"cookie": COOKIE, "origin": "http://evil.example"},
        {"cookie": COOKIE, "origin": "null"},
        {"cookie": COOKIE, "origin": "http://localhost:8600"},
        {"cookie": COOKIE, "method": "POST"},
        {"query": f"token={TOKEN}", "host": "evil.example"},
    ],
)
def test_everybody_else_is_refused(asked: dict[str, str]) -> None:
    """No token, a wrong one, a foreign Host, a foreign Origin, a change without an Origin: 403, and nothing of the inside."""
    status, _, body = _ask(**asked)  # type: ignore[arg-type]
    assert status == 403 and "inside" not in body and body.endswith((".", "printed."))


def test_the_lab_s_own_page_may_ask_for_changes() -> None:
    """A POST with the cookie and the page's own Origin goes through."""
    assert _ask("POST", "/stop", cookie=COOKIE, origin=f"http://{HOST}")[0] == 200


def test_every_answer_carries_the_policies() -> None:
    """Allowed or refused, no answer admits a foreign script, a frame around it, or a cache."""
    for asked in ({"cookie": COOKIE}, {}, {"query": f"token={TOKEN}"}):
        headers = _ask(**asked)[1]  # type: ignore[arg-type]
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'sha256-abc';" in policy and "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "///evil.example"])
def test_the_way_on_stays_on_this_host(path: str) -> None:
    """An address that begins like another host's leads nowhere else."""
    status, headers, _ = _ask(path=path, query=f"token={TOKEN}")
    assert status == 303 and headers["location"].startswith("/e")


@pytest.mark.parametrize("name", ["origin", "host", "Origin"])
def test_a_name_that_stands_twice_is_refused(name: str) -> None:
    """Whichever of the two a reader takes: one of them is another site's."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    own = f"http://{HOST}" if name != "host" else HOST
    for first, second in ((own, "http://evil.example"), ("http://evil.example", own), (own, own)):
        sent.clear()
        told = [("host", HOST), ("cookie", COOKIE), ("origin", f"http://{HOST}")]
        told = [one for one in told if one[0] != name.lower()] + [(name, first), (name, second)]
        headers = [(key.encode(), value.encode()) for key, value in told]
        scope = {"type": "http", "method": "POST", "path": "/stop", "query_string": b"", "headers": headers}
        asyncio.run(Guard(_inner, TOKEN, (HOST,), ("abc",))(scope, send, send))
        assert sent[0]["status"] == 400
