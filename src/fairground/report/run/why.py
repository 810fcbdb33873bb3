"""Report what an experiment found, in sentences and as rows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairground.model.experiment import Direction, Start, WhyAsked
from fairground.model.pair import rejection
from fairground.model.plural import with_verb
from fairground.model.record import Record
from fairground.report.boards import Board
from fairground.report.text import words
from fairground.stats import effects
from fairground.stats.effects import LEAST, LEAST_STARTS, ArmEffect, Outcome

SUSPECTED = "suspected"
MANY_TIMES = 3.0
"""From this ratio on it is told as a multiple, not in per cent."""
VERBS = {Direction.MORE: ("rises", "rise"), Direction.LESS: ("falls", "fall")}


@dataclass(frozen=True)
class ReasonTest:
    """The result of the last experiment on a cell's reason, for its run's page. `record`: the id of the experiment's record."""

    reason: str
    outcome: Outcome
    sentence: str
    cell: str
    record: str
    document: Mapping[str, Any]

    @property
    def sign(self) -> str:
        """Beside the reason: ✓ confirmed, ✗ withdrawn, ? still open."""
        return {Outcome.CONFIRMED: "✓", Outcome.WITHDRAWN: "✗"}.get(self.outcome, "?")

    @property
    def word(self) -> str:
        """The outcome, where there is room for one word: `confirmed`, `withdrawn`, or still `suspected`."""
        return SUSPECTED if self.outcome is Outcome.OPEN else str(self.outcome)


TriedBy = Mapping[tuple[str, str], ReasonTest]
"""By the id of the cell and the reason."""


@dataclass(frozen=True)
class Standing:
    """A reason that most trials of some cells named, and what is known of it. Without an experiment it is a suspicion."""

    reason: str
    cells: int
    tried: tuple[ReasonTest, ...]

    @property
    def word(self) -> str:
        """`confirmed by experiment`, `withdrawn by experiment`, `suspicion (still open)` or `suspicion (not tested)`."""
        outcomes = {one.outcome for one in self.tried}
        if not outcomes:
            return "suspicion (not tested)"
        decided = [f"{one} by experiment" for one in (Outcome.CONFIRMED, Outcome.WITHDRAWN) if one in outcomes]
        return " and ".join(decided) or "suspicion (still open)"

    @property
    def document(self) -> Mapping[str, Any]:
        """The standing as `--json` prints it."""
        experiments = [{"record": one.record, **one.document} for one in self.tried]
        return {"reason": self.reason, "cells": self.cells, "standing": self.word, "experiments": experiments}


def standings(shown: Iterable[Board], found: TriedBy) -> tuple[Standing, ...]:
    """The reasons of a run's cells, most frequent first, with the experiments on them; last those that no cell named."""
    named = Counter(reason for board in shown for row in board.numbered for reason, _ in row.diagnoses.most_common(1))
    tests = {reason: tuple(one for one in found.values() if one.reason == reason) for reason in named}
    others = dict.fromkeys(one.reason for one in found.values() if one.reason not in named)
    asked = [Standing(reason, 0, tuple(one for one in found.values() if one.reason == reason)) for reason in others]
    return (*(Standing(reason, cells, tests[reason]) for reason, cells in named.most_common()), *asked)


def lines(shown: Iterable[Board], found: TriedBy) -> tuple[str, ...]:
    """A line for each reason where experiments were made, with what they found; none where there was none."""
    if not found:
        return ()
    said = []
    for one in standings(shown, found):
        said.append(f"{one.reason} ({words.plural(one.cells, 'cell')}): {one.word}")
        said += [f"  {test.cell}: {test.sentence} → {test.record}" for test in one.tried]
    return tuple(said)


def tried_by(experiments: Iterable[Record[WhyAsked, Start]]) -> TriedBy:
    """Collect what experiments found, the last of each cell and reason."""
    found = {}
    for one in sorted(experiments, key=lambda record: record.head.started_unix_s):
        asked, starts = one.head.asked, one.entries
        outcome = effects.outcome(asked, starts)
        said, document = sentences(asked, starts)[0], rows(asked, starts)
        found[asked.cell.id, asked.reason] = ReasonTest(asked.reason, outcome, said, asked.cell.id, one.id, document)
    return found


