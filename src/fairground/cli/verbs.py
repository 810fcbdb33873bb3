"""The verbs of `./fairground`: their names, where each is, and its first sentence. Its module is loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

EXIT_CODES = (
    "Exit codes: 0 done · 1 measured, and the answer is bad · 2 wrong input · 3 nothing could be measured here · "
    "70 a fault of the lab itself · 130 interrupted, resumable."
)


@dataclass(frozen=True)
class Verb:
    """A verb that is not loaded: `module` of this package, its `function`, and `sentence`, the first of the function's text."""

    module: str
    function: str
    sentence: str

    def load(self, name: str) -> Any:
        """The command itself; this imports its module."""
        named = getattr(import_module(f"fairground.cli.{self.module}"), self.function)
        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        if isinstance(named, typer.Typer):  # verbs below the verb
            alone = named
        else:
            alone.command(name=name)(named)
        found: Any = typer.main.get_command(alone)
        found.name = name
        for one in found.params:
            if (shown := one.bare_type()).startswith("list["):
                # Python's word for what may be repeated says nothing to a person: that of each value does.
                setattr(one, "display_type", lambda _, text=f"<{shown[5:-1]}>": text)  # noqa: B010  (an attribute of one, not of all)
        return found


VERBS: Mapping[str, Verb] = {
    "demo": Verb("demo", "demo", "Everything in one go: build the servers, measure four workloads briefly, write report.html."),
    "run": Verb("run", "run", "Measure a suite, or the stacks and workloads you name."),
    "try": Verb("attempt", "try_", "Any HTTP service: how it behaves on the wire, and its load curve."),
    "capacity": Verb("capacity", "capacity_", "The highest rate that keeps an objective, confirmed on fresh trials."),
    "cross-check": Verb(
        "cross_check", "cross_check", "Do several load generators agree? Exit code 1: they differ beyond their noise."
    ),
    "compare": Verb(
        "compare", "compare", "Tell whether two stacks, two revisions of one, one with and without SQL, or two runs differ."
    ),
    "why": Verb("why", "why", "The experiment that tests a reason: confirms what limits a cell of a run, or withdraws it."),
    "replicate": Verb(
        "replicate",
        "replicate",
        "Measure a published benchmark's cells here and say of each of its claims whether it holds, and why.",
    ),
    "list": Verb(
        "lists", "list_", "List what there is: stacks (and why one is not runnable here), workloads, topologies, suites, runs."
    ),
    "doctor": Verb(
        "doctor", "doctor", "Name what this machine lacks, or what disturbs measurements on it, with the command that fixes it."
    ),
    "check": Verb("check", "check_", "Does a server fulfil the contract? Builds it, starts it, tries every case."),
    "report": Verb(
        "report",
        "report",
        "Write the pages of a record again, from stored data; of a record without a page, print the result again.",
    ),
    "serve": Verb(
        "serve", "serve", "The lab in a browser: all records, a run as it goes on, and measurements started by a click."
    ),
    "host": Verb("host", "host", "Several machines that measure one run: a scheduler, hosts that join it, and who is there."),
    "new": Verb("new", "new", "Begin a server as a copy of another: its sources, without what was built."),
    "init": Verb(
        "beginning",
        "init",
        "Begin a project for an application of your own: a contract and a server, with marks where you decide.",
    ),
    "import": Verb(
        "imports",
        "import_",
        "Make servers of a framework's folder in TechEmpower's benchmarks, one for each test on PostgreSQL or on no database.",
    ),
    "clean": Verb("clean", "clean", "Show what takes space, and remove it with --yes."),
}
"""The verbs, in the order in which the help lists them."""


class Verbs(TyperGroup):
    """A group that knows its commands by name and first sentence, and loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=verb.sentence) for name, verb in VERBS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the words name, loaded; a usage error when there is none."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, VERBS[name].load(name) if name is not None else listed, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A reader that has seen enough, as `head` has, is no fault: the parser would say 1."""
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
            return found
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None


app = typer.Typer(
    name="fairground",
    cls=Verbs,
    help="Measure web servers backed by PostgreSQL: proves the answers right, and says what limited each number.\n\n"
    "Examples:\n\n  ./fairground demo\n\n  ./fairground run --stack SERVER --workload WORKLOAD --connections 100\n\n"
    + EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:
    if asked:
        from fairground.lab import setup

        typer.echo(f"fairground {setup.lab_version()}")
        raise typer.Exit


@app.callback()
def fairground(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure web servers backed by PostgreSQL: proves the answers right, and says what limited each number."""
