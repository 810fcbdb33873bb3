"""Records: every kind is read as it was written, whatever a crash left there; and a record goes on only where it began."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from builders.full import full
from builders.stored import SCHEMA_FILE, START, head, new, small_plan, trial, written
from fairground import model, records
from fairground.model import Ending, LabError, Limit, Machine, StackInfo, StorageError
from fairground.model.record import Listed, RecordEnd, RecordKind
from fairground.model.resume import database_of, options_again_of

ENDS = {kind: Ending(1, "it is whole") if kind is RecordKind.RUN else RecordEnd(START + 9, "it is whole") for kind in RecordKind}

# ---------------------------------------------------------------- round trip


@pytest.mark.parametrize("kind", RecordKind)
def test_a_record_is_read_as_it_was_written(kind: RecordKind, tmp_path: Path) -> None:
    """Head, entries, end and the files beside them come back with every value in its place."""
    record = written(tmp_path, kind)
    assert record.id == f"2026-11-20-1128-{kind}" == record.folder.name
    assert len(record.entries) == 2 and records.load(record.folder) == record
    assert records.read_head(record.folder) == record.head and records.kind_of(record.folder) is kind
    ended = records.end(record, ENDS[kind])
    assert ended.end is not None and records.load(record.folder) == ended


@pytest.mark.parametrize("kind", RecordKind)
def test_a_torn_last_line_is_no_entry(kind: RecordKind, tmp_path: Path) -> None:
    """Wherever a crash tears a line, the entries before it are read, and the next one is written after them."""
    record = written(tmp_path, kind, 0)
    path = record.folder / "entries.jsonl"
    entry = full(records.SHAPES[kind].entry)
    for _ in range(2):
        whole_before = path.read_bytes()
        both = records.append(record, entry)
        whole = path.read_bytes()
        assert whole.startswith(whole_before), "finished entries are never rewritten"
        for end in (len(whole_before) + 1, (len(whole_before) + len(whole)) // 2, len(whole) - 1):
            path.write_bytes(whole[:end])
            assert records.load(record.folder) == record
            assert records.append(record, entry) == both
            assert path.read_bytes() == whole and records.load(record.folder) == both
        record = both


def test_an_entry_is_on_the_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole line is in the file when the disk is told to keep it."""
    record, seen = written(tmp_path, RecordKind.RUN, 0), list[bytes]()
    monkeypatch.setattr(os, "fsync", lambda _: seen.append((record.folder / "entries.jsonl").read_bytes()))
    records.append(record, trial(1))
    assert len(seen) == 1 and seen[0].endswith(b"}\n")


def test_value_of_a_wrong_type_is_refused_before_it_is_written(tmp_path: Path) -> None:
    """What could not be read again is an error of the program at once, and the record stays whole."""
    record = written(tmp_path, RecordKind.RUN)
    with pytest.raises(ValueError, match="duration_s"):
        records.append(record, replace(trial(2), duration_s="soon"))  # type: ignore[arg-type]
    assert records.load(record.folder) == record


def test_a_head_stands_before_the_first_entry(tmp_path: Path) -> None:
    """A record without entries is whole, and can be removed; one with entries cannot."""
    record = written(tmp_path, RecordKind.TRY, 0)
    assert records.load(record.folder) == record and record.end is None
    records.discard(record)
    assert not record.folder.exists()
    with pytest.raises(ValueError, match="holds measurements"):
        records.discard(written(tmp_path, RecordKind.TRY, 1))


st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(Mapping, lambda kind: st.dictionaries(*map(st.from_type, get_args(kind)), max_size=3))
OF_A_RUN = records.SHAPES[RecordKind.RUN]


