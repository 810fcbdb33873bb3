"""Published results, as a suite's file holds them: the source, tables of numbers, and claims with their tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fairground.claims.statement import COUNT_METRICS, RATIO_METRICS, SHARE_METRICS, Statement, StatementError, parse, parse_all
from fairground.claims.tables import published_value
from fairground.model import Claim, Condition, CostStep, Lesson, PublishedTable
from fairground.model.source import Location, Source, nearest, shape_key

Parsed = TypeVar("Parsed")

TABLE_METRICS = (*RATIO_METRICS, *SHARE_METRICS, *COUNT_METRICS)


@dataclass(frozen=True)
class NumbersTable:
    """`[[tables]]`: one published table; `values` are by stack.

    `also` has marks of single rows beside those of `cells`. With `unmeasured`, the reason, it stands for what no metric here
    measures: it has no cells, and its rows are named freely.
    """

    title: str
    unit: str
    cells: str = ""
    metric: str = "rps"
    values: dict[str, float] = field(default_factory=dict)
    window_s: float | None = None
    unmeasured: str | None = None
    also: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Publication:
    """The keys of a suite's file that say what was published, where, and under what."""

    source: str | None = shape_key("where it was published")
    tables: tuple[NumbersTable, ...] = shape_key("`[[tables]]`: its numbers, by stack", ())
    claims: tuple[Claim, ...] = shape_key("`[[claims]]`: what it says, and how that is tested here", ())
    conditions: tuple[Condition, ...] = shape_key("`[[conditions]]`: what was otherwise there, and where it says so", ())
    lessons: tuple[Lesson, ...] = shape_key("`[[lessons]]`: what was wrong in it, the line that shows it, and what to do", ())
    steps: tuple[CostStep, ...] = shape_key("`[[steps]]`: what a request costs more through one thing than without it", ())
    nearest: dict[str, str] = shape_key("`[nearest]`: a published name, and the stack here that comes nearest to it", {})


def read(source: Source, file: Publication, profile: str | None) -> dict[str, Any]:
    """The fields of a `Suite` that hold the publication, with a profile's tests (None: all). LabError for what is wrong."""
    for place, one in enumerate(file.conditions):
        for key in ("what", "theirs", "here", "where"):
            source.require_text(("conditions", place, key), getattr(one, key))
    for name, stack in file.nearest.items():
        if ":" not in stack:
            raise source.error(("nearest", name), f"`{stack}` is not a stack in", "write SERVER:VARIANT")
    _require_lessons(source, file)
    known = tables(source, file.tables)
    found = tuple(_in_profile(one, profile) for one in claims(source, file.claims, known))
    return {
        "source": file.source, "tables": known, "claims": found, "conditions": file.conditions, "nearest": file.nearest,
        "lessons": file.lessons, "steps": file.steps,
    }  # fmt: skip


def _require_lessons(source: Source, file: Publication) -> None:
    """A lesson has its texts and names claims that there are; a step names two cells."""
    known = {one.id for one in file.claims}
    for place, lesson in enumerate(file.lessons):
        for key in ("wrong", "line", "do"):
            source.require_text(("lessons", place, key), getattr(lesson, key))
        for id in lesson.shown_by:
            if id.removeprefix("not ") not in known:
                hint = nearest(id.removeprefix("not "), known, "claims")
                raise source.error(("lessons", place, "shown_by"), f"no claim `{id}` is in", hint)
    for place, step in enumerate(file.steps):
        for key in ("without", "through"):
            if len(getattr(step, key).split()) < 2:
                raise source.error(("steps", place, key), "a step names no cell in", "write STACK WORKLOAD and marks")


def _in_profile(claim: Claim, profile: str | None) -> Claim:
    if profile is None or not claim.only or profile in claim.only:
        return claim
    return replace(claim, test=None, cannot=f"needs the profile {' or '.join(claim.only)}")


