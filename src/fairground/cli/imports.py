"""`import`: servers made of a framework's folder."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import Json, Servers
from fairground.lab import imports
from fairground.lab.places import Places
from fairground.report.text.words import plural


def import_(
    contract: Annotated[str, typer.Argument(help="The contract that the servers fulfil: techempower.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of one framework. It is only read.")],
    servers: Servers = None,
    as_json: Json = False,
) -> None:
    """Make servers of a framework's folder in TechEmpower's benchmarks, one for each test on PostgreSQL or on no database.

    Each line says what could not be taken over. Building a server runs the framework's own commands on this machine.

    Example: ./fairground import techempower FrameworkBenchmarks/frameworks/PHP/php
    """
    found = imports.import_servers(Places.of(os.environ, servers), contract, folder)
    made = [one for one in found.tests if one.folder is not None]
    if as_json:
        streams.document({"tests": [asdict(one) for one in found.tests], "remarks": found.remarks})
        return
    for text in found.remarks:
        streams.line(text)
    for one in found.tests:
        streams.line(f"{one.test}: {one.folder}" if one.folder is not None else f"{one.test}: not imported, {one.cause}")
        for name in one.missing:
            streams.line(f"  needs `{name}`, which is not on PATH")
        for text in one.remarks:
            streams.line(f"  {text}")
    streams.talk.print(
        f"{len(made)} of {plural(len(found.tests), 'test')} imported" + (f" · ./fairground check {made[0].id}" if made else "")
    )
