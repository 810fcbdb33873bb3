"""Published statements, tested against trials, and against the numbers that were published with them. Pure.

A statement holds, does not hold, is a tie, is inconclusive, or cannot be tested here. A verdict is clear or leaning, and says how
likely a fresh run repeats it. One that holds and has a number says whether its size was found, too. What the published numbers
themselves decide needs no trial: "its own table refutes it".

A ratio of two cells that took turns is that of the turns, as everywhere in the lab. Any other is formed inside each block, from
whole windows (`windows`).

A stack with a `*` means every other stack that fits it and was measured, and statements may be joined by `and`. Such a claim
holds where all of its parts do, and does not where one of them does not, held to their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from fairground.claims import events, turns, windows
from fairground.claims.cells import Untestable, cell_of
from fairground.claims.events import EventTrial
from fairground.claims.numbers import events_of, share_or_count
from fairground.claims.statement import COUNT_METRICS, NO_REASON, Statement, Term, parse, parse_all, with_stacks
from fairground.claims.sureness import LOOKS, SureVerdict, decide, is_so
from fairground.claims.tables import published_value, published_window_s
from fairground.claims.turns import Fields
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, SizeAnswer, VerdictGrade
from fairground.claims.windows import WindowRatio, WindowSpreads
from fairground.model import Cell, Claim, Suite, Trial, Verdict
from fairground.model.plural import plural
from fairground.stats import comparisons
from fairground.stats.intervals import Interval, significant

BAND = 0.25
"""A published size is found when ours is within this share of it. One for all suites."""

ALIKE = 2.0
"""A ratio against 1 has the published size where its logarithm is within this factor of the published one's, too."""

COUNTED = 2.0
"""A published count is found when ours is within this factor of it: few events are counted with a wide error."""


@dataclass(frozen=True)
class ClaimEvidence:
    """The evidence that claims are held against: trials that are not void, and what was measured of their fields.

    `miss`: how often an interval may miss the truth.
    """

    trials: Sequence[Trial]
    fields: Fields
    spreads: WindowSpreads
    miss: float = LOOKS[1]

    @classmethod
    def of(cls, trials: Sequence[Trial], looks: int = 1) -> ClaimEvidence:
        return cls(trials, comparisons.measure_fields(trials), WindowSpreads(trials), LOOKS[looks])


def judge(suite: Suite, trials: Sequence[Trial], looks: int = 1) -> tuple[ClaimJudgement, ...]:
    """The verdict of each of the suite's claims, in order.

    Void trials say nothing; rejected ones have no speed, but shares and a diagnosis. `looks`: how often a run that goes on until
    it is decided may be judged.
    """
    seen = ClaimEvidence.of([trial for trial in trials if trial.verdict is not Verdict.VOID], looks)
    return tuple(_on_paper(_beside_nearest(_excused(_judge(claim, suite, seen)), suite, seen), suite) for claim in suite.claims)


def _excused(judged: ClaimJudgement) -> ClaimJudgement:
    """A claim that nothing measured here can refute is not refuted by it; what was measured is said."""
    if judged.verdict is not ClaimVerdict.FAILS or judged.claim.not_refuted_by is None:
        return judged
    told = f"{judged.claim.not_refuted_by}; measured here, which refutes nothing: {judged.sentence}"
    return ClaimJudgement(judged.claim, ClaimVerdict.UNTESTED, told, judged.measured, judged.trials)


def _judge(claim: Claim, suite: Suite, seen: ClaimEvidence) -> ClaimJudgement:
    if claim.test is None:
        return ClaimJudgement(claim, ClaimVerdict.UNTESTED, claim.cannot or "no test is known")
    found = list[tuple[str, Statement, ClaimJudgement]]()
    for statement in parse_all(claim.test):
        parts = _against_each(statement, seen.trials)
        if not parts:
            told = f"no stack that fits `{statement.pattern}` was measured beside it"
            return ClaimJudgement(claim, ClaimVerdict.UNTESTED, told)
        judged = [(name, one, _tested(claim, one, suite, seen)) for name, one in parts]
        tested = [one for one in judged if one[2].verdict is not ClaimVerdict.UNTESTED]
        if not tested:
            return judged[0][2]
        found += tested
    if len(found) > 1:  # a claim is held to the number of its parts that could be tested
        found = [(name, one, _tested(claim, one, suite, seen, len(found))) for name, one, _ in found]
    return _together(found)


def _against_each(statement: Statement, trials: Sequence[Trial]) -> list[tuple[str, Statement]]:
    """The statement for each stack that its pattern means, by that stack's name; alone where it has no pattern."""
    if not statement.pattern:
        return [("", statement)]
    return [(name, with_stacks(statement, {statement.pattern: name})) for name in _rivals(statement, trials)]


