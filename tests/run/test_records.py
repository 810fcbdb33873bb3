"""Records: every kind is read as it was written, whatever a crash left, and folders of earlier labs stay readable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import TypeAdapter

from builders.full import full
from builders.stored import FIXTURES, SCHEMA_FILE, START, new, trial
from fairground import model
from fairground.model import LabError, Limit, Machine, StackInfo
from fairground.model.pair import Round
from fairground.model.record import End, Head, Kind, Record
from fairground.run import records, store

KEPT = [kind for kind in Kind if kind is not Kind.RUN]
"""Kinds that have a head, entries and an end under these names; a run has its own."""


def head(kind: Kind, seed: int = 100) -> Head[Any]:
    """A head with every field filled."""
    asked = full(records.SHAPES[kind].asked, seed)
    thresholds = {"checks": {"steal": 0.02}}
    info = {"one:plain": full(StackInfo, 300)}
    return Head(model.SCHEMA_VERSION, kind, "", "command", START, full(Machine, 200), {"lab": "1"}, thresholds, info, asked)


def written(results: Path, kind: Kind, entries: int = 2) -> Record[Any, Any]:
    """A record with some entries, each with every field filled."""
    record = records.create(results, str(kind), head(kind))
    for number in range(entries):
        record = records.append(record, full(records.SHAPES[kind].entry, 1000 + 1000 * number))
    return record


@pytest.mark.parametrize("kind", KEPT)
def test_a_record_is_read_as_it_was_written(kind: Kind, tmp_path: Path) -> None:
    """Head, entries and end come back with every value in its place."""
    record = written(tmp_path, kind)
    assert record.id == f"2026-11-20-1128-{kind}" == record.folder.name
    assert len(record.entries) == 2 and records.load(record.folder) == record
    ended = records.end(record, End(START + 9, "it is whole"))
    assert ended.end is not None and records.load(record.folder) == ended


@pytest.mark.parametrize("kind", KEPT)
def test_a_torn_last_line_is_no_entry(kind: Kind, tmp_path: Path) -> None:
    """Wherever a crash tears the last line, the entries before it are read, and the next one is written after them."""
    record = written(tmp_path, kind, 1)
    path = record.folder / "entries.jsonl"
    first = path.read_bytes()
    both = records.append(record, record.entries[0])
    whole = path.read_bytes()
    for end in (len(first) + 1, (len(first) + len(whole)) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert records.load(record.folder) == record
        assert records.append(record, record.entries[0]) == both
        assert path.read_bytes() == whole and records.load(record.folder) == both


def test_a_head_stands_before_the_first_entry(tmp_path: Path) -> None:
    """A record without entries is whole, and can be removed; one with entries cannot."""
    record = written(tmp_path, Kind.TRY, 0)
    assert records.load(record.folder) == record and record.end is None
    records.discard(record)
    assert not record.folder.exists()
    with pytest.raises(ValueError, match="holds measurements"):
        records.discard(written(tmp_path, Kind.TRY, 1))


def test_a_run_is_a_record(tmp_path: Path) -> None:
    """The loader of all kinds reads a run: its plan was asked, its trials are the entries."""
    folder = new(tmp_path)
    store.append(folder, trial(1))
    record = records.load(folder)
    assert (record.head.kind, record.head.asked, record.entries) == (Kind.RUN, store.load(folder).plan, (trial(1),))
    assert record.end is None and records.load(FIXTURES / "run-v1").end is not None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("head.json", "{", "cannot be read"),
        ("head.json", "{}", "does not say its schema and kind"),
        ("head.json", '{"schema": 999, "kind": "try"}', "has schema 999, and this lab reads up to 1"),
        ("head.json", '{"schema": 1, "kind": "try"}', "is damaged at `id`"),
        ("entries.jsonl", "}\n{}\n", "is damaged in line 1"),
        ("entries.jsonl", '{"checks": 1}\n', "is damaged at `unit`"),
    ],
)
def test_a_damaged_record_is_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    """A file that was altered is named, never guessed at."""
    record = written(tmp_path, Kind.TRY)
    (record.folder / name).write_text(content)
    with pytest.raises(LabError) as raised:
        records.load(record.folder)
    assert message in raised.value.message


def test_no_record_is_refused(tmp_path: Path) -> None:
    """A folder that holds nothing measured is refused in a sentence."""
    with pytest.raises(LabError, match="is not a record"):
        records.load(tmp_path)


# ---------------------------------------------------------------- finding and listing


def test_records_of_all_kinds_are_listed_and_found(tmp_path: Path) -> None:
    """Each kind is listed with its page, and found by id, beginning, path and kind; `latest` is the newest of a kind."""
    made = {kind: written(tmp_path, kind, 1) for kind in KEPT}
    run = new(tmp_path, started=START - 60)
    (tmp_path / "other").mkdir()
    listed = {one.id: one for one in records.listed(tmp_path)}
    assert {one.kind for one in listed.values()} == set(Kind) and len(listed) == len(Kind)
    assert (listed[made[Kind.CAPACITY].id].page.name, listed[made[Kind.CAPACITY].id].entries) == ("capacity.html", 1)
    assert not listed[made[Kind.TRY].id].finished
    records.end(made[Kind.TRY], End(START, "whole"))
    assert {one.id for one in records.listed(tmp_path) if one.finished} == {made[Kind.TRY].id}
    assert records.find(tmp_path, "latest", Kind.CAPACITY) == made[Kind.CAPACITY].folder
    assert records.find(tmp_path, "2026-11-20-1127") == run == records.find(tmp_path, str(run))
    assert records.find(tmp_path, "2026-11-20-1128-t") == made[Kind.TRY].folder
    with pytest.raises(LabError, match="there is no capacity `other`"):
        records.find(tmp_path, "other", Kind.CAPACITY)
    assert records.listed(tmp_path / "none") == []


# ---------------------------------------------------------------- folders of earlier labs


@pytest.mark.parametrize(
    ("name", "kind", "page"),
    [("comparison-v0", Kind.COMPARISON, "compare.html"), ("capacity-v0", Kind.CAPACITY, "capacity.html"),
     ("try-v0", Kind.TRY, "try.html")],
)  # fmt: skip
def test_a_folder_from_before_there_were_records_is_read(name: str, kind: Kind, page: str) -> None:
    """Its document, its machine and its version are there; it counts as finished, and its page is the one that it has."""
    record = records.load(FIXTURES / "earlier" / name)
    assert (record.head.kind, record.head.schema, record.head.machine.cores) == (kind, 0, 2)
    assert record.earlier is not None and record.head.versions["fairground"] == "0.1"
    (listed,) = (one for one in records.listed(FIXTURES / "earlier") if one.id == name)
    assert (listed.finished, listed.page.name) == (True, page)


def test_rounds_of_an_earlier_comparison_are_read() -> None:
    """Its pairs are put together by the start of the servers that they belong to; a torn last one is stepped over."""
    rounds = records.load(FIXTURES / "earlier" / "comparison-v0").entries
    assert all(isinstance(one, Round) for one in rounds)
    assert [(one.number, [pair.number for pair in one.pairs]) for one in rounds] == [(1, [1, 2]), (2, [1])]
    assert rounds[0].pairs[0].a.ok == 1000 and rounds[1].pairs[0].void == "steal"


# ---------------------------------------------------------------- going on


def test_a_record_goes_on_where_it_began(tmp_path: Path) -> None:
    """The same machine, versions, thresholds and servers are accepted."""
    record = written(tmp_path, Kind.CAPACITY)
    records.same(record, replace(record.head, started_unix_s=START + 99, command="other"))
    gone = replace(record.head.stacks["one:plain"], content_hash=None)
    records.same(replace(record, head=replace(record.head, stacks={"one:plain": gone})), record.head)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"machine": full(Machine, 900)}, "was begun on another machine: hostname_hash was"),
        ({"versions": {"lab": "2"}}, "was begun with other versions: lab was `1` and is `2`"),
        ({"thresholds": {"checks": {"steal": 0.5}}}, "the thresholds have changed since"),
        ({"stacks": {"one:plain": replace(full(StackInfo, 300), content_hash="x")}}, "has changed since"),
    ],
)
def test_a_record_does_not_go_on_elsewhere(changes: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    """Another machine, version, threshold or state of a server would mix two measurements in one record."""
    record = written(tmp_path, Kind.CAPACITY)
    with pytest.raises(LabError) as raised:
        records.same(record, replace(record.head, **changes))
    assert message in raised.value.message and raised.value.exit_code == 2


# ---------------------------------------------------------------- the published schema


def documents(folder: Path) -> dict[str, Any]:
    """The files of a folder that the schema speaks of, the first line of each `.jsonl`."""
    return {path.name: json.loads(path.read_text().splitlines()[0] if path.suffix == ".jsonl" else path.read_text())
            for path in folder.iterdir() if path.suffix in (".json", ".jsonl")}  # fmt: skip


@pytest.mark.parametrize("kind", KEPT)
def test_records_fulfil_the_published_schema(kind: Kind, tmp_path: Path) -> None:
    """What is written is valid by the schema, finished or not; an entry of another kind is not."""
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    record = written(tmp_path, kind)
    validator.validate(documents(record.folder))
    records.end(record, End(START, "whole"))
    found = documents(record.folder)
    validator.validate(found)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found | {"entries.jsonl": TypeAdapter(Limit).dump_python(full(Limit), mode="json")})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found | {"head.json": {**found["head.json"], "started_unix_s": None}})
