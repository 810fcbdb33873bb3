"""Whether verdicts repeat: suites that were measured twice, claim by claim. A part of docs/replications.md.

    bench/verdicts.py apostol=FIRST,SECOND users=FIRST,SECOND --write docs/replications.md

FIRST and SECOND are runs of the suite, both judged anew by its claims as they are. What the published numbers alone tell is left
out: it repeats by itself. It measures nothing.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import frame
from fairground import records
from fairground.claims import judgement
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, VerdictGrade
from fairground.lab import replicate
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.replicate import ReplicationAsked
from fairground.model import LabError

MEASURED = (ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.TIE, ClaimVerdict.INCONCLUSIVE)


@dataclass(frozen=True)
class Twice:
    """The claims of a suite that both runs tested, each with its two judgements, and when the runs began.

    `alone`: how many claims one of both runs tested, and the other did not.
    """

    suite: str
    began: tuple[str, str]
    claims: tuple[tuple[ClaimJudgement, ClaimJudgement], ...]
    alone: int

    @classmethod
    def of(cls, suite: str, began: tuple[str, str], first: Sequence[ClaimJudgement], second: Sequence[ClaimJudgement]) -> Twice:
        """The judgements of two runs, in the suite's order of claims."""
        tested = [(both, sum(one.verdict in MEASURED for one in both)) for both in zip(first, second, strict=True)]
        return cls(suite, began, tuple(both for both, many in tested if many == 2), sum(many == 1 for _, many in tested))

    @property
    def decided(self) -> list[tuple[ClaimJudgement, ClaimJudgement]]:
        """Those that at least one of the runs decided."""
        return [both for both in self.claims if any(one.verdict.decided for one in both)]

    @property
    def differing(self) -> list[tuple[ClaimJudgement, ClaimJudgement]]:
        """Those of the decided ones whose two verdicts are not the same."""
        return [(one, other) for one, other in self.decided if one.verdict != other.verdict]

    @property
    def clear(self) -> list[bool]:
        """For each verdict that one run is clear about, whether the other has it, too."""
        both = [(one, other) for pair in self.claims for one, other in (pair, pair[::-1])]
        return [one.verdict is other.verdict for one, other in both if one.grade is VerdictGrade.CLEAR]

    @property
    def opposite(self) -> list[tuple[ClaimJudgement, ClaimJudgement]]:
        """Those that hold by one run, and do not by the other."""
        ends = {ClaimVerdict.HOLDS, ClaimVerdict.FAILS}
        return [(one, other) for one, other in self.differing if {one.verdict, other.verdict} == ends]


def main() -> None:
    """Judge each suite's two runs, and print or write the table."""
    parser = frame.parser(__doc__)
    parser.add_argument("runs", nargs="+", metavar="SUITE=FIRST,SECOND", type=_asked, help="a suite and two of its runs")
    parser.add_argument("--profile", default="quick", help="the profile of the suites (quick)")
    options = parser.parse_args()
    places = Places.of(os.environ)
    try:
        found = [judged(places, options.profile, *asked) for asked in options.runs]
    except LabError as error:
        parser.error(error.message)
    text = "".join(f"{line}\n" for line in table(found))
    frame.put_part(text, options.write, "verdicts", "Replications")


def _asked(words: str) -> tuple[str, str, str]:
    """`SUITE=FIRST,SECOND` as its three names."""
    suite, _, runs = words.partition("=")
    first, _, second = runs.partition(",")
    if not (suite and first and second):
        raise argparse.ArgumentTypeError(f"`{words}` is not SUITE=FIRST,SECOND")
    return suite, first, second


def judged(places: Places, profile: str, suite: str, *names: str) -> Twice:
    """Two runs of a suite under its claims as they are. LabError where one is not there, or of another suite."""
    chosen = replicate.suite(Inputs(places), ReplicationAsked(suite, profile))
    runs = [records.load_run(records.find_run(places.results, name)) for name in names]
    for run in runs:
        replicate.suite_of(run, {suite: chosen})  # else all of its claims would be untested
    first, second = (judgement.judge(chosen, run.trials) for run in runs)
    began = [datetime.fromtimestamp(run.started_unix_s, UTC).strftime("%Y-%m-%d %H:%M") for run in runs]
    return Twice.of(suite, (began[0], began[1]), first, second)


def table(found: Sequence[Twice]) -> Iterator[str]:
    """A row for each suite, one for all, and the claims whose verdicts differ."""
    yield "## Do verdicts repeat?"
    yield ""
    yield "Each suite here was measured twice. Claims that published numbers alone decide are left out."
    yield ""
    heads = ("suite", "measured, UTC", "tested by one run alone", "by both", "decided by either", "the same verdict", "opposite",
             "clear", "found again")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield "|--|--|--:|--:|--:|--:|--:|--:|--:|"
    for one in found:
        yield _row(one.suite, " and ".join(one.began), [one])
    yield _row("all", "", found)
    differing = [(one.suite, *both) for one in found for both in one.differing]
    if differing:
        yield ""
        yield "| suite | claim | first | second |"
        yield "|--|--|--|--|"
    for suite, first, second in differing:
        yield f"| {suite} | {first.claim.id} | {_said(first)} | {_said(second)} |"


def _row(name: str, when: str, some: Sequence[Twice]) -> str:
    tested, decided, differing, opposite = (
        sum(map(len, lists))
        for lists in zip(*((one.claims, one.decided, one.differing, one.opposite) for one in some), strict=True)
    )
    share = f"{decided - differing} ({(decided - differing) / decided:.1%})" if decided else "–"
    clear = [found for one in some for found in one.clear]
    again = f"{len(clear)} | {sum(clear) / len(clear):.1%}" if clear else "0 | –"
    return f"| {name} | {when} | {sum(one.alone for one in some)} | {tested} | {decided} | {share} | {opposite} | {again} |"


def _said(one: ClaimJudgement) -> str:
    if one.measured is None:
        return str(one.verdict)
    return f"{one.verdict}: {one.measured.middle:.3g} ({one.measured.low:.3g} to {one.measured.high:.3g})"


if __name__ == "__main__":
    main()
