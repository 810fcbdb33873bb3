"""`check`: does a server fulfil the contract?"""

from __future__ import annotations

import os
from collections.abc import Sequence

import typer

from fairground.cli import say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, finish, record_to_resume
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.inputs import options
from fairground.inputs.options import Given, Option
from fairground.lab import check, contract_check
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError
from fairground.model.record import CheckAsked, Record, RecordKind, StackChecked
from fairground.report.text.words import plural

OPTIONS = (
    Option("names", "Stacks, or servers for all of their stacks.", list[str] | None, None, argument=True, metavar="[STACK]..."),
    Option("every", "All stacks.", bool, False, spelled="--all"),
    Option("only", "Only this case; repeatable.", list[str] | None, None, spelled="--case"),
    Option("contract", "No stack: try a contract by itself, its files, data and statements.", str | None, None, metavar="NAME"),
    Option("verbose", "Print passed cases too.", bool, False, short="-v"),
    Option("resume", "Go on with an interrupted check: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *(one for one in options.SHARED if one.name != "quiet"),
)


@takes(*OPTIONS)
def check_(context: typer.Context, given: Given) -> None:
    """Does a server fulfil the contract? Builds it, starts it, tries every case.

    Examples: ./fairground check SERVER · ./fairground check --all · ./fairground check SERVER:VARIANT --case CASE -v ·
    ./fairground check --contract NAME
    """
    if given["contract"] is not None:
        _contract(given)
        return
    if given["resume"] is not None:
        refuse_beside_resume(context, ("verbose",), "check")
    inputs, asked = _inputs(given)

    def tell(record: Record[CheckAsked, StackChecked], found: Sequence[StackChecked]) -> None:
        for one in () if given["as_json"] else found:
            show(record, one, given["verbose"])

    if inputs.record is not None:
        tell(inputs.record, inputs.record.entries)
    voice = Voice(tell=lambda event: tell(event.record, event.record.entries[-1:]))
    record = finish(lambda sink: check.check(inputs, asked, sink), voice)
    if given["as_json"]:
        say.document({"stacks": {one.stack: one.row for one in record.entries}})
    end(record.entries)


def _contract(given: Given) -> None:
    """Try a contract by itself, and say line by line what is wrong with it. Exit code 1 where anything is."""
    for spelling, said in (
        ("STACK", given["names"]),
        ("--all", given["every"]),
        ("--case", given["only"]),
        ("--resume", given["resume"]),
    ):
        if said:
            raise LabError(f"`{spelling}` is for stacks, and `--contract` tries a contract by itself", "leave one of them out")
    places = Places.of(os.environ, given["servers"], given["results"])
    found = contract_check.check_contract(places, given["contract"], given["database"])
    if given["as_json"]:
        say.document(found.document)
    else:
        for error in found.wrong:
            say.line(f"✗ {error.message}" + (f" → {error.hint}" if error.hint else ""))
        for mark in found.undecided:
            say.line(f"? {mark.file}, line {mark.line}: {mark.sentence}")
        for sentence in found.untried if given["verbose"] else ():
            say.line(f"– {sentence}")
        right = f"{plural(found.right, 'statement')} {'is' if found.right == 1 else 'are'} right"
        more = f", {len(found.untried)} need an answer (-v shows them)" if found.untried else ""
        more += f", {plural(len(found.undecided), 'place')} to decide" if found.undecided else ""
        wrong = f"{plural(len(found.wrong), 'mistake')}, " if found.wrong else ""
        say.out.print(f"{'✗' if found.wrong else '✓'} {found.contract}: {wrong}{right}{more}")
    if found.wrong:
        raise typer.Exit(BAD_ANSWER)


def _inputs(given: Given) -> tuple[Inputs, CheckAsked]:
    places, database = Places.of(os.environ, given["servers"], given["results"]), given["database"]
    if given["resume"] is not None:
        record = record_to_resume(places.results, given["resume"], RecordKind.CHECK)
        return Inputs(places, record.head.command, database, record), record.head.asked
    if not given["names"] and not given["every"]:
        raise LabError("name a stack, or say `--all`", "./fairground check SERVER")
    asked = check.question(places, given["names"] or (), given["only"] or ())
    return Inputs(places, typed.command(), database), asked


def show(record: Record[CheckAsked, StackChecked], one: StackChecked, verbose: bool) -> None:
    """One stack's cases as lines; nothing where it could not be tried."""
    if one.unavailable is None:
        say.the_check(one.stack, one.findings, verbose, check.log_of(record, one.stack))


def end(found: Sequence[StackChecked]) -> None:
    """Exit code 1 where a stack failed, 3 where none could be tried, or one not to its end."""
    states = {one.state for one in found}
    if "failed" in states:
        raise typer.Exit(BAD_ANSWER)
    if "passed" not in states or "void" in states:
        raise typer.Exit(NOTHING_MEASURED)
