"""`replicate`: measure what a published benchmark measured, and put a verdict on each of its claims."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fairground import claims, manifest, store
from fairground.cli import lab, measure, numbers, say, splice
from fairground.cli.run import NOTHING_MEASURED, DatabaseUrl, Json, Quiet, Results, Servers, options_of
from fairground.model import LabError, Suite
from fairground.report import replication
from fairground.report.replication import Replication


def replicate(
    suite: Annotated[str, typer.Argument(help="A suite with claims, such as transfer.")],
    profile: Annotated[str, typer.Option(help="quick (minutes) or full (hours).")] = "quick",
    blocks: Annotated[int | None, typer.Option(help="Repeat every cell so often (default: as the profile says).")] = None,
    of_run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Judge the claims on this run; measure nothing.")
    ] = None,
    resume: Annotated[str | None, typer.Option("--resume", metavar="RUN", help="Go on with an interrupted run.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Put the verdicts into this Markdown file, in place of the suite's earlier ones.")
    ] = None,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a published benchmark's cells here and say of each of its claims whether it holds, and why.

    Examples: ./fairground replicate transfer · ./fairground replicate apostol --profile full ·
    ./fairground replicate users --blocks 8 ·
    ./fairground replicate users --run latest --markdown docs/replications.md
    """
    places = lab.Places.of(os.environ, servers, results)
    often = None if blocks is None else numbers.positive("--blocks", blocks)
    chosen = measure.with_overrides(_suite(places, suite, profile), often, None)
    options = options_of(places, database, quiet, as_json=False)
    if of_run is not None:
        folder = store.find(places.results, of_run)
    elif resume is not None:
        folder = measure.resume(store.find(places.results, resume), options)
    else:
        words = f"./fairground replicate {suite} --profile {profile}" + ("" if blocks is None else f" --blocks {blocks}")
        folder = measure.fresh(chosen, words, options)
    _, run = measure.report(folder)
    found = Replication(chosen, run, claims.judge(chosen.claims, run.trials), claims.read_tables(chosen.tables, run.trials))
    path = folder / f"replicate-{chosen.id}.html"
    path.write_text(replication.html(found, profile), encoding="utf-8")
    if markdown is not None:
        splice.put(markdown, chosen.id, replication.markdown(found, profile), "Replications")
    _say(found, path, as_json)
    if not measure.measured(run):
        raise typer.Exit(NOTHING_MEASURED)


def _suite(places: lab.Places, name: str, profile: str) -> Suite:
    path = places.suites / f"{name}.toml"
    if not path.exists():
        there = [one.stem for one in sorted(places.suites.glob("*.toml")) if "[[claims]]" in one.read_text()]
        raise LabError(f"there is no suite `{name}` to replicate", f"suites with claims: {', '.join(there)}")
    if not manifest.load_suite(path).claims:  # such a suite has no profiles either
        raise LabError(f"the suite `{name}` makes no claims", f"./fairground run suites/{name}.toml")
    return manifest.load_suite(path, profile)


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
            }
            for one in found.judgements
        ]
        tables = [
            {"title": one.table.title, "correlation": one.correlation, "rows": [asdict(row) for row in one.rows]}
            for one in found.tables
        ]
        say.document({"suite": found.suite.id, "run": found.run.id, "claims": rows, "tables": tables, "page": str(path)})
        return
    for one in found.judgements:
        mark = replication.GLYPHS[one.verdict]
        say.out.print(
            f"{mark} {one.claim.says}\n    {one.verdict}: {one.sentence}", highlight=False, soft_wrap=True, markup=False
        )
    for reading in found.tables:
        say.out.print(f"{reading.table.title}: {replication.agreement(reading)}", highlight=False, soft_wrap=True, markup=False)
    say.out.print(replication.summary(found), highlight=False)
    say.out.print(f"page  {path}", highlight=False, soft_wrap=True)
