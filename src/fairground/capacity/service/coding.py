"""Content codings: what a compressed body holds. Pure."""

from __future__ import annotations

import zlib

from fairground.contract.wire import MOST_BODY_BYTES, HttpAnswer

GZIP, DEFLATE = ("gzip", "x-gzip"), ("deflate",)
OF_THE_ENGINE = ("br", "zstd")
"""Those that the load engine reads, and this process does not: here they are known by their bytes."""
ANY_FRAME, BARE = 47, -15
"""zlib's words for a stream with the frame of gzip or zlib, and for one without any."""


def name_of(answer: HttpAnswer) -> str | None:
    """The coding of a body; None where it stands as it is."""
    named = (answer.header("content-encoding") or "").strip().lower()
    return named if named not in ("", "identity") else None


def is_readable(named: str) -> bool:
    """True if a body of this coding can be read by the load engine."""
    return named in (*GZIP, *DEFLATE, *OF_THE_ENGINE)


def is_spoiled(answer: HttpAnswer) -> bool:
    """True if a body is not what its coding says, as far as that can be read here."""
    return name_of(answer) in (*GZIP, *DEFLATE) and not is_unread(answer) and content_of(answer) is None


def is_unread(answer: HttpAnswer) -> bool:
    """True if a body is empty beside a coding, as that of a 204, or holds more than bodies may: it is compared with none."""
    named = name_of(answer)
    return named is not None and (not answer.body or len(_unpacked(answer.body, named) or b"") > MOST_BODY_BYTES)


def content_of(answer: HttpAnswer) -> bytes | None:
    """The content of a body; None where it cannot be read here, or is longer than bodies may be."""
    return decode(answer.body, name_of(answer))


def decode(body: bytes, named: str | None) -> bytes | None:
    """Decode a body of this coding; None as above."""
    if named is None:
        return body
    found = _unpacked(body, named)
    return None if found is None or len(found) > MOST_BODY_BYTES else found


def _unpacked(body: bytes, named: str) -> bytes | None:
    """Unpack a stream, of a long one little more than bodies may hold; None where it cannot be read here."""
    if named not in (*GZIP, *DEFLATE):
        return None
    whole = _inflated(body, ANY_FRAME)
    return _inflated(body, BARE) if whole is None and named in DEFLATE else whole


def _inflated(body: bytes, frame: int) -> bytes | None:
    """All members of a stream, one after the other."""
    found = b""
    while True:
        stream = zlib.decompressobj(frame)
        try:
            found += stream.decompress(body, MOST_BODY_BYTES + 1 - len(found))
        except zlib.error:
            return None
        if len(found) > MOST_BODY_BYTES:
            return found
        if not stream.eof:
            return None
        if not stream.unused_data:
            return found
        body = stream.unused_data
