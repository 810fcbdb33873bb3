"""Right answers that the database knows before a load: a statement of the contract becomes a table for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fairground.contract.expected import json_of
from fairground.model import LabError, LoadRequest, Workload
from fairground.postgres import Database


def resolve(workload: Workload, database: Database) -> Workload:
    """The workload with the rows of its tables in place of the statements, asked once of the arm's database.

    LabError where the database refuses a statement, or answers something else than two columns, the second of them JSON.
    """
    return workload.change(lambda one: _resolve_request(workload.id, one, database))


def _resolve_request(workload: str, one: LoadRequest, database: Database) -> LoadRequest:
    body = one.expect.body
    if body is None or "table" not in body:
        return one
    table = cast(Any, body["table"])
    known = database.probe(table["sql"], keyed=True)
    if any(len(row) != 2 for row in known) or not known:
        said = "no row" if not known else f"{len(known[0])} columns"
        raise LabError(f"the table of right answers of `{workload}` has {said}", "its statement selects two: value, answer")
    try:
        rows = {key: {"equals": json_of(answer)} for key, answer in known}
    except ValueError as error:
        raise LabError(f"the table of right answers of `{workload}` gives no JSON, but {error}", "let it select json") from None
    found = {"table": {"slot": table["by"], "rows": rows}}
    return replace(one, expect=replace(one.expect, body=found))
