"""The losses of a database that crashed, and what the audit may therefore ask for. Pure.

A database that waits for its disk loses no acknowledged write. One that does not wait loses those of its last moments, by its own
setting and not by the server's: they are counted, and not held against anybody. Its counters begin anew in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fairground.model import AuditLine, DatabaseUse, Durability, Finding, Recovery, Severity

LOSES_S = 2.0
"""The seconds of writes that a database which does not wait may lose: three times what PostgreSQL promises, on a busy machine."""
PROBES = 10
"""As many requests of the lab's own in that time, at most."""


def most_lost(found: Recovery, durability: Durability) -> int | None:
    """The most acknowledged writes that a crash may take; None where it may take none."""
    return None if durability is Durability.DURABLE else math.ceil(LOSES_S * found.before_per_s) + PROBES


def without_counters(use: DatabaseUse) -> DatabaseUse:
    """The database's use without what its counters said: they count from its recovery on."""
    return replace(
        use,
        commits=None,
        rollbacks=None,
        rows_read=None,
        deadlocks=None,
        sessions=None,
        temp_files=None,
        checkpoints=None,
        work=None,
    )


def loss_line(line: AuditLine, expected: int, most: int, beyond: int = 0) -> AuditLine:
    """A line on what was acknowledged as one on what of it is missing, of which there may be `most`.

    `beyond`: this many more than `expected` may be there, since the crash took what had taken them away.
    """
    least = expected if line.expected_min is None else line.expected_min
    surplus = 0 if line.expected_max is None else line.expected_max - expected
    sentence = f"{line.sentence}; those that the crash took, at most of the last {LOSES_S:g} s"
    missing = None if line.found is None else expected - line.found
    return AuditLine(line.id, sentence, missing, -surplus - beyond, expected - least + most)


def loss_ledger(line: AuditLine, most: int) -> AuditLine:
    """A ledger's line, of which this many rows may have moved otherwise: a lost write moves none of its rows."""
    return replace(line, sentence=f"{line.sentence}, as those of the writes that the crash took", expected_max=most)


def count_lost(lines: Sequence[AuditLine], of: Sequence[str], lossy: bool) -> int | None:
    """Count the acknowledged writes that are missing, by the lines `of` these ids; None where no line counts them."""
    missing = [line.found if lossy else _missing(line) for line in lines if line.id in of]
    known = [max(0, int(one)) for one in missing if one is not None]
    return max(known, default=None)


def finding(found: Recovery, acknowledged: int, lossy: bool) -> Finding:
    """A note on what a crash took: acknowledged writes, and the counters that the audit would have read."""
    sentence = f"after its crash the database has each of {acknowledged:,} acknowledged writes"
    if found.lost:
        why = ", which relaxed durability allows" if lossy else ""
        sentence = f"the crash took {found.lost:,} of {acknowledged:,} acknowledged writes{why}"
    elif found.lost is None:
        sentence = f"no line of the audit counts acknowledged writes, of which there were {acknowledged:,}"
    sentence += "; its counters began anew, so that commits, scans and statements were not held against the answers"
    return Finding("crash", Severity.NOTE, sentence, {"lost": found.lost, "acknowledged": acknowledged})


def _missing(line: AuditLine) -> int | float | None:
    return None if line.found is None or line.expected_min is None else line.expected_min - line.found
