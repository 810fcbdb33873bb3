"""A replication as a page and as Markdown: what was published, what was measured, and a verdict on each claim. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.claims.statement import parse_all
from fairground.claims.tables import LEAST_ROWS, TableReading, TableRow
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, VerdictGrade
from fairground.model import Run, Suite, foreign
from fairground.report import card, frame, readers
from fairground.report.charts import claimplot, slope, waterfall
from fairground.report.charts.claimplot import ClaimLine
from fairground.report.charts.slope import Slope
from fairground.report.charts.waterfall import WaterfallStep
from fairground.report.text import kinds, seats, words

GLYPHS = {
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.FAILS: "✗",
    ClaimVerdict.TIE: "=",
    ClaimVerdict.INCONCLUSIVE: "~",
    ClaimVerdict.UNTESTED: "○",
    ClaimVerdict.REFUTED_ON_PAPER: "¶",
    ClaimVerdict.SUPPORTED_ON_PAPER: "¶",
}
TAGS = {
    ClaimVerdict.HOLDS: "valid",
    ClaimVerdict.FAILS: "rejected",
    ClaimVerdict.TIE: "note",
    ClaimVerdict.INCONCLUSIVE: "warned",
    ClaimVerdict.UNTESTED: "void",
    ClaimVerdict.REFUTED_ON_PAPER: "note",
    ClaimVerdict.SUPPORTED_ON_PAPER: "note",
}
"""The colour of a verdict: those of trials."""


@dataclass(frozen=True)
class Replication:
    """A suite, the run that measured it, and what came of its claims and tables."""

    suite: Suite
    run: Run
    judgements: Sequence[ClaimJudgement]
    tables: Sequence[TableReading]
    runs: tuple[str, ...] = ()
    """The runs that were judged together, where there are several."""


def html(found: Replication, profile: str) -> str:
    """The page of a replication: published beside measured, each claim with its verdict, and what could not be done."""
    run = found.run
    slopes = [_slope(reading) for reading in found.tables]
    postgres = f"PostgreSQL {run.versions.get('PostgreSQL', 'unknown')}"
    machine = (run.machine.cpu_model or "unknown CPU", seats.of_run(run), postgres)
    return frame.frame_page(
        "replication.html",
        f"replication · {found.suite.title}",
        (summary(found).removesuffix("."), f"Published: {found.suite.source}"),
        facts=(frame.minute(run.started_unix_s), *machine, _blocks(found)),
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
        chance=_percent,
        card=card.of_suite(found.suite, found.judgements),
        forest=forest(found),
        waterfall=waterfall_of(found),
        questions=readers.questions(found.suite, found.run.trials),
    )


def forest(found: Replication) -> Markup | None:
    """The published ratio of each claim and ours, on one axis; None where no claim has both."""
    lines = [line for one in found.judgements if (line := _claim_line(one)) is not None]
    return claimplot.picture(lines)


def _claim_line(one: ClaimJudgement) -> ClaimLine | None:
    if one.measured is None or one.claim.test is None or not claimplot.is_drawn(one.claim.published, one.measured.middle):
        return None
    test = parse_all(one.claim.test)[0]
    if not (test.left.below or test.right.terms):
        return None
    scale, ours = test.right.factor if test.right.terms else 1.0, one.measured
    return ClaimLine(
        name=one.claim.id,
        published=one.claim.published or 0.0,
        middle=ours.middle * scale,
        low=ours.low * scale,
        high=ours.high * scale,
        verdict=str(one.verdict),
    )


def waterfall_of(found: Replication) -> Markup | None:
    """Draw what each step adds to an answer, as far as it was measured."""
    known = [(one, one.added_us) for one in readers.step_costs(found.suite, found.run.trials)]
    steps = [
        WaterfallStep(f"{one.what}: {one.stack} {one.workload}", added.middle, added.low, added.high)
        for one, added in known
        if added is not None
    ]
    return waterfall.picture(steps, "µs of CPU that it adds to an answer, of all roles but the generator", "µs")


def _slope(reading: TableReading) -> Markup | None:
    """A table's lines from published to measured; None where fewer than two stacks have both."""
    rows = [Slope(row.stack, row.published, None if row.nearest else row.measured) for row in reading.rows]
    return slope.picture(rows, reading.table.unit)


