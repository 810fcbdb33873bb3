"""The thresholds' file: typed, whole, and refused with a sentence where it means nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.judge import thresholds
from fairground.judge.thresholds import CheckBounds, WarnVoid
from fairground.model import LabError

TEXT = thresholds.FILE.read_text()


def loaded(folder: Path, old: str, new: str) -> thresholds.Thresholds:
    """The lab's file with one change."""
    assert old in TEXT
    path = folder / "thresholds.toml"
    path.write_text(TEXT.replace(old, new, 1))
    return thresholds.load(path)


def test_standard_thresholds_are_typed() -> None:
    """The lab's own file is whole; what a check lacks is None."""
    found = thresholds.standard()
    assert found.checks.steal == CheckBounds(0.005, 0.03)
    assert found.checks.generator == CheckBounds(0.70, 0.90, closed=WarnVoid(0.90))
    assert isinstance(found.rules.steadiness_seconds, int)


def test_a_generator_that_is_named_as_the_limit_is_warned_of() -> None:
    """The check of the generator's thread and the reason `generator` begin at the same value."""
    found = thresholds.standard()
    assert found.checks.generator.closed is not None
    assert found.checks.generator.closed.warn == found.checks.generator.void == found.reasons.thread_full


def test_a_change_is_read(tmp_path: Path) -> None:
    """What stands in the file is what is judged by."""
    assert loaded(tmp_path, "{ warn = 0.005, void = 0.03 }", "{ void = 0.5 }").checks.steal == CheckBounds(None, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("steal              =", "steel              =", "unknown key `steel` in `thresholds.toml`, line "),
        ("steal              =", "#", "`checks.steal` is missing in `thresholds.toml`"),
        ("warn = 0.005, void = 0.03", "worn = 0.005, void = 0.03", "unknown key `worn` in "),
        ("warn = 0.005, void = 0.03", "warn = 0.05, void = 0.03", "`checks.steal` is void before it warns in "),
        ("warn = 0.005, void = 0.03", "warn = -1.0, void = 0.03", "`checks.steal` has a bound below 0 in "),
        ("{ warn = 0.005, void = 0.03 }", "{}", "`checks.steal` has neither `warn` nor `void` in "),
        ("closed = { warn = 0.90 }", "closed = {}", "`checks.generator` has neither `warn` nor `void` in "),
        (
            "settled_last            = 3",
            'settled_last            = "3"',
            "`rules.settled_last` is a text, not a whole number, in ",
        ),
        ("cores_full          = 0.90", "cores_full          = 0", "`reasons.cores_full` is 0 in "),
        ("growth_confidence       = 0.99", "growth_confidence       = 1", "`rules.growth_confidence` must lie below 1 in "),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    """One sentence with the key and the file, and a hint."""
    with pytest.raises(LabError) as caught:
        loaded(tmp_path, old, new)
    assert caught.value.message.startswith(said) and caught.value.hint


def test_changes_are_named() -> None:
    """Two sets of values differ in what is named; a set that was written and read is the same."""
    found = thresholds.standard()
    values = found.values()
    assert thresholds.changes_of(json.loads(json.dumps(values)), values) == ()
    other = replace(found, rules=replace(found.rules, settled_last=4), checks=replace(found.checks, swap=CheckBounds(9.0)))
    assert thresholds.changes_of(values, other.values()) == ("checks.swap", "rules.settled_last")
    assert thresholds.changes_of({}, {"rules": {"one": 1}}) == ("rules.one",)
