"""`new`: a server begun as a copy of another."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import Json, Servers
from fairground.lab import folders
from fairground.lab.places import Places


def new(
    name: Annotated[str, typer.Argument(help="The new server's id: a–z, 0–9, -.")],
    source: Annotated[str, typer.Option("--from", help="The server whose folder is copied.")] = "",
    variant: Annotated[str, typer.Option(help="Only this variant of it, with names and an empty README of its own.")] = "",
    servers: Servers = None,
    as_json: Json = False,
) -> None:
    """Begin a server as a copy of another: its sources, without what was built.

    Examples: ./fairground new my-server --from SERVER · ./fairground new my-server --from SERVER --variant documented
    """
    target = folders.new(Places.of(os.environ, servers), name, source, variant)
    if as_json:
        streams.document({"id": name, "folder": str(target)})
    else:
        copied = f"{source}:{variant}" if variant else source
        streams.line(f"{target} is a copy of {copied}. Edit it, then: ./fairground check {name}")
