"""The whole run in one grid, stacks by workloads: the letters that the statistics give, and what limits each cell. Pure.

Stacks that share a letter cannot be told apart. A cell without a comparison has a number and no letter: nothing is ranked there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fairground.model import Approach, Run, Tuning, Verdict
from fairground.model.reason import REASONS
from fairground.report.boards import Board, BoardRow
from fairground.report.charts.palette import TIERS
from fairground.report.text import words
from fairground.stats.comparisons import Comparison, Quantity

Mark = Literal["number", "rejected", "void", "absent"]


@dataclass(frozen=True)
class Tier:
    """The place of a cell: the letters of its groups, the number of its colour (0 for none), and its ratio to the anchor.

    The ratio is in the quantity's own terms, of CPU below 1 is better; None where nothing may be said.
    """

    letters: str = ""
    colour: int = 0
    ratio: float | None = None


@dataclass(frozen=True)
class GridCell:
    """One stack on one board. `why` is the reason that takes the number away, or what limits the stack."""

    id: str
    board: Board
    mark: Mark
    row: BoardRow | None = None
    goodput: Tier = Tier()
    cost: Tier = Tier()
    reason: str = ""
    why: str = ""

    @property
    def cpu_us(self) -> float | None:
        """The server's CPU in µs per good answer."""
        return None if self.row is None else self.row.cpu_us("server")


@dataclass(frozen=True)
class GridLine:
    """One stack over all boards."""

    stack: str
    slug: str
    language: str
    cells: tuple[GridCell, ...]
    approach: Approach | None = None
    tuning: tuple[Tuning, ...] = ()

    @property
    def departs(self) -> str:
        """The reason for the stack's mark: what is tuned or its author's choice, or its own loop. Empty for a documented one."""
        if self.approach is None or self.approach is Approach.DOCUMENTED:
            return ""
        told = "; ".join(one.what for one in self.tuning)
        return told or "an event loop of its own"


@dataclass(frozen=True)
class Grid:
    """`reasons` are what limits its cells, most frequent first."""

    boards: tuple[Board, ...]
    lines: tuple[GridLine, ...]
    reasons: tuple[str, ...]

    @property
    def ranked(self) -> bool:
        """True if any cell has a letter."""
        return any(cell.goodput.letters or cell.cost.letters for line in self.lines for cell in line.cells)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({line.language for line in self.lines if line.language}))

    @property
    def approaches(self) -> tuple[Approach, ...]:
        """The ways in which its stacks are written, documented ones first."""
        found = {line.approach for line in self.lines}
        return tuple(approach for approach in Approach if approach in found)


def grid(run: Run, boards: Sequence[Board]) -> Grid:
    """The grid of a run: stacks that give most first, as the mean share of what the best of each board gives."""
    stacks = list(dict.fromkeys(row.stack for board in boards for row in board.rows))
    slugs = slugs_of(stacks)
    columns = [_column(board, slugs) for board in boards]
    placed = list(zip(boards, columns, strict=True))
    lines = []
    for stack in stacks:
        cells = tuple(column.get(stack) or _absent(board, slugs[stack], stack) for board, column in placed)
        info = run.stacks.get(stack)
        known = ("", None, ()) if info is None else (info.language, info.approach, info.tuning)
        language, approach, tuning = known
        lines.append(GridLine(stack, slugs[stack], language, cells, approach, tuning))
    found = Counter(cell.reason for line in lines for cell in line.cells if cell.reason)
    return Grid(tuple(boards), tuple(sorted(lines, key=_order)), tuple(reason for reason, _ in found.most_common()))


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """Name → what stands for it in an address; each only once."""
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        slug = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-") or "stack"
        found[name] = slug if slug not in found.values() else f"{slug}-{place}"
    return found


def reason_of(row: BoardRow) -> str:
    """The diagnosis of what limits most of a row's trials; empty where nothing is named."""
    common = row.diagnoses.most_common(1)
    return common[0][0] if common else ""


def meaning(reason: str) -> str:
    """Say a reason in plain words; nothing where none is named. A record that somebody else wrote may name any."""
    known = REASONS.get(reason)
    return known.meaning if known is not None else "no reason that this lab knows" if reason else ""


def tiers(found: Comparison | None) -> dict[str, Tier]:
    """Stack → its place. Its colour is that of its middle group: a stack of all groups is not among the best."""
    if found is None:
        return {}
    first, last = dict[str, int](), dict[str, int]()
    for place, group in enumerate(found.groups):
        for stack in group:
            first.setdefault(stack, place)
            last[stack] = place
    middle = {stack: (first[stack] + last[stack]) // 2 for stack in first}
    over = {row.stack: math.exp(row.estimate.middle) for row in found.rows} | {found.anchor: 1.0}
    ratios = {stack: 1 / ratio if found.quantity is Quantity.CPU else ratio for stack, ratio in over.items()}
    return {
        stack: Tier(letters, min(middle[stack] + 1, TIERS), ratios.get(stack))
        for stack, letters in words.group_names(found).items()
    }


def _column(board: Board, slugs: dict[str, str]) -> dict[str, GridCell]:
    goodput, cost = tiers(board.goodput), tiers(board.cost)
    made = {}
    for row in board.rows:
        identity = f"cell-{board.id}-{slugs[row.stack]}"
        if row.middle is not None:
            reason = reason_of(row)
            tier, cheap = goodput.get(row.stack, Tier()), cost.get(row.stack, Tier())
            made[row.stack] = GridCell(identity, board, "number", row, tier, cheap, reason, meaning(reason))
        else:
            mark: Mark = "rejected" if row.verdicts[Verdict.REJECTED] else "void" if row.trials else "absent"
            made[row.stack] = GridCell(identity, board, mark, row, why=words.why_no_number(row))
    return made


def _absent(board: Board, slug: str, stack: str) -> GridCell:
    why = board.absent.get(stack, "not part of this run")
    return GridCell(f"cell-{board.id}-{slug}", board, "absent", why=why)


def _order(line: GridLine) -> tuple[float, str]:
    """The sort key of a line: the geometric mean of its shares.

    Letters would not do: the less is known of a stack, the more groups it is in.
    """
    shares = [
        math.log(cell.row.middle / cell.board.numbered[0].middle)
        for cell in line.cells
        if cell.row is not None and cell.row.middle and cell.board.numbered[0].middle
    ]
    return -math.fsum(shares) / len(shares) if shares else math.inf, line.stack
