"""HdrHistogram V2 texts (base64), as the load engine writes them: read, written, and what their buckets mean. Pure.

The package `hdrhistogram` would do it, too. It brings two packages besides (pbr and setuptools) and a library in C, keeps counts
of its own where arrays of numpy are wanted here, and has no bound on what a text unpacks to.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

OUTER, INNER = 0x1C849314, 0x1C849313
"""What a compressed histogram begins with, and what is in it: both with the mark of counts of variable length."""
HEADER = struct.Struct(">IIIIQQd")
MOST_BYTES = 4 << 20
"""No histogram of counts is longer; a text that unpacks to more is none."""


@dataclass(frozen=True)
class HdrShape:
    """The bounds and digits of a histogram, which decide what each of its buckets holds."""

    lowest: int
    highest: int
    digits: int

    @cached_property
    def half_bits(self) -> int:
        """Bits of half of a bucket's parts."""
        return int(2 * 10**self.digits - 1).bit_length() - 1

    @cached_property
    def unit_bits(self) -> int:
        """Bits that the lowest value leaves out."""
        return self.lowest.bit_length() - 1

    def place_of(self, value: int) -> int:
        """The bucket of a value."""
        width = max(0, value.bit_length() - self.unit_bits - self.half_bits - 1)
        return (width << self.half_bits) + (value >> (width + self.unit_bits))

    def end_of(self, place: int) -> int:
        """The highest value of a bucket."""
        width = max((place >> self.half_bits) - 1, 0)
        return ((place - (width << self.half_bits) + 1) << (width + self.unit_bits)) - 1


@lru_cache(maxsize=8)
def ends(shape: HdrShape) -> tuple[int, ...]:
    """The highest value of every bucket."""
    widest = max(shape.place_of(shape.highest) >> shape.half_bits, 1) + 1
    return tuple(map(shape.end_of, range(widest << shape.half_bits)))


def decode(text: str) -> tuple[HdrShape, NDArray[numpy.int64]]:
    """Read a histogram: its shape, and the count of each bucket. ValueError where the text is none."""
    import numpy

    try:
        packed = base64.b64decode(text, validate=True)
        inflate = zlib.decompressobj()
        raw = inflate.decompress(packed[8:], MOST_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"this is no histogram: {error}") from error
    if packed[:4] != OUTER.to_bytes(4, "big") or len(raw) < HEADER.size or inflate.unconsumed_tail:
        raise ValueError("this is no histogram of HdrHistogram V2")
    inner, length, _, digits, lowest, highest, _ = HEADER.unpack_from(raw)
    if inner != INNER or not (1 <= digits <= 5 and lowest >= 1 and 2 * lowest <= highest < 2**63):
        raise ValueError("this is no histogram of HdrHistogram V2")
    shape, told = HdrShape(lowest, highest, digits), _numbers(raw[HEADER.size : HEADER.size + length])
    # A negative number is so many empty buckets.
    steps = numpy.where(told < 0, -told, 1)
    places = numpy.cumsum(steps) - steps
    counts = numpy.zeros(len(ends(shape)), numpy.int64)
    if len(told) and not 0 <= int(places[-1]) < len(counts):
        raise ValueError("this histogram has more buckets than its shape")
    counts[places[told > 0]] = told[told > 0]
    return shape, counts


def encode(shape: HdrShape, counts: Mapping[int, int]) -> str:
    """Write a histogram from the count of each of its buckets that has one."""
    told, next_place = bytearray(), 0
    for place in sorted(place for place, count in counts.items() if count):
        if place > next_place:
            told += _varint(2 * (place - next_place) - 1)
        told += _varint(2 * counts[place])
        next_place = place + 1
    raw = HEADER.pack(INNER, len(told), 0, shape.digits, shape.lowest, shape.highest, 1.0) + bytes(told)
    packed = zlib.compress(raw)
    return base64.b64encode(struct.pack(">II", OUTER, len(packed)) + packed).decode()


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first. The format's ninth byte has eight: no count here is so large."""
    told = bytearray()
    while number > 0x7F:
        told.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*told, number])


def _numbers(raw: bytes) -> NDArray[numpy.int64]:
    """Signed numbers of variable length, all at once."""
    import numpy

    data = numpy.frombuffer(raw, numpy.uint8).astype(numpy.uint64)
    last = numpy.flatnonzero(data < 0x80)
    begins = numpy.concatenate([[0], last + 1])[: len(last)]
    lengths = last - begins + 1
    if (len(last) and int(lengths.max()) > 8) or (len(data) and (not len(last) or last[-1] != len(data) - 1)):
        raise ValueError("a count of this histogram is cut off")
    found = numpy.zeros(len(last), numpy.uint64)
    for byte in range(int(lengths.max()) if len(last) else 0):
        has = lengths > byte
        found[has] |= (data[begins[has] + byte] & numpy.uint64(0x7F)) << numpy.uint64(7 * byte)
    return (found >> numpy.uint64(1)).astype(numpy.int64) ^ -(found & numpy.uint64(1)).astype(numpy.int64)
