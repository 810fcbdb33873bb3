"""`new` and `init`: a server begun as a copy of another, alone or in a project of its own."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import Json, Servers
from fairground.lab import folders
from fairground.lab.places import Places


def new(
    name: Annotated[str, typer.Argument(help="The new server's id: a–z, 0–9, -.")],
    source: Annotated[str, typer.Option("--from", help="The server whose folder is copied.")] = "",
    servers: Servers = None,
    as_json: Json = False,
) -> None:
    """Begin a server as a copy of another: its sources, without what was built.

    Example: ./fairground new my-server --from SERVER
    """
    target = folders.new(Places.of(os.environ, servers), name, source)
    _say(target, name, source, as_json, f"./fairground check {name}")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder, new or not.")],
    source: Annotated[str, typer.Option("--from", help="The server whose folder is copied.")] = "",
    name: Annotated[str, typer.Option("--name", help="The new server's id: a–z, 0–9, -.")] = "my-server",
    as_json: Json = False,
) -> None:
    """Begin a project of your own: a folder with a README and one server, a copy of another.

    Servers in `servers` of the current folder are found beside the lab's own. No two may have one id.

    Example: ./fairground init my-project --from SERVER
    """
    target = folders.init(Places.of(os.environ), folder, name, source)
    _say(target, name, source, as_json, f"cd {shlex.quote(str(folder))} && fairground check {name}")


def _say(target: Path, name: str, source: str, as_json: bool, then: str) -> None:
    if as_json:
        streams.document({"id": name, "folder": str(target)})
    else:
        streams.line(f"{target} is a copy of {source}. Edit it, then: {then}")
