"""A secret that comes back, in whatever form, is taken out; a word that could be anybody's stays."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest

from fairground.model.known import KnownSecrets


def replaced(text: str, letters: str, form: str) -> str:
    """A text with the number of each of these letters in a form in its place."""
    return "".join(form.format(ord(one)) if one in letters else one for one in text)


@pytest.mark.parametrize("value", ["S3cr3t", "p@ss:w0rd/1", 'quo"te\\d1', "wörter-1", "a<b>&'c1", "TOPSECRET", 'm/x+y&z="q" 1'])
@pytest.mark.parametrize("form", [str, json.dumps, html.escape, lambda text: quote(text, safe=""), lambda text: f"x={text};",
                                  lambda text: json.dumps(text).replace("/", r"\/"),  # PHP
                                  lambda text: replaced(json.dumps(text, ensure_ascii=False), "&<>", r"\u{:04x}"),  # Go
                                  lambda text: replaced(text, "&<>'+\"", "&#{};"),
                                  lambda text: replaced(text, "&<>'\"", "&#0{};"),
                                  lambda text: replaced(text, "&<>'/+\"`=", "&#x{:X};"),
                                  lambda text: replaced(text, "&<>'/+\"`=", "&#x{:x};"),
                                  lambda text: text.replace("&", "&amp;").replace("+", "&plus;").replace("/", "&sol;"),
                                  lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
                                  quote_plus])  # fmt: skip
def test_an_echo_is_scrubbed(value: str, form: object) -> None:
    """Plain, in JSON, in HTML or in a URL, as libraries of several languages write them."""
    known = KnownSecrets()
    known.remember(value)
    assert callable(form)
    text = f"it said: {form(value)}!"
    assert re.fullmatch(r'it said: "?(x=)?\(hidden\);?"?!', known.scrub(text))
    assert b"(hidden)" in known.scrub_bytes(b"\xff\x00" + text.encode()) and known.scrub_bytes(b"\xff\x00") == b"\xff\x00"


def test_a_word_that_is_no_text_is_a_secret_like_others() -> None:
    """A command line may hold any bytes."""
    known, word = KnownSecrets(), b"w\xff0rd-1".decode("utf-8", "surrogateescape")
    known.remember(word)
    assert known.scrub_bytes(b"it said: w\xff0rd-1") == b"it said: (hidden)"


def test_parts_of_a_secret_are_secrets() -> None:
    """A token without its scheme, and one cookie of several."""
    known = KnownSecrets()
    known.remember("Bearer t0k3n-1", "theme=dark; sid=c00kie-1", "p%40ss-w0rd")
    assert known.scrub("t0k3n-1 c00kie-1 p@ss-w0rd") == "(hidden) (hidden) (hidden)"
    assert known.scrub("Bearer theme dark") == "Bearer theme dark"


def test_an_encoded_secret_is_known_by_what_it_says() -> None:
    """A login in base64, a text with the escapes of JSON, and a form with its signs for blanks. What says no login stays one word."""
    for given, said in (
        ("Basic bWU6UzNjcjN0LTE=", "me:S3cr3t-1 S3cr3t-1"),
        ("bWU6UzNjcjN0LTE=", "S3cr3t-1"),
        ('two\\"w0rds', 'two"w0rds'),
        ("two+w0rds-1", "two w0rds-1"),
    ):
        known = KnownSecrets()
        known.remember(given)
        assert "w0rds" not in known.scrub(said) and "S3cr3t-1" not in known.scrub(said)
    known = KnownSecrets()
    known.remember("Basic c3VtbWVydGltZQ==", "Basic no-base64")
    assert known.scrub("it is summertime, Basic") == "it is summertime, Basic"


def test_common_words_and_numbers_stay() -> None:
    """A password that is a word of everybody would spoil a record, but where it can be nothing else; so would a number."""
    known = KnownSecrets()
    known.remember("123456", "a1", "(hidden)")
    assert not known
    known.remember("postgres", "Server", "lab")
    plain = 'postgres Server lab 123456 a1 {"role": "Server", "database":"postgres"}'
    assert known.scrub(plain) == plain
    told = known.scrub("postgresql://me:postgres@host, password=lab, X-Api-Key: Server")
    assert told == "postgresql://me:(hidden)@host, password=(hidden), X-Api-Key: (hidden)"


def test_a_part_of_a_word_stays() -> None:
    """Only the value itself is taken out."""
    known = KnownSecrets()
    known.remember("abc123")
    assert known.scrub("xabc123 abc1234 abc123") == "xabc123 abc1234 (hidden)"


def test_a_long_secret_is_found_within_a_word() -> None:
    """Two threads may write it into one line without a blank; a long word of letters alone stays."""
    known = KnownSecrets()
    known.remember("t0ken-of-mine", "documentation")
    assert known.scrub("gott0ken-of-minegot documentations") == "got(hidden)got documentations"
    known.remember("m/x+y&1")
    assert known.scrub("gotm%2fx%2by%261got") == "got(hidden)got"
