"""Memory, descriptors and threads that grow for as long as anybody looks: at which rate, and when the limit is met. Pure.

A window is cut into pieces, and the least memory of each is what counts: a collector's sawtooth comes down inside of a piece or
between two, a leak never does. Growth whose second half is slower than its first is a warm-up that settles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairground.judge.thresholds import Rules
from fairground.model import Cell, Evidence, Finding, Look, Result, Severity

PIECES = 6


def findings(cell: Cell, result: Result, looks: Sequence[Look], machine_bytes: int | None, rules: Rules) -> tuple[Finding, ...]:
    """The growth of a server's memory in its window, if that did not settle. `machine_bytes`: all that the machine has."""
    seen = [(look.at_unix_s, look.memory_bytes) for look in looks if look.memory_bytes is not None]
    rate = bytes_per_s(seen, rules)
    if rate is None:
        return ()
    last, allowed = seen[-1][1], cell.settings.memory_mb
    limit = machine_bytes if allowed is None else allowed * 1e6
    whose = "the machine's memory" if allowed is None else "its limit"
    full_s = None if limit is None else max(0.0, limit - last) / rate
    each = (
        "" if not result.completed_ok else f", {rate * result.window_s / result.completed_ok / 1000:.1f} kB for each good answer"
    )
    when = (
        ""
        if full_s is None or limit is None
        else f": {whose} of {limit / 1e6:,.0f} MB would be full in {_duration(full_s)} at most"
    )
    sentence = (
        f"the server's memory grew by {rate / 1e6:.1f} MB/s for the whole window, to {last / 1e6:,.0f} MB{each}{when}."
        " A collector that had not run yet looks the same"
    )
    grave = full_s is not None and full_s < rules.memory_full_warn_s
    evidence = {
        "mb_per_s": round(rate / 1e6, 3),
        "last_bytes": last,
        "limit_bytes": None if limit is None else round(limit),
        "full_in_s": None if full_s is None else round(full_s, 1),
    }
    return (Finding("memory-grows", Severity.WARN if grave else Severity.NOTE, sentence, evidence),)


@dataclass(frozen=True)
class Bounded:
    """The things that a server holds, and of which the machine lets it have this many; None: nobody knows how many."""

    id: str
    noun: str
    most: int | None


def held_findings(
    looks: Sequence[Look], result: Result, descriptors: int | None, threads: int | None, rules: Rules
) -> Iterator[Finding]:
    """The growth of what a server holds beside memory: open descriptors, up to this many for each process, and threads."""
    processes = looks[-1].processes if looks else None
    together = None if descriptors is None else descriptors * (processes or 1)
    for kind, numbers in (
        (Bounded("descriptors-grow", "open descriptors", together), [(look.at_unix_s, look.descriptors) for look in looks]),
        (Bounded("threads-grow", "threads", threads), [(look.at_unix_s, look.threads) for look in looks]),
    ):
        seen = [(at_s, number) for at_s, number in numbers if number is not None]
        rate = _lasting(seen, rules)
        if rate is not None and seen[-1][1] - seen[0][1] >= rules.held_growth_least:
            yield _held_finding(kind, rate, seen[-1][1], result, rules)


def _held_finding(kind: Bounded, rate: float, last: int, result: Result, rules: Rules) -> Finding:
    full_s = None if kind.most is None else max(0, kind.most - last) / rate
    answers = "" if not result.completed_ok else f", one for {result.completed_ok / (rate * result.window_s):,.0f} good answers"
    when = "" if full_s is None else f": the limit of {kind.most:,} would be reached in {_duration(full_s)}"
    sentence = f"the server's {kind.noun} grew by {rate:,.1f} a second for the whole window, to {last:,}{answers}{when}"
    grave = full_s is not None and full_s < rules.memory_full_warn_s
    evidence: Evidence = {
        "per_s": round(rate, 3), "last": last, "limit": kind.most, "full_in_s": None if full_s is None else round(full_s, 1),
    }  # fmt: skip
    return Finding(kind.id, Severity.WARN if grave else Severity.NOTE, sentence, evidence)


def bytes_per_s(seen: Sequence[tuple[float, int]], rules: Rules) -> float | None:
    """The rate at which memory grew, from (time, bytes). None: it did not, came down in between, settled, or nobody knows."""
    rate = _lasting(seen, rules)
    return rate if rate is not None and rate >= rules.memory_growth_mb_per_s * 1e6 else None


def _lasting(seen: Sequence[tuple[float, int]], rules: Rules) -> float | None:
    """The rate at which something grew in each piece of the window, and did not settle; None if it did not."""
    lowest = _lowest(seen)
    if lowest is None or seen[-1][0] - seen[0][0] < rules.memory_growth_s:
        return None
    rises = all(after[1] > before[1] for before, after in zip(lowest, lowest[1:], strict=False))
    early, late = _slope(lowest[: PIECES // 2]), _slope(lowest[PIECES // 2 :])
    lasts = late >= rules.memory_growth_late * early
    grown = lowest[-1][1] - lowest[0][1] >= rules.memory_growth_share * lowest[0][1]
    return _slope(lowest) if rises and lasts and grown else None


def _lowest(seen: Sequence[tuple[float, int]]) -> list[tuple[float, int]] | None:
    """The least memory of each piece of the window, and when that was; None where a piece has too few looks to tell."""
    if len(seen) < 3 * PIECES:
        return None
    first, length = seen[0][0], seen[-1][0] - seen[0][0]
    pieces: list[list[tuple[float, int]]] = [[] for _ in range(PIECES)]
    for at_s, used in seen:
        pieces[min(PIECES - 1, int((at_s - first) / length * PIECES))].append((at_s, used))
    return [min(piece, key=lambda one: one[1]) for piece in pieces] if all(pieces) else None


def _slope(points: Sequence[tuple[float, int]]) -> float:
    """Bytes a second, by least squares."""
    middle_s = sum(at_s for at_s, _ in points) / len(points)
    middle = sum(used for _, used in points) / len(points)
    spread = sum((at_s - middle_s) ** 2 for at_s, _ in points)
    return sum((at_s - middle_s) * (used - middle) for at_s, used in points) / spread if spread else 0.0


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours, to be read."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