def claims(source: Source, found: tuple[Claim, ...], known: tuple[PublishedTable, ...] = ()) -> tuple[Claim, ...]:
    """The claims of a suite, `[[claims]]`: each has `says`, and either `test` or `cannot`; `paper` may stand in place of both.

    LabError where one has no test and no reason for that, its test cannot be read, `paper` names a number that none of the
    `known` tables has, or its explanation is shown by what tests nothing.
    """
    for place, claim in enumerate(found):
        here: Location = ("claims", place)
        source.require_text((*here, "id"), claim.id)
        source.require_text((*here, "says"), claim.says)
        if claim.id in {earlier.id for earlier in found[:place]}:
            raise source.error((*here, "id"), f"two claims are named `{claim.id}` in", "give each claim a name of its own")
        if (claim.test is None) == (claim.cannot is None) and (claim.test is not None or claim.paper is None):
            raise source.error(here, f"claim `{claim.id}` needs either `test` or `cannot` in", "`cannot` says why it has no test")
        if claim.test is not None:
            _statements(source, (*here, "test"), claim.test)
        if claim.not_refuted_by is not None:
            source.require_text((*here, "not_refuted_by"), claim.not_refuted_by)
        if claim.paper is not None:
            for term in _statement(source, (*here, "paper"), claim.paper).terms:
                if published_value(term, known) is None:
                    hint = "name the stack, and the cells of the table word for word"
                    raise source.error((*here, "paper"), f"`{term}` is in no published table of", hint)
        _require_shown(source, here, claim, found)
    return found


def _require_shown(source: Source, here: Location, claim: Claim, all_of_them: tuple[Claim, ...]) -> None:
    """An explanation is shown by claims that have a test, or that published numbers decide."""
    if claim.shown_by and not claim.reason:
        raise source.error((*here, "shown_by"), f"claim `{claim.id}` explains nothing that could be shown in", "give it `reason`")
    telling = {one.id for one in all_of_them if one.test is not None or one.paper is not None}
    for id in claim.shown_by:
        if id not in telling:
            raise source.error((*here, "shown_by"), f"no claim `{id}` has a test in", nearest(id, telling, "claims with a test"))


def tables(source: Source, found: tuple[NumbersTable, ...]) -> tuple[PublishedTable, ...]:
    """The published tables of a suite. Shares and counts may be zero; what varies by factors is above it."""
    for place, table in enumerate(found):
        here: Location = ("tables", place)
        if table.unmeasured is None:
            _require_cells(source, here, table)
        else:
            source.require_text((*here, "unmeasured"), table.unmeasured)
            if table.cells:
                raise source.error((*here, "cells"), f"table `{table.title}` has cells and is `unmeasured` in", "leave one out")
        if not table.values:
            raise source.error(here, f"table `{table.title}` has no numbers in", "give it `values`, by stack")
        for stack in table.also:
            if stack not in table.values:
                raise source.error((*here, "also", stack), f"`{stack}` has no number in this table of", "give it one in `values`")
        may_be_zero = table.unmeasured is not None or table.metric not in RATIO_METRICS
        for stack, value in table.values.items():
            if value < 0 or (value == 0 and not may_be_zero):
                raise source.error((*here, "values", stack), f"`{value}` is not a published number in", "leave the row out")
    return tuple(_table(one) for one in found)


def _table(one: NumbersTable) -> PublishedTable:
    metric = None if one.unmeasured else one.metric
    return PublishedTable(one.title, metric, one.unit, one.cells, one.values, one.window_s, one.unmeasured, one.also)


def _require_cells(source: Source, here: Location, table: NumbersTable) -> None:
    """Require what a table needs to stand beside our numbers: a metric, cells, and for counts the seconds counted."""
    if table.metric not in TABLE_METRICS:
        raise source.error((*here, "metric"), f"`{table.metric}` is not a metric in", f"use one of {', '.join(TABLE_METRICS)}")
    if not table.cells.split():
        hint = "give it `cells` (a workload, marks), or say why it is `unmeasured`"
        raise source.error(here, f"table `{table.title}` names no cells in", hint)
    counts = table.metric in COUNT_METRICS
    if counts and (table.window_s is None or table.window_s <= 0):
        raise source.error(here, f"table `{table.title}` counts, and has no `window_s` in", "say how many seconds were counted")
    if not counts and table.window_s is not None:
        problem = f"`{table.metric}` is not a count, and needs no window in"
        raise source.error((*here, "window_s"), problem, "leave `window_s` out")


def _statement(source: Source, location: Location, text: str) -> Statement:
    return _read(source, location, lambda: parse(text))


def _statements(source: Source, location: Location, text: str) -> tuple[Statement, ...]:
    return _read(source, location, lambda: parse_all(text))


def _read(source: Source, location: Location, parsed: Callable[[], Parsed]) -> Parsed:
    try:
        return parsed()
    except StatementError as error:
        raise source.error(location, f"{error}, in", "docs/reference/claims.md has the language of claims") from error
