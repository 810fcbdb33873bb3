"""Text that tries to steer a terminal, to hide or reorder words, to break out of a page, and to be read as markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x9b1m \u202eover\u202c zero\u200bwidth \ufeff"
    " [/x] [bold] [link=http://evil.example] :warning: <script>alert(1)</script> {{ 7*7 }} {% raw %} \"double\" 'single' `tick` | \u2028next"
)
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff]")

POISONED = frozenset(
    [
        "title",
        "receipt",
        "unavailable",
        "sentence",
        "reason",
        "request",
        "body",
        "stderr_tail",
        "command",
        "cpu_model",
        "language",
        "about",
        "why",
        "detail",
        "kernel",
        "distribution",
        "source",
        "says",
        "rejected",
        "ended",
        "objective",
    ]
)
"""Fields that hold what others wrote. Names that the lab itself looks things up by stay as they are."""
MAPPINGS = frozenset(["versions", "database_settings", "workloads", "skipped", "evidence"])


def poisoned(value: Any) -> Any:
    """A frozen value with hostile text in every field that holds what others wrote."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _field(one.name, getattr(value, one.name)) for one in fields(value) if one.init})
    if isinstance(value, tuple):
        return tuple(map(poisoned, value))
    if isinstance(value, Mapping):
        return {key: poisoned(one) for key, one in value.items()}
    return value


def _field(name: str, value: Any) -> Any:
    if name in POISONED and isinstance(value, str) and not isinstance(value, Enum):
        return value + HOSTILE
    if name == "command" and isinstance(value, tuple):
        return (*value, HOSTILE)
    return _texts(value) if name in MAPPINGS else poisoned(value)


def _texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _texts(one) for key, one in value.items()}
    return value + HOSTILE if isinstance(value, str) else value


def is_clean(text: str) -> bool:
    """Whether nothing in a text steers a terminal or hides, and none of it was read as a template."""
    return STEERING.search(text) is None and "http://evil.example\x1b" not in text
