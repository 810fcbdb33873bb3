"""The numbers of a claim's metrics, read off trials. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from fairground.claims.statement import SHARE_METRICS, Term
from fairground.model import Cell, Trial, Verdict


def values(term: Term, cell: Cell, trials: Iterable[Trial]) -> dict[int, float]:
    """Block → the metric, for blocks in which it is known and above zero."""
    found = {trial.block: _above_zero(term.metric, trial) for trial in trials if trial.cell == cell}
    return {block: value for block, value in found.items() if value is not None and value > 0}


def share_or_count(metric: str, trial: Trial) -> float | None:
    """A share, in parts of 1, or a count of one trial; both may be zero. None: not known."""
    if trial.result is None:
        return None
    window = trial.result.window
    if metric == "deadlocks":
        return None if trial.database is None else trial.database.deadlocks
    if metric in ("timeouts", "connecterrors"):
        return window.timeout if metric == "timeouts" else window.connect
    part = window.not_ok if metric == "errors" else window.shed
    return None if part is None or not window.total else part / window.total


def events_of(metric: str, trial: Trial) -> float:
    """The events behind a share or a count of a trial that knows it."""
    value = share_or_count(metric, trial)
    assert value is not None and trial.result is not None
    return value * trial.result.window.total if metric in SHARE_METRICS else value


def why_none(cell: Cell, trials: Iterable[Trial]) -> str:
    """Say why a cell that was measured has no number. Void trials are none that count, so they are not among these."""
    rejected = all(trial.verdict is Verdict.REJECTED for trial in trials if trial.cell == cell)
    return "its trials were rejected" if rejected else "the generator did not report it"


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
