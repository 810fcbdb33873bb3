"""The two streams: results on stdout, talk on stderr."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from rich.console import Console

from fairground.model import SCHEMA_VERSION

talk = Console(stderr=True, force_interactive=None if "CI" not in os.environ else False)
out = Console(width=None if sys.stdout.isatty() else 150)


def note(sentence: str) -> None:
    """A sentence for the person who waits."""
    talk.print(sentence, highlight=False, soft_wrap=True, markup=False)


def plain(value: Any) -> dict[str, Any]:
    """A frozen value as what JSON knows."""
    return dict(asdict(value))


def document(fields: dict[str, Any]) -> None:
    """One JSON document on stdout, with the schema that all of ours have."""
    print(json.dumps({"schema": SCHEMA_VERSION, **fields}, indent=2, default=str))
