"""Answers that are errors with a good status, as GraphQL over HTTP has them. Pure."""

from __future__ import annotations

import json


def refusal_of(content: bytes) -> str | None:
    """The message of the first error in an answer that holds errors and no data; empty where it has none.

    None: the answer is no such thing. Without an answer to it, `data` is missing or null.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    errors = found.get("errors") if isinstance(found, dict) else None
    if not isinstance(errors, list) or not errors or found.get("data") is not None:
        return None
    message = errors[0].get("message") if isinstance(errors[0], dict) else errors[0]
    return message if isinstance(message, str) else ""
