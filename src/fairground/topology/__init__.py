"""The parts of a request's path that may stand beside the server: a proxy before it, a pooler behind it, distances."""

from fairground.topology.hop import Census, Hop, Pooler, RunningWires, at
from fairground.topology.kind import KINDS, is_pooled, lacking, versions
from fairground.topology.start import start_pooler, start_proxy, start_wire

__all__ = [
    "KINDS",
    "Census",
    "Hop",
    "Pooler",
    "RunningWires",
    "at",
    "is_pooled",
    "lacking",
    "start_pooler",
    "start_proxy",
    "start_wire",
    "versions",
]
