"""Records as documents and pages: written when a measurement ends, and again from the record whenever one likes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairground import records
from fairground.capacity.cells import capacities_of
from fairground.capacity.service.parts import ServicePart
from fairground.lab import service
from fairground.lab.events import Reported
from fairground.model import SCHEMA_VERSION, LabError, Machine, Run
from fairground.model.count import CountAsked, CountedStart
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, Record, RecordKind, TryAsked
from fairground.records import journal
from fairground.report import capacity, comparison, counts, experiment, two_tries, visit
from fairground.report.comparison import ComparisonLine, Sides
from fairground.report.counts import CountReport
from fairground.report.run import page as texts
from fairground.report.run import why
from fairground.report.text import caveats, seats
from fairground.report.trial import trial_page
from fairground.stats import rounds
from fairground.stats.rounds import ArmModes

SIDES = ("A", "B")
RUN_PAGE = records.SHAPES[RecordKind.RUN].page


@dataclass(frozen=True)
class Compared:
    """The content of a comparison, whatever it is shown as. `rejected`: why there is nothing to compare."""

    title: str
    a: str
    b: str
    lines: tuple[ComparisonLine, ...]
    notes: tuple[str, ...]
    rejected: str | None = None
    modes: ArmModes | None = None
    called: tuple[str, str] | None = None
    """What sentences call A and B, where that is not what they are."""

    @property
    def sides(self) -> Sides:
        """Both sides, and what sentences call them."""
        return Sides(self.a, self.b, self.called)

    @property
    def is_measured(self) -> bool:
        """True if there is a number to compare."""
        return any(line.change is not None for line in self.lines)

    @property
    def sentences(self) -> list[str]:
        """The sentences of the comparison, most important first."""
        first = [] if self.rejected is None else [self.rejected]
        return [*first, *(comparison.sentence(line, *self.sides.names) for line in self.lines), *self.notes]

    @property
    def markdown(self) -> str:
        """A summary for a pull request."""
        return comparison.markdown(self.title, self.a, self.b, self.lines, self.sentences)

    @property
    def document(self) -> dict[str, Any]:
        """The document for `--json`."""
        found: dict[str, Any] = {"a": self.a, "b": self.b, "lines": comparison.rows(self.lines), "notes": list(self.notes)}
        found["modes"] = None if self.modes is None else asdict(self.modes)
        return found | ({} if self.rejected is None else {"rejected": self.rejected})


def comparison_of(record: Record[ComparisonAsked, Round]) -> Compared:
    """Say what the rounds of a record show so far. An arm that is rejected leaves nothing to compare."""
    asked, made = record.head.asked, record.entries
    title = f"{asked.label_b} against {asked.label_a}"
    rejected = next((one.rejected for one in made if one.rejected is not None), None)
    if rejected is not None:
        return Compared(title, asked.label_a, asked.label_b, (), (), rejected)
    decision = decision_of(record)
    took_s = math.fsum(one.took_s for one in made)
    notes = caveats.of_rounds(asked, decision, took_s, record.head.machine.awake, sorted(os.sched_getaffinity(0)))
    notes = (*notes, *caveats.of_errors(made))
    lines = comparison.lines(_subject(asked), made, decision, asked.margin)
    called = None if asked.services is None else SIDES
    return Compared(title, asked.label_a, asked.label_b, lines, notes, modes=decision.modes, called=called)


def tries_of(a: Sequence[Record[TryAsked, ServicePart]], b: Sequence[Record[TryAsked, ServicePart]]) -> Compared:
    """Say what tries of B show beside those of A. LabError where one is meant twice."""
    names = [one.id for one in (*a, *b)]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise LabError(f"`{twice[0]}` is named twice", "name different tries; ./fairground list runs shows them")
    lines, notes = two_tries.compare_tries(*([service.service_of(one) for one in some] for some in (a, b)))
    if len({one.head.machine.hostname_hash for one in (*a, *b)}) > 1:
        notes = (*notes, "the tries are of different machines")
    one, other = (", ".join(f"{part.id} ({part.head.asked.url})" for part in some) for some in (a, b))
    return Compared(f"{other} against {one}", one, other, lines, notes, called=SIDES)


def _subject(asked: ComparisonAsked) -> str:
    """`WORKLOAD c100`, and the path where it is not direct."""
    path = "" if asked.topology.id == "direct" else f" {asked.topology.id}"
    return f"{asked.workload} c{asked.load.connections}{path}"


def decision_of(record: Record[ComparisonAsked, Round]) -> rounds.Decision:
    """The words on the pairs of a record."""
    return rounds.decide([pair for one in record.entries for pair in one.pairs], practical=record.head.asked.margin)


def report(folder: Path) -> Reported:
    """Write summary.csv, report.html and a page for each trial of a run, finished or not."""
    found = records.load_run(folder)
    journal.replace(folder / "summary.csv", texts.summary_csv(found).encode(), journal.SHARED)
    path = folder / RUN_PAGE
    for place, text in pages_of(found):
        if place == RUN_PAGE:
            journal.replace(path, text.encode(), journal.SHARED)
            continue
        journal.put(folder, place, text)
    return Reported(path, found, _tried(found))


def pages_of(found: Run, home: str | None = None) -> Iterator[tuple[str, str]]:
    """Render (place in the folder, text) of a run's page and of its trials'. `home`: where the list of records is, in a site."""
    yield RUN_PAGE, texts.html(found, _tried(found), home)
    yield from trial_page.pages(found)


def _tried(found: Run) -> why.TriedBy:
    """Find what experiments on a run's reasons found."""
    return why.tried_by(one for one in records.of_kind(found.folder.parent, RecordKind.WHY) if one.head.asked.run == found.id)


