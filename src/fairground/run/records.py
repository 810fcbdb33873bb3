"""Records of every kind: one folder for each measurement, written as it goes on, and one loader for all of them.

    results/2026-11-20-1128-compare/
        head.json       before the first measurement: versions, machine, thresholds, and what was asked
        entries.jsonl   one line for each finished unit, on the disk before the next begins
        end.json        where nothing is missing: when it ended, and why
        …               raw data, pages

A run has its own names for these files (`store`). Folders of labs that wrote no records are still read: what of them can be shown
again is their document and their page.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground.capacity.parts import Part as CapacityPart
from fairground.judge import thresholds, validity
from fairground.model import SCHEMA_VERSION, LabError, Machine, Plan, Run, Trial
from fairground.model.experiment import Start, WhyAsked
from fairground.model.pair import Pair, Round
from fairground.model.record import (
    CapacityAsked,
    CheckAsked,
    Checked,
    ComparisonAsked,
    CrossCheckAsked,
    End,
    Head,
    Kind,
    Listed,
    Record,
    TryAsked,
)
from fairground.model.window import Window
from fairground.run import journal, store
from fairground.service.parts import Part as TryPart
from fairground.stats.agreement import Agreement

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True)
class Shape:
    """How a kind is kept: what was asked, what an entry is, and the names of its files. `page`: what a reader opens."""

    asked: Any
    entry: Any
    page: str
    head: str = "head.json"
    entries: str = "entries.jsonl"
    end: str = "end.json"


SHAPES: Mapping[Kind, Shape] = {
    Kind.RUN: Shape(Plan, Trial, "report.html", "plan.json", "trials.jsonl", "ending.json"),
    Kind.COMPARISON: Shape(ComparisonAsked, Round, "compare.html"),
    Kind.CAPACITY: Shape(CapacityAsked, CapacityPart, "capacity.html"),
    Kind.TRY: Shape(TryAsked, TryPart, "try.html"),
    Kind.CHECK: Shape(CheckAsked, Checked, "head.json"),
    Kind.CROSS_CHECK: Shape(CrossCheckAsked, Agreement, "head.json"),
    Kind.WHY: Shape(WhyAsked, Start, "why.html"),
}

EARLIER: Mapping[str, tuple[Kind, str]] = {
    "compare.json": (Kind.COMPARISON, "compare.html"),
    "capacity.json": (Kind.CAPACITY, "capacity.html"),
    "search.json": (Kind.CAPACITY, "search.html"),
    "try.json": (Kind.TRY, "try.html"),
}
"""The one document of a folder that was written before there were records → its kind and its page."""

HEAD = "head.json"
MEND = "restore the folder from where it was copied, or remove it"


# ---------------------------------------------------------------- writing


def create(results: Path, title: str, head: Head[Any]) -> Record[Any, Any]:
    """Make a record's folder with its head; `id` becomes the folder's name, made of the start and `title`."""
    folder = journal.new_folder(results, head.started_unix_s, title)
    shape, known = SHAPES[head.kind], replace(head, id=folder.name)
    with journal.whole_or_none(folder):
        journal.write(folder / shape.entries, b"")
        journal.write(folder / shape.head, _head(head.kind).dump_json(known, indent=2, warnings="error") + b"\n")
        journal.sync_folder(folder)
    return Record(folder, known)


def append(record: Record[Any, Any], entry: object) -> Record[Any, Any]:
    """Add a finished unit. When this returns, it survives a crash of the machine."""
    shape = SHAPES[record.head.kind]
    journal.append(record.folder / shape.entries, _adapter(shape.entry).dump_json(entry, warnings="error") + b"\n")
    return replace(record, entries=(*record.entries, entry))


def end(record: Record[Any, Any], ending: End) -> Record[Any, Any]:
    """Note that nothing is missing any more."""
    journal.replace(record.folder / SHAPES[record.head.kind].end, _adapter(End).dump_json(ending, indent=2) + b"\n")
    return replace(record, end=ending)


def discard(record: Record[Any, Any]) -> None:
    """Remove the folder of a record in which nothing was measured."""
    if record.entries:
        raise ValueError(f"{record.id} holds measurements")
    shutil.rmtree(record.folder)


# ---------------------------------------------------------------- reading


def load(folder: Path) -> Record[Any, Any]:
    """Read a record of any kind, finished or not, of this or an older lab. LabError when the folder holds none, or is damaged."""
    if (folder / SHAPES[Kind.RUN].head).is_file():
        return of_run(store.load(folder))
    if (folder / HEAD).is_file():
        return _measured(folder)
    for name, (kind, _) in EARLIER.items():
        if (folder / name).is_file():
            return _earlier(folder, kind, journal.whole(folder / name))
    raise LabError(f"`{folder}` is not a record: it has no head", "`./fairground list runs` shows what there is")


def of_run(run: Run) -> Record[Plan, Trial]:
    """A run as a record: its plan was asked, its trials (controls among them) are the entries."""
    judged = store.thresholds(run.folder) or {}
    head = Head(run.schema, Kind.RUN, run.id, run.plan.command, run.started_unix_s, run.machine, run.versions, judged,
                run.stacks, run.plan)  # fmt: skip
    trials = run.everything
    last_s = max((trial.started_unix_s + trial.duration_s for trial in trials), default=run.started_unix_s)
    reason = run.ending.reason if run.ending is not None else "all of its plan was measured"
    return Record(run.folder, head, trials, End(last_s, reason) if run.finished else None)


def declared(folder: Path) -> Kind | None:
    """What a folder holds, by the names of its files; None: no record."""
    if (folder / SHAPES[Kind.RUN].head).is_file():
        return Kind.RUN
    if (folder / HEAD).is_file():
        return _kind_of(folder, journal.whole(folder / HEAD))
    return next((kind for name, (kind, _) in EARLIER.items() if (folder / name).is_file()), None)


def find(results: Path, text: str, kind: Kind | None = None) -> Path:
    """The folder of a record, by path, id, beginning of an id, or `latest`; of one kind, or (None) of any."""
    if (given := declared(Path(text))) is not None and kind in (None, given):
        return Path(text)
    every = {folder.name: (_started(folder), folder) for folder, one in _folders(results) if kind in (None, one)}
    return journal.pick(every, text, results, "run" if kind is None else str(kind))


def of_kind(results: Path, kind: Kind) -> list[Record[Any, Any]]:
    """All records of one kind in a folder of results, by id."""
    return [load(folder) for folder, one in _folders(results) if one is kind]


def listed(results: Path) -> list[Listed]:
    """Every record in a folder of results, by id, which begins with the time of its start."""
    found = []
    for folder, kind in _folders(results):
        one = load(folder)
        page = SHAPES[kind].page if one.earlier is None else next(page for name, (_, page) in EARLIER.items()
                                                                 if (folder / name).is_file())  # fmt: skip
        finished = one.end is not None or one.earlier is not None
        entries = None if one.earlier is not None else len(one.entries)
        found.append(
            Listed(one.folder.name, kind, folder, one.head.started_unix_s, finished, entries, one.head.command, folder / page)
        )
    return found


# ---------------------------------------------------------------- going on


def same(record: Record[Any, Any], now: Head[Any]) -> None:
    """LabError when a record that is to go on would be of two machines, versions, sets of thresholds, or states of a server."""
    _same_machine(record, now)
    if names := thresholds.changed(record.head.thresholds, now.thresholds):
        raise LabError(
            f"the thresholds have changed since `{record.id}` began ({', '.join(names)}), and a record has one set of them",
            "begin anew, or go on with the version of the lab that began this one",
        )
    for label, was in record.head.stacks.items():
        is_now = now.stacks.get(label)
        if was.content_hash is not None and is_now is not None and is_now.content_hash != was.content_hash:
            raise LabError(
                f"`{was.id}` has changed since `{record.id}` began, and a record holds one version of each server",
                "begin anew, or restore the server's folder",
            )


def _same_machine(record: Record[Any, Any], now: Head[Any]) -> None:
    pairs = (
        ("on another machine", asdict(record.head.machine), asdict(now.machine)),
        ("with other versions", record.head.versions, now.versions),
    )
    for words, before, after in pairs:
        if changes := validity.changes(before, after):
            hint = "begin anew, or restore what was there: a record is of one machine and one version of each program"
            raise LabError(f"`{record.id}` was begun {words}: {', '.join(changes)}", hint)


# ---------------------------------------------------------------- the published schema


def json_schema() -> dict[str, Any]:
    """JSON Schema of a record's folder, by kind: one property for each file; for `.jsonl` it describes one line."""
    from pydantic import TypeAdapter

    files = {kind: _files(kind) for kind in Kind}
    inputs = [((kind, name), "serialization", adapter) for kind, some in files.items() for name, adapter in some.items()]
    references, definitions = TypeAdapter.json_schemas(inputs, title="The folder of a record")  # type: ignore[arg-type]
    optional = {shape.end for shape in SHAPES.values()} | set(store.OPTIONAL)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions,
        "description": f"Schema version {SCHEMA_VERSION}. A property is a file of the folder; for .jsonl it describes one line.",
        "anyOf": [
            {
                "title": str(kind),
                "type": "object",
                "properties": {name: references[(kind, name), "serialization"] for name in some},
                "required": [name for name in some if name not in optional],
                "additionalProperties": False,
            }
            for kind, some in files.items()
        ],
    }