def _together(found: Sequence[tuple[str, Statement, ClaimJudgement]]) -> ClaimJudgement:
    """The judgement of all parts: the one that speaks most against the claim decides, and a verdict of all needs all."""
    if len(found) == 1 and not found[0][0]:
        return found[0][2]
    name, hard, decides = min(found, key=lambda one: _hardness(one[1], one[2]))
    if decides.verdict in (ClaimVerdict.HOLDS, ClaimVerdict.TIE):
        alike = [one for _, _, one in found if one.verdict is decides.verdict]
        known = [one.again for one in alike if one.again is not None]
        clear = all(one.grade is VerdictGrade.CLEAR for one in alike)
        decides = replace(
            decides,
            grade=VerdictGrade.CLEAR if clear else VerdictGrade.LEANING,
            again=math.prod(known) if len(known) == len(alike) else None,
        )
    if decides.verdict is ClaimVerdict.INCONCLUSIVE:
        asked = [one.needs for _, _, one in found if one.verdict is ClaimVerdict.INCONCLUSIVE]
        decides = replace(decides, needs=None if None in asked else max(one for one in asked if one is not None))
    where = f"against {name}" if name else f"by {hard.left}"
    slots = tuple(sorted({slot for _, _, one in found for slot in one.trials}))
    return replace(decides, sentence=f"{where}, the hardest of {len(found)}: {decides.sentence}", trials=slots)


def _tested(claim: Claim, statement: Statement, suite: Suite, seen: ClaimEvidence, rivals: int = 1) -> ClaimJudgement:
    trials = seen.trials
    try:
        cells = {term: cell_of(term, suite, trials) for term in statement.terms}
        kinds = {"ratio": _ratio, "number": _number, "word": _word}
        told = kinds[statement.kind](statement, cells, seen, rivals)
    except Untestable as reason:
        return ClaimJudgement(claim, ClaimVerdict.UNTESTED, str(reason))
    rests_on = tuple(sorted({trial.number for trial in trials if trial.cell in cells.values()}))
    size = _size_of(claim, statement, cells, suite, seen, told) if told.sure.verdict is ClaimVerdict.HOLDS else None
    sure = told.sure
    return ClaimJudgement(
        claim, sure.verdict, told.sentence, told.measured, rests_on, size, None, sure.grade, sure.again, sure.needs
    )


@dataclass(frozen=True)
class StatementAnswer:
    """The answer of trials to one statement: the verdict, the words, and the ratio where there is one."""

    sure: SureVerdict
    sentence: str
    measured: Interval | None = None


def _rivals(statement: Statement, trials: Sequence[Trial]) -> list[str]:
    """The stacks that a statement's pattern means: all that fit it and were measured, but for those that it names itself."""
    named = {term.words[0] for term in statement.terms}
    return sorted({one.cell.stack for one in trials if fnmatchcase(one.cell.stack, statement.pattern)} - named)


def _hardness(statement: Statement, judged: ClaimJudgement) -> tuple[int, float]:
    """A sort key: the smaller it is, the more the judgement speaks against the statement.

    It goes by the verdict, then by how far the left side is beyond the right one, as a factor.
    """
    order = (ClaimVerdict.FAILS, ClaimVerdict.INCONCLUSIVE, ClaimVerdict.TIE, ClaimVerdict.HOLDS)
    bound = 1.0 if statement.right.terms else statement.right.factor
    beyond = 0.0 if judged.measured is None else math.log(judged.measured.middle / bound)
    return order.index(judged.verdict), {"<": -beyond, "<=": -beyond, "~": -abs(beyond)}.get(statement.op, beyond)


def _size_of(
    claim: Claim, statement: Statement, cells: Mapping[Term, Cell], suite: Suite, seen: ClaimEvidence, told: StatementAnswer
) -> SizeAnswer | None:
    """Tell whether the published number was found, by the whole interval.

    None where there is none, or only "the same" was claimed.
    """
    if claim.published is None or claim.published <= 0 or statement.op == "~":
        return None
    ours, low, high = told.measured, claim.published / (1 + BAND), claim.published * (1 + BAND)
    if ours is not None:
        scale = statement.right.factor if statement.right.terms else 1.0
        if statement.against_one and claim.published != 1:
            near, far = sorted((claim.published ** (1 / ALIKE), claim.published**ALIKE))
            low, high = max(low, near), min(high, far)
        return _where(ours.low * scale, ours.high * scale, low, high)
    (term,) = statement.terms
    if statement.kind != "number":
        return None
    some = _happened(term, cells[term], seen.trials)
    if term.metric not in COUNT_METRICS:
        return _where(min(one.value for one in some), max(one.value for one in some), low, high)
    window_s = published_window_s(term, claim.published, suite.tables)
    if window_s is None:
        return None
    counts = events.rate(some, window_s, seen.miss)
    return _where(counts.low, counts.high, claim.published / COUNTED, claim.published * COUNTED)


