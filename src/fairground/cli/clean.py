"""`clean`: what takes space, and its removal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import Json, Results
from fairground.lab import folders
from fairground.lab.places import Places
from fairground.model import LabError, foreign

SHOWN = 5
"""This many names of what stays are told."""


def clean(
    builds: Annotated[bool, typer.Option("--builds", help="Forget builds: the next use builds again.")] = False,
    databases: Annotated[
        bool, typer.Option("--databases", help="Remove the embedded databases, and each PostgreSQL that was downloaded.")
    ] = False,
    runs_: Annotated[bool, typer.Option("--runs", help="Remove all records, and nothing else in their folder.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Really do it; without it the sizes are shown.")] = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Show what takes space, and remove it with --yes.

    Examples: ./fairground clean · ./fairground clean --databases --yes
    """
    places = Places.of(os.environ, None, results)
    asked = {name for name, said in (("builds", builds), ("databases", databases), ("runs", runs_)) if said}
    if yes and not asked:
        raise LabError("say what to remove", "--builds, --databases, --runs")
    rows = folders.clean(places, asked if yes else ())
    if as_json:
        streams.document({"folders": [asdict(row) for row in rows]})
        return
    for row in rows:
        state = _removed(row.left) if row.removed else f"./fairground clean --{row.what} --yes"
        streams.line(f"{row.what:<10} {row.bytes / 1e6:>9,.1f} MB  {row.folder}  {state}")


def _removed(left: Sequence[str]) -> str:
    """Say that a folder was cleared, and what in it is none of the lab's."""
    if not left:
        return "removed"
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    return f"removed, but for what is none of the lab's: {', '.join(map(foreign.line, left[:SHOWN]))}{more}"
