"""What the command is called where there is a door, and where there is none."""

from __future__ import annotations

import io
import sys

import pytest

from fairground.cli import door


def test_an_installed_lab_names_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both streams of an installed lab name the program on PATH; a checkout's name its door."""
    for installed, said in ((False, "./fairground list\n"), (True, "fairground list\n")):
        out, talk = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", talk)
        monkeypatch.setattr(door, "INSTALLED", installed)
        door.rename()
        for stream in (sys.stdout, sys.stderr):
            stream.write("./fairground list\n")
        assert (out.getvalue(), talk.getvalue()) == (said, said)


def test_a_renamed_stream_is_still_that_stream() -> None:
    """It counts what it was given, and knows what the stream below it knows."""
    stream = door.Renamed(io.StringIO())
    assert stream.write("./fairground") == len("./fairground")
    assert stream.getvalue() == "fairground" and not stream.isatty()
