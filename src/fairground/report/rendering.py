"""A record's documents and pages, made of the record alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairground.capacity.cells import capacities_of
from fairground.capacity.service.known import service_of
from fairground.model import SCHEMA_VERSION, CellSettings, Durability, Machine
from fairground.model.count import CountAsked, CountedStart
from fairground.model.record import Record, RecordKind
from fairground.model.resume import database_of
from fairground.report import capacity, comparison, counts, experiment, frame, visit
from fairground.report.compared import comparison_of
from fairground.report.counts import CountReport
from fairground.report.run import why
from fairground.report.text import seats


@dataclass(frozen=True)
class Rendered:
    """A record's documents and pages as (name, text), the one that is opened last. `says`: its first sentence."""

    says: str
    files: tuple[tuple[str, str], ...]

    @property
    def page(self) -> str:
        """The name of what a person opens."""
        return self.files[-1][0]


def render(record: Record[Any, Any], home: str | None = None) -> Rendered:
    """A record's documents and pages. `home`: where the list of records is, for a page in a site."""
    return RENDERERS[record.head.kind](record, home)


def _comparison(record: Record[Any, Any], home: str | None) -> Rendered:
    found, foot = comparison_of(record), _foot(record)
    notes = found.notes if found.rejected is None else (found.rejected,)
    drawn = comparison.html(found.title, found.sides, found.lines, notes, foot, home, _facts(record), _shared(record))
    document = _whole(record, found.document | {"lab": record.head.versions["fairground"]})
    says = next(iter(found.sentences), found.title)
    return Rendered(says, (("compare.md", found.markdown), ("compare.json", document), ("compare.html", drawn)))


def _capacity(record: Record[Any, Any], home: str | None) -> Rendered:
    found, asked = capacities_of(record), record.head.asked
    document = {
        "capacities": [capacity.rows(one) for one in found],
        "settings": asdict(asked.settings),
        "topology": asdict(asked.topology),
        "load": asdict(asked.load),
        "seed": asked.seed,
        "versions": dict(record.head.versions),
    }
    drawn = capacity.html(found, _facts(record), _foot(record), home, _shared(record))
    says = "; ".join(next(iter(capacity.sentences(one)), one.stack) for one in found)
    return Rendered(says, (("capacity.json", _whole(record, document)), ("capacity.html", drawn)))


def _visit(record: Record[Any, Any], home: str | None) -> Rendered:
    found = service_of(record)
    document = {**visit.rows(found), "lab": record.head.versions["fairground"]}
    drawn = visit.html(found, _machine_facts(record), _foot(record), home)
    says = next(iter(visit.sentences(found)), "")
    return Rendered(says, (("try.json", _whole(record, document)), ("try.html", drawn)))


def _experiment(record: Record[Any, Any], home: str | None) -> Rendered:
    drawn = experiment.html(record.head.asked, record.entries, _machine_facts(record), _foot(record), home)
    rows = why.rows(record.head.asked, record.entries)
    document = {"schema": SCHEMA_VERSION, **rows, "finished": record.end is not None}
    return Rendered(next(iter(rows["sentences"]), ""), (("why.json", json.dumps(document, indent=2)), ("why.html", drawn)))


def _counts(record: Record[Any, Any], home: str | None) -> Rendered:
    found = counts_of(record)
    drawn = counts.html(found, _facts(record), _foot(record), home)
    document = {**counts.document(found), "versions": dict(record.head.versions)}
    says = next(iter(found.sentences), found.title)
    return Rendered(says, (("count.md", counts.markdown(found)), ("count.json", _whole(record, document)), ("count.html", drawn)))


def counts_of(record: Record[CountAsked, CountedStart]) -> CountReport:
    """Say what the starts of a counted record show so far."""
    return counts.report(record.head.asked, record.entries)


RENDERERS: Mapping[RecordKind, Callable[[Record[Any, Any], str | None], Rendered]] = {
    RecordKind.COMPARISON: _comparison,
    RecordKind.CAPACITY: _capacity,
    RecordKind.TRY: _visit,
    RecordKind.WHY: _experiment,
    RecordKind.COUNT: _counts,
}


def _whole(record: Record[Any, Any], document: Mapping[str, Any]) -> str:
    whole = {"schema": SCHEMA_VERSION, **document, "machine": _plain(record.head.machine), "finished": record.end is not None}
    return json.dumps(whole, indent=2)


def _machine_facts(record: Record[Any, Any], cells: Sequence[CellSettings] = ()) -> tuple[str, ...]:
    """Say when and on which machine something was measured. `cells`: settings that say who shares its cores."""
    machine = record.head.machine
    return (
        frame.minute(record.head.started_unix_s),
        machine.cpu_model or "unknown CPU",
        f"{seats.machine(machine.cores, cells)}{', kept from idling' if machine.awake else ''}",
    )


def _facts(record: Record[Any, Any]) -> tuple[str, ...]:
    """Say when and on what a capacity or a comparison was measured."""
    settings = record.head.asked.settings
    workers, path, here = settings.workers, record.head.asked.topology, _machine_facts(record, [settings])
    if getattr(record.head.asked, "services", None) is not None:
        return here
    return (
        *here,
        f"PostgreSQL {record.head.versions.get('PostgreSQL', 'unknown')}, {_durability(record)}",
        f"{workers} worker{'s' if workers > 1 else ''}, pool of {settings.pool_size}",
        *([] if path.id == "direct" else [f"path {path.id}"]),
    )


def _durability(record: Record[Any, Any]) -> str:
    """Say what the commits of a capacity or a comparison waited for."""
    if record.head.asked.settings.durability is Durability.DURABLE:
        return "durable"
    return "the server's own durability" if database_of(record.head.command) else "relaxed durability"


def _shared(record: Record[Any, Any]) -> str:
    """Say which roles of a capacity or a comparison shared the machine; of a service it is not known where it is."""
    asked = record.head.asked
    if getattr(asked, "services", None) is not None:
        return "The generator is on this machine, and the services are where their URLs say"
    return seats.share(asked.settings.place)


def _foot(record: Record[Any, Any]) -> str:
    return f"Fairground {record.head.versions['fairground']}"


def _plain(machine: Machine) -> dict[str, Any]:
    return dict(asdict(machine))
