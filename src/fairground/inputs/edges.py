"""The edges of a request: unknown ids, the first and the last one, numbers that no id can be, headers that must be refused."""

from __future__ import annotations

from fairground.inputs.variants import NAME
from fairground.model import Edge, LoadRequest
from fairground.model.slot import names_of
from fairground.model.source import Location, Source, location_text, names_hint
from fairground.model.workload import SHARES

MOST_SHARE = 0.05
"""The largest share of a request in all of its edges together: it is measured by its other ones."""


def check(source: Source, around: Location, request: LoadRequest) -> None:
    """Raise LabError if a request's edges cannot be meant.

    They must be few, have names of their own, and differ from the request in the values of its slots and headers alone.
    """
    here, edges = (*around, "edge"), request.edges
    for i, edge in enumerate(edges):
        if not NAME.fullmatch(edge.name) or edge.name in [one.name for one in edges[:i]]:
            problem = f"`{edge.name}` is not a name of its own for an edge in"
            raise source.error((*here, i, "name"), problem, "use a-z, 0-9 and - only, and each name once")
        if edge.share <= 0 or abs(edge.share * SHARES - round(edge.share * SHARES)) > 1e-6:
            hint = f"write a share above 0 in steps of {1 / SHARES:g}"
            raise source.error((*here, i, "share"), f"`share` is {edge.share:g} in", hint)
        _check_values(source, (*here, i), edge, request)
    if (together := sum(edge.share for edge in edges)) > MOST_SHARE + 1e-9:
        problem = f"the edges are {together:.2%} of the requests in"
        raise source.error((*here, 0, "share"), problem, f"let them be at most {MOST_SHARE:.0%} together")


def _check_values(source: Source, here: Location, edge: Edge, request: LoadRequest) -> None:
    if not edge.values and not edge.headers:
        hint = "name a slot or a header, and what stands in its place"
        raise source.error((*here, "values"), "an edge has no `values` in", hint)
    slots, headers = names_of(request), [name for name, _ in request.headers]
    for slot in edge.values:
        if slot not in slots:
            problem = f"the request has no slot `{slot}` for `edge` of"
            raise source.error((*here, "values", slot), problem, names_hint(slots, "slots"))
    for header in edge.headers:
        if header not in headers:
            problem = f"the request has no header `{header}` for `{location_text((*here, 'headers'))}` of"
            raise source.error((*here, "headers", header), problem, names_hint(headers, "headers"))
    for j, status in enumerate(edge.status):
        if not 400 <= status <= 499:
            hint = "write the errors that the contract demands, from 400 to 499"
            raise source.error((*here, "status", j), f"`{status}` in `edge.status` is not a refusal in", hint)
