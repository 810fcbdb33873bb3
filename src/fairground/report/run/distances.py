"""Say what a distance does: goodput at each distance and pool, the best pool, and whether the stacks' order changes. Pure.

An order is told where intervals lie apart. A single block has none: its page has the numbers, and draws no conclusion.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairground.model import Cell, PathWire, Run, foreign
from fairground.report.boards import Board, BoardRow
from fairground.report.run import table
from fairground.report.text import words
from fairground.stats.intervals import Interval

BESIDE = "beside the database"
FINDING = "distance"
"""What a trial measured of its wires."""


@dataclass(frozen=True)
class Distances:
    """Goodput on one workload: stack → pool → distance → good answers a second.

    `wires` are the distances, from none (None) on; `pools` the connections of a server to its database.
    """

    workload: str
    wires: tuple[PathWire | None, ...]
    pools: tuple[int, ...]
    rates: Mapping[str, Mapping[int, Mapping[PathWire | None, float]]]
    bounds: Mapping[tuple[str, int, PathWire | None], Interval]
    """The intervals of those numbers that have one: several blocks were measured."""

    def best(self, stack: str, wire: PathWire | None) -> tuple[int, float] | None:
        """The pool with the highest goodput, and that; None where there is no number."""
        known = [(rates[wire], pool) for pool, rates in self.rates[stack].items() if wire in rates]
        return None if not known else (max(known)[1], max(known)[0])

    def clearly_best(self, stack: str, wire: PathWire | None) -> int | None:
        """The pool whose interval lies above those of all others; None where there is none."""
        best = self.best(stack, wire)
        others = (
            [] if best is None else [pool for pool in self.rates[stack] if pool != best[0] and wire in self.rates[stack][pool]]
        )
        if best is None or not others:
            return None
        return best[0] if all(self._sign((stack, best[0]), (stack, pool), wire) == 1 for pool in others) else None

    def pool_of(self, wire: PathWire | None) -> Counter[int | None]:
        """Pool → for how many stacks it is clearly the best; None: no pool is."""
        return Counter(self.clearly_best(stack, wire) for stack in self.rates if self.best(stack, wire) is not None)

    def spread(self, wire: PathWire | None) -> float | None:
        """The fastest stack over the slowest, each with its best pool; None for fewer than two."""
        known = [one[1] for stack in self.rates if (one := self.best(stack, wire)) is not None]
        return max(known) / min(known) if len(known) > 1 and min(known) else None

    def order(self, wire: PathWire | None) -> tuple[int, int, int]:
        """Count pairs of stacks: in the same order as beside the database, the other way round, in no order at one of both."""
        same = turned = neither = 0
        for one, other in itertools.combinations(self.rates, 2):
            signs = [self._best_sign(one, other, at) for at in (None, wire)]
            if None in signs:
                continue
            if 0 in signs:
                neither += 1
            elif signs[0] == signs[1]:
                same += 1
            else:
                turned += 1
        return same, turned, neither

    def _best_sign(self, one: str, other: str, wire: PathWire | None) -> int | None:
        """The order of two stacks, each with its best pool; None where a number is lacking."""
        a, b = self.best(one, wire), self.best(other, wire)
        return None if a is None or b is None else self._sign((one, a[0]), (other, b[0]), wire)

    def _sign(self, one: tuple[str, int], other: tuple[str, int], wire: PathWire | None) -> int:
        """1 or -1 where the interval of one of both lies above the other's, 0 where neither does."""
        a, b = self.bounds.get((*one, wire)), self.bounds.get((*other, wire))
        if a is None or b is None:
            return 0
        return 1 if a.low > b.high else -1 if b.low > a.high else 0


def distances(boards: Sequence[Board]) -> tuple[Distances, ...]:
    """Collect what a run measured at several distances, by workload, in the order of the boards."""
    found = dict[str, dict[Cell, BoardRow]]()
    for board in boards:
        for row in board.numbered:
            assert row.middle is not None, "a row with a number"
            found.setdefault(board.workload, {})[row.cell] = row
    made = (_of(workload, cells) for workload, cells in found.items())
    return tuple(one for one in made if len(one.wires) > 1 and None in one.wires)


