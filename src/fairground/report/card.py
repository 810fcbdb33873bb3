"""The card of a replicated publication: what holds, what was wrong, what to do. Each sentence has its number below. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairground.claims.verdict import ClaimJudgement, ClaimVerdict, SizeAnswer, VerdictGrade
from fairground.model import Lesson, Suite

MOST = 4
"""A card names this many claims of a kind; the rest is counted."""


@dataclass(frozen=True)
class PublicationCard:
    """Lines of the card, by what they answer. `rest`: how many clear claims that hold, and that do not, are not named."""

    holds: tuple[str, ...]
    wrong: tuple[str, ...]
    do: tuple[str, ...]
    rest: tuple[int, int]

    @property
    def more(self) -> tuple[str, str]:
        """The sentences on those that are not named: on what holds, and on what does not. Empty where there are none."""
        held, failed = self.rest
        return (
            f"{held} more {'holds' if held == 1 else 'hold'} clearly, below." if held else "",
            f"{failed} more {'does' if failed == 1 else 'do'} not hold, below." if failed else "",
        )


def of_suite(suite: Suite, judgements: Sequence[ClaimJudgement]) -> PublicationCard:
    """The card: clear verdicts on what the source says, and the suite's lessons as far as this run shows them."""
    clear = [one for one in judgements if not one.claim.ours and one.grade is VerdictGrade.CLEAR]
    held = sorted((one for one in clear if one.verdict is ClaimVerdict.HOLDS), key=lambda one: one.size is not SizeAnswer.FOUND)
    failed = [one for one in clear if one.verdict is ClaimVerdict.FAILS]
    verdicts = {one.claim.id: one.verdict for one in judgements}
    shown = [(lesson, is_shown(lesson, verdicts)) for lesson in suite.lessons]
    wrong = [*(_wrong(lesson, known) for lesson, known in shown), *map(_told, failed[:MOST])]
    do = [f"{lesson.do} ({_because(lesson, known)})" for lesson, known in shown if known is not False]
    return PublicationCard(
        tuple(map(_told, held[:MOST])), tuple(wrong), tuple(do), (max(0, len(held) - MOST), max(0, len(failed) - MOST))
    )


def is_shown(lesson: Lesson, verdicts: Mapping[str, ClaimVerdict]) -> bool | None:
    """Tell whether a run shows a lesson: each of its claims is as it asks. None: nothing measures it."""
    if not lesson.shown_by:
        return None
    return all(
        verdicts.get(id.removeprefix("not ")) is (ClaimVerdict.FAILS if id.startswith("not ") else ClaimVerdict.HOLDS)
        for id in lesson.shown_by
    )


def _because(lesson: Lesson, known: bool | None) -> str:
    return "not measured here" if known is None else ", ".join(lesson.shown_by)


def _wrong(lesson: Lesson, known: bool | None) -> str:
    where = "this run does not show it" if known is False else _because(lesson, known)
    return f"{lesson.wrong}: `{lesson.line}` ({where})"


def _told(one: ClaimJudgement) -> str:
    return f"{one.claim.says}: {one.sentence}"


def markdown(card: PublicationCard) -> Iterator[str]:
    """The card as the first lines of a section."""
    held, failed = card.more
    kinds = (("What holds", card.holds, held), ("What was wrong", card.wrong, failed), ("What to do", card.do, ""))
    for head, lines, rest in kinds:
        yield f"**{head}.** {'' if lines else 'Nothing that this run is clear about.'}".rstrip()
        yield ""
        yield from (f"- {line}." for line in lines)
        if rest:
            yield f"- {rest}"
        if lines or rest:
            yield ""
