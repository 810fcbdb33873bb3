"""A trial belongs to the machine that its run began on: another kernel, setting or governor makes it void."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.judge import validity
from fairground.model import Machine, Severity

HERE = Machine("0123", "A", 2, 4 << 30, "6.1", "Debian", None, None, "tsc", {"net.core.somaxconn": "4096"})


def test_same_machine_says_nothing() -> None:
    """A trial on its run's machine is what was planned; a run that names none cannot tell."""
    assert validity.identity(HERE, replace(HERE)) == ()
    assert validity.identity(None, HERE) == ()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (replace(HERE, kernel="6.2"), "kernel was `6.1` and is `6.2`"),
        (replace(HERE, limits={"net.core.somaxconn": "128"}), "net.core.somaxconn was `4096` and is `128`"),
        (replace(HERE, cpu_governor="powersave"), "cpu_governor was unknown and is `powersave`"),
    ],
)
def test_another_machine_is_void(now: Machine, words: str) -> None:
    """Another kernel, setting or governor than the run's makes a trial void, and says which."""
    (finding,) = validity.identity(HERE, now)
    assert (finding.id, finding.severity) == ("identity", Severity.VOID)
    assert finding.sentence == f"the machine is not as it was when the run began: {words}"
