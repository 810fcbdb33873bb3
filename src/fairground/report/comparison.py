"""A comparison as text: the sentence, the table and the doubts, for a terminal, a pull request and a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from fairground.model.pair import Round
from fairground.report import frame
from fairground.report.charts import forest
from fairground.report.charts.effects import EffectRow, draw_effects
from fairground.report.charts.svg import WIDTHS_PX
from fairground.report.text import seats, words
from fairground.stats import precision
from fairground.stats.differences import PRACTICAL, Difference, DifferenceWord
from fairground.stats.intervals import Interval, brief, geometric_mean
from fairground.stats.precision import RoundsNeed
from fairground.stats.rounds import JUDGED_ROUNDS, Decision

UNITS = (("second", 1, 90), ("minute", 60, 90), ("hour", 3600, 48))
"""Units of rough times: their seconds, and how many of them are said before the next one is taken."""

LARGE = 1.5
"""A ratio from which on, up or down, it is told as a multiple: percent of large changes are hard to read."""
Change = tuple[float, float, float]
"""Middle and limits of a ratio, less 1."""


@dataclass(frozen=True)
class Sides:
    """Both sides of a comparison. `called`: what sentences call them, where that is something else."""

    a: str
    b: str
    called: tuple[str, str] | None = None

    @property
    def names(self) -> tuple[str, str]:
        """The names of A and B in sentences."""
        return self.called or (self.a, self.b)


@dataclass(frozen=True)
class ComparisonLine:
    """One compared quantity. `ratio` says B over A in the quantity's own terms (CPU: more is worse)."""

    cell: str
    quantity: str
    unit: str
    a: float | None
    b: float | None
    difference: Difference
    more_is_better: bool
    ratios: tuple[float, ...] = ()
    """B over A for each start of both servers (or each block, or try), in the quantity's own terms."""
    margin: float = PRACTICAL
    """Within ± this share both are equivalent."""
    each_s: float | None = None
    """What one more of `ratios` takes, in seconds; None where they are blocks of runs or tries, which are counted."""
    each: str = "block"
    """What gives one of `ratios`."""
    least: int = 2
    """Fewer ratios than these decide nothing."""
    tested: int = 1
    """The comparisons that are held to their number together, of which this is one."""
    failed: bool = False
    """True if others failed: then it is called nothing, for those that are left are the best."""

    @property
    def change(self) -> Change | None:
        """Middle and limits of B over A − 1: 0.05 is 5 % more."""
        ratio = self.difference.ratio
        return None if ratio is None else _change(ratio, self.more_is_better)

    @property
    def need(self) -> RoundsNeed | None:
        """The measurement that is still needed where the word is inconclusive; None elsewhere, and where no spread is known."""
        if self.difference.word is not DifferenceWord.INCONCLUSIVE or self.failed:
            return None
        return precision.need(self.ratios, self.margin, self.least, self.each_s, self.tested)

    @property
    def better(self) -> tuple[float, ...]:
        """The ratios turned so that more is better, as in `difference`."""
        return self.ratios if self.more_is_better else tuple(1 / ratio for ratio in self.ratios)

    @property
    def worse_at_least(self) -> float | None:
        """The share by which B is worse at the near end of the interval: 0.05 is 5 %. None unless called slower or costlier."""
        if self.difference.word is not DifferenceWord.SLOWER or self.change is None:
            return None
        return min(abs(self.change[1]), abs(self.change[2]))


def _change(better: Interval, more_is_better: bool) -> Change:
    """A ratio where more is better, in the quantity's own terms."""
    if more_is_better:
        return better.middle - 1, better.low - 1, better.high - 1
    return 1 / better.middle - 1, 1 / better.high - 1, 1 / better.low - 1