def _where(low: float, high: float, least: float, most: float) -> SizeAnswer:
    """Tell where an interval lies to a band: inside, outside, or on its edge."""
    if least <= low and high <= most:
        return SizeAnswer.FOUND
    return SizeAnswer.MISSED if high < least or low > most else SizeAnswer.OPEN


def _beside_nearest(judged: ClaimJudgement, suite: Suite, seen: ClaimEvidence) -> ClaimJudgement:
    """Put the result of our nearest stack beside a claim that could not be tested.

    The claim's own stack was not run; what the nearest gives decides nothing.
    """
    text = judged.claim.test or judged.claim.paper
    if judged.verdict is not ClaimVerdict.UNTESTED or text is None:
        return judged
    statement = parse_all(text)[0]
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
    left, right = windows.product(statement.left, numbers, 0), windows.product(statement.right, numbers, 0)
    supports = is_so(statement.op, left, right)
    words = f"published: {significant(left)} against {significant(right)}"
    sentence = f"{judged.sentence}; its own table {'supports' if supports else 'refutes'} it ({words})"
    if judged.claim.test is not None:
        return replace(judged, sentence=sentence, paper=supports)
    verdict = ClaimVerdict.SUPPORTED_ON_PAPER if supports else ClaimVerdict.REFUTED_ON_PAPER
    reason = f"; {judged.sentence}" if judged.claim.cannot else ""
    return replace(judged, verdict=verdict, sentence=words + reason, paper=supports)


# ---------------------------------------------------------------- the three kinds of statement


def _ratio(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence, rivals: int) -> StatementAnswer:
    in_turns = turns.ratio(statement, cells, seen.fields)
    whole = windows.ratio(statement, cells, seen.spreads) if in_turns is None else WindowRatio(in_turns)
    found = whole.estimate
    sure = decide(statement.op, found, rivals, seen.miss)
    interval = found.interval(1 - seen.miss).exp()
    words = f"{significant(interval.middle)} ({significant(interval.low)} to {significant(interval.high)}) times the right side"
    if not statement.right.terms:
        scale = windows.product(statement.right, {}, 0)
        words = " to ".join(significant(bound * scale) for bound in (interval.low, interval.high))
        words = f"{significant(interval.middle * scale)} ({words}){_unit(statement)}"
        interval = replace(interval, middle=interval.middle * scale, low=interval.low * scale, high=interval.high * scale)
    words += "" if in_turns is None else ", in turns"
    if whole.assumed:
        words += f"; one block, a spread of {windows.ASSUMED_SD:.0%} is assumed"
    elif sure.verdict is ClaimVerdict.INCONCLUSIVE:
        words += "; too close to call" if sure.needs is None else f"; about {plural(sure.needs, 'block')} would decide it"
    return StatementAnswer(sure, words, interval)


def _number(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence, rivals: int) -> StatementAnswer:
    """Shares and counts: they may be zero, so there are no ratios of them."""
    (term,) = statement.terms
    found = _happened(term, cells[term], seen.trials)
    if not found:
        raise Untestable(f"{term} is not known of any trial")
    sure = events.decide_events(statement, found, rivals, seen.miss)
    return StatementAnswer(sure, events.events_sentence(statement, found, sure.verdict, rivals, seen.miss))


def _happened(term: Term, cell: Cell, trials: Sequence[Trial]) -> list[EventTrial]:
    """The events of a share or a count in each of a cell's trials."""
    return [
        EventTrial(value, events_of(term.metric, trial), trial.result.window.total, trial.result.window_s)
        for trial in trials
        if trial.cell == cell and trial.result and (value := share_or_count(term.metric, trial)) is not None
    ]


def _word(statement: Statement, cells: Mapping[Term, Cell], seen: ClaimEvidence, rivals: int) -> StatementAnswer:
    (term,) = statement.terms
    found = [trial.diagnosis or NO_REASON for trial in seen.trials if trial.cell == cells[term] and trial.result is not None]
    if not found:
        raise Untestable(f"{term} is not known of any trial")
    word = statement.word or NO_REASON
    sure = events.decide_word(word, found, rivals, seen.miss)
    return StatementAnswer(sure, events.diagnosis_sentence(word, found, rivals, seen.miss))


def _unit(statement: Statement) -> str:
    (term, *others) = statement.terms
    if others:
        return ""
    return {"rps": " per second", "answers": " per second", "bytes": " B per second", "cpu": " µs"}.get(term.metric, " ms")
