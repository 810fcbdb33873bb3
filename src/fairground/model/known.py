"""The secrets that this process was given: wherever one of them comes back, in an answer, an error or a log, it is taken out.

A service may echo its header, and a server may write the address of its database: no name stands beside it that would tell.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from html.entities import html5
from urllib.parse import quote, unquote, unquote_plus

from fairground.model.secret import HIDDEN, PLACEHOLDERS

LEAST = 6
"""A shorter value could be part of anything."""
LEAST_AFTER_A_SIGN = 3
"""This many characters tell after `:` or `=`, as in `lab:word@host`: no key or word of a record stands there without quotes."""
LEAST_OF_A_WORD = 12
"""A value of small letters alone could be a word of somebody else's, such as `postgres` or `Bearer`."""
LEAST_ANYWHERE = 12
"""This many, as a URL writes them, tell also within a word if not all are letters: two threads may write one line."""

_BASIC = re.compile(r"(?:Basic\s+)?(?P<encoded>[A-Za-z0-9+/]+=*)", re.IGNORECASE)


class KnownSecrets:
    """Values that are taken out of every text."""

    def __init__(self) -> None:
        self._values, self._words = set[str](), set[str]()
        self._pattern: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._values or self._words)

    @property
    def pattern(self) -> str | None:
        """The regular expression of all of them; None without any."""
        found = self._compiled()
        return None if found is None else found.pattern

    def remember(self, *values: str) -> None:
        """Take these values, and their parts that are secrets by themselves, out of every text from now on."""
        self._values |= {part for value in values for part in _parts(value) if _is_telling(part)}
        self._words |= {value for value in values if _tells_after_a_sign(value)}
        self._pattern = None

    def _compiled(self) -> re.Pattern[str] | None:
        """The regular expression, made when the first text is read; None without any secret."""
        if self._pattern is not None or not self:
            return self._pattern
        long = {value for value in self._values if len(_in_url(value)) >= LEAST_ANYWHERE and not value.isalpha()}
        either = [rf"(?<![A-Za-z0-9]){_one_of(self._values)}"] if self._values else []
        either += [rf"(?:(?<=[:=])|(?<=: )){_one_of(self._words)}"] if self._words else []
        anywhere = [_one_of(long)] if long else []
        self._pattern = re.compile("|".join([*anywhere, rf"(?:{'|'.join(either)})(?![A-Za-z0-9])"]))
        return self._pattern

    def scrub(self, text: str) -> str:
        """A text in which none of them stands."""
        found = self._compiled()
        return text if found is None else found.sub(HIDDEN, text)

    def scrub_bytes(self, content: bytes) -> bytes:
        """The content of a file without any of these secrets; its bytes that are no text stay as they are."""
        if not self:
            return content
        return self.scrub(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


KNOWN = KnownSecrets()
"""Those of this process."""


def _parts(value: str) -> Iterable[str]:
    """The value, its words, the values of a cookie's pairs, and what it says where it is encoded."""
    decoded = unquote(value)
    for one in (value, decoded, unquote_plus(value), *decoded.split(), *re.split(r"[;,\s]\s*", decoded)):
        yield one
        yield one.partition("=")[2]
    with suppress(ValueError):
        yield str(json.loads(f'"{value}"'))
    if basic := _BASIC.fullmatch(value):
        yield from _login(basic["encoded"])


def _login(encoded: str) -> Iterable[str]:
    """The name and the password of `Authorization: Basic`, as one word, and the password alone; none where it is no base64."""
    with suppress(ValueError):
        login = base64.b64decode(encoded, validate=True).decode()
        if login.isprintable() and ":" in login:
            yield login
            yield login.partition(":")[2]


def _is_telling(value: str) -> bool:
    """True if a value is so special that it is no word or number of something else."""
    if value in PLACEHOLDERS or value.isdigit() or len(value) < LEAST:
        return False
    return len(value) >= LEAST_OF_A_WORD or not (value.isalpha() and value[1:].islower())


def _tells_after_a_sign(value: str) -> bool:
    return value not in PLACEHOLDERS and not value.isdigit() and len(value) >= LEAST_AFTER_A_SIGN


def _in_url(value: str) -> str:
    return quote(value, safe="", errors="surrogateescape")


def _one_of(values: set[str]) -> str:
    """A pattern of these values in any form, the longest first."""
    return f"(?:{'|'.join(''.join(map(_forms, value)) for value in sorted(values, key=lambda value: (-len(value), value)))})"


@cache
def _forms(letter: str) -> str:
    """A pattern of a letter as it is written in JSON, in HTML and in a URL: each library escapes others, and in its own way."""
    if letter.isascii() and letter.isalnum():
        return letter
    units = letter.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    in_url = letter.encode("utf-8", "surrogateescape").hex(" ").split()
    numbered = ["".join(rf"\\u{one}" for one in units), "".join(f"%{one}" for one in in_url), f"&#x0*{ord(letter):x};"]
    names = sorted(f"&{name}" for name, meant in html5.items() if meant == letter and name.endswith(";"))
    plain = dict.fromkeys([*names, json.dumps(letter)[1:-1], f"\\{letter}", letter, "+" if letter == " " else letter])
    return f"(?:(?i:{'|'.join(numbered)})|&#0*{ord(letter)};|{'|'.join(map(re.escape, plain))})"
