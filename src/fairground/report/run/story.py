"""Tell what a reader can repeat to a colleague after one look: a few sentences from groups, shared limits and lock order. Pure.

A sentence is only said where the run carries it; none says only what is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairground.model import Cell
from fairground.report.boards import Board, BoardRow, distinction_of
from fairground.report.run.crossing import Crossing
from fairground.report.run.grid import meaning, reason_of
from fairground.report.run.headline import leaders
from fairground.report.run.why import SUSPECTED, TriedBy
from fairground.report.text import words
from fairground.stats.comparisons import field_of
from fairground.stats.differences import DifferenceWord
from fairground.stats.effects import Outcome

TELLING = 1.5
"""From this gain on by lock order alone it is the first thing to say."""
MOST_SENTENCES = 4


def story(boards: Sequence[Board], crossings: Sequence[Crossing], tried: TriedBy | None = None) -> tuple[str, ...]:
    """The sentences, most telling first; one at least. `tried`: what experiments on the run's reasons found."""
    order = lock_order(crossings)
    judged = [board for board in boards if board.goodput is not None and board.goodput.groups]
    said = [
        *order,
        who_leads(judged),
        widest(judged, boards),
        *(alike(board, tried, boards) for board in judged if not (order and board.workload == crossings[0].row.cell.workload)),
    ]
    found = [sentence for sentence in said if sentence]
    return tuple(found[:MOST_SENTENCES]) or (spans(boards, tried),)


def lock_order(crossings: Sequence[Crossing]) -> tuple[str, ...]:
    """Say in two sentences what the order of two row locks does to the same servers; none if it does little, or is not known."""
    both = [one for one in crossings if one.ordered is not None and one.factor is not None]
    factors = [one.factor for one in both if one.factor is not None]
    if not factors or min(factors) < TELLING:
        return ()
    crossing, twin = both[0].row.cell.workload, both[0].twin
    sure = all(one.gain is not None and one.gain.low > 1 for one in both)
    choice = _choice([one.ordered for one in crossings if one.ordered is not None])
    first = (
        f"On `{crossing}` the order of two row locks matters more than the choice of stack."
        if choice is not None and min(factors) > choice and sure
        else f"On `{crossing}` lock order {'decides' if sure else 'seems to decide'}."
    )
    stacks = len({one.row.stack for one in both})
    who = "the same stack gives" if stacks == 1 else f"the same {words.plural(stacks, 'stack')} give"
    counts = [(one.deadlocks, one.ordered_deadlocks) for one in both]
    locks = ""
    if all(before is not None and after is not None for before, after in counts):
        before, after = sum(one[0] or 0 for one in counts), sum(one[1] or 0 for one in counts)
        locks = f", with {words.plural(after, 'deadlock')} in place of {before:,}"
    rough = "" if sure else "; so few blocks leave the sizes rough"
    least, most = _factor(min(factors)), _factor(max(factors))
    times = least if least == most else f"{least} to {most}"
    return first, f"With its rows locked in one order (`{twin}`) {who} {times} times as much{locks}{rough}."


def _choice(ordered: Sequence[BoardRow]) -> float | None:
    """The most that the choice of stack does in order under one condition, as a ratio; None where there is no choice."""
    rates = dict[Cell, list[float]]()
    for row in ordered:
        if row.middle:
            rates.setdefault(field_of(row.cell), []).append(row.middle)
    return max((max(some) / min(some) for some in rates.values() if len(some) > 1), default=None)


def who_leads(judged: Sequence[Board]) -> str:
    """Say who is in front on how many workloads; empty where fewer than two workloads tell stacks apart.

    Empty, too, where a workload was measured under several conditions, each of which may have another leader.
    """
    found = {board.workload: board.goodput for board in judged if board.goodput is not None}
    if len(found) != len(judged) or sum(len(one.groups) > 1 for one in found.values()) < 2:
        return ""
    return leaders(found, with_ties=False)


def widest(judged: Sequence[Board], shown: Sequence[Board] = ()) -> str:
    """Say where the choice of a stack matters most, by the widest ratio of two stacks that are told apart."""
    apart = [(board.goodput.gaps[0], board) for board in judged if board.goodput is not None and board.goodput.gaps]
    if not apart:
        return ""
    (ratio, first, last), board = max(apart, key=lambda one: one[0][0].middle)
    most = " most" if len(judged) > 1 else ""
    amount, span, way = words.change_of(ratio)
    return f"The choice matters{most} on {_where(board, shown)}: {first} gives {amount} {way} {last} (95 % CI {span})."


def alike(board: Board, tried: TriedBy | None = None, shown: Sequence[Board] = ()) -> str:
    """Say that it makes no difference which stack one takes, with the limit that all share; empty where it makes one."""
    found, rows = board.goodput, board.numbered
    if found is None or len(found.groups) != 1 or len(rows) < 2 or {row.stack for row in rows} != set(found.groups[0]):
        return ""
    equal = found.words and all(row.word is DifferenceWord.EQUIVALENT for row in found.words.values())
    which = "two" if len(rows) == 2 else f"{len(rows)}"
    where = _where(board, shown)
    start = (
        f"For {where} it makes no difference which of the {which} you take"
        if equal
        else f"For {where} {'neither' if len(rows) == 2 else 'none'} of the {which} stacks can be told from the other"
        f"{'s' if len(rows) > 2 else ''}"
    )
    limit = _limit(rows, tried)
    return f"{start}: for all of them {limit}." if limit else f"{start}."


def _limit(rows: Sequence[BoardRow], tried: TriedBy | None) -> str:
    """The one limit of all rows, and how sure it is; empty without one, and where an experiment has withdrawn it of any."""
    reasons = {reason_of(row) for row in rows}
    reason = next(iter(reasons)) if len(reasons) == 1 else ""
    tests = [(tried or {}).get((row.cell.id, reason)) for row in rows]
    found = {SUSPECTED if test is None else test.word for test in tests}
    if not reason or Outcome.WITHDRAWN in found:
        return ""
    return f"{meaning(reason)} ({', '.join([reason, *(found if len(found) == 1 else ())])})"


def spans(boards: Sequence[Board], tried: TriedBy | None = None) -> str:
    """Say how far the rates reach, from lowest to highest, for a run that compares nothing."""
    measured = [board for board in boards if board.numbered]
    if not measured:
        return "No stack has a number: the reasons stand in the grid."
    board = max(measured, key=lambda one: len(one.numbered))
    rows = board.numbered
    rates = _span(rows[-1].middle or 0.0, rows[0].middle or 0.0)
    who = f"{words.plural(len(rows), 'stack')} {'gives' if len(rows) == 1 else 'give'}"
    limit = _limit(rows, tried)
    return f"On {_where(board, boards)} {who} {rates} good answers a second{f': {limit}' if limit else ''}."


def _where(board: Board, shown: Sequence[Board]) -> str:
    """`WORKLOAD`, and what sets the board apart from others of it."""
    apart = " · ".join(distinction_of(board, shown))
    return f"`{board.workload}` ({apart})" if apart else f"`{board.workload}`"


def _factor(times: float) -> str:
    """Two digits: so few blocks carry no third."""
    return f"{float(f'{times:.2g}'):,g}"


def _span(low: float, high: float) -> str:
    shown = words.number(low), words.number(high)
    return shown[0] if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}"
