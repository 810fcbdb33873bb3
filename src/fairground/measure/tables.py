"""Right answers that the database knows before a load: a statement of the contract becomes a table for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fairground.model import LabError, Workload
from fairground.postgres import Database


def resolve(workload: Workload, database: Database) -> Workload:
    """The workload with the rows of its table in place of the statement, asked once of the arm's database.

    LabError where the database refuses the statement, or answers something else than two columns.
    """
    body = workload.expect.body
    if body is None or "table" not in body:
        return workload
    table = cast(Any, body["table"])
    known = database.probe(table["sql"])
    if any(len(row) != 2 for row in known) or not known:
        said = "no row" if not known else f"{len(known[0])} columns"
        raise LabError(f"the table of right answers of `{workload.id}` has {said}", "its statement selects two: value, answer")
    rows = {str(key): {"equals": answer} for key, answer in known}
    found = {"table": {"slot": table["by"], "rows": rows}}
    return replace(workload, expect=replace(workload.expect, body=found))
