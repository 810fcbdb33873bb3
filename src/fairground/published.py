"""What somebody published, as a suite's file holds it: the source, tables of numbers, and claims with their tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairground.model import Claim, PublishedTable
from fairground.source import Location, Source
from fairground.statement import RATIO_METRICS, Statement, StatementError, parse


@dataclass(frozen=True)
class ClaimTable:
    """`[[claims]]`: `says` and either `test` or `cannot`."""

    id: str
    says: str
    test: str | None = None
    published: float | None = None
    where: str = ""
    reason: str = ""
    cannot: str | None = None


@dataclass(frozen=True)
class NumbersTable:
    """`[[tables]]`: one published table; `values` are by stack."""

    title: str
    unit: str
    cells: str
    metric: str = "rps"
    values: dict[str, float] = field(default_factory=dict)


def claims(source: Source, tables: tuple[ClaimTable, ...]) -> tuple[Claim, ...]:
    """The claims of a suite; LabError where one has no test and no reason for that, or its test cannot be read."""
    for place, table in enumerate(tables):
        here: Location = ("claims", place)
        source.require_text((*here, "id"), table.id)
        source.require_text((*here, "says"), table.says)
        if table.id in {earlier.id for earlier in tables[:place]}:
            raise source.error((*here, "id"), f"two claims are named `{table.id}` in", "give each claim a name of its own")
        if (table.test is None) == (table.cannot is None):
            raise source.error(here, f"claim `{table.id}` needs either `test` or `cannot` in", "`cannot` says why it has no test")
        if table.test is not None:
            _statement(source, (*here, "test"), table.test)
    return tuple(Claim(**{key: getattr(table, key) for key in Claim.__dataclass_fields__}) for table in tables)


def tables(source: Source, found: tuple[NumbersTable, ...]) -> tuple[PublishedTable, ...]:
    """The published tables of a suite, with values above zero."""
    for place, table in enumerate(found):
        here: Location = ("tables", place)
        if table.metric not in RATIO_METRICS:
            raise source.error((*here, "metric"), f"`{table.metric}` is no metric in", f"use one of {', '.join(RATIO_METRICS)}")
        if not table.cells.split() or not table.values:
            raise source.error(here, f"table `{table.title}` says nothing in", "give it `cells` (a workload, marks) and `values`")
        for stack, value in table.values.items():
            if value <= 0:
                raise source.error((*here, "values", stack), f"`{value}` is no published number in", "leave the row out")
    return tuple(PublishedTable(one.title, one.metric, one.unit, one.cells, one.values) for one in found)


def _statement(source: Source, location: Location, text: str) -> Statement:
    try:
        return parse(text)
    except StatementError as error:
        raise source.error(location, f"{error}, in", "CONTRIBUTING.md shows the language of claims") from error
