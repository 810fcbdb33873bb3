"""Published statements, tested against trials, and against the numbers that were published with them. Pure.

A statement holds, does not hold, is a tie, is inconclusive, or cannot be tested here. One that holds and has a number says
whether its size was found, too. What the published numbers themselves decide needs no trial: "its own table refutes it".

A ratio of two cells that took turns is that of the turns, as everywhere in the lab. Any other is formed inside each block, from
whole windows. Its interval rests on the spread of the trials about their cells and blocks, pooled over all cells of the same
metric, workload, generator and window; so two blocks of many cells say more than two numbers would.

A stack with a `*` means every other stack that fits it and was measured: such a statement is held against each of them, and the
one that speaks most against it decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from statistics import fmean

from fairground.claims import turns
from fairground.claims.cells import Untestable, cell_of
from fairground.claims.numbers import share_or_count, values, why_none
from fairground.claims.statement import COUNT_METRICS, NO_REASON, SHARE_METRICS, Product, Statement, Term, parse, with_stacks
from fairground.claims.tables import published_value
from fairground.claims.turns import Fields
from fairground.model import Cell, Claim, Suite, Trial, Verdict
from fairground.stats import comparisons
from fairground.stats.differences import Spread, known_spread_interval, residual_spread
from fairground.stats.intervals import Interval, geometric_mean, significant

SAME = 0.15
"""`~` holds when the interval lies within this share of equality."""

ASSUMED_SPREAD = Spread(0.10, 30)
"""Of one trial, where no cell was measured twice: what trials of a few seconds on a small shared machine show."""

MOST_BLOCKS = 200

TIED = 0.05
"""`<` and `>` are a tie when the whole interval lies within this share of equality: no further block will change that."""

BAND = 0.25
"""A published size is found when ours is within this share of it. One for all suites."""

LONG_S = 30.0
"""Seconds of load after which a count of 0 says that there are none: what is rare is missed in less."""

ALIKE = 2.0
"""And where a ratio is held against 1, when its logarithm is neither more nor less than so many times the published one."""


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    TIE = "a tie"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "cannot be tested here"
    REFUTED_ON_PAPER = "its own table refutes it"
    SUPPORTED_ON_PAPER = "its own table supports it"


@dataclass(frozen=True)
class ClaimJudgement:
    """A claim's verdict: `measured` is its left side over its right side (ratios), or its left side (shares and counts)."""

    claim: Claim
    verdict: ClaimVerdict
    sentence: str
    measured: Interval | None = None
    trials: tuple[int, ...] = ()
    """Slots of the plan that it rests on."""
    size: bool | None = None
    """Whether the published size was found within `BAND`; None where the claim has none, or does not hold."""
    paper: bool | None = None
    """Whether the published numbers themselves support it; None where they do not tell."""

    @property
    def words(self) -> str:
        """The verdict, with whether the size was found: `holds, size and direction`, `holds, direction only`."""
        if self.size is None:
            return str(self.verdict)
        return f"{self.verdict}, {'size and direction' if self.size else 'direction only'}"


@dataclass(frozen=True)
class ClaimEvidence:
    """The evidence that claims are held against: trials that are not void, and what was measured of their fields."""

    trials: Sequence[Trial]
    fields: Fields

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> ClaimEvidence:
        return cls(trials, comparisons.measure_fields(trials))


def judge(suite: Suite, trials: Sequence[Trial]) -> tuple[ClaimJudgement, ...]:
    """The verdict of each of the suite's claims, in order.

    Void trials say nothing; rejected ones have no speed, but shares and a diagnosis.
    """
    seen = ClaimEvidence.of([trial for trial in trials if trial.verdict is not Verdict.VOID])
    return tuple(_on_paper(_beside_nearest(_judge(claim, suite, seen), suite, seen), suite) for claim in suite.claims)


def _judge(claim: Claim, suite: Suite, seen: ClaimEvidence) -> ClaimJudgement:
    if claim.test is None:
        return ClaimJudgement(claim, ClaimVerdict.UNTESTED, claim.cannot or "no test is known")
    statement = parse(claim.test)
    if not statement.pattern:
        return _tested(claim, statement, suite, seen)
    rivals = _rivals(statement, seen.trials)
    found = {name: _tested(claim, with_stacks(statement, {statement.pattern: name}), suite, seen) for name in rivals}
    found = {name: one for name, one in found.items() if one.verdict is not ClaimVerdict.UNTESTED}
    if not found:
        return ClaimJudgement(claim, ClaimVerdict.UNTESTED, f"no stack that fits `{statement.pattern}` was measured beside it")
    hardest = min(found, key=lambda name: _hardness(statement.op, found[name]))
    return replace(found[hardest], sentence=f"against {hardest}, the hardest of {len(found)}: {found[hardest].sentence}")