def markdown(found: Replication, profile: str) -> str:
    """The section of one suite in docs/replications.md."""
    machine, drawn = found.run.machine, forest(found) is not None
    lines = [
        f"## {words.prose(found.suite.title)}",
        "",
        f"*{found.suite.source}* · suite `{found.suite.id}`, profile `{profile}` · {frame.minute(found.run.started_unix_s)} · "
        f"{machine.cpu_model or 'unknown CPU'}, {words.plural(machine.cores, 'core')} · {_blocks(found)} · {_versions(found)}",
        "",
        summary(found),
        "",
        *card.markdown(card.of_suite(found.suite, found.judgements)),
        *([f"![Published and measured ratios of the claims](pictures/claims-{found.suite.id}.svg)", ""] if drawn else []),
        "| claim | published | measured | verdict | a fresh run says the same |",
        "|--|--:|--|--|--:|",
    ]
    for one in found.judgements:
        claim = one.claim
        told = " ".join(
            part for part in (f"{claim.says}.", claim.note, explain(one, found), kinds.mixture(claim, found.run)) if part
        )
        cells = (told, words.number(claim.published), one.sentence, f"{GLYPHS[one.verdict]} {one.words}", _percent(one.again))
        lines.append("| " + " | ".join(words.cell(cell) for cell in cells) + " |")
    if found.suite.conditions:
        lines += ["", "| condition | published | here | where it stands |", "|--|--|--|--|"]
        lines += [
            "| " + " | ".join(words.cell(part) for part in (one.what, one.theirs, one.here, one.where)) + " |"
            for one in found.suite.conditions
        ]
    lines += readers.markdown(readers.questions(found.suite, found.run.trials))
    empty = [one for one in found.tables if all(row.measured is None for row in one.rows)]
    for reading in (one for one in found.tables if one not in empty):
        lines += ["", f"**{words.prose(reading.table.title)}** ({reading.table.unit}): {agreement(reading)}", ""]
        lines += ["| stack | published | measured |", "|--|--:|--:|"]
        lines += [
            f"| {words.cell(row_name(row))} | {words.number(row.published)} | {words.number(row.measured)} |"
            for row in reading.rows
        ]
    lines += _unmeasured(empty)
    return foreign.clean("\n".join(lines)) + "\n"


def _unmeasured(readings: Sequence[TableReading]) -> list[str]:
    """List the published tables of which no row was measured, each in a line with its reason."""
    if not readings:
        return []
    found = ["", "**Published, and not measured in this profile**", "", "| table | why |", "|--|--|"]
    for reading in readings:
        why = reading.table.unmeasured or f"no row of {len(reading.rows)} has a number here"
        found.append(f"| {words.cell(reading.table.title)} ({words.cell(reading.table.unit)}) | {words.cell(why)} |")
    return found


def _versions(found: Replication) -> str:
    """The lab with its commit, and the versions that came with the run."""
    own = found.run.versions.get("fairground", "an unknown version of the lab")
    return ", ".join([own, *(f"{name} {text}" for name, text in found.run.versions.items() if name == "PostgreSQL")])


def _blocks(found: Replication) -> str:
    """`2 blocks`, `2 to 5 blocks`, `8 blocks of 3 runs, judged together`."""
    many = words.blocks_of(found.run.plan)
    return many if len(found.runs) < 2 else f"{many} of {words.plural(len(found.runs), 'run')}, judged together"


def summary(found: Replication) -> str:
    """Count what came of the source's claims, how much of it is clear, and what came of ours."""
    theirs, ours = ([one for one in found.judgements if one.claim.ours is own] for own in (False, True))
    if not theirs and not ours:
        return "The suite makes no claims."
    said = [f"Of the source's {words.plural(len(theirs), 'claim')} {_outcomes(theirs)}."] if theirs else []
    decided = [one for one in theirs if one.verdict.decided]
    clear = sum(one.grade is VerdictGrade.CLEAR for one in decided)
    said += [f"Of the {len(decided)} that were decided by measuring {clear} {_is(clear)} clear."] if decided else []
    said += [f"Of {words.plural(len(ours), 'sentence')} of our own {_outcomes(ours)}."] if ours else []
    return " ".join(said)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _outcomes(judgements: Sequence[ClaimJudgement]) -> str:
    counts = Counter(one.verdict for one in judgements)
    parts = [
        (counts[ClaimVerdict.HOLDS], "holds", "hold"),
        (counts[ClaimVerdict.FAILS], "does not", "do not"),
        (counts[ClaimVerdict.TIE], "is a tie", "are ties"),
        (counts[ClaimVerdict.INCONCLUSIVE], "is inconclusive", "are inconclusive"),
        (counts[ClaimVerdict.REFUTED_ON_PAPER], "is refuted by its own table alone", "are refuted by their own tables alone"),
        (
            counts[ClaimVerdict.SUPPORTED_ON_PAPER],
            "is supported by its own table alone",
            "are supported by their own tables alone",
        ),
        (counts[ClaimVerdict.UNTESTED], "cannot be tested here", "cannot be tested here"),
    ]
    said = [f"{count} {one if count == 1 else many}" for count, one, many in parts if count]
    return words.join_names(said, at_most=len(said))


def agreement(reading: TableReading) -> str:
    """Say how far the published order of rows agrees with ours, or why nothing can be said of that."""
    if reading.table.unmeasured:
        return f"not measured here: {reading.table.unmeasured}"
    both = reading.measured
    if reading.correlation is None:
        few = f"too few for an order: {LEAST_ROWS} are asked for"
        why = few if both < LEAST_ROWS else "and one side has no order: all of its numbers are equal"
        return f"{both} of {len(reading.rows)} rows were measured, {why}"
    tau = f"{reading.correlation:.2f}".replace("-", "−")
    p = "" if reading.p is None else f", p {_p_value(reading.p)}"
    return f"rank correlation {tau} (Kendall's τ, {words.plural(both, 'row')}{p}; 1 is the same order, −1 the reverse)"


def _percent(again: float | None) -> str:
    return words.NO_NUMBER if again is None else f"{min(99, max(1, round(100 * again)))} %"


def _p_value(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


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
