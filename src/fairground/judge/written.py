"""Requests of the lab's own, each looked for in the database at the moment of its answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.model import AuditLine, Finding, LedgerEntry, LedgerRow, LoadRequest, Result, Severity

LATE_S = 1.5
"""What is counted in the last second of a load is not handed in by its end; half a second more for a busy machine."""
LEAST_PROBES = 5
"""Fewer requests of the lab's own may be refused by chance, beside a load of which some are."""


@dataclass(frozen=True)
class Probe:
    """One such request: what it had in its slots, and whether it was acknowledged (None: its answer does not tell).

    `late_ms`: how long after the answer its write was there; 0 where it was there at once, None where it never came.
    `answered_us`: when its answer was there, on the wall clock.
    `looked`: whether the database let the lab look for it; where it did not, `late_ms` and `unflushed` tell nothing.
    `unflushed`: whether its commit was not on the disk by then; None where nobody asked for that, or it cannot be told.
    """

    slots: Mapping[str, str]
    acknowledged: bool | None
    late_ms: float | None = 0.0
    unflushed: bool | None = None
    answered_us: int | None = None
    looked: bool = True
    header: str | None = None
    """The clause on a header of its answer that is wrong; None: all are right, or there is no whole answer."""


def findings(probes: Sequence[Probe], patience_s: float, result: Result, ended_by: str | None = None) -> tuple[Finding, ...]:
    """Reject if an acknowledged write was not there, or not on the disk, when its answer came: the look was after it.

    `result`: that of the load beside which these requests were sent. `ended_by`: what ended them before it, if anything.
    """
    looked = [probe for probe in probes if probe.looked]
    return (
        *_ended(probes, ended_by),
        *_refused(probes, result),
        *_late(looked, patience_s),
        *_unflushed(looked),
        *_unlooked(probes),
        *_headers(probes),
    )


def _ended(probes: Sequence[Probe], ended_by: str | None) -> tuple[Finding, ...]:
    """Void where a fault of the lab's ended the probes: nobody looked at the writes after it."""
    if ended_by is None:
        return ()
    sentence = (
        f"the lab's own requests ended after {len(probes)}, by a fault of the lab's, so that later writes were not looked for"
    )
    return (Finding("probes-ended", Severity.VOID, f"{sentence}: {ended_by}", {"asked": len(probes)}),)


def _headers(probes: Sequence[Probe]) -> tuple[Finding, ...]:
    """Reject headers that are wrong in most answers: a machine that stands still makes one date old, and no more."""
    told = [probe for probe in probes if probe.acknowledged]
    wrong = [probe.header for probe in told if probe.header is not None]
    if 2 * len(wrong) <= len(told):
        return ()
    sentence = f"of {len(told)} answers to requests of the lab's own under load, {len(wrong)} had a wrong header: {wrong[-1]}"
    return (Finding("headers-under-load", Severity.REJECT, sentence, {"looked_at": len(told), "wrong": len(wrong)}),)


def _refused(probes: Sequence[Probe], result: Result) -> tuple[Finding, ...]:
    """Warn where none of several was acknowledged beside a load that mostly was: then no write was there to be looked for."""
    if (
        len(probes) < LEAST_PROBES
        or any(probe.acknowledged for probe in probes)
        or (result.life or result.window).not_ok >= result.done
    ):
        return ()
    sentence = f"of {len(probes)} requests of the lab's own none was acknowledged, so that no write was looked for at its answer"
    return (Finding("writes-not-acknowledged", Severity.WARN, sentence, {"asked": len(probes)}),)


def _unlooked(probes: Sequence[Probe]) -> tuple[Finding, ...]:
    """Warn of acknowledged writes that the database did not let the lab look for: nobody knows whether they were there."""
    told = [probe for probe in probes if probe.acknowledged]
    untold = sum(not probe.looked for probe in told)
    if not untold:
        return ()
    sentence = f"of {len(told)} acknowledged writes, {untold} could not be looked for: the database refused the question"
    return (Finding("writes-not-looked-for", Severity.WARN, sentence, {"acknowledged": len(told), "not_looked_for": untold}),)


