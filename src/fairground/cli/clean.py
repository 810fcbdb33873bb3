"""`clean`: what takes space, and its removal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import NOTHING_MEASURED, Json, Results
from fairground.lab import folders
from fairground.lab.places import Places
from fairground.model import LabError, foreign
from fairground.records import KeptFolder

SHOWN = 5
"""This many names of what stays are told."""


def clean(
    builds: Annotated[bool, typer.Option("--builds", help="Forget builds: the next use builds again.")] = False,
    revisions: Annotated[bool, typer.Option("--revisions", help="Remove the revisions that `compare` has checked out.")] = False,
    databases: Annotated[
        bool, typer.Option("--databases", help="Remove the embedded databases, and each PostgreSQL that was downloaded.")
    ] = False,
    runs_: Annotated[bool, typer.Option("--runs", help="Remove all records, and nothing else in their folder.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Really do it, unless a record of these results is measured into; without it sizes are shown."
        ),
    ] = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Show what takes space, and remove it with --yes.

    Examples: ./fairground clean · ./fairground clean --databases --yes
    """
    places = Places.of(os.environ, None, results)
    said = {"builds": builds, "revisions": revisions, "databases": databases, "runs": runs_}
    asked = {name for name, one in said.items() if one}
    if yes and not asked:
        raise LabError("say what to remove", "--builds, --revisions, --databases, --runs")
    rows = folders.clean(places, asked if yes else ())
    if as_json:
        streams.document({"folders": [asdict(row) for row in rows]})
        _end(rows)
        return
    for row in rows:
        state = _removed(row) if row.removed else f"./fairground clean --{row.what} --yes"
        streams.line(f"{row.what:<10} {row.bytes / 1e6:>9,.1f} MB  {row.folder}  {state}")
    _end(rows)


def _removed(row: KeptFolder) -> str:
    """Say that a folder was cleared, what in it could not be removed, and what is none of the lab's."""
    told = [f"what could not be removed: {_named(row.stuck)}"] if row.stuck else []
    told += [f"what is none of the lab's: {_named(row.left)}"] if row.left else []
    return ", but for ".join(("removed", " and for ".join(told))) if told else "removed"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(foreign.line, names[:SHOWN])) + more


def _end(rows: Sequence[KeptFolder]) -> None:
    """Exit code 3 where the machine refused to remove something."""
    if any(row.stuck for row in rows):
        raise typer.Exit(NOTHING_MEASURED)
