"""Sentences about one of what there are several of as a rule."""

from __future__ import annotations

import pytest

from fairground.capacity.service import failures
from fairground.capacity.service.values import LoadTally
from fairground.judge import answers, blame
from fairground.model import Load, Outcomes
from fairground.model.plural import plural, with_verb
from fairground.report.text import words

LOST = LoadTally("1 connection", Outcomes(0, 0, {}, 0, 0, 0, 1, 0, 0, 0), closed=1, dropped=1)
CLOSED = "under load the service closed 1 kept connection in 1 request; 1 of them without a word before, and 1 request was lost"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([words.load_text(Load(1))], "1 connection"),
        ([one.sentence for one in failures.findings([LOST]) if one.id == "closed"], CLOSED),
        (
            [str(getattr(blame.no_room(1, False), "sentence", None))],
            "the database had no room for 1 connection of the server, which was held to no number of them",
        ),
        (
            [one.sentence for one in answers.connections(None, 5, refused=1)],
            "the database refused 1 connection beyond the limit of the server, and its pool size allowed 5",
        ),
        ([plural(3, "process"), with_verb(2, "try"), with_verb(1, "start")], "3 processes, 2 tries are, 1 start is"),
    ],
)
def test_one_is_no_plural(said: list[str], expected: str) -> None:
    """Noun and verb follow the number."""
    assert ", ".join(said) == expected
