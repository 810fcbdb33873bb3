"""A replication as a page and as Markdown: what was published, what was measured, and a verdict on each claim. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.claims.judgement import ClaimJudgement, ClaimVerdict
from fairground.claims.tables import TableReading, TableRow
from fairground.model import Run, Suite, foreign
from fairground.report.charts import slope
from fairground.report.charts.slope import Slope
from fairground.report.run import page
from fairground.report.text import kinds, seats, words

GLYPHS = {
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.FAILS: "✗",
    ClaimVerdict.TIE: "=",
    ClaimVerdict.INCONCLUSIVE: "~",
    ClaimVerdict.UNTESTED: "○",
    ClaimVerdict.REFUTED_ON_PAPER: "✗",
    ClaimVerdict.SUPPORTED_ON_PAPER: "✓",
}
TAGS = {
    ClaimVerdict.HOLDS: "valid",
    ClaimVerdict.FAILS: "rejected",
    ClaimVerdict.TIE: "note",
    ClaimVerdict.INCONCLUSIVE: "warned",
    ClaimVerdict.UNTESTED: "void",
    ClaimVerdict.REFUTED_ON_PAPER: "rejected",
    ClaimVerdict.SUPPORTED_ON_PAPER: "valid",
}
"""The colour of a verdict: those of trials."""


@dataclass(frozen=True)
class Replication:
    """A suite, the run that measured it, and what came of its claims and tables."""

    suite: Suite
    run: Run
    judgements: Sequence[ClaimJudgement]
    tables: Sequence[TableReading]

    @property
    def counts(self) -> Counter[ClaimVerdict]:
        return Counter(one.verdict for one in self.judgements)


def html(found: Replication, profile: str) -> str:
    """The page of a replication: published beside measured, each claim with its verdict, and what could not be done."""
    run = found.run
    slopes = [_slope(reading) for reading in found.tables]
    postgres = f"PostgreSQL {run.versions.get('PostgreSQL', 'unknown')}"
    machine = (run.machine.cpu_model or "unknown CPU", seats.of_run(run), postgres)
    return page.frame_page(
        "replication.html",
        f"replication · {found.suite.title}",
        (summary(found).removesuffix("."), f"Published: {found.suite.source}"),
        facts=(page.start_text(run), *machine, words.plural(run.plan.blocks, "block")),
        home=None,
        suite=found.suite,
        run=run,
        profile=profile,
        judgements=found.judgements,
        tables=found.tables,
        slopes=slopes,
        lead=next((place for place, drawn in enumerate(slopes, 1) if drawn is not None), None),
        glyphs=GLYPHS,
        tags=TAGS,
        factor=factor,
        agreement=agreement,
        explained=lambda one: explain(one, found),
        mixture=lambda one: kinds.mixture(one.claim, run),
        named=row_name,
    )


def _slope(reading: TableReading) -> Markup | None:
    """A table's lines from published to measured; None where fewer than two stacks have both."""
    rows = [Slope(row.stack, row.published, None if row.nearest else row.measured) for row in reading.rows]
    return slope.picture(rows, reading.table.unit)


def markdown(found: Replication, profile: str) -> str:
    """The section of one suite in docs/replications.md."""
    machine = found.run.machine
    lines = [
        f"## {words.prose(found.suite.title)}",
        "",
        f"*{found.suite.source}* · suite `{found.suite.id}`, profile `{profile}` · {page.start_text(found.run)} · "
        f"{machine.cpu_model or 'unknown CPU'}, {words.plural(machine.cores, 'core')} · {found.run.plan.blocks} blocks",
        "",
        summary(found),
        "",
        "| claim | published | measured | verdict |",
        "|--|--:|--|--|",
    ]
    for one in found.judgements:
        claim = one.claim
        told = " ".join(
            part for part in (f"{claim.says}.", claim.note, explain(one, found), kinds.mixture(claim, found.run)) if part
        )
        cells = (told, words.number(claim.published), one.sentence, f"{GLYPHS[one.verdict]} {one.words}")
        lines.append("| " + " | ".join(words.cell(cell) for cell in cells) + " |")
    if found.suite.conditions:
        lines += ["", "| condition | published | here | where it stands |", "|--|--|--|--|"]
        lines += [
            "| " + " | ".join(words.cell(part) for part in (one.what, one.theirs, one.here, one.where)) + " |"
            for one in found.suite.conditions
        ]
    for reading in found.tables:
        lines += ["", f"**{words.prose(reading.table.title)}** ({reading.table.unit}): {agreement(reading)}", ""]
        lines += ["| stack | published | measured |", "|--|--:|--:|"]
        lines += [
            f"| {words.cell(row_name(row))} | {words.number(row.published)} | {words.number(row.measured)} |"
            for row in reading.rows
        ]
    return foreign.clean("\n".join(lines)) + "\n"


def summary(found: Replication) -> str:
    """`Of 12 claims 7 hold, 3 do not, 1 is inconclusive and 1 cannot be tested here.`"""
    counts = found.counts
    parts = [
        (counts[ClaimVerdict.HOLDS], "holds", "hold"),
        (counts[ClaimVerdict.FAILS], "does not", "do not"),
        (counts[ClaimVerdict.TIE], "is a tie", "are ties"),
        (counts[ClaimVerdict.INCONCLUSIVE], "is inconclusive", "are inconclusive"),
        (counts[ClaimVerdict.REFUTED_ON_PAPER], "is refuted by its own table", "are refuted by their own tables"),
        (counts[ClaimVerdict.SUPPORTED_ON_PAPER], "is supported by its own table", "are supported by their own tables"),
        (counts[ClaimVerdict.UNTESTED], "cannot be tested here", "cannot be tested here"),
    ]
    said = [f"{count} {one if count == 1 else many}" for count, one, many in parts if count]
    if not said:
        return "The suite makes no claims."
    return f"Of {words.plural(len(found.judgements), 'claim')} {words.join_names(said, at_most=len(said))}."


def agreement(reading: TableReading) -> str:
    """Say how far the published order of rows agrees with ours, or why no number of ours stands beside it."""
    if reading.table.unmeasured:
        return f"not measured here: {reading.table.unmeasured}"
    both = sum(row.measured is not None and row.nearest is None for row in reading.rows)
    if reading.correlation is None:
        why = "too few for an order" if both < 2 else "and one side has no order: all of its numbers are equal"
        return f"{both} of {len(reading.rows)} rows were measured, {why}"
    tau = f"{reading.correlation:.2f}".replace("-", "−")
    return f"rank correlation {tau} (Kendall's τ, {words.plural(both, 'row')}; 1 is the same order, −1 the reverse)"


def explain(one: ClaimJudgement, found: Replication) -> str:
    """The explanation of a claim, with the claims that test it and what came of them; without any it is not measured."""
    claim, verdicts = one.claim, {other.claim.id: other.verdict for other in found.judgements}
    if not claim.reason:
        return ""
    if not claim.shown_by:
        return f"{claim.reason} Not measured."
    return f"{claim.reason} Tested by {words.join_names([f'{id} ({verdicts[id]})' for id in claim.shown_by])}."


def row_name(row: TableRow) -> str:
    """The row's name, with the stack of ours that stands beside it where the published thing itself was not run."""
    return f"{row.stack}, not run; here {row.nearest}" if row.nearest else row.stack


def factor(row: TableRow) -> str:
    """Measured over published; nothing is any multiple of zero, nor of what was not run."""
    if row.measured is None or row.nearest or row.published == 0:
        return words.NO_NUMBER
    return f"{words.number(row.measured / row.published)}×"
