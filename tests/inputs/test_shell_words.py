"""Commands as a shell splits them: what browsers and READMEs write, and what is no quote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.inputs.shell_words import Unclosed, split_commands


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("curl a b", ["curl", "a", "b"]),
        ('a \'b c\' "d \\"e\\" $f" g\\ h', ["a", "b c", 'd "e" $f', "g h"]),
        ("a \\\n  b\\\nc", ["a", "bc"]),
        ("a \\\r\n -b \\", ["a", "-b"]),
        ("-d '{\n \"a\": 1\n}' x", ["-d", '{\n "a": 1\n}', "x"]),
        ("a#b 'c'#d # e 'f", ["a#b", "c#d"]),
        ("""$'it\\'s \\u0021\\n\\x41\\101\\t\\\\' $x $""", ["it's !\nAA\t\\", "$x", "$"]),
        ("""$'\\uD83D\\uDE00 \\uD83D'""", ["\U0001f600 \ufffd"]),
        ("'a'\"b\"c''", ["abc"]),
        ("a '' b", ["a", "", "b"]),
        ("a\u00a0b", ["a\u00a0b"]),
    ],
)
def test_words_are_those_of_a_shell(text: str, words: list[str]) -> None:
    """Quotes of each kind, lines that go on, and comments, which begin a word."""
    assert [found for _, found, _ in split_commands(text)] == [words]


def test_each_command_has_its_line() -> None:
    """That on which it begins, whatever stands in it."""
    text = "# one\n\ncurl a \\\n  b\ncurl 'c\nd'\n\n   curl e # f\n"
    assert list(split_commands(text)) == [(3, ["curl", "a", "b"], []), (5, ["curl", "c\nd"], []), (8, ["curl", "e"], [])]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a $x/${y} b$z", ["$x", "${y}", "$z"]),
        ('"Bearer $(cat t) $TOKEN \\$no $"', ["$(", "$TOKEN"]),
        ("""'$x' $'$x' \\$x $1 $""", []),
        ("a\n# $x\nb $x", ["$x"]),
        ("""a`date` "`b` \\`" '`' \\`""", ["`", "`", "`"]),
    ],
)
def test_what_a_shell_would_fill_in_is_known(text: str, filled: list[str]) -> None:
    """Outside of single quotes, unless it is escaped."""
    assert [one for _, _, found in split_commands(text) for one in found] == filled


@pytest.mark.parametrize("text", ["a\n'b", 'a\n"b', "a\n$'b\\'"])
def test_a_quote_that_is_never_closed_is_told(text: str) -> None:
    """With its line."""
    with pytest.raises(Unclosed) as caught:
        list(split_commands(text))
    assert caught.value.line == 2


@given(st.text())
def test_any_text_is_read_or_told(text: str) -> None:
    """Nothing else than Unclosed is raised, and no command is empty."""
    try:
        assert all(words for _, words, _ in split_commands(text))
    except Unclosed:
        pass
