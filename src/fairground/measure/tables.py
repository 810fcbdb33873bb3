"""Right answers that the database knows before a load: a statement of the contract becomes a table for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from fairground.model import Workload
from fairground.model.contract import fill_names
from fairground.postgres import Database


def resolve(workload: Workload, database: Database, scale: int) -> Workload:
    """The workload with the rows of its table in place of the statement, asked once of the arm's database.

    LabError where the database refuses the statement.
    """
    body = workload.expect.body
    if body is None or "table" not in body:
        return workload
    table = cast(Any, body["table"])
    statement = fill_names(workload.contract.statement(table["sql"]), workload.contract.numbers_at(scale))
    rows = {str(key): {"equals": answer} for key, answer in database.probe(statement)}
    found = {"table": {"slot": table["by"], "rows": rows}}
    return replace(workload, expect=replace(workload.expect, body=found))
