"""The parts of a request's path that may stand beside the server: a proxy before it, a pooler behind it, distances."""

from fairground.topology.hop import Census, Hop, Pooler, Wire, at
from fairground.topology.kind import KINDS, Kind, lacking, pooled, unprepared, versions
from fairground.topology.start import start_pooler, start_proxy, start_wire

__all__ = [
    "KINDS",
    "Census",
    "Hop",
    "Kind",
    "Pooler",
    "Wire",
    "at",
    "lacking",
    "pooled",
    "start_pooler",
    "start_proxy",
    "start_wire",
    "unprepared",
    "versions",
]
