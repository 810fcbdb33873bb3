"""`--fail-on`: how much worse B may be before a comparison fails, and what of a comparison broke that rule. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairground.model import LabError
from fairground.report import counts
from fairground.report.comparison import ComparisonLine, signed_percent
from fairground.report.counts import CountLine
from fairground.report.text import words
from fairground.stats.counts import CountWord

QUANTITIES = {"slower": ("goodput",), "costlier": ("server CPU",), "any": ("goodput", "server CPU")}
"""What each kind of rule looks at."""
_COUNTED = re.compile(r"more:(\d+(?:\.\d+)?)%")
_FORM = re.compile(r"(slower|costlier|any):(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class Rule:
    """B may be worse by `share` (0.05 is 5 %) in each of the quantities; `text` is the rule as it was written."""

    text: str
    quantities: tuple[str, ...]
    share: float


def parse_counted(text: str) -> Rule:
    """`more:1%` as a rule on instructions for an answer. LabError for anything else."""
    found = _COUNTED.fullmatch(text)
    if found is None:
        raise LabError(f"`--fail-on {text}` is no rule on what is counted", "for instance --count --fail-on more:1%")
    return Rule(text, (counts.INSTRUCTIONS, counts.BETWEEN), float(found[1]) / 100)


def broken_counts(lines: Sequence[CountLine], rule: Rule) -> tuple[str, ...]:
    """One sentence for each workload on which B needs more, and the whole interval lies beyond the share."""
    return tuple(
        f"{line.workload}: {signed_percent(ratio.low - 1, 2)} {line.quantity} at least"
        f" ({signed_percent(ratio.middle - 1, 2)} counted), and {rule.text} was asked for"
        for line in lines
        if (ratio := line.change.ratio) is not None
        and line.quantity in rule.quantities
        and line.change.word is CountWord.MORE
        and ratio.low - 1 > rule.share
    )


def is_counted(lines: Sequence[CountLine], rule: Rule) -> bool:
    """True if there is a counted change that the rule can be held against: one start of a side shows none."""
    return any(line.change.ratio is not None for line in lines if line.quantity in rule.quantities)


def parse(text: str, where_counted: str = "add --count") -> Rule:
    """`slower:5%` as a rule. LabError for anything else; `where_counted` is what to do about a rule on what is counted."""
    found = _FORM.fullmatch(text)
    if found is None and _COUNTED.fullmatch(text):
        raise LabError(f"`--fail-on {text}` is a rule on what is counted, and time is measured", where_counted)
    if found is None:
        raise LabError(f"`--fail-on {text}` is not a rule", "for instance --fail-on slower:5%, costlier:5% or any:5%")
    if "goodput" in QUANTITIES[found[1]] and float(found[2]) >= 100:
        raise LabError(f"`--fail-on {text}` can never fire: nothing is slower by 100 % or more", f"write less: {found[1]}:5%")
    return Rule(text, QUANTITIES[found[1]], float(found[2]) / 100)


def broken_rules(lines: Sequence[ComparisonLine], rule: Rule) -> tuple[str, ...]:
    """One sentence for each line that breaks the rule: B is called worse, and the whole interval lies beyond the share.

    So a change that may still be within the share fails nothing, however large its middle is.
    """
    return tuple(_broken(lines, rule))


def _broken(lines: Sequence[ComparisonLine], rule: Rule) -> Iterator[str]:
    for line in _judged(lines, rule):
        least, change = line.worse_at_least, line.change
        if least is not None and change is not None and least > rule.share:
            amounts = f"{words.percent(least)} at least ({signed_percent(change[0])} measured)"
            yield f"{line.cell}: {line.quantity} is worse by {amounts}, and {rule.text} was asked for"


def is_measured(lines: Sequence[ComparisonLine], rule: Rule) -> bool:
    """True if there is a number that the rule can be held against; a gate without one must not pass."""
    return any(line.change is not None for line in _judged(lines, rule))


def _judged(lines: Sequence[ComparisonLine], rule: Rule) -> list[ComparisonLine]:
    return [line for line in lines if line.quantity in rule.quantities]
