"""The checks that the database server worked for the trial alone (V17)."""

from __future__ import annotations

from fairground.judge.thresholds import Rules
from fairground.judge.validity.check import CheckReading, TrialFacts, ValidityCheck


def _checkpoints(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """Checkpoints: each writes out what is dirty, and makes the next change of each page write it whole into the log."""
    count = facts.database.checkpoints if facts.database else None
    if count is None:
        return None
    return CheckReading(count, f"the database made {count:,} checkpoints in the window", {"checkpoints": count})


def _autovacuum(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """An autovacuum of the trial's database.

    One that the server's own writes set off is its cost in a long run, and noise in a short one.
    """
    words = "an autovacuum worked on the trial's database in {} of {} samples"
    return _sampled(facts, facts.database.autovacuum_samples if facts.database else None, words)


def _foreign_sessions(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """Sessions of somebody else: their statements take processors, locks and buffers that the trial counts on."""
    words = "sessions of other databases were at work in {} of {} samples"
    return _sampled(facts, facts.database.foreign_samples if facts.database else None, words)


def _sampled(facts: TrialFacts, seen: int | None, words: str) -> CheckReading | None:
    samples = facts.database.hygiene_samples if facts.database else 0
    if seen is None or not samples:
        return None
    return CheckReading(seen / samples, words.format(seen, samples), {"seen": seen, "samples": samples})


def _temp_files(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """Temporary files: no workload sorts more than fits into memory, so they mean a plan that nobody expected."""
    files = facts.database.temp_files if facts.database else None
    return None if files is None else CheckReading(files, f"the database wrote {files:,} temporary files", {"files": files})


CHECKS = (
    ValidityCheck("checkpoints", "V17", "database", "checkpoints in the window", "checkpoints", _checkpoints),
    ValidityCheck("autovacuum", "V17", "database", "autovacuum on the trial's tables", "share", _autovacuum),
    ValidityCheck("foreign-sessions", "V17", "database", "sessions of other databases", "share", _foreign_sessions),
    ValidityCheck("temp-files", "V17", "database", "temporary files of the database", "files", _temp_files),
)
