"""The causes that are no server's doing: one table of what may happen beside a server, what shows it, and what it explains.

A finding whose id is here, and that makes a trial void, takes from the server whatever its cause explains (`judge/blame.py`).
What else the machine did is read by the checks of `judge/validity`: it can keep a server silent, and explains nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.model.result import Finding, Severity

ANY = ("",)
"""Each id begins with this: the cause explains whatever a server is rejected for."""
COUNTS = ("audit:", "no-answers", "no-good-answer", "unreachable")
"""What rests on the counts of the load engine."""


@dataclass(frozen=True)
class Cause:
    """A thing that happened beside a server. `sign` says what shows it, `explains` how the ids of what it explains begin."""

    id: str
    meaning: str
    sign: str
    explains: tuple[str, ...]

    def finding(self, sentence: str, /, **evidence: int | float | str | None) -> Finding:
        """Make the finding that makes a trial void for it."""
        return Finding(self.id, Severity.VOID, sentence, evidence)


DATABASE_CRASHED = Cause(
    "database-crashed",
    "the database crashed and recovered",
    "the counters of its checkpoints and of its archive both began anew, or it has another time of its start",
    ANY,
)
DATABASE = Cause(
    "database",
    "the database could not be read after the trial",
    "its process has ended, or it refuses the lab's own connections",
    ANY,
)
DATABASE_FULL = Cause(
    "database-full",
    "the database had no room for connections that the server may open",
    "it refused them (SQLSTATE 53300) and named no limit of the server's own",
    ANY,
)
INSTRUMENT = Cause(
    "instrument",
    "the load engine, or what else of the lab measures, failed",
    "the engine's exit code, or the machine's refusal of a process, a file or a port",
    COUNTS,
)


@dataclass(frozen=True)
class DatabaseLifetime:
    """The times at which a database server started, and since when it counts checkpoints and archived files.

    Its recovery from a crash begins both counts anew. A clean stop keeps them, and one reset by hand is of one of them.
    """

    started_unix_s: float
    checkpoints_since_unix_s: float | None
    archive_since_unix_s: float | None

    def is_over(self, now: DatabaseLifetime) -> bool:
        """True if it was over before `now`, by a crash or by another start."""
        recovered = (
            self.checkpoints_since_unix_s != now.checkpoints_since_unix_s
            and self.archive_since_unix_s != now.archive_since_unix_s
        )
        return recovered or self.started_unix_s != now.started_unix_s


LAB_STOPPED = Cause(
    "lab-stopped",
    "the lab itself stood still",
    "it read its clocks later than the window ended, by the engine's own clock or by its looks at another generator",
    (),
)
INTRUDER = Cause(
    "intruder",
    "a process that nobody started there joined the control group of a role",
    "a member of the group descends from none of the processes that the lab started in it",
    (),
)
CAUSES: Mapping[str, Cause] = {
    one.id: one for one in (DATABASE_CRASHED, DATABASE, DATABASE_FULL, INSTRUMENT, LAB_STOPPED, INTRUDER)
}
"""All causes by the id of their finding."""
