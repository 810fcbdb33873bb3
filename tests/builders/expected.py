"""Rows of the zoo's `expected.toml` as the parameters of a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def each(rows: Iterable[Mapping[str, Any]], id: str = "{stack}-{workload}") -> list[Any]:
    """A parameter for each row, named by its values: those `beside` which other tests may run are live, the others measure."""
    marks = {True: pytest.mark.live, False: pytest.mark.measures}
    return [pytest.param(row, marks=marks[row.get("beside", False)], id=id.format_map(row)) for row in rows]