@pytest.mark.parametrize("kind", [OF_A_RUN.asked, OF_A_RUN.entry, OF_A_RUN.end, *OF_A_RUN.beside.values(), Machine, StackInfo])
def test_any_value_survives_json(kind: Any) -> None:
    """Whatever a value holds, unknowns, empty tables and odd texts too, its JSON is read as the same value."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    @settings(max_examples=8 if settings.default.derandomize else 20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_type(kind))
    def survives(value: Any) -> None:
        assert adapter.validate_python(json.loads(adapter.dump_json(value))) == value

    survives()


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("head.json", "{", "`head.json` of `2026-11-20-1128-run` cannot be read ("),
        ("head.json", "{}", "`head.json` of `2026-11-20-1128-run` does not say its schema and kind"),
        ("head.json", '{"schema": 999, "kind": "run"}', "`2026-11-20-1128-run` has schema 999, and this lab reads 1"),
        ("head.json", '{"schema": 1, "kind": "run"}', "`head.json` of `2026-11-20-1128-run` is damaged at `id`: "),
        ("entries.jsonl", "}\n{}\n", "`entries.jsonl` of `2026-11-20-1128-run` is damaged in line 1"),
        ("entries.jsonl", '{"number": 1}\n', "`entries.jsonl` of `2026-11-20-1128-run` is damaged at `block`: "),
        ("workloads.json", '{"ping": 1}', "`workloads.json` of `2026-11-20-1128-run` is damaged at `ping`: "),
        ("limits.jsonl", "{}\n", "`limits.jsonl` of `2026-11-20-1128-run` is damaged at `workload`: "),
    ],
)
def test_a_damaged_record_is_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    """A file that was altered is named, never guessed at."""
    record = written(tmp_path, RecordKind.RUN)
    (record.folder / name).write_text(content)
    with pytest.raises(LabError) as raised:
        records.load(record.folder)
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize("place", ["head", "plan"])
def test_a_command_without_an_end_is_no_command(place: str, tmp_path: Path) -> None:
    """It would be looked through for secrets whenever records are listed."""
    folder = new(tmp_path)
    document = json.loads((folder / "head.json").read_text())
    (document if place == "head" else document["asked"])["command"] = "a" * 65_537
    (folder / "head.json").write_text(json.dumps(document))
    (damaged,) = records.list_all(tmp_path)
    assert isinstance(damaged, records.Damaged)
    assert damaged.why == f"`head.json` of `{folder.name}` has a command of more than 65,536 characters"


def test_no_record_is_refused(tmp_path: Path) -> None:
    """A folder that holds nothing measured is refused in a sentence."""
    with pytest.raises(LabError, match="is not a record: it has no `head.json`"):
        records.load(tmp_path)


# ---------------------------------------------------------------- finding and listing


def test_records_of_all_kinds_are_listed_and_found(tmp_path: Path) -> None:
    """Each kind is listed with its page, and found by id, beginning, path and kind; `latest` is the newest of a kind."""
    made = {kind: written(tmp_path, kind, 1) for kind in RecordKind if kind is not RecordKind.RUN}
    run = new(tmp_path, started=START - 60)
    (tmp_path / "other").mkdir()
    listed = {one.id: one for one in records.list_all(tmp_path) if isinstance(one, Listed)}
    assert {one.kind for one in listed.values()} == set(RecordKind) and len(listed) == len(RecordKind)
    assert (listed[made[RecordKind.CAPACITY].id].page.name, listed[made[RecordKind.CAPACITY].id].entries) == ("capacity.html", 1)
    assert not any(one.finished for one in listed.values())
    records.end(made[RecordKind.TRY], RecordEnd(START, "whole"))
    records.append_trial(run, trial(1))
    records.append_trial(run, trial(2))
    assert {one.id for one in records.list_all(tmp_path) if isinstance(one, Listed) and one.finished} == {
        made[RecordKind.TRY].id,
        run.name,
    }
    assert records.of_kind(tmp_path, RecordKind.WHY) == [made[RecordKind.WHY]]
    assert records.find(tmp_path, "latest", RecordKind.CAPACITY) == made[RecordKind.CAPACITY].folder
    assert records.find(tmp_path, "2026-11-20-1127") == run == records.find(tmp_path, str(run))
    assert records.find(tmp_path, "2026-11-20-1128-t") == made[RecordKind.TRY].folder
    assert records.find_run(tmp_path, "latest") == run
    name = made[RecordKind.TRY].folder.name
    with pytest.raises(LabError, match=f"`{name}` is a try, and a run is asked for"):
        records.find_run(tmp_path, name)
    with pytest.raises(LabError, match="there is no capacity `other`"):
        records.find(tmp_path, "other", RecordKind.CAPACITY)
    with pytest.raises(LabError, match="is a try and not a run"):
        records.load_run(made[RecordKind.TRY].folder)
    assert records.list_all(tmp_path / "none") == []


def test_a_folder_that_may_not_be_read_hides_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results may be kept on a disk of their own, in which `lost+found` is the administrator's."""
    run = new(tmp_path)
    (tmp_path / "lost+found").mkdir()
    look = os.stat

    def stat(path: Any, *words: Any, **named: Any) -> os.stat_result:
        if not isinstance(path, int) and "lost+found/" in os.fspath(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return look(path, *words, **named)

    monkeypatch.setattr(os, "stat", stat)
    assert [one.id for one in records.list_all(tmp_path)] == [run.name]
    assert records.find(tmp_path, "latest") == run and records.own_of(tmp_path) == (run,)
    assert [one.id for one in records.of_kind(tmp_path, RecordKind.RUN)] == [run.name]


def test_a_word_that_is_no_name_is_no_record(tmp_path: Path) -> None:
    """No file system takes a name of 300 letters: nothing can be there, neither a record nor a folder of results."""
    new(tmp_path)
    word = "a" * 300
    with pytest.raises(LabError, match=f"there is no run `{word}`"):
        records.find_run(tmp_path, word)
    assert records.list_all(tmp_path / word) == [] and records.own_of(tmp_path / word) == ()
    with pytest.raises(StorageError, match="its name is too long"):
        new(tmp_path / word)


def test_the_latest_of_a_minute_is_the_one_that_began_last(tmp_path: Path) -> None:
    """The name tells the minute, the head the moment. A whole id is that record, although another one begins with it."""
    later, first = (new(tmp_path, small_plan(title=title), START + after) for title, after in (("a", 1), ("b", 0)))
    second = new(tmp_path, small_plan(title="b"), START)
    assert records.find_run(tmp_path, "latest") == later
    assert (records.find_run(tmp_path, first.name), second.name) == (first, f"{first.name}-2")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("2026-11-20", "`2026-11-20` fits 2 runs in `results`", "say which: 2026-11-20-1128-demo, 2026-11-20-1128-other"),
        (
            "2026-11-20-1128-dmo",
            "there is no run `2026-11-20-1128-dmo` in `results`",
            "there are 2026-11-20-1128-demo, 2026-11-20-1128-other; `latest` is the newest",
        ),
        ("", "there is no run `` in `results`", "there are 2026-11-20-1128-demo, 2026-11-20-1128-other; `latest` is the newest"),
    ],
)
def test_a_run_that_is_not_found(text: str, message: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclear name is met with the runs that there are."""
    monkeypatch.chdir(tmp_path)
    for title in ("demo", "other"):
        new(Path("results"), small_plan(title=title))
    with pytest.raises(LabError) as raised:
        records.find_run(Path("results"), text)
    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_no_runs_at_all(tmp_path: Path) -> None:
    """Before the first run the error says how to make one."""
    with pytest.raises(LabError, match="there is no run in") as raised:
        records.find_run(tmp_path / "results", "latest")
    assert raised.value.hint == "make one with `./fairground demo`"


# ---------------------------------------------------------------- going on


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("./fairground run -s one", ""),
        ("./fairground run -s one --database @db", " --database @db"),
        ("./fairground run --database=postgresql://me@host/x -s one", " --database postgresql://me@host/x"),
        ("./fairground run --database 'postgresql://me:(hidden)@host/x'", " --database 'postgresql://me:(hidden)@host/x'"),
        ("./fairground try http://a -- ./app --database postgresql://host/x", ""),
        ("./fairground try http://a --database @db -- ./app --database=x", " --database @db"),
        ("./fairground clean --databases", ""),
        ("./fairground run 'without an end", ""),
    ],
)
def test_the_database_of_a_command(command: str, option: str) -> None:
    """The option as it was typed, or nothing: a service has options of its own."""
    assert database_of(command) == option


def test_a_database_is_named_again_without_what_was_hidden() -> None:
    """No login works with what stands in a password's place."""
    hidden = "./fairground run --database 'postgresql://me:(hidden)@host/x'"
    assert options_again_of(hidden) == " --database URL"
    assert options_again_of("./fairground run --database @db") == " --database @db"
    assert options_again_of("./fairground check x") == ""
    before = replace(head(RecordKind.CAPACITY), command=hidden)
    with pytest.raises(LabError) as raised:
        records.require_database(before, None)
    assert raised.value.hint == "name it again: --database URL"


def test_hosts_are_named_again() -> None:
    """A record says who was elsewhere, and not by which address; the options of a service are its own."""
    typed = "./fairground run --hosts=10.0.0.7:8786 -s one --place server=a --tls 'my certificate' --place database=b -- app --hosts x"
    again = " --hosts 10.0.0.7:8786 --place server=a --tls 'my certificate' --place database=b"
    assert options_again_of(typed) == again
    assert options_again_of(f"./fairground run --database @db{again}") == f" --database @db{again}"


def test_a_record_goes_on_where_it_began() -> None:
    """The same machine, versions, thresholds and servers are accepted, and a server whose sources nobody knows."""
    before = replace(head(RecordKind.CAPACITY), id="2026-11-20-1128-capacity")
    records.require_same(before, replace(before, started_unix_s=START + 99, command="other"))
    unknown = {"one:plain": replace(before.stacks["one:plain"], content_hash=None)}
    records.require_same(replace(before, stacks=unknown), before)
    records.require_same(before, replace(before, stacks={}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"machine": replace(full(Machine, 200), kernel="5.0")},
            "`x` was begun on another machine: kernel was `{}` and is `5.0`",
        ),
        ({"versions": {"lab": "2"}}, "`x` was begun with other versions: lab was `1` and is `2`"),
        ({"versions": {}}, "`x` was begun with other versions: lab was `1` and is unknown"),
        (
            {"thresholds": {"checks": {"steal": 0.5}}},
            "the thresholds have changed since `x` began (checks.steal), and a record has one set of them",
        ),
        (
            {"stacks": {"one:plain": replace(full(StackInfo, 300), content_hash="y")}},
            "`{}` has changed since `x` began, and a record holds one version of each server",
        ),
    ],
)
def test_a_record_does_not_go_on_elsewhere(changes: Mapping[str, Any], message: str) -> None:
    """Another machine, version, threshold or state of a server would mix two measurements in one record."""
    before = replace(head(RecordKind.CAPACITY), id="x")
    with pytest.raises(LabError) as raised:
        records.require_same(before, replace(before, **changes))
    about = before.machine.kernel if "machine" in changes else before.stacks["one:plain"].id
    assert raised.value.message == message.format(about) and raised.value.exit_code == 2


