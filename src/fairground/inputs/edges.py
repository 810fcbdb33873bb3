"""The edges of a workload's requests: unknown ids, the first and the last one, numbers that no id can be."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fairground.inputs.variants import NAME
from fairground.model import Edge
from fairground.model.source import Source, names_hint
from fairground.model.subject import SHARES

MOST_SHARE = 0.05
"""The largest share of a load in all edges together: a workload is measured by its other requests."""


def check(source: Source, edges: Sequence[Edge], slots: Collection[str]) -> None:
    """Raise LabError if a workload's edges cannot be meant.

    They must be few, have names of their own, and differ from the request in the values of its `slots` alone.
    """
    for i, edge in enumerate(edges):
        if not NAME.fullmatch(edge.name) or edge.name in [one.name for one in edges[:i]]:
            problem = f"`{edge.name}` is not a name of its own for an edge in"
            raise source.error(("edge", i, "name"), problem, "use a-z, 0-9 and - only, and each name once")
        if edge.share <= 0 or abs(edge.share * SHARES - round(edge.share * SHARES)) > 1e-6:
            hint = f"write a share above 0 in steps of {1 / SHARES:g}"
            raise source.error(("edge", i, "share"), f"`share` is {edge.share:g} in", hint)
        _check_values(source, i, edge, slots)
    if (together := sum(edge.share for edge in edges)) > MOST_SHARE + 1e-9:
        problem = f"the edges are {together:.2%} of the requests in"
        raise source.error(("edge", 0, "share"), problem, f"let them be at most {MOST_SHARE:.0%} together")


def _check_values(source: Source, i: int, edge: Edge, slots: Collection[str]) -> None:
    if not edge.values:
        raise source.error(("edge", i, "values"), "an edge has no `values` in", "name a slot, and what stands in its place")
    for slot in edge.values:
        if slot not in slots:
            location = ("edge", i, "values", slot)
            raise source.error(location, f"the request has no slot `{slot}` for `edge` of", names_hint(slots, "slots"))
    for j, status in enumerate(edge.status):
        if not 400 <= status <= 499:
            hint = "write the errors that the contract demands, from 400 to 499"
            raise source.error(("edge", i, "status", j), f"`{status}` in `edge.status` is not a refusal in", hint)
