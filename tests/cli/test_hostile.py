"""What a terminal gets of hostile text: words only, whatever was foreign in it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from builders.hostile import HOSTILE, is_clean, poisoned
from builders.stored import small_plan
from cli.command import ONE, Run, stored
from fairground.cli import board, say, screen, streams
from fairground.host.build import Unavailable, fails
from fairground.lab import building
from fairground.model import Finding, Server, Severity, Verdict
from fairground.report.boards import boards
from report import fixture


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed, on a terminal with colours."""
    sink = io.StringIO()
    terminal = streams.Terminal(file=sink, force_terminal=False, width=150)
    for name in ("out", "talk"):
        monkeypatch.setattr(streams, name, terminal)
        monkeypatch.setattr(say, name, terminal)
    return sink


def test_the_end_of_a_run(out: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    """Table, headline and JSON of a run that somebody sent."""
    run = poisoned(fixture.two_blocks())
    say.the_summary(run, Path("results") / "x", False)
    assert is_clean(out.getvalue()) and "No stack" not in out.getvalue()
    say.the_summary(run, Path("results") / "x", True)
    document = capsys.readouterr().out
    assert is_clean(document) and json.loads(document)["event"] == "end"


def test_a_plan_and_a_check(out: io.StringIO) -> None:
    """What is left out of a plan, in the words of a build, and what a check found."""
    say.the_plan(replace(small_plan(), skipped={"one:plain": HOSTILE}), False)
    finding = Finding("case:ping", Severity.REJECT, f"first\nsecond {HOSTILE}")
    say.the_check("one:plain", [finding], True, Path("log"))
    said = out.getvalue()
    assert is_clean(said) and "[/x] [bold]" in said and ":warning:" in said
    assert "first second" in said


def test_the_screen_of_a_run(out: io.StringIO) -> None:
    """The live lines, the finished trials in log and on a terminal, and the table of a run with hostile reasons."""
    sink = io.StringIO()
    terminal = streams.Terminal(file=sink, force_terminal=True, color_system=None, width=150)
    run = poisoned(fixture.two_blocks())
    with screen.Screen(run.plan, (), terminal, live=False) as shown:
        for trial in run.trials:
            shown.show_trial(replace(trial, verdict=Verdict.VOID))
    terminal.print(board.Table(boards(run)))
    said = sink.getvalue()
    assert is_clean(said) and "[/x] [bold]" in said


def test_a_stream_knows_no_markup() -> None:
    """Brackets are brackets, colons are colons, and what looks like a link is its text."""
    sink = io.StringIO()
    streams.Terminal(file=sink, force_terminal=True, width=400).print(HOSTILE, soft_wrap=True)
    assert is_clean(sink.getvalue()) and "[link=http://evil.example] :warning:" in sink.getvalue()


def test_a_failed_build_is_one_clean_sentence() -> None:
    """Of a build's output the last line that says something is quoted, cleaned and cut."""
    made = fails(cast(Server, None), ("cc",), f"one\n{HOSTILE}{'x' * 900}\n\n")
    assert isinstance(made, Unavailable) and is_clean(building.reason(made)) and len(made.reason) < 350
    assert "\n" not in made.reason


HOSTILE_TOML = json.dumps("t \x1b[31m\u202e [/x] <script> {{ 7*7 }}", ensure_ascii=True).replace("\\u001b", "\\u001B")


def test_lists_checks_and_errors(lab: Run, tmp_path: Path) -> None:
    """A hostile title of a server, an output of what it needs, and names that a person typed."""
    for name in ("alder-one", "birch-two"):
        manifest = tmp_path / "servers" / name / "server.toml"
        text = manifest.read_text().replace(f'"{name.title()}"', HOSTILE_TOML)
        text = text.replace(
            '[["no-such-compiler"]]', '[["sh", "-c", "printf \'\\\\033[31m[/x] [bold] \\\\342\\\\200\\\\256\\\\n\'; exit 1"]]'
        )
        manifest.write_text(text)
    listed = lab("list", "--servers", "servers")
    assert listed.returncode == 0, listed.stderr
    assert is_clean(listed.stdout + listed.stderr) and "[/x]" in listed.stdout and "failed: [/x] [bold]" in listed.stdout
    for words in (("list", "--json", "--servers", "servers"), (*ONE, "--json")):
        done = lab(*words)
        assert done.returncode == 0 and is_clean(done.stdout + done.stderr), words
    for words in (
        ("check", "--servers", "servers", HOSTILE),
        ("list", HOSTILE),
        (HOSTILE,),
        ("report", HOSTILE, "--results", "none"),
    ):
        done = lab(*words)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert is_clean(done.stderr), words
        assert done.stderr.count("\n") <= 4


def test_a_run_that_somebody_sent(lab: Run, tmp_path: Path) -> None:
    """Its list and its report, from a folder of results whose every text is hostile."""
    run = poisoned(fixture.two_blocks())
    folder = stored(replace(run, plan=replace(run.plan, title="sent")), tmp_path / "results")
    for words in (("list", "runs"), ("report", folder.name), ("report", folder.name, "--json")):
        done = lab(*words, "--results", "results")
        assert done.returncode == 0, done.stderr
        assert is_clean(done.stdout + done.stderr), words
    assert is_clean((folder / "report.html").read_text()) and is_clean((folder / "summary.csv").read_text())
