"""The note of a load whose answers were held against no moments of commits."""

from __future__ import annotations

from typing import cast

import pytest

from builders.contracts import SEEDS
from fairground.inputs import workload_files
from fairground.judge.written import Probe
from fairground.measure.commits import CommitWitness
from fairground.model.answerlog import AnswerLog
from fairground.postgres import Database

TRANSFER = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "transfer")
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
