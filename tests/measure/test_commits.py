"""Answers of a load held against the moments of commits, and the note where nobody knows those."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import pytest

from builders.contracts import SEEDS
from fairground.inputs import workload_files
from fairground.judge.written import Probe
from fairground.measure.commits import CommitWitness
from fairground.model.answerlog import AnswerLog
from fairground.postgres import Database, commits

WORKLOADS = {one.id: one for one in workload_files.load_workloads(SEEDS)}
TRANSFER, CRUD = WORKLOADS["transfer"], WORKLOADS["crud"]
WHY = "the database keeps no times of commits (track_commit_timestamp)"


@pytest.mark.parametrize(
    ("acknowledged", "words"),
    [
        (True, "looked for by the lab's own requests alone, three times a second"),
        (False, "not looked for"),
        (None, "not looked for"),
    ],
)
def test_the_note_says_who_looked(acknowledged: bool | None, words: str) -> None:
    """The lab's own requests show late commits only where some of them were acknowledged."""
    log, database = AnswerLog(), cast(Database, None)
    log.add([[1, 2]], 1, 0)
    lines, (note,) = CommitWitness(database, TRANSFER).read([log], [Probe({}, False), Probe({}, acknowledged)])
    assert lines == () and note.sentence == f"late commits were {words}: {WHY}"


class Witnessed:
    """A database whose clock is the lab's."""

    def clock_of_commits_us(self) -> tuple[int, int]:
        return -50, 50

    def connect(self) -> Any:
        return nullcontext()


@pytest.mark.parametrize(("updated_us", "late"), [(30_000, 0), (60_000, 1)])
def test_writes_of_a_mix_without_rows_are_counted(monkeypatch: pytest.MonkeyPatch, updated_us: int, late: int) -> None:
    """An item that is made has a row of its own, one that is updated has none: each is held by what there is."""
    log = AnswerLog()
    log.add([[20_000, 150, 3], [40_000]], 1, 0)
    monkeypatch.setattr(commits, "of_rows", lambda connection, sql, wanted: {(150, 3): [10_000]})
    monkeypatch.setattr(commits, "of_numbers", lambda connection, first, after: [10_000, updated_us])
    witness = CommitWitness(cast(Database, Witnessed()), CRUD)
    witness.begin()
    witness.note([log], 5, 7)
    lines, notes = witness.read([log], [])
    assert [(line.id, line.found) for line in lines] == [("rows-asked", 0), ("late-commits", 0), ("late-commits", late)]
    assert "each of 1 answers has a row" in lines[0].sentence and notes == ()


def test_writes_of_a_mix_that_nobody_counted_have_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns alone no load is the only one: items that are made are held by their rows, and updates by nothing."""
    log = AnswerLog()
    log.add([[20_000, 150, 3], [40_000]], 1, 0)
    monkeypatch.setattr(commits, "of_rows", lambda connection, sql, wanted: {(150, 3): [10_000]})
    witness = CommitWitness(cast(Database, Witnessed()), CRUD)
    witness.begin()
    lines, (note,) = witness.read([log], [])
    assert [line.id for line in lines] == ["rows-asked", "late-commits"]
    says = "late commits of writes without a row of their own were not looked for: no load was the only one while it ran"
    assert (note.id, note.sentence) == ("commit-times", says)
