"""The claim box: what can be said of a run in three sentences. What was found, what limited it, how far to believe it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fairground.model import Run, Severity, Verdict, foreign
from fairground.report.boards import Board
from fairground.report.run.controls import Controls, verdict
from fairground.report.run.why import SUSPECTED, TriedBy
from fairground.report.text import words
from fairground.run.retry import OF_THE_MACHINE
from fairground.stats.comparisons import Comparison
from fairground.stats.differences import DifferenceWord

WORDS = {
    DifferenceWord.SLOWER: "slower",
    DifferenceWord.FASTER: "faster",
    DifferenceWord.EQUIVALENT: "equivalent",
    DifferenceWord.INCONCLUSIVE: "undecided",
}

STANDINGS = {"confirmed": "limits confirmed by experiment", "withdrawn": "withdrawn by experiment", SUSPECTED: "suspected limits"}
"""How sure a limit of a cell is, surest first, and how that is told."""
BUSY = "End what else runs on this machine (./fairground doctor), then start again."
"""What helps against voids by the machine."""


def headline(run: Run, boards: Sequence[Board], controls: Controls, tried: TriedBy) -> tuple[str, str, str]:
    """Three sentences, in the order in which a reader asks. `tried`: what experiments on the run's reasons found."""
    return _found(run, boards), _limits(boards, tried), verdict(run, controls)


def beside(told: Sequence[str], said: Sequence[str], controls: Controls) -> tuple[str, ...]:
    """The rest of a headline, to be said below `told`: nothing twice, and no sentence that only says what is not known."""
    first, limits, belief = said
    for sentence in told:
        rest = first.removeprefix(sentence.removesuffix("."))
        if rest != first:
            first = rest.lstrip("; .")
    left = (f"{first[:1].upper()}{first[1:]}", limits, belief if controls.readings else "")
    return tuple(one for one in left if one)


def _found(run: Run, boards: Sequence[Board]) -> str:
    if not any(board.numbered for board in boards):
        return "No stack has a number."
    compared = [board.goodput for board in boards if board.goodput is not None]
    if max((len(board.numbered) for board in boards), default=0) < 2:
        if len({row.stack for board in boards for row in board.rows}) < 2:
            return "One stack was measured: there is nothing to compare it with."
        return "No workload has two stacks with a number: there is nothing to compare."
    if not compared:
        return "Differences between stacks cannot be judged: no two of them share two blocks, so nothing shows what chance does."
    judged = [one for one in compared if not one.withdrawn]
    if not judged:
        return "The run compares nothing: its A/A pairs, identical stacks, were told apart, so its differences are withdrawn."
    if len(judged) == 1 and len(judged[0].rows) == 1:
        return words.against(judged[0])[0]
    by_workload = {board.workload: board.goodput for board in boards if board.goodput in judged and board.goodput is not None}
    if len(by_workload) > 1 and len(by_workload) == len(judged):
        return f"{leaders(by_workload)} {_decided(judged, [board.cost for board in boards if board.cost is not None])}"
    return _counted(judged, len(by_workload))


def leaders(found: Mapping[str, Comparison], with_ties: bool = True) -> str:
    """Say who leads, and (unless `with_ties` is off) where nobody does, from comparisons by workload.

    `A is among the fastest on 5 of 7 workloads, alone on 2; on two of them no stack can be told from another.`
    """
    tied = [workload for workload, one in found.items() if len(one.groups) == 1]
    apart = [one for one in found.values() if len(one.groups) > 1]
    tie = f"on {words.join_names(tied)} no stack can be told from another" if tied else ""
    if not apart:
        return f"{tie[0].upper()}{tie[1:]}."
    first = Counter(stack for one in apart for stack in one.leading).most_common()
    most = [stack for stack, count in first if count == first[0][1]]
    alone = sum(one.leading == (most[0],) for one in apart)
    where = f"on {first[0][1]} of {words.plural(len(found), 'workload')}"
    said = f"{words.join_names(most)} {'is' if len(most) == 1 else 'are each'} among the fastest {where}"
    if len(most) == 1 and alone:
        said += ", alone there" if alone == first[0][1] else f", alone on {alone}"
    return f"{said}; {tie}." if tie and with_ties else f"{said}."


