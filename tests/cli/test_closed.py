"""A reader that has seen enough, as `head` and `grep -q` have: the exit code is still the verb's, and a measurement ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cli.command import stored
from fairground.cli import follow, say, streams, verbs
from fairground.lab.events import Event, Planned, TrialDone
from fairground.model import Run
from report import fixture


@contextmanager
def closed() -> Iterator[None]:
    """Standard output is a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as pipe, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", pipe)
        for stream in (streams.out, streams.talk):
            patched.setattr(stream, "quiet", False)
        yield


def slower(run: Run) -> Run:
    """The run with half as many good answers."""
    trials = []
    for one in run.trials:
        assert one.result is not None
        trials.append(replace(one, result=replace(one.result, completed_ok=one.result.completed_ok // 2)))
    return replace(run, trials=tuple(trials))


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("rule", "code"), [("slower:5%", 1), ("slower:90%", 0)])
def test_a_rule_decides_whoever_reads(rule: str, code: int, as_json: bool, tmp_path: Path) -> None:
    """`compare … | grep -q` is a gate all the same."""
    run = fixture.two_blocks()
    a, b = (str(stored(one, tmp_path)) for one in (run, slower(run)))
    words = ["compare", a, b, "--results", str(tmp_path), "--fail-on", rule, *(["--json"] if as_json else [])]
    with closed():
        assert (verbs.app(words, standalone_mode=False) or 0) == code
        assert streams.is_unread()


def test_a_measurement_that_nobody_reads_is_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    """`run --json | head -1`: it goes on for nobody. What is kept is said on the stream that is still read."""
    run, done = fixture.two_blocks(), list[str]()

    def work(_: object) -> Generator[Event]:
        try:
            yield Planned(run.plan, Path("/results/a run"), 1.0)
            yield TrialDone(run.trials[0])
            done.append("more")
            yield TrialDone(run.trials[1])
        finally:
            done.append("closed")

    with closed(), pytest.raises(KeyboardInterrupt):
        list(follow.follow(work, follow.Voice(as_json=True)))
    assert done == ["closed"]
    assert "Go on with: ./fairground run --resume '/results/a run'" in capsys.readouterr().err


def test_what_nobody_reads_is_no_error() -> None:
    """Lines, tables and documents go nowhere."""
    for show in (
        lambda: say.line("one"),
        lambda: say.out.print("two"),
        lambda: say.document({"three": 3}),
        lambda: say.the_summary(fixture.two_blocks(), Path("report.html"), True),
    ):
        with closed():
            show()
            assert streams.is_unread()
