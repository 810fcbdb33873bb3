"""The site's files as a browser gets them while the lab replaces them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from fairground.serve.app import SitePages


class Disturbed(SitePages):
    """A site in which `between` happens after a file was looked at and before it is read."""

    def __init__(self, site: Path, between: Callable[[Path], object]) -> None:
        super().__init__(directory=site)
        self._between = between

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """The file and what was seen of it, as it was before the disturbance."""
        found = super().lookup_path(path)
        self._between(Path(found[0]))
        return found


def _get(pages: SitePages, path: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()  # a browser that says nothing more, and stays

    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": []}
    asyncio.run(pages(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


@pytest.mark.parametrize("after", ["<p>shorter</p>", "<p>longer" + " than it was" * 10_000])
def test_a_page_that_is_replaced_meanwhile_is_whole(after: str, tmp_path: Path) -> None:
    """The length that is told is that of the bytes that are sent; else a browser waits for more, or gets half a page."""
    (tmp_path / "index.html").write_text("<p>the page before it was replaced</p>")
    status, headers, body = _get(Disturbed(tmp_path, lambda page: page.write_text(after)), "/index.html")
    assert (status, body) == (200, after.encode())
    assert int(headers["content-length"]) == len(after)
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_a_page_that_is_removed_meanwhile_is_not_found(tmp_path: Path) -> None:
    """A folder of results may be removed while its site is looked at."""
    (tmp_path / "index.html").touch()
    with pytest.raises(HTTPException) as refused:
        _get(Disturbed(tmp_path, Path.unlink), "/index.html")
    assert refused.value.status_code == 404