def sentences(asked: WhyAsked, starts: Sequence[Start]) -> tuple[str, ...]:
    """Say what came of it, most important first: the reason confirmed, withdrawn or open, and what each change did."""
    found, outcome = effects.effects(asked, starts), effects.outcome(asked, starts)
    said = [f"{asked.reason} {verdict(outcome)}: {'; '.join(effect(one) for one in found)}."]
    if outcome is Outcome.WITHDRAWN:
        move = VERBS[asked.experiment.direction][1]
        said.append(f"If it were right, goodput would {move} by {LEAST * 100:.0f} % or more with one of these changes.")
    if outcome is Outcome.OPEN:
        said.append(_open(found, asked.experiment.direction))
    return (*said, *_rejected(starts))


def verdict(outcome: Outcome) -> str:
    """`is confirmed`, `is withdrawn` or `stays a suspicion`."""
    return {Outcome.OPEN: "stays a suspicion"}.get(outcome, f"is {outcome}")


def effect(one: ArmEffect) -> str:
    """Say what one change did; no interval of too few starts.

    `with a pool of 50 in place of 25 goodput rises by 81 % (95 % CI +74 … +88 %, 4 starts)`
    """
    ratio = one.ratio
    if ratio is None:
        return f"{one.change.words} it could not be measured twice"
    count = words.plural(one.starts, "start")
    if one.starts < LEAST_STARTS:
        return f"{one.change.words} {goodput_change(ratio.middle)} ({count})"
    if ratio.high >= MANY_TIMES:
        span = f"{_times(ratio.low)} … {_times(ratio.high)} times"
    else:
        span = f"{words.signed_share(ratio.low - 1)} … {words.signed_share(ratio.high - 1)} %"
    return f"{one.change.words} {goodput_change(ratio.middle)} ({100 * ratio.confidence:.3g} % CI {span}, {count})"


def goodput_change(ratio: float) -> str:
    """`goodput rises by 81 %`, `goodput falls by 19 %`, `there is 11 times the goodput`."""
    if ratio >= MANY_TIMES:
        return f"there is {_times(ratio)} times the goodput"
    by = abs(ratio - 1)
    return f"goodput {'rises' if ratio >= 1 else 'falls'} by {f'{by:.0%}' if by >= 0.095 else f'{by:.1%}'}".replace("%", " %")


def _times(ratio: float) -> str:
    """Two digits, as people write them: `7.8`, `210`."""
    return f"{float(f'{ratio:.2g}'):,g}"


def rows(asked: WhyAsked, starts: Sequence[Start]) -> dict[str, Any]:
    """The same for `--json`."""
    changes = [
        {
            "change": one.change.label,
            "words": one.change.words,
            "ratio": None if one.ratio is None else [one.ratio.middle, one.ratio.low, one.ratio.high],
            "starts": one.starts,
        }
        for one in effects.effects(asked, starts)
    ]
    return {
        "run": asked.run,
        "cell": asked.cell.id,
        "reason": asked.reason,
        "outcome": str(effects.outcome(asked, starts)),
        "predicts": f"goodput {VERBS[asked.experiment.direction][0]}",
        "changes": changes,
        "sentences": list(sentences(asked, starts)),
    }


def _open(found: Sequence[ArmEffect], direction: Direction) -> str:
    starts = min((one.starts for one in found), default=0)
    if starts < LEAST_STARTS:
        return f"{with_verb(starts, 'sound start')} too few to tell: {LEAST_STARTS} are needed, which a longer `--budget` gives."
    if effects.is_without_effect(found, direction):
        return "No gain refutes nothing here: a server may make no use of what it is given."
    return "The interval holds both a change that matters and one that does not: a longer `--budget` narrows it."


def _rejected(starts: Sequence[Start]) -> tuple[str, ...]:
    """Say why an arm has no number, each reason once."""
    found = [rejection(label, findings) for start in starts for label, findings in start.findings.items()]
    spoiled = [f"a start counts for nothing: {start.void}" for start in starts if start.void is not None]
    return tuple(dict.fromkeys([*(one for one in found if one is not None), *spoiled]))