def _tested(claim: Claim, statement: Statement, suite: Suite, seen: ClaimEvidence) -> ClaimJudgement:
    trials = seen.trials
    try:
        cells = {term: cell_of(term, suite, trials) for term in statement.terms}
        kinds = {"ratio": _ratio, "number": _number, "word": _word}
        verdict, sentence, measured = kinds[statement.kind](statement, cells, seen)
    except Untestable as reason:
        return ClaimJudgement(claim, ClaimVerdict.UNTESTED, str(reason))
    rests_on = tuple(sorted({trial.number for trial in trials if trial.cell in cells.values()}))
    ours = _number_of(statement, cells, trials, measured)
    size = _is_of_size(claim, statement, ours) if verdict is ClaimVerdict.HOLDS else None
    return ClaimJudgement(claim, verdict, sentence, measured, rests_on, size)


def _rivals(statement: Statement, trials: Sequence[Trial]) -> list[str]:
    """The stacks that a statement's pattern means: all that fit it and were measured, but for those that it names itself."""
    named = {term.words[0] for term in statement.terms}
    return sorted({one.cell.stack for one in trials if fnmatchcase(one.cell.stack, statement.pattern)} - named)


def _hardness(op: str, judged: ClaimJudgement) -> tuple[int, float]:
    """A sort key: the smaller it is, the more the judgement speaks against the statement.

    It goes by the verdict, then by how near that came to the other side.
    """
    order = (ClaimVerdict.FAILS, ClaimVerdict.INCONCLUSIVE, ClaimVerdict.TIE, ClaimVerdict.HOLDS)
    middle = 0.0 if judged.measured is None else judged.measured.middle
    return order.index(judged.verdict), middle if op in (">", ">=") else -middle


def _number_of(
    statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial], measured: Interval | None
) -> float | None:
    """The number that stands beside a published one: the middle of a ratio, or the mean of a share.

    Counts have none, since they depend on how long was counted.
    """
    if measured is not None:
        return measured.middle * (statement.right.factor if statement.right.terms else 1.0)
    (term,) = statement.terms
    if statement.kind != "number" or term.metric not in SHARE_METRICS:
        return None
    return fmean(value for one in trials if one.cell == cells[term] and (value := share_or_count(term.metric, one)) is not None)


def _is_of_size(claim: Claim, statement: Statement, ours: float | None) -> bool | None:
    """True if the published number was found; None where there is none, or only "the same" was claimed.

    What is said of a ratio is its distance from 1, so that of ours has to be alike, too: 1.25 is not found by 1.01.
    """
    if claim.published is None or claim.published <= 0 or ours is None or statement.op == "~":
        return None
    near = 1 / (1 + BAND) <= ours / claim.published <= 1 + BAND
    if not statement.against_one or claim.published == 1:
        return near
    return near and 1 / ALIKE <= math.log(ours) / math.log(claim.published) <= ALIKE


def _beside_nearest(judged: ClaimJudgement, suite: Suite, seen: ClaimEvidence) -> ClaimJudgement:
    """Put the result of our nearest stack beside a claim that could not be tested.

    The claim's own stack was not run; what the nearest gives decides nothing.
    """
    text = judged.claim.test or judged.claim.paper
    if judged.verdict is not ClaimVerdict.UNTESTED or text is None:
        return judged
    statement = parse(text)
    stand_ins = {term.words[0]: suite.nearest[term.words[0]] for term in statement.terms if term.words[0] in suite.nearest}
    if not stand_ins:
        return judged
    told = _tested(judged.claim, with_stacks(statement, stand_ins), suite, seen)
    if told.verdict is ClaimVerdict.UNTESTED:
        return judged
    names = ", ".join(f"{one} in place of {name}" for name, one in stand_ins.items())
    return replace(judged, sentence=f"{judged.sentence}; with {names}: {told.sentence}", trials=told.trials)


