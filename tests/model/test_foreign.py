"""Foreign text: what is taken from it, and what stays."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from builders.hostile import HOSTILE, is_clean
from fairground.model import foreign


def test_no_character_that_does_not_show_is_left() -> None:
    """Of all characters those that control, format, are half of one, private, or end a line in an unusual way are taken away."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    left = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in hidden and chr(code) not in "\n\t" and foreign.clean(chr(code)) not in ("", "\n")
    ]
    assert left == []


def test_plain_words_of_any_language_stay() -> None:
    """Letters, signs, spaces and ordinary ends of lines are not touched."""
    text = "Größe ≥ 5 µs – 東京 שלום مرحبا\u00a0ok 🚀\n\ttabbed"
    assert foreign.clean(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1bPsecret\x1b\\text", "text"),
        ("\x1b\x1b[31m[31mtwice", "[31mtwice"),
        ("never ended \x1b]0;title", "never ended 0;title"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\u202eb\u200bc\ufeffd", "abcd"),
        ("half \ud800 of a pair", "half  of a pair"),
    ],
)
def test_escapes_are_taken_whole(text: str, left: str) -> None:
    """A sequence goes with its parameters; one that never ends takes nothing of the text with it."""
    assert foreign.clean(text) == left


def test_a_string_ends_where_another_begins() -> None:
    """Else each of many beginnings without an end would be looked through to the end of the text."""
    assert foreign.clean("\x9done\x9dtwo\x07three\x90four\x9cfive") == "onethreefive"


def test_a_line_is_one_and_not_too_long() -> None:
    """A sentence's piece has no ends of lines, and a sign where it was cut."""
    assert foreign.line("a\n b\t\x1b[1mc ") == "a b c"
    assert foreign.line("x" * 50, 10) == "x" * 9 + "…"
    assert is_clean(foreign.line(HOSTILE))
