"""The claim box: what can be said of a run in three sentences. What was found, what limited it, how far to believe it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairground.model import Run, Verdict
from fairground.report import words
from fairground.report.boards import Board
from fairground.report.controls import Controls, verdict
from fairground.stats.comparisons import Comparison
from fairground.stats.differences import Word

WORDS = {
    Word.SLOWER: "slower",
    Word.FASTER: "faster",
    Word.EQUIVALENT: "equivalent",
    Word.INCONCLUSIVE: "not to be told from it",
}


def headline(run: Run, boards: Sequence[Board], controls: Controls) -> tuple[str, str, str]:
    """Three sentences, in the order in which a reader asks."""
    return _found(run, boards), _limits(boards), verdict(run, controls)


def _found(run: Run, boards: Sequence[Board]) -> str:
    if not any(board.numbered for board in boards):
        return "No stack has a number."
    compared = [board.goodput for board in boards if board.goodput is not None]
    if max((len(board.numbered) for board in boards), default=0) < 2:
        return "One stack was measured: there is nothing to compare it with."
    if not compared:
        return "Differences between stacks cannot be judged: no two of them share two blocks, so nothing shows what chance does."
    judged = [one for one in compared if not one.withdrawn]
    if not judged:
        return "The run compares nothing: its A/A pairs, identical stacks, were told apart, so its differences are withdrawn."
    return _counted(judged, len({board.workload for board in boards if board.goodput in judged}))


def _counted(judged: Sequence[Comparison], workloads: int) -> str:
    """`Of 15 comparisons of goodput with A on 3 workloads 4 are slower, 1 is faster and 10 are not to be told from it.`"""
    if len(judged) == 1 and len(judged[0].rows) == 1:
        return words.against(judged[0])[0]
    counts = Counter(row.difference.word for one in judged for row in one.rows)
    anchors = list(dict.fromkeys(one.anchor for one in judged))
    anchor = anchors[0] if len(anchors) == 1 else "the anchor"
    parts = [f"{counts[word]} {'is' if counts[word] == 1 else 'are'} {said}" for word, said in WORDS.items() if counts[word]]
    where = f" on {words.plural(workloads, 'workload')}" if workloads > 1 else ""
    return f"Of {words.plural(counts.total(), 'comparison')} of goodput with {anchor}{where} {words.listed(parts)}."


def _limits(boards: Sequence[Board]) -> str:
    """What limited the cells with a number, by how many, and how many cells have none because of wrong answers."""
    rows = [row for board in boards for row in board.numbered]
    rejected = sum(row.verdict is Verdict.REJECTED and row.middle is None for board in boards for row in board.rows)
    reasons = Counter(reason for row in rows for reason, _ in row.diagnoses.most_common(1))
    unnamed = len(rows) - reasons.total()
    parts = [f"{reason} ({words.plural(amount, 'cell')})" for reason, amount in reasons.most_common(words.NAMED_AT_MOST)]
    said = f"Limited by {words.listed(parts)}" if parts else "Nothing that was measured names a limit"
    if parts and unnamed:
        said += f"; of {words.plural(unnamed, 'cell')} nothing that was measured names the limit"
    wrong = f"; {words.plural(rejected, 'cell')} {'has' if rejected == 1 else 'have'} no number: rejected" if rejected else ""
    return f"{said}{wrong}."
