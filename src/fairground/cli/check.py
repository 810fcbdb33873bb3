"""`check`: does a server fulfil the contract?"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing

import typer

from fairground.cli import recorded, say
from fairground.cli.arguments import takes
from fairground.cli.follow import follow
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.inputs import options
from fairground.inputs.options import Given, Option
from fairground.lab import check as checking
from fairground.lab.events import Checked, Kept
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.model.record import Kind

OPTIONS = (
    Option("names", "Stacks, or servers for all of their stacks.", list[str] | None, None, argument=True, metavar="[STACK]..."),
    Option("every", "All stacks.", bool, False, spelled="--all"),
    Option("only", "Only this case; repeatable.", list[str] | None, None, spelled="--case"),
    Option("verbose", "Print passed cases too.", bool, False, short="-v"),
    Option("resume", "Go on with an interrupted check: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *(one for one in options.SHARED if one.name != "quiet"),
)


@takes(*OPTIONS)
def check_(_: typer.Context, given: Given) -> None:
    """Does a server fulfil the contract? Builds it, starts it, tries every case.

    Examples: ./fairground check SERVER · ./fairground check --all · ./fairground check SERVER:VARIANT --case users -v
    """
    inputs, found = _inputs(given), list[Checked]()
    with closing(follow(lambda sink: checking.check(inputs, sink))) as events:
        for one in events:
            assert isinstance(one, Checked | Kept), "a check tells of nothing else"
            if isinstance(one, Checked):
                found.append(one)
                if not given["as_json"]:
                    show(one, given["verbose"])
    if given["as_json"]:
        say.document({"stacks": {one.stack: one.row for one in found}})
    end(found)


def _inputs(given: Given) -> checking.Inputs:
    places = Places.of(os.environ, given["servers"], given["results"])
    names, cases = tuple(given["names"] or ()), tuple(given["only"] or ())
    command = "./fairground " + shlex.join(sys.argv[1:])
    if given["resume"] is not None:
        recorded.refuse_beside_resume(STACK=given["names"], **{"--all": given["every"] or None, "--case": given["only"]})
        return checking.Inputs(
            places, record=recorded.resumed(places, given["resume"], Kind.CHECK), database_url=given["database"]
        )
    if not names and not given["every"]:
        raise LabError("name a stack, or say `--all`", "./fairground check SERVER")
    return checking.Inputs(places, names, cases, given["database"], command)


def show(one: Checked, verbose: bool) -> None:
    """One stack's cases as lines; nothing where it could not be tried."""
    if one.log is not None:
        say.the_check(one.stack, one.findings, verbose, one.log)


def end(found: Sequence[Checked]) -> None:
    """Exit code 1 where a stack failed, 3 where none could be tried, or one not to its end."""
    states = {one.state for one in found}
    if "failed" in states:
        raise typer.Exit(BAD_ANSWER)
    if "passed" not in states or "void" in states:
        raise typer.Exit(NOTHING_MEASURED)
