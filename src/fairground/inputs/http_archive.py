"""An HTTP archive (HAR 1.2), as browsers and proxies save it: each of its entries is a request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fairground.inputs.calls import Call
from fairground.model import LabError

NOT_MODIFIED = 304
"""The answer to a request on condition, which is asked without it here."""
STREAM = "text/event-stream"
"""The type of an answer without an end: no load waits for one, as for no WebSocket."""


def read_archive(shown: str, text: str) -> Iterator[Call]:
    """Read each entry whose answer has an end. LabError where the file is no archive."""
    try:
        entries = json.loads(text)["log"]["entries"]
        yield from (_call(entry) for entry in entries if not _is_stream(entry["response"]))
    except (ValueError, LookupError, TypeError, AttributeError):
        hint = "save it anew: in a browser's network panel, as HAR"
        raise LabError(f"`{shown}` is no HTTP archive: it has no `log.entries` that can be read", hint) from None


def _is_stream(answer: Mapping[str, Any]) -> bool:
    return str((answer.get("content") or {}).get("mimeType")).partition(";")[0].strip().lower() == STREAM


def _call(entry: Mapping[str, Any]) -> Call:
    asked, status = entry["request"], int(entry["response"]["status"])
    headers = [(str(one["name"]), str(one["value"])) for one in asked.get("headers", ())]
    body = (asked.get("postData") or {}).get("text")
    return Call(
        str(asked["method"]).upper(), str(asked["url"]), tuple(headers), None if not body else str(body),
        None if status in (0, NOT_MODIFIED) else status,
    )  # fmt: skip
