"""`replicate`: measure what a published benchmark measured, and put a verdict on each of its claims."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from pathlib import Path

import typer

from fairground.cli import say
from fairground.cli.arguments import takes
from fairground.cli.follow import Voice, follow
from fairground.cli.options import NOTHING_MEASURED
from fairground.inputs import numbers, options
from fairground.inputs.options import Given, Option
from fairground.lab import replicate as use_case
from fairground.lab import run as runs
from fairground.lab.events import Replicated, Reported
from fairground.lab.places import Places
from fairground.lab.replicate import Inputs
from fairground.report import replication
from fairground.report.replication import Replication

OPTIONS = (
    Option("suite", "A suite with claims, such as transfer.", str, ..., argument=True),
    Option("profile", "quick (minutes) or full (hours).", str, "quick"),
    Option("blocks", "Repeat every cell this many times (default: as the profile says).", int | None, None),
    Option("of_run", "Judge the claims on this run; measure nothing.", str | None, None, spelled="--run", metavar="RUN"),
    Option("resume", "Go on with an interrupted run.", str | None, None, metavar="RUN"),
    Option("markdown", "Put the verdicts into this Markdown file, in place of the suite's earlier ones.", Path | None, None),
    *options.SHARED,
)


@takes(*OPTIONS)
def replicate(_: typer.Context, given: Given) -> None:
    """Measure a published benchmark's cells here and say of each of its claims whether it holds, and why.

    Examples: ./fairground replicate transfer · ./fairground replicate apostol --profile full ·
    ./fairground replicate users --blocks 8 ·
    ./fairground replicate users --run latest --markdown docs/replications.md
    """
    blocks = None if given["blocks"] is None else numbers.positive("--blocks", given["blocks"])
    inputs = Inputs(
        Places.of(os.environ, given["servers"], given["results"]), given["suite"], given["profile"], blocks, given["of_run"],
        given["resume"], given["markdown"], given["database"],
    )  # fmt: skip
    again = shlex.join(("replicate", inputs.suite, "--profile", inputs.profile, "--resume", "RUN"))
    voice = Voice(given["quiet"], again=again)
    report, judged = follow(lambda sink: use_case.replicate(inputs, sink), voice)
    assert isinstance(report, Reported) and isinstance(judged, Replicated), "a replication ends with its report and its verdicts"
    _say(judged.found, judged.path, given["as_json"])
    if not runs.measured(report.run):
        raise typer.Exit(NOTHING_MEASURED)


def _say(found: Replication, path: Path, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": one.claim.id,
                "says": one.claim.says,
                "test": one.claim.test,
                "published": one.claim.published,
                "verdict": str(one.verdict),
                "sentence": one.sentence,
                "measured": asdict(one.measured) if one.measured else None,
                "size": one.size,
                "paper": one.paper,
            }
            for one in found.judgements
        ]
        tables = [
            {
                "title": one.table.title,
                "unmeasured": one.table.unmeasured,
                "correlation": one.correlation,
                "rows": [asdict(row) for row in one.rows],
            }
            for one in found.tables
        ]
        say.document({"suite": found.suite.id, "run": found.run.id, "claims": rows, "tables": tables, "page": str(path)})
        return
    for one in found.judgements:
        mark = replication.GLYPHS[one.verdict]
        say.line(f"{mark} {one.claim.says}")
        say.line(f"    {one.words}: {one.sentence}")
    for reading in found.tables:
        say.line(f"{reading.table.title}: {replication.agreement(reading)}")
    say.out.print(replication.summary(found))
    say.line(f"page  {path}")
