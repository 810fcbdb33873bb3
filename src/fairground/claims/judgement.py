"""Published statements, tested against trials, and against the numbers that were published with them. Pure.

A statement holds, does not hold, is a tie, is inconclusive, or cannot be tested here. One that holds and has a number says
whether its size was found, too. What the published numbers themselves decide needs no trial: "its own table refutes it".

A ratio is formed inside each block, and its interval rests on the spread of the trials about their cells and blocks, pooled over
all cells of the same metric, workload and generator; so two blocks of many cells say more than two numbers would.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fairground.claims.statement import RATIO_METRICS, Product, Statement, Term, parse
from fairground.model import Cell, Claim, PublishedTable, Trial, Verdict
from fairground.stats.differences import Spread, known_spread_interval, rank_correlation, residual_spread
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


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    TIE = "a tie"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "cannot be tested here"
    REFUTED_ON_PAPER = "its own table refutes it"
    SUPPORTED_ON_PAPER = "its own table supports it"


@dataclass(frozen=True)
class Judgement:
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
class TableRow:
    """One stack of a published table, published and measured; None where no trial of it has a number."""

    stack: str
    published: float
    measured: float | None


@dataclass(frozen=True)
class TableReading:
    """A published table beside ours; `correlation` is Kendall's tau-b of the rows that have both numbers."""

    table: PublishedTable
    rows: tuple[TableRow, ...]
    correlation: float | None


def judge(claims: Iterable[Claim], trials: Sequence[Trial], tables: Sequence[PublishedTable] = ()) -> tuple[Judgement, ...]:
    """Every claim's verdict, in order. Void trials say nothing; rejected ones have no speed, but shares and a diagnosis.

    `tables` are the published numbers that claims with `paper` are held against.
    """
    counted = [trial for trial in trials if trial.verdict is not Verdict.VOID]
    return tuple(_on_paper(_judge(claim, counted), tables) for claim in claims)


def published(term: Term, tables: Iterable[PublishedTable]) -> float | None:
    """The published number that a term means: its metric, and exactly its stack, workload and marks. None: there is none."""
    stack, *marks_ = term.words
    fitting = [one for one in tables if one.metric == term.metric and set(one.marks.split()) == set(marks_)]
    return next((one.values[stack] for one in fitting if stack in one.values), None)


def read_tables(tables: Iterable[PublishedTable], trials: Sequence[Trial]) -> tuple[TableReading, ...]:
    """Published tables with our geometric means beside their numbers."""
    counted = [trial for trial in trials if trial.verdict is not Verdict.VOID]
    return tuple(_read_table(table, counted) for table in tables)


def marks(cell: Cell) -> frozenset[str]:
    """The words by which a claim may tell this cell from others of the same stack and workload."""
    settings, load = cell.settings, cell.load
    return frozenset(
        {
            f"c{load.connections}",
            "keep-alive" if load.keep_alive else "close",
            load.generator,
            f"think={load.think_ms:g}",
            f"fault={load.fault or 'none'}",
            f"wire={cell.topology.wire or 'none'}",
            *(name for name in (cell.topology.proxy, cell.topology.pooler) if name),
            *([] if cell.topology.proxy or cell.topology.pooler else ["direct"]),
            f"wait={'none' if settings.pool_wait_ms is None else settings.pool_wait_ms}",
            f"pool={settings.pool_size}",
            f"scope={getattr(settings, 'pool_scope', 'total')}",
            f"workers={settings.workers}",
            f"prepared={'on' if settings.prepared else 'off'}",
            str(settings.durability),
        }
    )


PLAIN = frozenset(
    {"keep-alive", "engine", "direct", "wait=none", "prepared=on", "relaxed", "scope=total", "think=0", "fault=none", "wire=none"}
)
"""What a cell is unless a claim says otherwise."""


class _Untestable(Exception):
    """Why a statement cannot be tested on these trials."""


def _judge(claim: Claim, trials: Sequence[Trial]) -> Judgement:
    if claim.test is None:
        return Judgement(claim, ClaimVerdict.UNTESTED, claim.cannot or "no test is known")
    statement = parse(claim.test)
    try:
        cells = {term: _cell(term, trials) for term in statement.terms}
        kinds = {"ratio": _ratio, "number": _number, "word": _word}
        verdict, sentence, measured = kinds[statement.kind](statement, cells, trials)
    except _Untestable as reason:
        return Judgement(claim, ClaimVerdict.UNTESTED, str(reason))
    rests_on = tuple(sorted({trial.number for trial in trials if trial.cell in cells.values()}))
    size = _is_of_size(claim, statement, measured) if verdict is ClaimVerdict.HOLDS else None
    return Judgement(claim, verdict, sentence, measured, rests_on, size)


def _is_of_size(claim: Claim, statement: Statement, measured: Interval | None) -> bool | None:
    """Whether the published number was found; None where there is none, or only "the same" was claimed."""
    if claim.published is None or claim.published <= 0 or measured is None or statement.op == "~":
        return None
    ours = measured.middle * (statement.right.factor if statement.right.terms else 1.0)
    return 1 / (1 + BAND) <= ours / claim.published <= 1 + BAND


