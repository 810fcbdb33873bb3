"""A comparison as text: the sentence, the table and the doubts, for a terminal, a pull request and a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairground.model.pair import Round
from fairground.report import forest, page, words
from fairground.stats.differences import Difference, Word
from fairground.stats.rounds import Decision


@dataclass(frozen=True)
class Line:
    """One compared quantity. `ratio` says B over A in the quantity's own terms (CPU: more is worse)."""

    cell: str
    quantity: str
    unit: str
    a: float | None
    b: float | None
    difference: Difference
    more_is_better: bool
    ratios: tuple[float, ...] = ()
    """B over A for each start of both servers (or each block), in the quantity's own terms."""

    @property
    def change(self) -> tuple[float, float, float] | None:
        """Middle and limits of B over A − 1: 0.05 is 5 % more."""
        ratio = self.difference.ratio
        if ratio is None:
            return None
        bounds = (
            (ratio.middle, ratio.low, ratio.high) if self.more_is_better else (1 / ratio.middle, 1 / ratio.high, 1 / ratio.low)
        )
        return (bounds[0] - 1, bounds[1] - 1, bounds[2] - 1)

    @property
    def better(self) -> tuple[float, ...]:
        """The ratios turned so that more is better, as in `difference`."""
        return self.ratios if self.more_is_better else tuple(1 / ratio for ratio in self.ratios)

    @property
    def slowdown(self) -> float | None:
        """How much worse B is, where it is called slower: 0.05 is 5 %."""
        if self.difference.word is not Word.SLOWER or self.change is None:
            return None
        return abs(self.change[0])


def lines(cell: str, rounds: Sequence[Round], decision: Decision) -> tuple[Line, ...]:
    """Goodput and cost of two arms; levels are geometric means over sound pairs."""
    sound = [pair for one in rounds for pair in one.pairs if pair.void is None]
    rates = mean([pair.a.rate_per_s for pair in sound]), mean([pair.b.rate_per_s for pair in sound])
    costs = mean([pair.a.cpu_us_per_answer for pair in sound]), mean([pair.b.cpu_us_per_answer for pair in sound])
    ratios = tuple(1 / ratio for ratio in decision.costs)
    return (
        Line(cell, "goodput", "per second", *rates, decision.rate, True, decision.rates),
        Line(cell, "server CPU", "µs per answer", *costs, decision.cost, False, ratios),
    )


def mean(values: Sequence[float | None]) -> float | None:
    """The geometric mean of the values that are known and above 0; None without any."""
    known = [value for value in values if value]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else None


def sentence(line: Line, a: str, b: str) -> str:
    """What is said of one quantity."""
    change, found = line.change, line.difference
    if change is None:
        return f"{line.cell}: too little was measured to compare {line.quantity}"
    interval = f"({signed(change[1])} to {signed(change[2])}, 95 % CI)"
    amount = f"{signed(change[0])} {line.quantity} {interval}"
    match found.word:
        case Word.EQUIVALENT:
            return f"{line.cell}: {b} and {a} are equivalent: {amount}"
        case Word.INCONCLUSIVE:
            least = "" if found.detectable is None else f"; a change of {words.percent(found.detectable)} would have been seen"
            return f"{line.cell}: no difference is shown between {b} and {a}: {amount}{least}"
        case _:
            better = "faster" if line.more_is_better else "cheaper"
            worse = "slower" if line.more_is_better else "dearer"
            return f"{line.cell}: {b} is {better if found.word is Word.FASTER else worse} than {a}: {amount}"


def markdown(title: str, a: str, b: str, lines: Sequence[Line], notes: Sequence[str]) -> str:
    """A summary for a pull request."""
    head = [f"## {title}", "", f"A is `{a}`, B is `{b}`.", ""]
    table = ["| cell | quantity | A | B | B against A | 95 % CI | verdict |", "|--|--|--:|--:|--:|--|--|"]
    table += ["| " + " | ".join(_cells(line)) + " |" for line in lines]
    return "\n".join([*head, *table, "", *(f"- {note}" for note in notes), ""])


def html(title: str, a: str, b: str, lines: Sequence[Line], notes: Sequence[str], foot: str) -> str:
    """The comparison as a page: sentences, table, and a forest plot with every start as a dot."""
    bound = forest.reach((line.better, line.difference) for line in lines)
    return page.render(
        "comparison.html",
        title=title,
        a=a,
        b=b,
        lines=lines,
        notes=notes,
        foot=foot,
        bound=bound,
        sentence=sentence,
        verdict=verdict,
        signed=signed,
        forest=forest.forest,
        axis=forest.axis,
    )


def _cells(line: Line) -> tuple[str, ...]:
    change = line.change
    return (
        line.cell,
        f"{line.quantity} ({line.unit})",
        words.number(line.a),
        words.number(line.b),
        words.NO_NUMBER if change is None else signed(change[0]),
        words.NO_NUMBER if change is None else f"{signed(change[1])} … {signed(change[2])}",
        verdict(line),
    )


def verdict(line: Line) -> str:
    """The word for a table: cost is called cheaper or dearer."""
    return words.word(line.difference.word, line.more_is_better)


def rows(lines: Sequence[Line]) -> list[Mapping[str, object]]:
    """The lines for `--json`."""
    return [
        {
            "cell": line.cell,
            "quantity": line.quantity,
            "unit": line.unit,
            "a": line.a,
            "b": line.b,
            "change": None if line.change is None else line.change[0],
            "change_low": None if line.change is None else line.change[1],
            "change_high": None if line.change is None else line.change[2],
            "p": line.difference.p,
            "p_holm": line.difference.p_holm,
            "detectable": line.difference.detectable,
            "verdict": verdict(line),
        }
        for line in lines
    ]


def signed(share: float) -> str:
    """0.0312 → `+3.1 %`."""
    return f"{share:+.1%}".replace("%", " %").replace("-", "−")
