"""`list`: what there is."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fairground.cli import columns, streams
from fairground.cli.options import Json, Results, Servers
from fairground.lab import lists
from fairground.lab.places import Places
from fairground.model.plural import plural


def list_(
    what: Annotated[str, typer.Argument(help="stacks, workloads, topologies, suites or runs.")] = "stacks",
    as_json: Json = False,
    servers: Servers = None,
    results: Results = None,
) -> None:
    """List what there is: stacks (and why one is not runnable here), workloads, topologies, suites, runs.

    Examples: ./fairground list · ./fairground list workloads · ./fairground list --json
    """
    places = Places.of(os.environ, servers, results)
    rows = lists.rows(what, places)
    if as_json:
        streams.document({what: rows})
        return
    for row in rows:
        streams.line(
            "  ".join(("" if row[key] is None else str(row[key])).ljust(width) for key, width in columns.WIDTHS[what]).rstrip()
        )
    if what == "stacks":
        ready = sum(row["state"] != "not here" for row in rows)
        streams.talk.print(
            f"{plural(len(rows), 'stack')}, {ready} runnable here · more: list workloads · list topologies · list suites"
            " · list runs",
        )
