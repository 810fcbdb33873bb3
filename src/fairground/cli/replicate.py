"""`replicate`: measure what a published benchmark measured, and put a verdict on each of its claims."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from fairground.cli import say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, follow
from fairground.cli.options import NOTHING_MEASURED
from fairground.cli.screen import duration
from fairground.cli.streams import plain
from fairground.inputs import numbers, options
from fairground.inputs.options import Given, Option
from fairground.lab.events import Replicated
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.replicate import ALL, ReplicationAsked, plans_of, replicate_all, replicate_suites
from fairground.model import LabError, Plan, Until, Verdict
from fairground.report import replication
from fairground.report.replication import Replication
from fairground.report.text.words import plural
from fairground.run import plan

MAY_GO_ON = ("suite", "profile", "of_runs", "until", "markdown", "dry_run")
"""What may stand beside `--resume`: what is judged, where it is written, and what has a refusal of its own there."""
OPTIONS = (
    Option("suite", "A suite with claims; all: one after the other.", str, ..., argument=True),
    Option("profile", "quick (minutes) or full (hours).", str, "quick"),
    Option("blocks", "Repeat every cell this many times (default: as the profile says).", int | None, None),
    Option(
        "of_runs",
        "Judge the claims on this run, or on several together (A,B); measure nothing.",
        str | None,
        None,
        spelled="--run",
        metavar="RUN",
    ),
    Option("until", "decided: measure what undecided claims rest on again, three times at most.", str | None, None),
    Option("resume", "Go on with an interrupted run.", str | None, None, metavar="RUN"),
    Option("markdown", "Put the verdicts into this Markdown file, in place of the suite's earlier ones.", Path | None, None),
    options.DRY_RUN,
    *options.SHARED,
)


@takes(*OPTIONS)
def replicate(context: typer.Context, given: Given) -> None:
    """Measure a published benchmark's cells here and say of each of its claims whether it holds, and why.

    Examples: ./fairground replicate SUITE · ./fairground replicate SUITE --profile full ·
    ./fairground replicate SUITE --until decided · ./fairground replicate SUITE --run FIRST,SECOND ·
    ./fairground replicate SUITE --blocks 8 · ./fairground replicate all --resume latest ·
    ./fairground replicate SUITE --run latest --markdown docs/replications.md ·
    ./fairground replicate all --dry-run
    """
    if given["resume"] is not None and given["suite"] != ALL:  # of all suites, it says how those after it are measured
        refuse_beside_resume(context, MAY_GO_ON, "run")
    blocks = None if given["blocks"] is None else numbers.repeats("--blocks", given["blocks"])
    asked = ReplicationAsked(
        given["suite"],
        given["profile"],
        blocks,
        tuple(name for name in (given["of_runs"] or "").split(",") if name),
        given["resume"],
        given["markdown"],
        _is_decided(given["until"]),
    )
    inputs = Inputs(Places.of(os.environ, given["servers"], given["results"]), typed.command(), given["database"])
    if given["dry_run"]:
        _say_plans(plans_of(inputs, asked), given["as_json"])
        return
    voice, several = Voice(given["quiet"], again=_again(asked)), asked.suite == ALL
    work = replicate_all if several else replicate_suites
    ends = list[Replicated]()
    for event in follow(lambda sink: work(inputs, asked, sink), voice):
        if isinstance(event, Replicated):
            ends.append(event)
            if not given["as_json"]:
                _say(event.found, event.path)
    if given["as_json"]:
        told = [_document(one.found, one.path) for one in ends]
        say.document({"replications": told} if several else told[0])
    if not any(trial.verdict is not Verdict.VOID for one in ends for trial in one.found.run.trials):
        raise typer.Exit(NOTHING_MEASURED)


def _say_plans(plans: Mapping[str, Plan], as_json: bool) -> None:
    """Print the plan of one suite, or what each of several would take."""
    if len(plans) == 1:
        say.the_plan(next(iter(plans.values())), as_json)
        return
    took_s = {name: plan.estimate_s(planned.slots) for name, planned in plans.items()}
    if as_json:
        say.document({name: {"estimate_s": took_s[name], "plan": plain(planned)} for name, planned in plans.items()})
        return
    for name, planned in plans.items():
        say.line(f"{name}: {plural(len(planned.slots), 'trial')}, about {duration(took_s[name])}")
    say.out.print(f"{plural(len(plans), 'suite')}, about {duration(math.fsum(took_s.values()))} without builds")


def _is_decided(text: str | None) -> bool:
    """Tell whether it goes on until claims are decided, which is all that it can go on for."""
    if text is not None and numbers.until("--until", text) is not Until.DECIDED:
        raise LabError(f"`--until {text}` is for `run`", "write --until decided")
    return text is not None


def _again(asked: ReplicationAsked) -> str:
    """Write the command that goes on with an interrupted run.

    For all suites it also says what the suites after the interrupted one are measured with.
    """
    words = ["replicate", asked.suite, "--profile", asked.profile]
    if asked.suite == ALL and asked.blocks is not None:
        words += ["--blocks", str(asked.blocks)]
    if asked.suite == ALL and asked.markdown is not None:
        words += ["--markdown", str(asked.markdown)]
    return shlex.join((*words, "--resume", "RUN"))


def _document(found: Replication, path: Path) -> dict[str, Any]:
    """A replication for machines."""
    rows = [
        {
            "id": one.claim.id,
            "says": one.claim.says,
            "test": one.claim.test,
            "published": one.claim.published,
            "verdict": str(one.verdict),
            "sentence": one.sentence,
            "measured": asdict(one.measured) if one.measured else None,
            "grade": one.grade,
            "again": one.again,
            "needs_blocks": one.needs,
            "ours": one.claim.ours,
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
            "p": one.p,
            "rows": [asdict(row) for row in one.rows],
        }
        for one in found.tables
    ]
    told = {"suite": found.suite.id, "run": found.run.id, "runs": list(found.runs)}
    return told | {"claims": rows, "tables": tables, "page": str(path)}


def _say(found: Replication, path: Path) -> None:
    for one in found.judgements:
        mark = replication.GLYPHS[one.verdict]
        say.line(f"{mark} {one.claim.says}")
        say.line(f"    {one.words}: {one.sentence}" + (f" · {one.repeats}" if one.repeats else ""))
    for reading in found.tables:
        say.line(f"{reading.table.title}: {replication.agreement(reading)}")
    say.out.print(replication.summary(found))
    say.line(f"page  {path}")
