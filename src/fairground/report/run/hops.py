"""Say what a hop costs: cells that differ in one proxy, pooler or wire alone, paired by block. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.model import Cell, Topology
from fairground.report.boards import CONFIDENCE, ROLES, Board, BoardRow, add_histograms
from fairground.report.text import words
from fairground.stats import differences, intervals


@dataclass(frozen=True)
class HopCost:
    """One stack with a hop and without it, everything else being the same."""

    hop: str
    without: BoardRow
    through: BoardRow

    @property
    def ratio(self) -> intervals.Interval | None:
        """Good answers per second with the hop over those without, paired by block; None for fewer than two blocks."""
        return differences.paired_interval_of(self.through.by_block, self.without.by_block, CONFIDENCE)

    @property
    def middle_ratio(self) -> float | None:
        """The same ratio without an interval, from one block as well; None when no block has both."""
        ratios = differences.pair_ratios(self.through.by_block, self.without.by_block)
        return intervals.geometric_mean(ratios) if ratios else None

    @property
    def p99_us(self) -> tuple[float | None, float | None]:
        """The 99th percentile without and with the hop, in µs, each from all trials' histograms added."""
        return _p99_us(self.without), _p99_us(self.through)

    @property
    def p99_difference_us(self) -> float | None:
        """The µs that the hop adds to the 99th percentile."""
        without, through = self.p99_us
        return None if without is None or through is None else through - without

    def cpu_us(self) -> Mapping[str, tuple[float | None, float | None]]:
        """Role → CPU in µs per good answer without and with the hop; roles that neither has are left out."""
        found = {role: (self.without.cpu_us(role), self.through.cpu_us(role)) for role in ROLES}
        return {role: pair for role, pair in found.items() if pair != (None, None)}

    @property
    def cpu_difference_us(self) -> float | None:
        """The µs that the hop adds to the CPU of a good answer over all roles but the generator; None when one is not known."""
        sums = [_cpu_us(row) for row in (self.without, self.through)]
        return None if sums[0] is None or sums[1] is None else sums[1] - sums[0]


def hop_costs(boards: Sequence[Board]) -> tuple[HopCost, ...]:
    """Every pair of measured cells that differ in one hop alone, in the order of the boards."""
    rows = {row.cell: row for board in boards for row in board.rows if row.trials}
    pairs = []
    for cell, row in rows.items():
        for hop, other in _without(cell):
            if other in rows:
                pairs.append(HopCost(hop, rows[other], row))
    return tuple(pairs)


def sentence(cost: HopCost) -> str:
    """Say what a hop costs: `B through nginx gives 12 % fewer good answers (95 % CI 9–14 %)`, or why nothing is compared."""
    who = f"{cost.through.stack} with {cost.hop}"
    for row, how in ((cost.through, "with it"), (cost.without, "without it")):
        if row.middle is None:
            return f"{who}: there is no number {how}: {words.why_no_number(row)}."
    if cost.middle_ratio is None:
        return f"{who}: no block has a number both with it and without it."
    interval = cost.ratio
    if interval is None:
        return f"{who} gives {words.number(cost.middle_ratio)} × as many good answers, in one block: that is not judged."
    span = f"95 % CI {words.number(interval.low)}–{words.number(interval.high)} ×, {words.plural(interval.count, 'block')}"
    if interval.low <= 1 <= interval.high:
        return f"{who}: whether it costs good answers is not clear ({span})."
    way = "fewer" if interval.high < 1 else "more"
    return f"{who} gives {words.number(abs(1 - interval.middle) * 100)} % {way} good answers ({span})."


def _without(cell: Cell) -> list[tuple[str, Cell]]:
    """The hops of a cell, each with the cell that lacks it alone."""
    here, found = cell.topology, list[tuple[str, Cell]]()
    if here.proxy is not None:
        found.append((here.proxy, replace(cell, topology=replace(here, proxy=None))))
    if here.pooler is not None:
        alone = Topology(None, here.pooler, here.pooler_size, here.pooler_clients)
        found.append((alone.id, replace(cell, topology=Topology(here.proxy, wire=here.wire))))
    if here.wire is not None:
        found.append((Topology(wire=here.wire).id, replace(cell, topology=replace(here, wire=None))))
    return found


def _p99_us(row: BoardRow) -> float | None:
    histogram = add_histograms(row.numbered)
    if histogram is None or histogram.total < 100 * words.LEAST_TAIL_SAMPLES:
        return None
    return intervals.percentile(histogram.values_us, histogram.counts, 0.99)


def _cpu_us(row: BoardRow) -> float | None:
    """CPU of a good answer over the roles that the row's trials have."""
    there = {role for trial in row.numbered for role in trial.roles if role in ROLES}
    used = [row.cpu_us(role) for role in there]
    known = [use for use in used if use is not None]
    return sum(known) if known and len(known) == len(used) else None