def _files(kind: Kind) -> dict[str, TypeAdapter[Any]]:
    """The files of a kind, each with its shape."""
    if kind is Kind.RUN:
        return {name: _adapter(shape) for name, shape in store.SHAPES.items()}
    shape = SHAPES[kind]
    return {shape.head: _head(kind), shape.entries: _adapter(shape.entry), shape.end: _adapter(End)}


# ---------------------------------------------------------------- helpers


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(shape)


def _head(kind: Kind) -> TypeAdapter[Any]:
    return _adapter(Head[SHAPES[kind].asked])  # type: ignore[misc]


def _measured(folder: Path) -> Record[Any, Any]:
    head = journal.whole(folder / HEAD)
    kind = _kind_of(folder, head)
    shape = SHAPES[kind]
    known = _parsed(folder, shape.head, _head(kind), head)
    entries = tuple(_parsed(folder, shape.entries, _adapter(shape.entry), line) for line in journal.lines(folder / shape.entries))
    ending = folder / shape.end
    ended = _parsed(folder, shape.end, _adapter(End), journal.whole(ending)) if ending.is_file() else None
    return Record(folder, replace(known, id=folder.name), entries, ended)


def _kind_of(folder: Path, head: Any) -> Kind:
    """The kind that a head says. LabError where it says none, or a schema that this lab does not know."""
    schema, kind = (head.get("schema"), head.get("kind")) if isinstance(head, dict) else (None, None)
    if not isinstance(schema, int) or kind not in set(Kind):
        raise LabError(f"`{HEAD}` of `{folder.name}` does not say its schema and kind", MEND)
    if schema > SCHEMA_VERSION:
        message = f"`{folder.name}` has schema {schema}, and this lab reads up to {SCHEMA_VERSION}"
        raise LabError(message, "read it with the newer version of the lab that wrote it")
    return Kind(kind)


