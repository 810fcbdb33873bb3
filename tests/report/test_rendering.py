"""Pages of records: where their roles were, and on what machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.stored import written
from fairground.model import CellSettings, Durability, Load
from fairground.model.record import CapacityAsked, ComparisonAsked, Record, RecordKind, TryAsked
from fairground.report.rendering import render

PLACED = CellSettings(place=(("generator", "rack-2"),))
SERVICE = TryAsked("http://127.0.0.1:3000/x", "GET", (), None, "p99<50ms", 2, 5000, True, False, None)
COMPARED = ComparisonAsked("a", "b", "one:a", "one:b", None, "ping", Load(), PLACED, 1, 180.0, 0.005, 5, 0.01, 0.1)
SOUGHT = CapacityAsked((("one:plain", "ping"),), "p99<50ms", 60.0, 0.05, Load(), PLACED, 1)


def page_of(results: Path, kind: RecordKind, asked: Any, command: str = "./fairground") -> str:
    """The page of a record without entries, of a machine with one core."""
    record: Record[Any, Any] = written(results, kind, entries=0)
    head = replace(
        record.head, command=command, asked=asked, versions={"fairground": "1"}, machine=replace(record.head.machine, cores=1)
    )
    return render(replace(record, head=head)).files[-1][1]


@pytest.mark.parametrize(("kind", "asked"), [(RecordKind.COMPARISON, COMPARED), (RecordKind.CAPACITY, SOUGHT)])
def test_the_page_says_where_a_placed_generator_is(kind: RecordKind, asked: Any, tmp_path: Path) -> None:
    """Roles on a host share no machine with the servers."""
    shown = page_of(tmp_path, kind, asked)
    assert "Servers and database share this machine, and the generator is on host rack-2: the rat" in shown
    assert "Generator, servers and database share this machine: the rat" in page_of(
        tmp_path, kind, replace(asked, settings=CellSettings())
    )


@pytest.mark.parametrize(("kind", "asked"), [(RecordKind.COMPARISON, COMPARED), (RecordKind.CAPACITY, SOUGHT)])
def test_a_given_server_has_a_durability_of_its_own(kind: RecordKind, asked: Any, tmp_path: Path) -> None:
    """Nobody relaxed it; where its commits were asked to wait for the disk, they did."""
    durable = replace(asked, settings=replace(PLACED, durability=Durability.DURABLE))
    given = "./fairground compare one:a one:b --database @url"
    assert "relaxed durability" in page_of(tmp_path, kind, asked)
    assert "the server&#39;s own durability" in page_of(tmp_path, kind, asked, given)
    assert ", durable" in page_of(tmp_path, kind, durable, given)


def test_where_a_service_is_nobody_claims(tmp_path: Path) -> None:
    """Its URL says it, and its database is not known at all."""
    asked = replace(COMPARED, settings=CellSettings(), services=(SERVICE, replace(SERVICE, url="http://10.0.0.2/x")))
    shown = page_of(tmp_path, RecordKind.COMPARISON, asked)
    assert "share this machine" not in shown and "the services are where their URLs say: the ratio" in shown


def test_a_machine_has_one_core(tmp_path: Path) -> None:
    """And not one cores."""
    shown = page_of(tmp_path, RecordKind.TRY, SERVICE)
    assert "1 core" in shown and "1 cores" not in shown