def _decided(rates: Sequence[Comparison], costs: Sequence[Comparison]) -> str:
    """`32 of 40 pairs of stacks are decided in goodput, and 40 in server CPU.`"""
    pairs = sum(one.pairs for one in rates)
    said = f"{sum(one.decided for one in rates)} of {words.plural(pairs, 'pair')} of stacks are decided in goodput"
    judged = [one for one in costs if not one.withdrawn]
    beside = sum(one.pairs for one in judged)
    if not beside:
        return f"{said}."
    of = "" if beside == pairs else f" of {beside}"
    return f"{said}, and {sum(one.decided for one in judged)}{of} in server CPU."


def _counted(judged: Sequence[Comparison], workloads: int) -> str:
    """Count how the comparisons ended.

    `Of 15 comparisons of goodput with A on 3 workloads 4 are slower, 1 is faster and 10 are undecided.`
    """
    counts = Counter(row.difference.word for one in judged for row in one.rows)
    anchors = list(dict.fromkeys(one.anchor for one in judged))
    anchor = anchors[0] if len(anchors) == 1 else "the anchor"
    parts = [f"{counts[word]} {'is' if counts[word] == 1 else 'are'} {said}" for word, said in WORDS.items() if counts[word]]
    where = f" on {words.plural(workloads, 'workload')}" if workloads > 1 else ""
    return f"Of {words.plural(counts.total(), 'comparison')} of goodput with {anchor}{where} {words.join_names(parts)}."


def _limits(boards: Sequence[Board], tried: TriedBy) -> str:
    """Count what limits the cells with a number, and how sure that is; count those without one because of wrong answers."""
    rows = [row for board in boards for row in board.numbered]
    rejected = sum(row.verdict is Verdict.REJECTED and row.middle is None for board in boards for row in board.rows)
    named = [(row.cell.id, reason) for row in rows for reason, _ in row.diagnoses.most_common(1)]
    unnamed = len(rows) - len(named)
    standing = [(tried[one].word if one in tried else SUSPECTED, one[1]) for one in named]
    parts = []
    for word in STANDINGS:
        reasons = Counter(reason for held, reason in standing if held == word).most_common(words.NAMED_AT_MOST)
        if reasons:
            cells = [f"{reason} ({words.plural(amount, 'cell')})" for reason, amount in reasons]
            parts.append(f"{STANDINGS[word]}: {words.join_names(cells)}")
    told = "; ".join(parts) or "nothing that was measured names a limit"
    said = f"{told[:1].upper()}{told[1:]}"
    if parts and unnamed:
        said += f"; of {words.plural(unnamed, 'cell')} nothing that was measured names the limit"
    wrong = f"; {words.plural(rejected, 'cell')} {'has' if rejected == 1 else 'have'} no number: rejected" if rejected else ""
    return f"{said}{wrong}."


def voids(run: Run) -> str | None:
    """Say why most trials are void, where most of them are: the cause that most of these have, in a trial's own words."""
    void = [trial for trial in run.trials if trial.verdict is Verdict.VOID]
    if 2 * len(void) <= len(run.trials):
        return None
    causes = [one for trial in void for one in [one for one in trial.findings if one.severity is Severity.VOID][:1]]
    if not causes:
        return None
    (cause, amount), *others = Counter(one.id for one in causes).most_common()
    said = Counter(foreign.line(one.sentence) for one in causes if one.id == cause).most_common(1)[0][0]
    which = "" if not others else f" {amount} of them because of `{cause}`:"
    hint = f" {BUSY}" if cause in OF_THE_MACHINE else ""
    return (
        f"{words.plural(len(void), 'trial')} of {len(run.trials)} {'is' if len(void) == 1 else 'are'} void,{which} {said}.{hint}"
    )
