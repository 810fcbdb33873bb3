"""The shape of each kind of record: what was asked, what an entry is, and which files stand beside them.

pydantic turns text into values of these shapes. It is imported only when one is read or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground.capacity.parts import CapacityPart
from fairground.capacity.service.parts import ServicePart
from fairground.model import SCHEMA_VERSION, Ending, JudgedRuns, LabError, Limit, Plan, Qualification, Trial, error, foreign
from fairground.model.count import CountAsked, CountedStart
from fairground.model.experiment import Start, WhyAsked
from fairground.model.pair import Round
from fairground.model.record import (
    CapacityAsked,
    CheckAsked,
    ComparisonAsked,
    CrossCheckAsked,
    Head,
    RecordEnd,
    RecordKind,
    StackChecked,
    TryAsked,
)
from fairground.records import journal
from fairground.stats.agreement import Agreement

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HEAD, ENTRIES, END = error.RECORD_HEAD, "entries.jsonl", "end.json"
DATABASE, WORKLOADS, LIMITS, QUALIFICATION = "database.json", "workloads.json", "limits.jsonl", "qualification.json"
JUDGED = "judged.json"
MEND = "restore the folder from where it was copied, or remove it"


@dataclass(frozen=True)
class Shape:
    """The types of a kind's head, entries and end, and its page. `beside`: side file → its type; of `.jsonl`, that of a line."""

    asked: Any
    entry: Any
    page: str
    end: Any = RecordEnd
    beside: Mapping[str, Any] = field(default_factory=dict)


SHAPES: Mapping[RecordKind, Shape] = {
    RecordKind.RUN: Shape(
        Plan,
        Trial,
        "report.html",
        Ending,
        {
            DATABASE: Mapping[str, str],
            WORKLOADS: Mapping[str, Mapping[str, str]],
            LIMITS: Limit,
            QUALIFICATION: Qualification,
            JUDGED: Mapping[str, JudgedRuns],
        },
    ),
    RecordKind.COMPARISON: Shape(ComparisonAsked, Round, "compare.html"),
    RecordKind.CAPACITY: Shape(CapacityAsked, CapacityPart, "capacity.html"),
    RecordKind.TRY: Shape(TryAsked, ServicePart, "try.html"),
    RecordKind.CHECK: Shape(CheckAsked, StackChecked, HEAD),
    RecordKind.CROSS_CHECK: Shape(CrossCheckAsked, Agreement, HEAD),
    RecordKind.WHY: Shape(WhyAsked, Start, "why.html"),
    RecordKind.COUNT: Shape(CountAsked, CountedStart, "count.html"),
}
LATER = (END, QUALIFICATION, JUDGED)
"""Files that a record does not have from its beginning."""


@cache
def types_of(kind: RecordKind) -> Mapping[str, Any]:
    """File → its type, for every file of a kind; of `.jsonl`, that of a line."""
    shape = SHAPES[kind]
    return {HEAD: Head[shape.asked], ENTRIES: shape.entry, END: shape.end, **shape.beside}  # type: ignore[name-defined]


@cache
def adapter(kind: RecordKind, name: str) -> TypeAdapter[Any]:
    """The reader and writer of one file's type."""
    from pydantic import TypeAdapter

    return TypeAdapter(types_of(kind)[name])


def write(folder: Path, kind: RecordKind, name: str, value: object) -> None:
    """Write a `.json` file of a record in place of an earlier one. ValueError for a value that could not be read again."""
    journal.replace(folder / name, foreign.json_of(adapter(kind, name), value, indent=2, warnings="error") + b"\n")


def append(folder: Path, kind: RecordKind, name: str, value: object) -> None:
    """Add a line to a `.jsonl` file of a record. When this returns, the line survives a crash of the machine."""
    journal.append(folder / name, foreign.json_of(adapter(kind, name), value, warnings="error") + b"\n")


def read(folder: Path, kind: RecordKind, name: str) -> Any:
    """Read one file of a record: its value, or the tuple of its lines; None where a later file is not there yet.

    LabError for a file that is damaged.
    """
    path = folder / name
    if name.endswith(".jsonl"):
        return tuple(_parse(path, adapter(kind, name), line) for line in journal.lines(path))
    if name in LATER and not path.is_file():
        return None
    return _parse(path, adapter(kind, name), journal.whole(path))


def _parse(path: Path, adapter: TypeAdapter[Any], value: Any) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise LabError(f"`{path.name}` of `{path.parent.name}` is damaged at `{place}`: {first['msg'].lower()}", MEND) from error


def json_schema() -> dict[str, Any]:
    """JSON Schema of a record's folder, by kind: one property for each file; for `.jsonl` it describes one line."""
    from pydantic import TypeAdapter

    inputs = [((kind, name), "serialization", adapter(kind, name)) for kind in RecordKind for name in types_of(kind)]
    references, definitions = TypeAdapter.json_schemas(inputs, title="The folder of a record")  # type: ignore[arg-type]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions,
        "description": f"Schema version {SCHEMA_VERSION}. A property is a file of the folder; for .jsonl it describes one line.",
        "anyOf": [
            {
                "title": str(kind),
                "type": "object",
                "properties": {name: references[(kind, name), "serialization"] for name in types_of(kind)},
                "required": [name for name in types_of(kind) if name not in LATER],
                "additionalProperties": False,
            }
            for kind in RecordKind
        ],
    }
