"""The picture that a link to a run shows: well-formed, nothing foreign in it, and nothing outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from fairground.report import boards
from fairground.report.site import card
from report.fixture import run

SPACE = "{http://www.w3.org/2000/svg}"


def texts(drawing: str) -> list[str]:
    """Every text of a drawing."""
    return ["".join(one.itertext()) for one in ElementTree.fromstring(drawing).iter(f"{SPACE}text")]


def drawn(story: Sequence[str]) -> str:
    """The card of a run with this story."""
    return card.svg(story, boards.boards(run()), "a run")


def test_it_says_the_first_sentence_and_shows_the_fastest() -> None:
    """The sentence on as many lines as it needs, then bars by falling rate."""
    shown = texts(drawn(["All four stacks give the same, and that is why you may choose by taste."]))
    assert "All four stacks give the same" in " ".join(shown)
    (board,) = [max(boards.boards(run()), key=lambda one: len(one.numbered))]
    fastest = [row.stack for row in board.numbered[: card.MOST_BARS]]
    assert [text for text in shown if text in fastest] == fastest


def test_a_long_sentence_ends_with_an_ellipsis() -> None:
    """It never runs into the bars."""
    heading = [text for text in texts(drawn(["many words " * 60])) if "many" in text]
    assert len(heading) == card.MOST_LINES and heading[-1].endswith("…")


def test_foreign_text_is_escaped_and_cleaned() -> None:
    """Markup, escapes and what hides words."""
    drawing = drawn(["<script>x</script> \x1b[2J\u202e`code` & more"])
    assert "<script" not in drawing and "\x1b" not in drawing and "\u202e" not in drawing
    assert "<script>x</script> code & more" in " ".join(texts(drawing))


def test_a_run_without_numbers_has_a_card() -> None:
    """No bars, and no error."""
    assert "rx=" not in card.svg(["Nothing has a number."], [], "a run")
