"""The page of an experiment: what was suspected, what was changed, and what that did in each start. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.model.experiment import AS_IT_WAS, Start, WhyAsked
from fairground.report import frame
from fairground.report.run import why
from fairground.stats import effects


def html(asked: WhyAsked, starts: Sequence[Start], facts: Sequence[str], foot: str, home: str | None = None) -> str:
    """The page. `facts` are one line about the machine; `home`: where the list of records is, in a site."""
    rates = [(start, [effects.rate(start.windows.get(label, ())) for label in (AS_IT_WAS, *_labels(asked))]) for start in starts]
    return frame.frame_page(
        "why.html",
        f"why · {asked.cell.id}",
        [sentence.removesuffix(".") for sentence in why.sentences(asked, starts)],
        asked=asked,
        labels=(AS_IT_WAS, *_labels(asked)),
        effects=[(one, why.effect(one)) for one in effects.effects(asked, starts)],
        rates=rates,
        predicts=why.VERBS[asked.experiment.direction][0],
        facts=facts,
        foot=foot,
        home=home,
    )


def _labels(asked: WhyAsked) -> tuple[str, ...]:
    return tuple(change.label for change in asked.experiment.changes)