def _on_paper(judged: Judgement, tables: Sequence[PublishedTable]) -> Judgement:
    """The judgement with what the published numbers say of the claim; they give the verdict where nothing could be measured."""
    text = judged.claim.paper
    if text is None:
        return judged
    statement = parse(text)
    known = {term: value for term in statement.terms if (value := published(term, tables)) is not None}
    if len(known) < len(statement.terms):
        lacking = next(term for term in statement.terms if term not in known)
        raise ValueError(f"{lacking} is in no table of its suite, which inputs/published.py forbids")
    values = {term: {0: value} for term, value in known.items()}
    left, right = _product(statement.left, values, 0), _product(statement.right, values, 0)
    supports = _holds(statement.op, left, right)
    words = f"published: {significant(left)} against {significant(right)}"
    sentence = f"{judged.sentence}; its own table {'supports' if supports else 'refutes'} it ({words})"
    if judged.claim.test is not None:
        return replace(judged, sentence=sentence, paper=supports)
    verdict = ClaimVerdict.SUPPORTED_ON_PAPER if supports else ClaimVerdict.REFUTED_ON_PAPER
    reason = f"; {judged.claim.cannot}" if judged.claim.cannot else ""
    return replace(judged, verdict=verdict, sentence=words + reason, paper=supports)


def _cell(term: Term, trials: Sequence[Trial]) -> Cell:
    """The one cell that a term's words mean: of several, the one with the fewest marks that are not plain."""
    stack, workload, *wanted = term.words
    fitting = {
        trial.cell: len(marks(trial.cell) - PLAIN - set(wanted))
        for trial in trials
        if (trial.cell.stack, trial.cell.workload) == (stack, workload) and set(wanted) <= marks(trial.cell)
    }
    if not fitting:
        raise _Untestable(f"{' '.join(term.words)} was not measured")
    least = min(fitting.values())
    nearest = [cell for cell, count in fitting.items() if count == least]
    if len(nearest) > 1:
        raise _Untestable(f"{' '.join(term.words)} means {len(nearest)} cells of this run")
    return nearest[0]


# ---------------------------------------------------------------- the three kinds of statement


def _ratio(
    statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial]
) -> tuple[ClaimVerdict, str, Interval | None]:
    values = {term: _values(term, cells[term], trials) for term in statement.terms}
    blocks = set.intersection(*(set(by_block) for by_block in values.values()))
    if not blocks:
        lacking = next((term for term in statement.terms if not values[term]), None)
        raise _Untestable(
            f"{lacking} has no number: {_why(cells[lacking], trials)}" if lacking else "no block has all of its cells"
        )
    ratios = [_product(statement.left, values, block) / _product(statement.right, values, block) for block in sorted(blocks)]
    spread, assumed = _spread(statement, trials, cells)
    interval = known_spread_interval(ratios, spread)
    verdict = _compare(statement.op, interval)
    words = f"{significant(interval.middle)} ({significant(interval.low)} to {significant(interval.high)}) times the right side"
    if not statement.right.terms:
        scale = _product(statement.right, {}, 0)
        words = " to ".join(significant(bound * scale) for bound in (interval.low, interval.high))
        words = f"{significant(interval.middle * scale)} ({words}){_unit(statement)}"
        interval = replace(interval, middle=interval.middle * scale, low=interval.low * scale, high=interval.high * scale)
    if assumed:
        words += f"; one block, a spread of {ASSUMED_SPREAD.sd:.0%} is assumed"
    elif verdict is ClaimVerdict.INCONCLUSIVE:
        words += f"; {_effort(statement.op, ratios, spread)}"
    return verdict, words, interval


def _number(
    statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial]
) -> tuple[ClaimVerdict, str, Interval | None]:
    """Shares and counts: the statement is asked of each trial by itself, since they may be zero."""
    (term,) = statement.terms
    found = [
        value for trial in trials if trial.cell == cells[term] and (value := _share_or_count(term.metric, trial)) is not None
    ]
    if not found:
        raise _Untestable(f"{term} is not known of any trial")
    low, high = statement.left.factor * min(found), statement.left.factor * max(found)
    bound = statement.right.factor
    agreed = [_holds(statement.op, statement.left.factor * value, bound) for value in found]
    verdict = ClaimVerdict.HOLDS if all(agreed) else ClaimVerdict.FAILS if not any(agreed) else ClaimVerdict.INCONCLUSIVE
    written = [f"{value:.2%}" if term.metric in ("errors", "shed") else f"{value:,.0f}" for value in (low, high)]
    words = written[0] if written[0] == written[1] else f"{written[0]} to {written[1]}"
    return verdict, f"{words} in {len(found)} trial{'s' if len(found) > 1 else ''}", None