def lines(cell: str, rounds: Sequence[Round], decision: Decision, margin: float) -> tuple[ComparisonLine, ...]:
    """Goodput and cost of two arms, and instructions where they were counted; levels are geometric means over sound pairs.

    `margin`: within it the arms are equivalent.
    """
    sound = [pair for one in rounds for pair in one.pairs if pair.void is None]
    each_s = math.fsum(one.took_s for one in rounds) / decision.rounds if decision.rounds else None
    rate = ComparisonLine(
        cell=cell,
        quantity="goodput",
        unit="per second",
        a=geometric_mean_of([pair.a.rate_per_s for pair in sound]),
        b=geometric_mean_of([pair.b.rate_per_s for pair in sound]),
        difference=decision.rate,
        more_is_better=True,
        ratios=decision.rates,
    )
    cost = ComparisonLine(
        cell=cell,
        quantity="server CPU",
        unit="µs per answer",
        a=geometric_mean_of([pair.a.cpu_us_per_answer for pair in sound]),
        b=geometric_mean_of([pair.b.cpu_us_per_answer for pair in sound]),
        difference=decision.cost,
        more_is_better=False,
        ratios=tuple(1 / ratio for ratio in decision.costs),
    )
    every = [rate, cost]
    if decision.effort is not None:
        a, b = (
            geometric_mean_of([pair.a.instructions_per_answer for pair in sound]),
            geometric_mean_of([pair.b.instructions_per_answer for pair in sound]),
        )
        turned = tuple(1 / ratio for ratio in decision.efforts)
        every.append(ComparisonLine(cell, "server instructions", "per answer", a, b, decision.effort, False, turned))
    return tuple(replace(line, margin=margin, each_s=each_s, each="start", least=JUDGED_ROUNDS) for line in every)


def number_note(tested: int) -> tuple[str, ...]:
    """Say that verdicts are held to the number of comparisons; empty for one."""
    said = f"each difference that is called is held to all {tested} comparisons together, and each interval is of its own alone"
    return (said,) if tested > 1 else ()


def geometric_mean_of(values: Sequence[float | None]) -> float | None:
    """The geometric mean of the values that are known and above 0; None without any."""
    known = [value for value in values if value]
    return geometric_mean(known) if known else None


def sentence(line: ComparisonLine, a: str, b: str) -> str:
    """Say how B compares with A in one quantity."""
    change, found = line.change, line.difference
    if change is None and line.a and line.b:
        once = "from one measurement each, so without an interval"
        return f"{line.cell}: {b} has {brief(line.b / line.a)} times the {line.quantity} of {a}, {once}"
    if change is None:
        return f"{line.cell}: too little was measured to compare {line.quantity}"
    amount = _times(line, change, a) or f"{signed_percent(change[0])} {line.quantity} {_limits(change)}"
    match found.word:
        case DifferenceWord.EQUIVALENT:
            return f"{line.cell}: {b} and {a} are equivalent within ± {_margin(line.margin)}: {amount}"
        case DifferenceWord.INCONCLUSIVE:
            needs = "" if line.need is None else f"; {_needs(line.need, line.each)}"
            return f"{line.cell}: inconclusive between {b} and {a}: {amount}{needs}"
        case _:
            return f"{line.cell}: {b} is {words.word(found.word, line.more_is_better)} than {a}: {amount}"


def _times(line: ComparisonLine, change: Change, a: str) -> str | None:
    """A large change as a multiple, such as `1.9 times the goodput of A (1.7 to 2.1, 95 % CI)`; None where it is small."""
    middle, low, high = (1 + one for one in change)
    if 1 / LARGE < middle < LARGE:
        return None
    return f"{brief(middle)} times the {line.quantity} of {a} ({brief(low)} to {brief(high)}, 95 % CI)"


def _needs(need: RoundsNeed, each: str) -> str:
    """`about 6 more minutes would settle whether it is 1 %; what was measured settles 4.2 %`."""
    if need.more is None:
        amount = f"no realistic number of {words.plural(0, each).removeprefix('0 ')}"
    elif need.more_s is None:
        amount = f"about {words.plural(need.more, f'more {each}')}"
    else:
        amount = f"about {_roughly(need.more_s)}"
    so_far = "" if need.settled is None or need.settled >= 1 else f"; what was measured settles {words.percent(need.settled)}"
    return f"{amount} would settle whether it is {_margin(need.margin)}{so_far}"


