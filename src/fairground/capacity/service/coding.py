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
    return name_of(answer) in (*GZIP, *DEFLATE) and content_of(answer) is None


def content_of(answer: HttpAnswer) -> bytes | None:
    """The content of a body; None where it cannot be read here, or is longer than bodies may be."""
    return decode(answer.body, name_of(answer))


def decode(body: bytes, named: str | None) -> bytes | None:
    """Decode a body of this coding; None as above."""
    if named is None:
        return body
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
        if not stream.eof or len(found) > MOST_BODY_BYTES:
            return None
        if not stream.unused_data:
            return found
        body = stream.unused_data
