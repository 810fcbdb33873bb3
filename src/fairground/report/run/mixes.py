"""The requests of a mix: what each of them got of a stack's trials. Nothing where a workload has one request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairground.model import RequestResult, Trial
from fairground.report.boards import Board, BoardRow, histogram_of
from fairground.report.text import words
from fairground.report.text.rows import tail_text
from fairground.stats import intervals

HEADS = ("stack", "request", "good answers/s", "of the mix", "p50 ms", "p99 ms", "without a good answer")


@dataclass(frozen=True)
class MixRow:
    """One request of one stack, over all trials that have a number: goodput is their mean, percentiles of added histograms."""

    stack: str
    request: str
    goodput_per_s: float
    share: float
    """Of the stack's good answers."""
    answers: int
    """Good ones in the histograms."""
    p50_us: float | None
    p99_us: float | None
    total: int
    not_ok: int

    @property
    def cells(self) -> tuple[str, ...]:
        """Its values as texts, in the order of `HEADS`."""
        bad = f"{self.not_ok:,} of {self.total:,}" if self.not_ok else "0"
        return (self.stack, self.request, words.number(self.goodput_per_s), words.percent(self.share), self.p50, self.p99, bad)

    @property
    def p50(self) -> str:
        """The median in ms, as far as so many answers tell one."""
        return tail_text(self.p50_us, self.answers, 0.5)

    @property
    def p99(self) -> str:
        return tail_text(self.p99_us, self.answers, 0.99)


def mix_rows(board: Board) -> tuple[MixRow, ...]:
    """Each request of each stack that has a number, in the order of the workload's file."""
    return tuple(row for one in board.rows for row in _of_stack(one))


def trial_rows(trial: Trial) -> tuple[MixRow, ...]:
    """Each request of one trial. What is void or rejected has no numbers."""
    return _rows(trial.cell.stack, (trial,)) if trial.goodput_per_s is not None else ()


def _of_stack(row: BoardRow) -> tuple[MixRow, ...]:
    return _rows(row.stack, tuple(row.numbered))


def _rows(stack: str, trials: tuple[Trial, ...]) -> tuple[MixRow, ...]:
    results = [trial.result for trial in trials if trial.result is not None and trial.result.requests]
    if not results:
        return ()
    rates = {name: sum(one.goodput_of_per_s(name) for one in results) / len(results) for name in results[0].requests}
    return tuple(
        _row(stack, name, rates, [one.requests[name] for one in results if name in one.requests]) for name in results[0].requests
    )


def _row(stack: str, name: str, rates: Mapping[str, float], found: list[RequestResult]) -> MixRow:
    histogram = histogram_of([one.latency_ok for one in found])
    p50, p99 = (
        None if histogram is None else intervals.percentile(histogram.values_us, histogram.counts, share) for share in (0.5, 0.99)
    )
    together = sum(rates.values())
    return MixRow(
        stack, name, rates[name], rates[name] / together if together else 0.0, histogram.total if histogram else 0, p50, p99,
        sum(one.window.total for one in found), sum(one.window.not_ok for one in found),
    )  # fmt: skip