def _roughly(seconds: float) -> str:
    """100 → `2 more minutes`: to the next whole second, minute, hour or day, of which there are not many."""
    unit, size_s = next(((unit, size_s) for unit, size_s, most in UNITS if seconds <= most * size_s), ("day", 86400))
    return words.plural(math.ceil(seconds / size_s), f"more {unit}")


def _margin(share: float) -> str:
    return f"{brief(share * 100)} %"


def markdown(title: str, a: str, b: str, lines: Sequence[ComparisonLine], notes: Sequence[str]) -> str:
    """A summary for a pull request."""
    head = [f"## {words.prose(title)}", "", f"A is {words.code(a)}, B is {words.code(b)}.", ""]
    table = ["| cell | quantity | A | B | B against A | 95 % CI | verdict |", "|--|--|--:|--:|--:|--|--|"]
    table += ["| " + " | ".join(map(words.cell, _cells(line))) + " |" for line in lines]
    return "\n".join([*head, *table, "", *(f"- {words.prose(note)}" for note in notes), ""])


def html(
    title: str,
    sides: Sides,
    lines: Sequence[ComparisonLine],
    notes: Sequence[str],
    foot: str,
    home: str | None = None,
    facts: Sequence[str] = (),
    shared: str = seats.share(()),
) -> str:
    """The comparison as a page: sentences, intervals against the margin, a table.

    `facts` are one line about the machine, and `shared` says who is on it.
    """
    bound = forest.reach((line.better, line.difference) for line in lines)
    effects = [EffectRow(line.cell, line.quantity, line.better, line.difference, line.margin, _shown(line)) for line in lines]
    return frame.frame_page(
        "comparison.html",
        f"comparison · {title}",
        [sentence(line, *sides.names) for line in lines] or [*notes[:1], title][:1],
        facts=facts,
        pictures=[(width, draw_effects(effects, width)) for width in WIDTHS_PX] if lines else [],
        a=sides.a,
        b=sides.b,
        lines=lines,
        notes=notes,
        foot=foot,
        bound=bound,
        verdict=verdict,
        signed=signed_percent,
        forest=forest.forest,
        axis=forest.axis,
        home=home,
        seats=shared,
    )


def _shown(line: ComparisonLine) -> str:
    """The text at the end of a line of the picture: the change, its limits, and the word."""
    change = line.change
    if change is None:
        return verdict(line)
    return f"{signed_percent(change[0])} ({signed_percent(change[1])} to {signed_percent(change[2])})  {verdict(line)}"


def _cells(line: ComparisonLine) -> tuple[str, ...]:
    change = line.change
    return (
        line.cell,
        f"{line.quantity} ({line.unit})",
        words.number(line.a),
        words.number(line.b),
        words.NO_NUMBER if change is None else signed_percent(change[0]),
        words.NO_NUMBER if change is None else f"{signed_percent(change[1])} … {signed_percent(change[2])}",
        verdict(line),
    )


def verdict(line: ComparisonLine) -> str:
    """The word for a table: cost is called cheaper or costlier."""
    return words.word(line.difference.word, line.more_is_better)


def rows(lines: Sequence[ComparisonLine]) -> list[Mapping[str, object]]:
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
            "verdict": words.word(line.difference.word, line.more_is_better),
            "margin": line.margin,
            "needs": None if line.need is None else asdict(line.need),
        }
        for line in lines
    ]


def _limits(change: Change) -> str:
    return f"({signed_percent(change[1])} to {signed_percent(change[2])}, 95 % CI)"


def signed_percent(share: float, decimals: int = 1) -> str:
    """0.0312 → `+3.1 %`."""
    return f"{share:+.{decimals}%}".replace("%", " %").replace("-", "−")