def _of(workload: str, cells: Mapping[Cell, BoardRow]) -> Distances:
    rates = dict[str, dict[int, dict[PathWire | None, float]]]()
    bounds = dict[tuple[str, int, PathWire | None], Interval]()
    for cell, row in cells.items():
        pool = rates.setdefault(cell.stack, {}).setdefault(cell.settings.pool_total, {})
        pool[cell.topology.wire] = row.middle or 0.0
        if row.interval is not None:
            bounds[cell.stack, cell.settings.pool_total, cell.topology.wire] = row.interval
    wires = sorted({cell.topology.wire for cell in cells}, key=_length_ms)
    return Distances(workload, tuple(wires), tuple(sorted({cell.settings.pool_total for cell in cells})), rates, bounds)


def _length_ms(wire: PathWire | None) -> float:
    return 0.0 if wire is None else sum(wire.sides.values())


def sentences(one: Distances) -> Iterator[str]:
    """Say what the numbers show: how far the stacks lie apart, whether their order changes, and which pool is the best."""
    if not one.bounds:
        yield "One block: no number here has an interval, so neither an order of the stacks nor a best pool is told."
        return
    spreads = [(wire, one.spread(wire)) for wire in one.wires]
    known = [f"{words.number(spread)} × {_at(wire)}" for wire, spread in spreads if spread is not None]
    if known:
        yield f"The fastest stack over the slowest, each with its best pool: {', '.join(known)}."
    for wire in one.wires[1:]:
        same, turned, neither = one.order(wire)
        if same + turned + neither:
            yield (
                f"Pairs of stacks {_at(wire)}: {turned} the other way round than {BESIDE}, {same} in the same order, and"
                f" {neither} whose intervals overlap in one of both places."
            )
    if len(one.pools) > 1:
        for wire in one.wires:
            pools = sorted(one.pool_of(wire).items(), key=lambda item: item[0] or math.inf)
            told = ", ".join(f"{'none clearly' if pool is None else pool} for {count}" for pool, count in pools)
            yield f"The best pool {_at(wire)}: {told}."


def added_by_wires(run: Run) -> Iterator[str]:
    """Say what each wire added to a round trip by its trials' own measurement, beside what was asked. The shortest is first."""
    found = dict[tuple[str, float], list[float]]()
    for one in itertools.chain.from_iterable(trial.findings for trial in run.trials):
        if one.id == FINDING:
            of, asked_us, added_us = (one.evidence[key] for key in ("side", "asked_us", "added_us"))
            assert isinstance(asked_us, float) and isinstance(added_us, float), "numbers of the judge's own"
            found.setdefault((str(of), asked_us), []).append(added_us)
    for (side, asked_us), some in sorted(found.items(), key=lambda item: item[0]):
        middle, low, high = (words.milliseconds(one) for one in (statistics.median(some), min(some), max(some)))
        yield (
            f"The wire to the {side} added {middle} ms to a round trip where {words.milliseconds(asked_us)} ms were asked"
            f" (median of {words.plural(len(some), 'trial')}, {low} to {high} ms)."
        )


def markdown(run: Run, boards: Sequence[Board]) -> str | None:
    """A table for each workload, and what it says; None where the run has one distance alone. A clearly best pool is bold."""
    found = distances(boards)
    if not found:
        return None
    lines = [table.source_text(run), "", *(f"- {said}" for said in added_by_wires(run))]
    for one in found:
        lines += ["", f"Good answers a second on `{one.workload}`:", ""]
        lines += [f"| stack | pool | {' | '.join(map(_named, one.wires))} |", "|--|--:|" + "--:|" * len(one.wires)]
        lines += [f"| {' | '.join(map(words.cell, row))} |" for row in _rows(one)]
        lines += ["", *(f"- {said}" for said in sentences(one))]
    return foreign.clean("\n".join(lines)) + "\n"


def _rows(one: Distances) -> Iterator[tuple[str, ...]]:
    """The fastest stack beside its database first."""
    order = sorted(one.rates, key=lambda stack: -(one.best(stack, None) or (0, 0.0))[1])
    for stack in order:
        for pool in sorted(one.rates[stack]):
            yield (stack, str(pool), *(_number(one, stack, pool, wire) for wire in one.wires))


def _number(one: Distances, stack: str, pool: int, wire: PathWire | None) -> str:
    rate = one.rates[stack][pool].get(wire)
    if rate is None:
        return words.NO_NUMBER
    text = words.number(rate)
    return f"**{text}**" if one.clearly_best(stack, wire) == pool else text


def _named(wire: PathWire | None) -> str:
    """A distance in words; that to the database is the usual one."""
    if wire is None:
        return BESIDE
    return ", ".join(f"{ms:g} ms" + ("" if side == "database" else f" ({side})") for side, ms in wire.sides.items())


def _at(wire: PathWire | None) -> str:
    return BESIDE if wire is None else f"at {_named(wire)}"
