"""What a machine that was void excuses of a server: silence, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import validity
from fairground.model import Finding, Severity

SILENCE = Finding("no-answers", Severity.REJECT, "nothing came", {"sent": 16, "bad": 0})


@pytest.mark.parametrize(
    ("beside", "silence", "severity"),
    [
        (Finding("foreign-cpu", Severity.VOID, ""), SILENCE, Severity.NOTE),
        (Finding("foreign-cpu", Severity.WARN, ""), SILENCE, Severity.REJECT),
        (Finding("little", Severity.VOID, ""), SILENCE, Severity.REJECT),
        (Finding("steal", Severity.VOID, ""), replace(SILENCE, evidence={"sent": 16, "bad": 1}), Severity.REJECT),
        (Finding("steal", Severity.VOID, ""), replace(SILENCE, evidence={}), Severity.REJECT),
        (Finding("steal", Severity.VOID, ""), replace(SILENCE, id="server-exit"), Severity.REJECT),
    ],
    ids=["void", "warned", "not the machine", "bad answers", "unknown", "another finding"],
)
def test_only_silence_on_a_void_machine_is_excused(beside: Finding, silence: Finding, severity: Severity) -> None:
    """Others that keep a machine busy can make a server silent, and cannot make it answer wrongly."""
    kept, found = validity.excuse((beside, silence))
    assert kept == beside and found.severity is severity
    assert ("says nothing of the server" in found.sentence) is (severity is Severity.NOTE)


@pytest.mark.parametrize(
    ("finding", "deadlocks", "window_s", "severity"),
    [
        (SILENCE, True, 0.8, Severity.VOID),
        (SILENCE, True, 2.0, Severity.REJECT),
        (SILENCE, False, 0.8, Severity.REJECT),
        (replace(SILENCE, evidence={"sent": 16, "bad": 1}), True, 0.8, Severity.REJECT),
        (replace(SILENCE, id="server-exit"), True, 0.8, Severity.REJECT),
    ],
    ids=["short", "long", "no deadlocks", "bad answers", "another finding"],
)
def test_silence_in_a_window_as_short_as_a_deadlock_says_nothing(
    finding: Finding, deadlocks: bool, window_s: float, severity: Severity
) -> None:
    """All connections may wait for the same second. A longer window that nothing comes back in is the server's."""
    (found,) = validity.excuse((finding,), deadlocks, window_s)
    assert found.severity is severity
    assert ("a window of 0.8 s is too short to tell" in found.sentence) is (severity is Severity.VOID)


@pytest.mark.parametrize(
    ("evidence", "window_s", "severity"),
    [
        ({"outside": 50}, 5.0, Severity.VOID),
        ({"outside": 50}, 10.0, Severity.REJECT),
        ({"outside": 0}, 5.0, Severity.REJECT),
        ({"outside": 50, "bad": 1}, 5.0, Severity.REJECT),
    ],
    ids=["slow", "as long as an answer may take", "silent", "bad answers"],
)
def test_a_window_that_answers_outlast_says_nothing(evidence: dict[str, int], window_s: float, severity: Severity) -> None:
    """A server that answers well within the time that it is given is a slow one, and a longer window measures it."""
    (found,) = validity.excuse((replace(SILENCE, evidence={**SILENCE.evidence, **evidence}),), False, window_s, 10.0)
    assert found.severity is severity
    assert found.sentence.endswith("; one as long as an answer may take: --window 10") is (severity is Severity.VOID)


def test_silence_on_a_void_machine_stays_a_note_in_a_short_window() -> None:
    """The trial is void already, and this adds nothing."""
    _, found = validity.excuse((Finding("steal", Severity.VOID, ""), SILENCE), True, 0.8)
    assert found.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("id", "deadlocks", "severity"),
    [
        ("starved", True, Severity.NOTE),
        ("starved", False, Severity.WARN),
        *((f"stead{rest}", True, Severity.NOTE) for rest in ("iness", "y-median", "y-cost")),
        ("steadiness", False, Severity.WARN),
        ("steal", True, Severity.WARN),
    ],
)
def test_what_deadlocks_do_is_the_subject_of_a_workload_of_deadlocks(id: str, deadlocks: bool, severity: Severity) -> None:
    """Requests that wait since before the window, and halves that differ, are warnings elsewhere, and so is all else here."""
    (found,) = validity.excuse((Finding(id, Severity.WARN, "it was so"),), deadlocks)
    assert found.severity is severity
    assert ("this workload's subject" in found.sentence) is (severity is Severity.NOTE)
