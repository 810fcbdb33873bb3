"""What the checks of validity look at, sound unless a field says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairground.judge import thresholds, validity
from fairground.judge.validity import TrialFacts
from fairground.model import (
    Cell,
    CellSettings,
    DatabaseUse,
    HostUse,
    Latency,
    Load,
    Outcomes,
    Result,
    Second,
    Severity,
    Topology,
)

APART = CellSettings(pin=(("generator", (0,)), ("server", (1,)), ("database", (1,))))
OPEN = Cell("one:plain", "ping", Topology(), Load(model="open", rate_per_s=1e5, connections=10**9, window_s=10.0), APART)
CLOSED = replace(OPEN, load=Load(connections=100, window_s=10.0))
MILLION = 1_000_000
STANDARD = thresholds.standard()
HOST = HostUse(0.0, 0.5, 0.0, 0.0, {"TcpOutSegs": MILLION, "TcpRetransSegs": 0})
DATABASE = DatabaseUse(1000, 0, 5000, 0, 0, 25, {}, 50, hygiene_samples=10_000)


def outcomes(ok: int = MILLION, **counts: Any) -> Outcomes:
    """So many good answers, and these."""
    return replace(Outcomes(ok, 0, {}, 0, 0, 0, 0, 0, 0, 0), **counts)


def latency(p99_us: int = 1000, count: int = 1, mean_us: float = 1.0, max_us: int = 1) -> Latency:
    """A histogram of which little matters."""
    return Latency(count, 1, mean_us, max_us, 1, 1, p99_us, 1, None)


def second(number: int = 0, **fields: Any) -> Second:
    """A second of which little matters."""
    return replace(Second(number, 100, 0, 1000, 1000, 1000, 1), **fields)


def result(window: Outcomes | None = None, **fields: Any) -> Result:
    """The engine's result of ten seconds, with these fields. Its counts close."""
    sent = window or outcomes()
    plain: dict[str, Any] = {
        "generator": "engine",
        "command": (),
        "window_s": 10.0,
        "window": sent,
        "life": sent,
        "completed": sent.total - (sent.unsent or 0),
        "completed_ok": sent.ok,
        "in_flight_start": 0,
        "in_flight_end": 0,
        "bytes_received": None,
        "bodies_checked": None,
        "latency_ok": latency(),
        "latency_all": None,
        "connect": None,
        "seconds": (),
        "ledgers": None,
        "samples": (),
        "cpu_us": None,
        "busiest_thread_share": None,
    }
    return Result(**(plain | fields))


def facts(cell: Cell = OPEN, window: Outcomes | None = None, **fields: Any) -> TrialFacts:
    """Ten seconds, with these fields of the result."""
    return TrialFacts(10.0, cell, result(window, **fields), {}, None, None)


def severities(id: str, made: TrialFacts) -> list[Severity]:
    """What one check finds."""
    return [finding.severity for finding in validity.findings(made, STANDARD) if finding.id == id]
