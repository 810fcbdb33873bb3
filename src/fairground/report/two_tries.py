"""Tries of one service before and after a change, or of two services: what their closed loops and load curves say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fairground.capacity.service.values import Closed, Visit
from fairground.model import LabError
from fairground.report.comparison import ComparisonLine, geometric_mean_of, number_note
from fairground.report.text import words
from fairground.stats import differences
from fairground.stats.differences import Difference, DifferenceWord

ENOUGH = 3
"""With fewer tries of a side nothing is called: an interval of so few is too wide, or narrow by chance."""
LEAST_CPU_US = 200_000
TURNS = "./fairground try URL --against URL_B"


@dataclass(frozen=True)
class _Kind:
    """One quantity of one load; `connections` None: of the load curve."""

    load: str
    quantity: str
    unit: str
    more_is_better: bool
    connections: int | None = None

    def values(self, visits: Sequence[Visit]) -> list[float]:
        """Its value in each try that has one. A load that the machine spoiled has none."""
        if self.connections is None:
            kept = [one.kept_per_s for one in visits if one.objective == self.load]
            return [one for one in kept if one]
        loops = [loop for one in visits for loop in one.closed if loop.connections == self.connections and loop.void is None]
        found = [loop.goodput_per_s if self.more_is_better else _cost_us(loop) for loop in loops]
        return [one for one in found if one]

    def count_failed(self, visits: Sequence[Visit]) -> int:
        """The tries that measured it and have no value, since no rate was kept or no answer was good."""
        if self.connections is None:
            missed = [one for one in visits if one.objective == self.load and not one.kept_per_s]
            return sum(any(point.judgement.low is False for point in one.curve) for one in missed)
        loops = [loop for one in visits for loop in one.closed if loop.connections == self.connections and loop.void is None]
        return sum(not loop.goodput_per_s for loop in loops)


def _cost_us(loop: Closed) -> float | None:
    """The CPU of an answer; None where so little was used that the clock's steps of 10 ms would be compared."""
    each_us = loop.server_us_per_answer
    return None if each_us is None or each_us * (loop.due - loop.not_ok) < LEAST_CPU_US else each_us


def compare_tries(a: Sequence[Visit], b: Sequence[Visit]) -> tuple[tuple[ComparisonLine, ...], tuple[str, ...]]:
    """Compare what some tries of A and of B measured: a line for each load, and sentences on what else is in the ratios.

    Tries are not paired, so the spread of both sides is counted. LabError where they have no load in common.
    """
    kinds = tuple(_kinds([*a, *b]))
    known = {kind: both for kind in kinds if all(both := (kind.values(a), kind.values(b)))}
    if not known:
        raise LabError("the tries have no load in common that gave a good answer", TURNS)
    better = {kind: differences.cross_ratios(*(both if kind.more_is_better else both[::-1])) for kind, both in known.items()}
    found = differences.table(better)
    tested = sum(one.ratio is not None for one in found.values())
    lines = [
        ComparisonLine(
            kind.load, kind.quantity, kind.unit, geometric_mean_of(one), geometric_mean_of(other),
            _held(found[kind], 0 if kind.count_failed([*a, *b]) else len(better[kind])),
            kind.more_is_better, tuple(differences.cross_ratios(one, other)), each="try", least=ENOUGH,
            tested=tested, failed=kind.count_failed([*a, *b]) > 0,
        )
        for kind, (one, other) in known.items()
    ]  # fmt: skip
    return tuple(lines), (*_failures(kinds, a, b), *_notes(a, b), *number_note(tested))


def _held(found: Difference, tries: int) -> Difference:
    """The difference, inconclusive where it rests on too few tries. Where others failed there are none: the rest are the best."""
    return replace(found, word=DifferenceWord.INCONCLUSIVE) if tries < ENOUGH else found


def _kinds(visits: Sequence[Visit]) -> Iterator[_Kind]:
    loops = sorted({one.connections for visit in visits for one in visit.closed})
    for connections in loops:
        yield _Kind(words.plural(connections, "connection"), "goodput", "per second", True, connections)
        yield _Kind(words.plural(connections, "connection"), "server CPU", "µs per answer", False, connections)
    for objective in dict.fromkeys(visit.objective for visit in visits):
        yield _Kind(objective, "rate kept", "per second", True)


def _failures(kinds: Sequence[_Kind], a: Sequence[Visit], b: Sequence[Visit]) -> Iterator[str]:
    for kind in {kind.load: kind for kind in reversed(kinds)}.values():  # of a loop once, and not of its CPU, too
        for name, some in (("A", a), ("B", b)):
            if count := kind.count_failed(some):
                failed = "kept no rate" if kind.connections is None else "gave no good answer"
                yield f"{kind.load}: {name} {failed} in {count} of {words.plural(len(some), 'try')}, so nothing is called of it"


def _notes(a: Sequence[Visit], b: Sequence[Visit]) -> Iterator[str]:
    counted = " and ".join(f"{words.plural(len(some), 'try')} of {name}" for name, some in (("A", a), ("B", b)))
    yield f"{counted}, made at different times: what the machine did meanwhile is in the ratios; in turns it is not: {TURNS}"
    if min(len(a), len(b)) < ENOUGH:
        yield f"fewer than {ENOUGH} tries of a side call nothing: ./fairground compare A1,A2,A3 B1,B2,B3"
    if len({one.asks for one in (*a, *b)}) > 1:
        yield "A and B were not asked for the same: the ratios are of different requests"
    for name, some in (("A", a), ("B", b)):
        if any(one.broken for one in some):
            yield f"a check or a load of {name} failed, as its own page says"
