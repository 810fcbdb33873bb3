"""The check that a trial was measured on the machine, and with the programs, that its run names (V20)."""

from __future__ import annotations

from dataclasses import asdict

from fairground.model import Finding, Machine, Severity
from fairground.model.changes import changes

NAMED_AT_MOST = 3


def identity(run: Machine | None, now: Machine) -> tuple[Finding, ...]:
    """Void a trial on another machine than its run's, or under other settings of the kernel. `run` None: it names none."""
    if run is None or not (found := changes(asdict(run), asdict(now))):
        return ()
    words = ", ".join(found[:NAMED_AT_MOST]) + (" …" if len(found) > NAMED_AT_MOST else "")
    sentence = f"the machine is not as it was when the run began: {words}"
    return (Finding("identity", Severity.VOID, sentence, {"changes": len(found)}),)
