"""The moments of commits of one arm, read for the judge: what its loads logged against what its database keeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairground.judge import committed
from fairground.judge.committed import ClockBounds, CountedLoad
from fairground.judge.written import Probe
from fairground.model import AuditLine, Finding, Workload
from fairground.model.answerlog import AnswerLog, join_logs
from fairground.postgres import Database, commits


@dataclass(frozen=True)
class WholeLoad:
    """A load in one piece, beside which no other arm is loaded: its log, and the numbers of the transactions meanwhile."""

    log: AnswerLog
    first: int
    after: int
    ended_us: int


@dataclass
class CommitWitness:
    """The witness of when an arm's database committed. `clock`: None until `begin`, or where the database keeps no such times."""

    database: Database
    workload: Workload
    clock: ClockBounds | None = None
    loads: list[WholeLoad] = field(default_factory=list)

    def begin(self) -> None:
        """Compare the clocks before the load."""
        self.clock = self._compare()

    def note(self, logs: Sequence[AnswerLog], first: int, after: int) -> None:
        """Note which transactions were those of a load that has just ended, for the log of its answers."""
        if logs and logs[-1].count:
            self.loads.append(WholeLoad(logs[-1], first, after, time.time_ns() // 1000))

    def _compare(self) -> ClockBounds | None:
        found = self.database.clock_of_commits_us()
        return None if found is None else ClockBounds(*found)

    def read(self, logs: Sequence[AnswerLog], probes: Sequence[Probe]) -> tuple[tuple[AuditLine, ...], tuple[Finding, ...]]:
        """Hold all that was logged against the database, once the server is gone: lines, and notes on what could not be held."""
        log = join_logs(logs)
        if not log.count:
            return (), ()
        later = None if self.clock is None else self._compare()
        clock = None if self.clock is None or later is None else self.clock.join(later)
        keyed, lines = log.keyed, tuple[AuditLine, ...]()
        if self.workload.audit.history is not None:
            lines = tuple(self._row_lines(keyed, clock))
        by_rows = are_held = any(line.id == "late-commits" for line in lines)
        if keyed.count < log.count:  # some writes leave no row of their own
            counted = self._count_lines(clock, probes)
            lines, are_held = lines + counted, bool(counted)
        if are_held:
            return lines, ()
        return lines, (committed.unknown(self._why(clock, log), any(one.acknowledged for one in probes), by_rows),)

    def _row_lines(self, log: AnswerLog, clock: ClockBounds | None) -> Sequence[AuditLine]:
        history = self.workload.audit.history
        assert history is not None
        with self.database.connect() as connection:
            rows = commits.of_rows(connection, history.sql, log.moments_us)
        return list(committed.row_lines(log, rows, clock))

    def _count_lines(self, clock: ClockBounds | None, probes: Sequence[Probe]) -> tuple[AuditLine, ...]:
        whole = [load for load in self.loads if load.log.clock_moved_us <= committed.SET_US]
        if clock is None or not whole:
            return ()
        with self.database.connect() as connection:
            found = [
                CountedLoad(_answers(load, probes), commits.of_numbers(connection, load.first, load.after), load.log.one_in)
                for load in whole
            ]
        return (committed.count_line(found, clock),)

    def _why(self, clock: ClockBounds | None, log: AnswerLog) -> str:
        if self.clock is None:
            return "the database keeps no times of commits (track_commit_timestamp)"
        if clock is None or log.clock_moved_us > committed.SET_US:
            return "a clock was set meanwhile"
        return "no load was the only one while it ran"


def _answers(load: WholeLoad, probes: Sequence[Probe]) -> list[int]:
    """The moments of a load's answers, and of the lab's own beside it, which are committed as well: none stands for several."""
    answers_us = load.log.all_us()
    if load.log.one_in > 1:
        return answers_us
    first_us = answers_us[0] if answers_us else load.ended_us
    own = [one.answered_us for one in probes if one.acknowledged and one.answered_us is not None]
    return answers_us + [at_us for at_us in own if first_us <= at_us <= load.ended_us]
