"""HdrHistogram texts: those of the load engine are read as it counts, and what is written is read again."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.paths import ROOT
from fairground.model import hdr
from fairground.model.hdr import HdrShape

SHAPE = HdrShape(1, 60_000_000, 3)
GOLDEN = ROOT / "engine" / "tests" / "golden"
COUNTS = st.dictionaries(st.integers(1, 60_000_000), st.integers(1, 2**54), max_size=30)


def histograms(value: object) -> list[dict[str, object]]:
    """Every histogram in a document of the engine."""
    if isinstance(value, dict):
        return [value] if value.get("v2") else [one for part in value.values() for one in histograms(part)]
    return [one for part in value for one in histograms(part)] if isinstance(value, list) else []


@pytest.mark.parametrize("name", ["result.json", "result-steps.json", "result-turns.json"])
def test_what_the_engine_wrote_is_read(name: str) -> None:
    """Count, least and highest value are those that stand beside the text, as far as three digits tell."""
    found = histograms(json.loads((GOLDEN / name).read_text()))
    assert found
    for one in found:
        shape, counts = hdr.decode(str(one["v2"]))
        ends, places = hdr.ends(shape), counts.nonzero()[0].tolist()
        assert int(counts.sum()) == one["count"]
        if places:
            assert ends[places[0]] == pytest.approx(one["min_us"], rel=1e-3)
            assert ends[places[-1]] == pytest.approx(one["max_us"], rel=1e-3)
        assert hdr.encode(shape, {place: int(counts[place]) for place in places})[:8] == str(one["v2"])[:8]


@given(COUNTS)
def test_what_is_written_is_read_again(values: dict[int, int]) -> None:
    """Whatever was counted comes back in its bucket, with counts of up to eight bytes."""
    buckets = {SHAPE.place_of(value): count for value, count in values.items()}
    shape, counts = hdr.decode(hdr.encode(SHAPE, buckets))
    assert shape == SHAPE and {place: int(counts[place]) for place in counts.nonzero()[0].tolist()} == buckets


@given(st.integers(1, 10**9), st.integers(1, 5), st.integers(1, 1000))
def test_a_bucket_holds_its_values_to_the_digits(value: int, digits: int, lowest: int) -> None:
    """A value is not beyond the end of its bucket, nor farther from it than the digits allow."""
    shape = HdrShape(lowest, 10**9, digits)
    end = shape.end_of(shape.place_of(value))
    assert value <= end <= max(value * (1 + 10.0**-digits), value + lowest)
    assert shape.place_of(end) == shape.place_of(value) == shape.place_of(end + 1) - 1


def packed(raw: bytes) -> str:
    """A text with these bytes inside."""
    inside = zlib.compress(raw)
    return base64.b64encode(struct.pack(">II", hdr.OUTER, len(inside)) + inside).decode()


def head(length: int, *, cookie: int = hdr.INNER, lowest: int = 1, highest: int = 100, digits: int = 2) -> bytes:
    """The head of a histogram whose counts take so many bytes."""
    return hdr.HEADER.pack(cookie, length, 0, digits, lowest, highest, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no base64!",
        base64.b64encode(b"not at all a histogram").decode(),
        packed(b"short"),
        packed(head(0, cookie=7)),
        packed(head(0, lowest=0)),
        packed(head(0, digits=9)),
        packed(head(0, highest=1)),
        packed(head(1) + b"\x80"),
        packed(head(10) + b"\x80" * 9 + b"\x01"),
        packed(head(9) + b"\xff" * 8 + b"\x7f"),
        packed(head(600) + b"\x02" * 600),
        packed(b"\0" * (hdr.MOST_BYTES + 100)),
    ],
)
def test_what_is_no_histogram_is_refused(text: str) -> None:
    """Other texts, other kinds, counts that are cut off or too many, and what unpacks to more than any histogram has."""
    with pytest.raises(ValueError, match="histogram"):
        hdr.decode(text)