# ---------------------------------------------------------------- the published schema


def test_published_schema_is_up_to_date() -> None:
    """`docs/result-schema.json` is what the code writes. `make golden` writes it anew."""
    text = json.dumps(records.json_schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("FAIRGROUND_GOLDEN") == "write":
        SCHEMA_FILE.write_text(text)
    assert SCHEMA_FILE.read_text() == text


def documents(folder: Path) -> dict[str, Any]:
    """The files of a folder that the schema speaks of, the first line of each `.jsonl` that has one."""
    texts = {path.name: path.read_text() for path in folder.iterdir() if path.suffix in (".json", ".jsonl")}
    return {name: json.loads(text.splitlines()[0] if name.endswith(".jsonl") else text) for name, text in texts.items() if text}


@pytest.mark.parametrize("kind", RecordKind)
def test_records_fulfil_the_published_schema(kind: RecordKind, tmp_path: Path) -> None:
    """What is written is valid by the schema, finished or not; an entry of another kind is not, nor a head without a start."""
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    record = written(tmp_path, kind)
    if kind is RecordKind.RUN:
        records.append_limit(record.folder, full(Limit))
    validator.validate(documents(record.folder))
    records.end(record, ENDS[kind])
    found = documents(record.folder)
    validator.validate(found)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found | {"entries.jsonl": TypeAdapter(Limit).dump_python(full(Limit), mode="json")})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found | {"head.json": {**found["head.json"], "started_unix_s": None}})


def test_the_schema_version_is_in_every_head(tmp_path: Path) -> None:
    """So a lab of another version knows what it cannot read."""
    heads = [json.loads((written(tmp_path, kind, 0).folder / "head.json").read_text()) for kind in RecordKind]
    assert {one["schema"] for one in heads} == {model.SCHEMA_VERSION}