def _on_paper(judged: ClaimJudgement, suite: Suite) -> ClaimJudgement:
    """The judgement with what the published numbers say of the claim; they give the verdict where nothing could be measured."""
    text = judged.claim.paper
    if text is None:
        return judged
    statement = parse(text)
    known = {term: value for term in statement.terms if (value := published_value(term, suite.tables)) is not None}
    if len(known) < len(statement.terms):
        lacking = next(term for term in statement.terms if term not in known)
        raise ValueError(f"{lacking} is in no table of its suite, which inputs/published.py forbids")
    numbers = {term: {0: value} for term, value in known.items()}
    left, right = _product(statement.left, numbers, 0), _product(statement.right, numbers, 0)
    supports = _holds(statement.op, left, right)
    words = f"published: {significant(left)} against {significant(right)}"
    sentence = f"{judged.sentence}; its own table {'supports' if supports else 'refutes'} it ({words})"
    if judged.claim.test is not None:
        return replace(judged, sentence=sentence, paper=supports)
    verdict = ClaimVerdict.SUPPORTED_ON_PAPER if supports else ClaimVerdict.REFUTED_ON_PAPER
    reason = f"; {judged.sentence}" if judged.claim.cannot else ""
    return replace(judged, verdict=verdict, sentence=words + reason, paper=supports)


# ---------------------------------------------------------------- the three kinds of statement


def _ratio(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence) -> tuple[ClaimVerdict, str, Interval | None]:
    in_turns, assumed = turns.ratio(statement, cells, seen.fields), False
    if in_turns is None:
        ratios = _ratios(statement, cells, seen.trials)
        spread, assumed = _spread(statement, seen.trials, cells)
    else:
        ratios, spread = [math.exp(in_turns.middle)] * in_turns.blocks, Spread(in_turns.spread, in_turns.freedom)
    interval = known_spread_interval(ratios, spread)
    verdict = _compare(statement.op, interval)
    words = f"{significant(interval.middle)} ({significant(interval.low)} to {significant(interval.high)}) times the right side"
    if not statement.right.terms:
        scale = _product(statement.right, {}, 0)
        words = " to ".join(significant(bound * scale) for bound in (interval.low, interval.high))
        words = f"{significant(interval.middle * scale)} ({words}){_unit(statement)}"
        interval = replace(interval, middle=interval.middle * scale, low=interval.low * scale, high=interval.high * scale)
    words += "" if in_turns is None else ", in turns"
    if assumed:
        words += f"; one block, a spread of {ASSUMED_SPREAD.sd:.0%} is assumed"
    elif verdict is ClaimVerdict.INCONCLUSIVE:
        words += f"; {_effort(statement.op, ratios, spread)}"
    return verdict, words, interval


def _ratios(statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial]) -> list[float]:
    """The left side over the right side in each block that has all of the cells, from whole windows. Raises Untestable."""
    found = {term: values(term, cells[term], trials) for term in statement.terms}
    blocks = set.intersection(*(set(by_block) for by_block in found.values()))
    if not blocks:
        lacking = next((term for term in statement.terms if not found[term]), None)
        raise Untestable(
            f"{lacking} has no number: {why_none(cells[lacking], trials)}" if lacking else "no block has all of its cells"
        )
    return [_product(statement.left, found, block) / _product(statement.right, found, block) for block in sorted(blocks)]


def _number(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence) -> tuple[ClaimVerdict, str, Interval | None]:
    """Shares and counts, trial by trial: they may be zero, so there are no ratios of them."""
    (term,) = statement.terms
    told = [
        (value, trial.result.window_s)
        for trial in seen.trials
        if trial.cell == cells[term] and trial.result and (value := share_or_count(term.metric, trial)) is not None
    ]
    if not told:
        raise Untestable(f"{term} is not known of any trial")
    found, loaded_s = [value for value, _ in told], math.fsum(window_s for _, window_s in told)
    low, high = statement.left.factor * min(found), statement.left.factor * max(found)
    verdict = _of_numbers(statement, found, loaded_s)
    written = [f"{value:.2%}" if term.metric in ("errors", "shed") else f"{value:,.0f}" for value in (low, high)]
    words = written[0] if written[0] == written[1] else f"{written[0]} to {written[1]}"
    words += f" in {len(found)} trial{'s' if len(found) > 1 else ''}"
    if verdict is ClaimVerdict.INCONCLUSIVE and not any(found):
        words += f", in {loaded_s:.3g} s of load; none in {LONG_S:.0f} s would decide it"
    return verdict, words, None


