"""`why`: the experiment on what a run said of a cell."""

from __future__ import annotations

import os

import typer

from fairground import records
from fairground.capacity.service.known import service_of
from fairground.cli import say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, finish, record_to_resume
from fairground.cli.screen import duration
from fairground.inputs import numbers, options
from fairground.inputs.options import Given, Option
from fairground.lab import pages
from fairground.lab.events import UnitDone
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.why import try_reason
from fairground.model import LabError, foreign
from fairground.model.experiment import Start, WhyAsked
from fairground.model.record import Record, RecordKind
from fairground.report import advice
from fairground.report.run.why import rows, sentences
from fairground.run import question

OPTIONS = (
    Option(
        "run",
        "A run, or a try of a service: its id, the beginning of it, or `latest`.",
        str | None,
        None,
        argument=True,
        metavar="RUN",
    ),
    Option(
        "cell",
        "Words that name one cell: stack, workload, topology, load.",
        list[str] | None,
        None,
        argument=True,
        metavar="CELL",
    ),
    Option("reason", "Try this reason, in place of the one that the run named.", str | None, None, metavar="REASON"),
    Option("budget", "Most time to spend, such as 60s or 2m.", str, "60s", metavar="TIME"),
    Option("resume", "Go on with an interrupted experiment: its id, or `latest`.", str | None, None, metavar="RECORD"),
    *options.SHARED,
)


@takes(*OPTIONS)
def why(context: typer.Context, given: Given) -> None:
    """The experiment that tests a reason: confirms what limits a cell of a run, or withdraws it.

    The cell runs as it was beside copies on which one thing differs, such as a larger pool, all in turns.

    Of a `try` it says what can be tried from outside, and what a contract would add: ./fairground why TRY

    Examples: ./fairground why latest SERVER:ONE WORKLOAD · ./fairground why RUN SERVER:ONE WORKLOAD --budget 2m
    """
    if not given["cell"] and given["resume"] is None and _advise(given):
        return
    if given["resume"] is not None:
        refuse_beside_resume(context, (), "experiment")
    inputs, asked = _inputs(given)
    if not given["quiet"]:
        _announce(asked)
    voice = Voice(given["quiet"], tell=_tell)
    record = finish(lambda sink: try_reason(inputs, asked, sink), voice)
    pages.write(record)
    experiment(record, given["as_json"])


def _advise(given: Given) -> bool:
    """Say what can be tried of a service that a `try` measured. False: no such record is meant."""
    results = Places.of(os.environ, given["servers"], given["results"]).results
    if given["run"] is None or not records.is_kind(results, given["run"], RecordKind.TRY):
        return False
    record = records.load(records.find(results, given["run"], RecordKind.TRY))
    found = advice.sentences(service_of(record), record.head.asked)
    if given["as_json"]:
        say.document({"id": record.id, "sentences": list(found), "folder": str(record.folder)})
        return True
    for line in found:
        say.line(line)
    return True


def _inputs(given: Given) -> tuple[Inputs, WhyAsked]:
    """Read the experiment that is asked for, from the command line or from the record that goes on."""
    places, database = Places.of(os.environ, given["servers"], given["results"]), given["database"]
    if given["resume"] is not None:
        record = record_to_resume(places.results, given["resume"], RecordKind.WHY)
        return Inputs(places, record.head.command, database, record), record.head.asked
    if given["run"] is None or not given["cell"]:
        raise LabError("name a run and one of its cells", "./fairground why latest SERVER:ONE WORKLOAD")
    found = records.load_run(records.find_run(places.results, given["run"]))
    asked = question.of_run(found, given["cell"], given["reason"], numbers.seconds("--budget", given["budget"]))
    return Inputs(places, typed.command(), database), asked


def experiment(record: Record[WhyAsked, Start], as_json: bool) -> None:
    """Print what an experiment found, as lines or as a document."""
    if as_json:
        say.document({"id": record.id, **rows(record.head.asked, record.entries), "folder": str(record.folder)})
        return
    for line in sentences(record.head.asked, record.entries):
        say.line(line)


def _announce(asked: WhyAsked) -> None:
    """Say what the run suspects as the limit, and what the experiment changes."""
    if asked.sentence:
        say.note(foreign.line(f"{asked.cell.id}: {asked.reason} is suspected: {asked.sentence}"))
    say.note(f"beside it: {'; '.join(one.words for one in asked.experiment.changes)}")


def _tell(event: UnitDone) -> None:
    """One line for each start."""
    record = event.record
    say.note(f"start {len(record.entries)}: at most {duration(event.left_s or 0.0)} left")
