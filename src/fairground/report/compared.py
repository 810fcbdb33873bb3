"""The content of a comparison, whatever it is shown as: of a record's rounds, or of tries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairground.capacity.service.known import service_of
from fairground.capacity.service.parts import ServicePart
from fairground.model import LabError
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, Record, TryAsked
from fairground.report import comparison, two_tries
from fairground.report.comparison import ComparisonLine, Sides
from fairground.report.text import caveats
from fairground.stats import rounds
from fairground.stats.rounds import ArmModes

SIDES = ("A", "B")


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
    notes = caveats.of_rounds(asked, decision, took_s, record.head.machine.awake, record.head.machine.cores)
    notes = (*notes, *caveats.of_errors(made))
    lines = comparison.lines(_subject(asked), made, decision, asked.margin)
    called = None if asked.services is None else SIDES
    return Compared(title, asked.label_a, asked.label_b, lines, notes, modes=decision.modes, called=called)


def tries_of(a: Sequence[Record[TryAsked, ServicePart]], b: Sequence[Record[TryAsked, ServicePart]]) -> Compared:
    """Say what tries of B show beside those of A. LabError where one is meant twice."""
    names = [one.id for one in (*a, *b)]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise LabError(f"`{twice[0]}` is named twice", "name different tries; ./fairground list runs shows them")
    lines, notes = two_tries.compare_tries(*([service_of(one) for one in some] for some in (a, b)))
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