@dataclass(frozen=True)
class Rendered:
    """A record's documents and pages as (name, text), the one that is opened last. `says`: its first sentence."""

    says: str
    files: tuple[tuple[str, str], ...]

    @property
    def page(self) -> str:
        """The name of what a person opens."""
        return self.files[-1][0]


def write(record: Record[Any, Any]) -> Path:
    """Write a record's document and pages, in place of earlier ones; the page. LabError for a kind that has none."""
    if record.head.kind not in _RENDERERS:
        raise LabError(f"a {record.head.kind} has no page", "`./fairground list runs` shows what has one")
    paths = [journal.replace(record.folder / name, text.encode(), journal.SHARED) for name, text in render(record).files]
    return paths[-1]


def render(record: Record[Any, Any], home: str | None = None) -> Rendered:
    """A record's documents and pages. `home`: where the list of records is, for a page in a site."""
    return _RENDERERS[record.head.kind](record, home)


def _comparison(record: Record[Any, Any], home: str | None) -> Rendered:
    found, foot = comparison_of(record), _foot(record)
    notes = found.notes if found.rejected is None else (found.rejected,)
    page = comparison.html(found.title, found.sides, found.lines, notes, foot, home, _facts(record))
    document = _whole(record, found.document | {"lab": record.head.versions["fairground"]})
    says = next(iter(found.sentences), found.title)
    return Rendered(says, (("compare.md", found.markdown), ("compare.json", document), ("compare.html", page)))


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
    page = capacity.html(found, _facts(record), _foot(record), home)
    says = "; ".join(next(iter(capacity.sentences(one)), one.stack) for one in found)
    return Rendered(says, (("capacity.json", _whole(record, document)), ("capacity.html", page)))


def _visit(record: Record[Any, Any], home: str | None) -> Rendered:
    found, machine = service.service_of(record), record.head.machine
    facts = (
        texts.minute(record.head.started_unix_s),
        machine.cpu_model or "unknown CPU",
        f"{machine.cores} cores{', kept from idling' if machine.awake else ''}",
    )
    document = {**visit.rows(found), "lab": record.head.versions["fairground"]}
    page = visit.html(found, facts, _foot(record), home)
    says = next(iter(visit.sentences(found)), "")
    return Rendered(says, (("try.json", _whole(record, document)), ("try.html", page)))


def _experiment(record: Record[Any, Any], home: str | None) -> Rendered:
    machine = record.head.machine
    facts = (texts.minute(record.head.started_unix_s), machine.cpu_model or "unknown CPU", f"{machine.cores} cores")
    page = experiment.html(record.head.asked, record.entries, facts, _foot(record), home)
    rows = why.rows(record.head.asked, record.entries)
    document = {"schema": SCHEMA_VERSION, **rows, "finished": record.end is not None}
    return Rendered(next(iter(rows["sentences"]), ""), (("why.json", json.dumps(document, indent=2)), ("why.html", page)))


def _counts(record: Record[Any, Any], home: str | None) -> Rendered:
    found = counts_of(record)
    page = counts.html(found, _facts(record), _foot(record), home)
    document = {**counts.document(found), "versions": dict(record.head.versions)}
    says = next(iter(found.sentences), found.title)
    return Rendered(says, (("count.md", counts.markdown(found)), ("count.json", _whole(record, document)), ("count.html", page)))


def counts_of(record: Record[CountAsked, CountedStart]) -> CountReport:
    """Say what the starts of a counted record show so far."""
    return counts.report(record.head.asked, record.entries)


_RENDERERS: Mapping[RecordKind, Callable[[Record[Any, Any], str | None], Rendered]] = {
    RecordKind.COMPARISON: _comparison,
    RecordKind.CAPACITY: _capacity,
    RecordKind.TRY: _visit,
    RecordKind.WHY: _experiment,
    RecordKind.COUNT: _counts,
}


def _whole(record: Record[Any, Any], document: Mapping[str, Any]) -> str:
    whole = {"schema": SCHEMA_VERSION, **document, "machine": _plain(record.head.machine), "finished": record.end is not None}
    return json.dumps(whole, indent=2)


def _facts(record: Record[Any, Any]) -> tuple[str, ...]:
    """Say when and on what a capacity or a comparison was measured."""
    machine, settings = record.head.machine, record.head.asked.settings
    workers, path = settings.workers, record.head.asked.topology
    here = (
        texts.minute(record.head.started_unix_s),
        machine.cpu_model or "unknown CPU",
        f"{seats.machine(machine.cores, [settings])}{', kept from idling' if machine.awake else ''}",
    )
    if getattr(record.head.asked, "services", None) is not None:
        return here
    return (
        *here,
        f"PostgreSQL {record.head.versions.get('PostgreSQL', 'unknown')}, {settings.durability} durability",
        f"{workers} worker{'s' if workers > 1 else ''}, pool of {settings.pool_size}",
        *([] if path.id == "direct" else [f"path {path.id}"]),
    )


def _foot(record: Record[Any, Any]) -> str:
    return f"Fairground {record.head.versions['fairground']}"


def _plain(machine: Machine) -> dict[str, Any]:
    return dict(asdict(machine))
