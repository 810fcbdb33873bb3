"""Right answers that the database knows, as the plan of a load has them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from builders.contracts import WORKLOADS
from builders.requests import asking
from fairground.measure import tables
from fairground.model import LabError, LoadRequest
from fairground.postgres import Database

READ = WORKLOADS["read"]


def resolved(*rows: tuple[Any, ...]) -> LoadRequest:
    """The request whose answers a database knows by these rows."""
    expect = replace(READ.first.expect, body={"table": {"by": "id", "sql": "SELECT"}})
    database = cast(Database, SimpleNamespace(probe=lambda _, keyed: [(str(key), *row) for key, *row in rows]))
    return tables.resolve(asking(READ, expect=expect), database).first


def test_answers_are_json() -> None:
    """A `numeric` is a number, at any depth, so that the plan can be written."""
    body = resolved((1, Decimal("1.50")), (2, {"price": Decimal(7)}), (3, None)).expect.body
    rows = {"1": {"equals": 1.5}, "2": {"equals": {"price": 7}}, "3": {"equals": None}}
    assert body == {"table": {"slot": "id", "rows": rows}} and json.dumps(body)


@pytest.mark.parametrize("answer", [UUID(int=1), datetime(2026, 1, 2, tzinfo=UTC)])
def test_answers_that_json_has_not_are_a_mistake(answer: object) -> None:
    """The sentence says of what kind they are, and nothing else goes wrong."""
    with pytest.raises(LabError, match=r"of `read` gives no JSON, but a value of the kind `(uuid|datetime)`"):
        resolved((1, answer))
