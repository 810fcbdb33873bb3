"""A file that a person writes: how it is decoded."""

from __future__ import annotations

import codecs

import pytest

from fairground.model import LabError
from fairground.model.source import Source


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Some editors put one before a file; inside of it the same letter is text."""
    text = 'a = 1\nb = "\ufeff"'
    assert (
        Source.of_bytes("x.toml", codecs.BOM_UTF8 + text.encode()).text == Source.of_bytes("x.toml", text.encode()).text == text
    )


def test_another_encoding_is_refused() -> None:
    """The sentence names the file."""
    with pytest.raises(LabError, match="`x.toml` is not UTF-8 text"):
        Source.of_bytes("x.toml", codecs.BOM_UTF16_LE + "a".encode("utf-16-le"))
