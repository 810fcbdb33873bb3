"""Read off the answers of each tenth of a second what a fault did: how long, how many, when all was as before. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fairground.model import Cell, Fault, FaultKind, Finding, Outcomes, Recovery, Result, Severity
from fairground.model.plural import plural

TENTH_S = 0.1
FULL_SHARE = 0.9
"""A tenth with so much of the rate before the fault has the full rate again …"""
LASTS_TENTHS = 10
"""… if this many from it on have it together, and none of them is without a good answer."""
LEAST_PER_S = 100.0
"""With fewer good answers a second a tenth may be without one by chance, and nothing can be said of tenths."""
WORDS = {
    FaultKind.DATABASE_RESTART: "the database's restart",
    FaultKind.DATABASE_CRASH: "the database's crash",
    FaultKind.CONNECTIONS_CUT: "the cut of all connections to the database",
    FaultKind.POOLER_RESTART: "the pooler's restart",
}


def recovery(
    began_s: float,
    lasted_s: float,
    tenths: tuple[Sequence[int], Sequence[int]],
    window_s: float,
    outcomes: Outcomes,
    cut: int | None = None,
) -> Recovery:
    """The recovery of the answers after a fault.

    `tenths`: good answers and others by tenth, `outcomes`: of the window, `cut`: how many connections to the database the fault
    ended.
    """
    whole = min(len(tenths[0]), int(window_s / TENTH_S + 1e-6))  # the last one may be shorter, and then says nothing
    good, bad = list(tenths[0][:whole]), list(tenths[1][:whole])
    first = min(int(began_s / TENTH_S + 1e-6), whole)
    before_per_s = sum(good[:first]) / first / TENTH_S if first else 0.0
    again = _full_again(good, first, before_per_s) if before_per_s >= LEAST_PER_S else None
    silences = _silences(good, first)
    longest = max((end - begin for begin, end in silences), default=0)
    return Recovery(
        began_s=began_s,
        lasted_s=lasted_s,
        before_per_s=before_per_s,
        after_per_s=None if again is None else sum(good[again:]) / (whole - again) / TENTH_S,
        first_good_s=_first_good_s(silences, again, whole, began_s) if before_per_s >= LEAST_PER_S else None,
        recovered_s=None if again is None else _since(again, began_s),
        longest_silence_s=round(longest * TENTH_S, 1),
        failed=sum(tenths[1][first:]),
        failed_before=sum(bad[:first]),
        good=sum(tenths[0][first:]),
        unanswered=sum(count or 0 for count in (outcomes.timeout, outcomes.reset, outcomes.connect, outcomes.in_flight)),
        wrong=(outcomes.wrong_body or 0) + (outcomes.malformed or 0),
        cut=cut,
    )


def is_beyond(found: Recovery, window_s: float) -> bool:
    """True if a fault lasted beyond the window. Who carries it out reads no clock meanwhile."""
    return found.began_s + found.lasted_s > window_s


def finding(fault: Fault, found: Recovery, window_s: float = math.inf) -> Finding:
    """A note on what a fault did.

    It is a warning where the window ended before the full rate was there again, or nothing was cut.
    """
    words = "the database's stall" if fault.for_ms is None else f"the database's stall of {fault.for_ms:g} ms"
    words = WORDS.get(fault.kind, words)
    if fault.kind is FaultKind.CONNECTIONS_CUT and found.cut is not None:
        words = f"a cut of {plural(found.cut, 'connection')} to the database"
    failed = "no answer failed" if not found.failed else f"{plural(found.failed, 'answer')} failed"
    share = f" ({100 * found.failed_share:.3g}%)" if found.failed else ""
    back = f", which was back after {found.lasted_s:.2g} s" if fault.kind is FaultKind.DATABASE_CRASH else ""
    if is_beyond(found, window_s):
        back += f"{' and' if back else ', which'} lasted beyond the window"
    sentence = f"after {words} at {fault.at_s:g} s{back}: {failed}{share}, {_times(found)}"
    evidence = {
        "before_per_s": round(found.before_per_s, 1),
        "after_per_s": None if found.after_per_s is None else round(found.after_per_s, 1),
        "failed": found.failed,
        "first_good_s": found.first_good_s,
        "recovered_s": found.recovered_s,
        "longest_silence_s": found.longest_silence_s,
        "carried_out_s": round(found.lasted_s, 3),
        "unanswered": found.unanswered,
        "wrong": found.wrong,
        "cut": found.cut,
    }
    slow = found.recovered_s is None and found.before_per_s >= LEAST_PER_S
    return Finding("fault", Severity.WARN if slow or found.cut == 0 else Severity.NOTE, sentence, evidence)


def with_doubts(result: Result, cell: Cell) -> Result:
    """The result as the audit must count it where something was made to go wrong; else as it is.

    A connection may be cut between a commit and its confirmation, and then the server answers 5xx for what was done. That can be
    so of as many answers as there were connections. The engine's ledger holds all of them as unknown already.
    """
    if cell.load.fault is None or result.uncounted_most is None:
        return result
    life = result.life or result.window
    errors = (life.shed or 0) + sum(count for status, count in life.status.items() if status >= 500)
    return replace(result, uncounted_most=result.uncounted_most + min(errors, cell.settings.pool_total))


def _times(found: Recovery) -> str:
    if found.before_per_s < LEAST_PER_S:
        return f"and {found.before_per_s:.0f} good answers a second before it are too few to tell of tenths of a second"
    if found.first_good_s is None:
        return "and no good one came any more in the window"
    if found.recovered_s == 0:
        return "and the rate went on as before"
    came = "good ones went on" if found.first_good_s == 0 else f"the first good one came after {found.first_good_s:g} s"
    full = "the full rate did not come back" if found.recovered_s is None else f"full rate after {found.recovered_s:g} s"
    return f"{came}, {full}"


def _full_again(good: Sequence[int], first: int, before_per_s: float) -> int | None:
    """The first tenth from which on the full rate is there for a second; None where the window ends before."""
    least = FULL_SHARE * before_per_s * TENTH_S
    for place in range(first, len(good) - LASTS_TENTHS + 1):
        ahead = good[place : place + LASTS_TENTHS]
        if ahead[0] >= least and sum(ahead) >= LASTS_TENTHS * least and min(ahead) > 0:
            return place
    return None


def _silences(good: Sequence[int], first: int) -> list[tuple[int, int]]:
    """The stretches without a good answer, from the fault on: each one's first tenth, and the first one after it."""
    found, begin = list[tuple[int, int]](), None
    for place in range(first, len(good)):
        if good[place] == 0 and begin is None:
            begin = place
        elif good[place] and begin is not None:
            found.append((begin, place))
            begin = None
    return found if begin is None else [*found, (begin, len(good))]


def _first_good_s(silences: Sequence[tuple[int, int]], again: int | None, whole: int, began_s: float) -> float | None:
    """Seconds from the fault to the end of the first silence.

    0 where there was none before the full rate was back, None where it lasted to the end.
    """
    mattering = [one for one in silences if again is None or one[0] < again]
    if not mattering:
        return 0.0
    end = mattering[0][1]
    return None if end >= whole else _since(end, began_s)


def _since(place: int, began_s: float) -> float:
    """Seconds from the fault to the beginning of a tenth, in steps of 0.1; the tenth of the fault itself is at 0."""
    return max(0.0, round(place * TENTH_S - began_s, 1))