def _of_numbers(statement: Statement, found: Sequence[float], loaded_s: float) -> ClaimVerdict:
    """The verdict of the trials' numbers together, after so many seconds of load.

    "There are some" and "there are none" are about all trials: one that has some decides both. Without any, a count has to stay
    at 0 for LONG_S, whichever of the two was claimed; a share is of so many answers that 0 is known. Any other bound is asked of
    each trial.
    """
    bound = statement.right.factor
    if bound == 0 and statement.op in (">", "<="):
        if not any(found) and statement.terms[0].metric in COUNT_METRICS and loaded_s < LONG_S:
            return ClaimVerdict.INCONCLUSIVE
        return ClaimVerdict.HOLDS if any(found) == (statement.op == ">") else ClaimVerdict.FAILS
    agreed = [_holds(statement.op, statement.left.factor * value, bound) for value in found]
    return ClaimVerdict.HOLDS if all(agreed) else ClaimVerdict.FAILS if not any(agreed) else ClaimVerdict.INCONCLUSIVE


def _word(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence) -> tuple[ClaimVerdict, str, Interval | None]:
    (term,) = statement.terms
    found = [trial.diagnosis or NO_REASON for trial in seen.trials if trial.cell == cells[term] and trial.result is not None]
    if not found:
        raise Untestable(f"{term} is not known of any trial")
    agreed = sum(word == statement.word for word in found)
    if 2 * agreed == len(found):
        verdict = ClaimVerdict.INCONCLUSIVE
    else:
        verdict = ClaimVerdict.HOLDS if 2 * agreed > len(found) else ClaimVerdict.FAILS
    told = ", ".join(f"{word} in {count} of {len(found)}" for word, count in Counter(found).most_common())
    return verdict, f"the lab's diagnosis: {told} trial{'s' if len(found) > 1 else ''}", None


# ---------------------------------------------------------------- numbers


def _product(product: Product, known: Mapping[Term, Mapping[int, float]], block: int) -> float:
    above = math.prod(known[term][block] for term in product.above)
    below = math.prod(known[term][block] for term in product.below)
    return product.factor * above / below


def _spread(statement: Statement, trials: Sequence[Trial], cells: Mapping[Term, Cell]) -> tuple[Spread, bool]:
    """Spread of the statement's log-ratio: its terms in quadrature, each from all cells of its metric and way."""
    parts = []
    for term in statement.terms:
        way = _way(cells[term])
        alike = {trial.cell for trial in trials if _way(trial.cell) == way}
        rows = [values(term, cell, trials) for cell in sorted(alike, key=lambda cell: cell.id)]
        parts.append(residual_spread(rows))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return Spread(ASSUMED_SPREAD.sd * math.sqrt(len(parts)), ASSUMED_SPREAD.freedom), True
    return Spread(math.sqrt(math.fsum(part.sd**2 for part in known)), min(part.freedom for part in known)), False


def _way(cell: Cell) -> tuple[str, str, float]:
    """The properties that make trials spread alike.

    A thousand requests wander more than seconds do, and a short window more than a long one.
    """
    return cell.workload, cell.load.generator, cell.load.window_s


def _compare(op: str, ratio: Interval) -> ClaimVerdict:
    if op == "~":
        low, high = 1 / (1 + SAME), 1 + SAME
        if low <= ratio.low and ratio.high <= high:
            return ClaimVerdict.HOLDS
        return ClaimVerdict.FAILS if ratio.high < low or ratio.low > high else ClaimVerdict.INCONCLUSIVE
    if ratio.low >= 1 / (1 + TIED) and ratio.high <= 1 + TIED:
        return ClaimVerdict.TIE
    above = op in (">", ">=")
    if ratio.low > 1:
        return ClaimVerdict.HOLDS if above else ClaimVerdict.FAILS
    if ratio.high < 1:
        return ClaimVerdict.FAILS if above else ClaimVerdict.HOLDS
    return ClaimVerdict.INCONCLUSIVE


def _holds(op: str, value: float, bound: float) -> bool:
    comparisons = {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
        "~": math.isclose(value, bound, rel_tol=SAME, abs_tol=1e-9),
    }
    return comparisons[op]


def _effort(op: str, ratios: Sequence[float], spread: Spread) -> str:
    """Say how many blocks of this spread would decide an inconclusive comparison."""
    middle = abs(math.log(geometric_mean(ratios)))
    distance = abs(middle - math.log1p(SAME)) if op == "~" else middle
    needed = math.inf if distance == 0 else math.ceil((2 * spread.sd / distance) ** 2)
    if needed > MOST_BLOCKS:
        return "too close to call"
    return f"about {max(needed, len(ratios) + 1)} blocks would decide it"


def _unit(statement: Statement) -> str:
    (term, *others) = statement.terms
    if others:
        return ""
    return {"rps": " per second", "answers": " per second", "bytes": " B per second", "cpu": " µs"}.get(term.metric, " ms")