def _unflushed(probes: Sequence[Probe]) -> tuple[Finding, ...]:
    """Reject commits that do not wait for the disk.

    Such a commit is visible before it is on the disk: a crash would undo what was acknowledged.
    """
    told = [probe for probe in probes if probe.acknowledged and probe.late_ms == 0 and probe.unflushed is not None]
    bad = sum(probe.unflushed is True for probe in told)
    if not bad:
        return ()
    sentence = f"of {len(told)} acknowledged writes, {bad} were not on the disk yet, and the database waits for it by itself"
    return (Finding("unflushed-writes", Severity.REJECT, sentence, {"looked_for": len(told), "unflushed": bad}),)


def _late(probes: Sequence[Probe], patience_s: float) -> tuple[Finding, ...]:
    told = [probe for probe in probes if probe.acknowledged]
    lost = [probe for probe in told if probe.late_ms is None]
    late = [probe.late_ms for probe in told if probe.late_ms]
    if not late and not lost:
        return ()
    words = [f"{len(late)} were in the database only up to {max(late):,.0f} ms later"] if late else []
    words += [f"{len(lost)} were not there {patience_s:g} s later"] if lost else []
    sentence = f"of {len(told)} writes that the lab looked for at the moment of their answer, {' and '.join(words)}"
    evidence = {"looked_for": len(told), "late": len(late), "lost": len(lost), "late_ms": round(max(late), 1) if late else None}
    return (Finding("late-writes", Severity.REJECT, sentence, evidence),)


def counted_by(result: Result) -> int:
    """The good answers of a load that were given before the counts of its last moments were handed in.

    Backends hand in what they count once a second. Left out are the last of the window's seconds, what followed it and, where the
    window was shorter, as much of the warm-up before it as its rate gives.
    """
    counted = sum(one.ok for end, one in enumerate(result.seconds, 1) if end <= result.window_s - LATE_S)
    late = (result.completed_ok - counted) * max(1.0, LATE_S / result.window_s if result.window_s else 1.0)
    return max(0, result.done - math.ceil(late) - (result.in_flight_end or 0))


def counted_in_turns(ends: Sequence[tuple[float, int]]) -> int:
    """The good answers of turns that were given before the counts of the last ones were handed in.

    `ends`: of each turn, when it ended and how many there were by then.
    """
    return max((good for end, good in ends if end <= ends[-1][0] - LATE_S), default=0)


def flush_line(flushes: int, good: int, connections: int) -> AuditLine:
    """The line that asks for the disk: a connection waits for its commit, so that no flush of the log ends two of one's."""
    sentence = (
        f"a flush of the log to the disk ends one commit of each connection at most; good answers beside {flushes:,} flushes"
        f" and {connections:,} connections"
    )
    return AuditLine("flushes", sentence, good, 0, flushes * connections)


def with_probes(result: Result, probes: Sequence[Probe], asked: LoadRequest) -> Result:
    """The result with what the probes of a request wrote, as the audit must count it: the generator does not know of them."""
    life, ledgers = result.life or result.window, None
    counted = [probe for probe in probes if probe.acknowledged is not False]
    sure = sum(probe.acknowledged is True for probe in counted)
    life = replace(life, ok=life.ok + sure, in_flight=(life.in_flight or 0) + len(counted) - sure)
    if result.ledgers is not None:
        ledgers = {name: dict(rows) for name, rows in result.ledgers.items()}
        for probe in counted:
            for entry in asked.ledger:
                rows, account = ledgers.setdefault(entry.name, {}), probe.slots[entry.account]
                rows[account] = _moved(rows.get(account, LedgerRow(0, 0, 0, 0)), probe, entry)
    requests = dict(result.requests)
    if (of := requests.get(asked.name)) is not None:
        in_flight = (of.life.in_flight or 0) + len(counted) - sure
        requests[asked.name] = replace(of, life=replace(of.life, ok=of.life.ok + sure, in_flight=in_flight))
    return replace(result, life=life, ledgers=ledgers, requests=requests)


def _moved(row: LedgerRow, probe: Probe, entry: LedgerEntry) -> LedgerRow:
    """One ledger row after a probe that names it."""
    slot, sign = entry.add.removeprefix("-"), -1 if entry.add.startswith("-") else 1
    value = sign * (1 if slot == "1" else int(probe.slots[slot]))
    if probe.acknowledged:
        return replace(row, acknowledged_count=row.acknowledged_count + 1, acknowledged_sum=row.acknowledged_sum + value)
    return replace(row, unknown_count=row.unknown_count + 1, unknown_sum=row.unknown_sum + value)
