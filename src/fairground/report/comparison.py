"""A comparison as text: the sentence, the table and the doubts, for a terminal, a pull request and a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairground.differences import Difference, Word
from fairground.report import page, words

FOREST_WIDTH_PX, FOREST_HEIGHT_PX, FOREST_EDGE_PX = 320, 22, 6


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
    def slowdown(self) -> float | None:
        """How much worse B is, where it is called slower: 0.05 is 5 %."""
        if self.difference.word is not Word.SLOWER or self.change is None:
            return None
        return abs(self.change[0])


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
    bound = scale(lines)
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
        forest=forest,
    )


def scale(lines: Sequence[Line]) -> float:
    """How far the forest plot reaches to both sides of no change: 0.1 is ±10 %; never less than ±2 %."""
    seen = [abs(ratio - 1) for line in lines for ratio in line.ratios]
    seen += [abs(bound) for line in lines if line.change for bound in line.change]
    return max(0.02, 1.1 * max(seen, default=0.0))


def forest(line: Line, bound: float) -> Markup:
    """One line's dots, interval and mean about the upright of no change; numbers only, so nothing to escape."""

    def x(change: float) -> str:
        inner = FOREST_WIDTH_PX - 2 * FOREST_EDGE_PX
        return f"{FOREST_EDGE_PX + (max(-bound, min(bound, change)) / bound + 1) / 2 * inner:.1f}"

    middle = FOREST_HEIGHT_PX / 2
    marks = [f'<path class="limit" d="M{x(0)} 2v{FOREST_HEIGHT_PX - 4}"/>']
    marks.append('<path class="t" d="' + "".join(f"M{x(ratio - 1)} {middle:g}h0" for ratio in line.ratios) + '"/>')
    if line.change:
        marks.insert(1, f'<path class="ci" d="M{x(line.change[1])} {middle:g}H{x(line.change[2])}"/>')
        marks.append(f'<path class="m" d="M{x(line.change[0])} {middle:g}h0"/>')
    label = f"{len(line.ratios)} starts" + (f", mean {signed(line.change[0])}" if line.change else "")
    size = f'viewBox="0 0 {FOREST_WIDTH_PX} {FOREST_HEIGHT_PX}"'
    return Markup(f'<svg class="dots forest" {size} role="img" aria-label="{label}">{"".join(marks)}</svg>')


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
    if line.more_is_better:
        return str(line.difference.word)
    return {Word.FASTER: "cheaper", Word.SLOWER: "dearer"}.get(line.difference.word, str(line.difference.word))


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
