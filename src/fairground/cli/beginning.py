"""`init`: a project for an application of one's own."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import typer

from fairground.cli import door, streams
from fairground.cli.arguments import takes
from fairground.inputs.contract_texts import ProjectWords
from fairground.inputs.options import Given, Option
from fairground.lab import beginning
from fairground.lab.beginning import ProjectAsked, ProjectBegun
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.report.text.words import plural

OPTIONS = (
    Option("folder", "The project's folder, new or not.", Path, ..., argument=True, metavar="DIR"),
    Option("name", "The contract's and the server's id: a–z, 0–9, -. The folder's name unless told.", str | None, None),
    Option("title", "What the application is called.", str | None, None),
    Option("openapi", "An OpenAPI document, JSON or YAML: a workload for each GET.", Path | None, None, metavar="FILE"),
    Option("database", "A running database whose schema is taken; @FILE holds its URL. Needs --schema-only.", str | None, None,
           metavar="URL", told=True),
    Option("schema_only", "Take tables, functions and types of --database, and no row.", bool, False),
    Option("migrate", "The command of the application's own migrations.", str | None, None, metavar="COMMAND"),
    Option("build", "The command that builds the application.", str | None, None, metavar="COMMAND"),
    Option("serve", "The command that starts it.", str | None, None, metavar="COMMAND"),
    Option("ready", "The path that answers 200 once it is ready.", str | None, None, metavar="PATH"),
    Option("as_json", "Print the result as JSON on stdout.", bool, False, spelled="--json"),
)  # fmt: skip
QUESTIONS = (
    ("openapi", "OpenAPI document (a file)"),
    ("build", "Command that builds the application"),
    ("serve", "Command that starts it"),
    ("ready", "Path that answers 200 once it is ready"),
    ("migrate", "Command of its migrations"),
)
"""What a person at a terminal is asked, where nothing was said."""


@takes(*OPTIONS)
def init(_: typer.Context, given: Given) -> None:
    """Begin a project for an application of your own: a contract and a server, with marks where you decide.

    At a terminal it asks for what no option says; Enter leaves that to be decided. `check --contract` names each mark.

    Examples: ./fairground init my-app · ./fairground init my-app --openapi openapi.json --serve 'npm start' ·
    ./fairground init my-app --database @url.txt --schema-only
    """
    if bool(given["database"]) != given["schema_only"]:
        raise LabError("`--database` and `--schema-only` go together", "the lab takes tables from a database, and never its rows")
    said = dict(given)
    if sys.stdin.isatty() and not said["as_json"]:
        said |= _answers(said)
    words = ProjectWords(*(said[name] or "" for name in ("title", "build", "serve", "ready", "migrate")))
    document = None if not said["openapi"] else Path(said["openapi"])
    asked = ProjectAsked(said["folder"], said["name"] or "", document, said["database"] or "", words)
    found = beginning.begin(Places.of(os.environ), asked)
    if said["as_json"]:
        streams.document(streams.plain(found))
    else:
        _show(said["folder"], found)


def _answers(said: Given) -> dict[str, str]:
    """Ask a person for what was not said."""
    open_ones = [(name, question) for name, question in QUESTIONS if said[name] is None]
    open_ones = [one for one in open_ones if one[0] != "migrate" or not said["database"]]
    return {name: typer.prompt(question, default="", show_default=False, err=True).strip() for name, question in open_ones}


def _show(folder: Path, found: ProjectBegun) -> None:
    several = plural(len(found.workloads), "workload")
    for sentence in found.left_out:
        streams.line(f"left out: {sentence}")
    streams.line(
        f"{folder / 'contracts' / found.name} is a contract with {several}, {folder / 'servers' / found.name} its server."
    )
    streams.talk.print(
        f"{plural(found.undecided, 'place')} to decide. Each has a line: "
        f"cd {shlex.quote(str(folder))} && {shlex.quote(door.ANYWHERE)} check --contract {found.name}",
        soft_wrap=True,
    )
