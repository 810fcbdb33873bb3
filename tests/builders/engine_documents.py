"""Documents of the load engine, by their names in the golden files."""

from __future__ import annotations

import json
from typing import Any

from builders.paths import ROOT
from fairground.model import (
    Latency,
    Outcomes,
)

PROTOCOL = ROOT / "engine" / "tests" / "golden"


COMMAND = ("fairload", "run", "--plan", "-")


def document(name: str = "result") -> dict[str, Any]:
    """One of the engine's golden results. In `result` every number differs, so that none can be mistaken for another; the one
    that must add up is put right here."""
    found: dict[str, Any] = json.loads((PROTOCOL / f"{name}.json").read_text())
    outcomes = found["window"]["outcomes"]
    found["window"]["sent"] = sum(count for kind, count in outcomes.items() if kind not in ("status", "unsent")) + sum(
        outcomes["status"].values()
    )
    return found


def latency(found: dict[str, Any]) -> Latency:
    """A histogram of the document, field by field."""
    return Latency(
        count=found["count"],
        min_us=found["min_us"],
        mean_us=found["mean_us"],
        max_us=found["max_us"],
        p50_us=found["p50_us"],
        p90_us=found["p90_us"],
        p99_us=found["p99_us"],
        p999_us=found["p999_us"],
        p75_us=found["p75_us"],
        p95_us=found["p95_us"],
        v2=found["v2"],
    )


def outcomes(found: dict[str, Any]) -> Outcomes:
    """Outcomes of the document, field by field."""
    return Outcomes(
        ok=found["ok"],
        shed=found["shed"],
        status={int(code): count for code, count in found["status"].items()},
        wrong_body=found["wrong_body"],
        timeout=found["timeout"],
        connect=found["connect"],
        reset=found["reset"],
        malformed=found["malformed"],
        unsent=found["unsent"],
        in_flight=found["in_flight"],
    )