def _word(statement: Statement, cells: Mapping[Term, Cell], trials: Sequence[Trial]) -> tuple[ClaimVerdict, str, Interval | None]:
    (term,) = statement.terms
    found = [trial.diagnosis or "none" for trial in trials if trial.cell == cells[term] and trial.result is not None]
    if not found:
        raise _Untestable(f"{term} is not known of any trial")
    agreed = sum(word == statement.word for word in found)
    if 2 * agreed == len(found):
        verdict = ClaimVerdict.INCONCLUSIVE
    else:
        verdict = ClaimVerdict.HOLDS if 2 * agreed > len(found) else ClaimVerdict.FAILS
    told = ", ".join(f"{word} in {count} of {len(found)}" for word, count in Counter(found).most_common())
    return verdict, f"the lab's diagnosis: {told} trial{'s' if len(found) > 1 else ''}", None


# ---------------------------------------------------------------- numbers


def _why(cell: Cell, trials: Iterable[Trial]) -> str:
    """Why a cell that was measured has no number. Void trials are none that count, so they are not among these."""
    rejected = all(trial.verdict is Verdict.REJECTED for trial in trials if trial.cell == cell)
    return "its trials were rejected" if rejected else "the generator did not report it"


def _values(term: Term, cell: Cell, trials: Iterable[Trial]) -> dict[int, float]:
    """Block → the metric, for blocks in which it is known and above zero."""
    found = {trial.block: _above_zero(term.metric, trial) for trial in trials if trial.cell == cell}
    return {block: value for block, value in found.items() if value is not None and value > 0}


def _above_zero(metric: str, trial: Trial) -> float | None:
    result = trial.result
    if result is None:
        return None
    if metric in ("answers", "bytes"):
        count = result.completed if metric == "answers" else result.bytes_received
        return count / result.window_s if count is not None and result.window_s else None
    if trial.verdict is Verdict.REJECTED:
        return None
    if metric in ("rps", "interval"):
        rate = trial.goodput_per_s
        return 1000 / rate if metric == "interval" and rate else rate
    if metric == "cpu":
        return trial.cpu_us_per_answer("server")
    latency_us = None if result.latency_ok is None else getattr(result.latency_ok, f"{metric}_us")
    return None if latency_us is None else latency_us / 1000


def _share_or_count(metric: str, trial: Trial) -> float | None:
    if trial.result is None:
        return None
    window = trial.result.window
    if metric == "deadlocks":
        return None if trial.database is None else trial.database.deadlocks
    if metric in ("timeouts", "connecterrors"):
        return window.timeout if metric == "timeouts" else window.connect
    part = window.not_ok if metric == "errors" else window.shed
    return None if part is None or not window.total else part / window.total


def _product(product: Product, values: Mapping[Term, Mapping[int, float]], block: int) -> float:
    above = math.prod(values[term][block] for term in product.above)
    below = math.prod(values[term][block] for term in product.below)
    return product.factor * above / below


def _spread(statement: Statement, trials: Sequence[Trial], cells: Mapping[Term, Cell]) -> tuple[Spread, bool]:
    """Spread of the statement's log-ratio: its terms in quadrature, each from all cells of its metric, workload and generator."""
    parts = []
    for term in statement.terms:
        way = _way(cells[term])
        alike = {trial.cell for trial in trials if _way(trial.cell) == way}
        rows = [_values(term, cell, trials) for cell in sorted(alike, key=lambda cell: cell.id)]
        parts.append(residual_spread(rows))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return Spread(ASSUMED_SPREAD.sd * math.sqrt(len(parts)), ASSUMED_SPREAD.freedom), True
    return Spread(math.sqrt(math.fsum(part.sd**2 for part in known)), min(part.freedom for part in known)), False


def _way(cell: Cell) -> tuple[str, str]:
    """What makes trials spread alike: a generator that sends a thousand requests wanders more than one that sends for seconds."""
    return cell.workload, cell.load.generator


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
    """How many blocks of this spread would decide an inconclusive comparison."""
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


def _read_table(table: PublishedTable, trials: Sequence[Trial]) -> TableReading:
    rows = [TableRow(stack, value, _beside(table, stack, trials)) for stack, value in table.values.items()]
    both = [(row.published, row.measured) for row in rows if row.measured is not None]
    correlation = rank_correlation([one for one, _ in both], [other for _, other in both])
    return TableReading(table, tuple(rows), correlation)


def _beside(table: PublishedTable, stack: str, trials: Sequence[Trial]) -> float | None:
    """Our number for a row: the geometric mean of its trials; of shares and counts, which may be zero, the mean."""
    if table.metric is None:
        return None
    term = Term(table.metric, (stack, *table.marks.split()))
    try:
        cell = _cell(term, trials)
    except _Untestable:
        return None
    if table.metric in RATIO_METRICS:
        found = list(_values(term, cell, trials).values())
        return geometric_mean(found) if found else None
    here = [(trial, _share_or_count(term.metric, trial)) for trial in trials if trial.cell == cell]
    values = [value * _as_long(table, trial) for trial, value in here if value is not None]
    return math.fsum(values) / len(values) if values else None


def _as_long(table: PublishedTable, trial: Trial) -> float:
    """By how much the published window is longer than the trial's: a count grows with it, a share does not."""
    if table.window_s is None or trial.result is None or not trial.result.window_s:
        return 1.0
    return table.window_s / trial.result.window_s