def _parsed(folder: Path, name: str, adapter: TypeAdapter[Any], value: Any) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise LabError(f"`{name}` of `{folder.name}` is damaged at `{place}`: {first['msg'].lower()}", MEND) from error


def _earlier(folder: Path, kind: Kind, document: Any) -> Record[Any, Any]:
    """What can be read of a folder from before there were records: its document, and the rounds of a comparison."""
    told = document if isinstance(document, dict) else {}
    machine = told.get("machine")
    versions = told.get("versions") or ({"fairground": told["lab"]} if "lab" in told else {})
    known = _parsed(folder, "machine", _adapter(Machine), machine) if machine else _UNKNOWN
    head = Head(0, kind, folder.name, "", _named_start(folder), known, versions, {}, {}, told)
    return Record(folder, head, tuple(_rounds(folder)) if kind is Kind.COMPARISON else (), None, told)


_UNKNOWN = Machine("", None, 0, None, "", None, None, None, None, {})
"""The machine of a folder that does not say it."""


def _rounds(folder: Path) -> Iterator[Round]:
    """The rounds of an earlier comparison; how long each took is not known, so the load alone is counted."""
    pairs = [_parsed(folder, "pairs.jsonl", _adapter(Pair), line) for line in journal.lines(folder / "pairs.jsonl")]
    for number, some in groupby(pairs, key=lambda pair: int(pair.round)):
        made = tuple(some)
        yield Round(number, made, sum(_seconds(pair.a) + _seconds(pair.b) for pair in made))


def _seconds(window: Window) -> float:
    return window.window_s


def _folders(results: Path) -> list[tuple[Path, Kind]]:
    """The folders in `results` that hold records, by name."""
    folders = sorted(path for path in results.iterdir() if path.is_dir()) if results.is_dir() else []
    return [(folder, kind) for folder in folders if (kind := declared(folder)) is not None]


def _started(folder: Path) -> float:
    """When a record began, from its head; of earlier folders from its name."""
    for name in (SHAPES[Kind.RUN].head, HEAD):
        if (folder / name).is_file():
            head = journal.whole(folder / name)
            started = head.get("started_unix_s") if isinstance(head, dict) else None
            return float(started) if isinstance(started, int | float) else 0.0
    return _named_start(folder)


def _named_start(folder: Path) -> float:
    """The start that a folder's name tells: 2026-11-20-112801-try; 0 where it tells none."""
    found = re.match(r"\d{4}-\d{2}-\d{2}-\d{6}", folder.name)
    return datetime.strptime(found[0], "%Y-%m-%d-%H%M%S").replace(tzinfo=UTC).timestamp() if found else 0.0
