"""`doctor`: what this machine lacks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from fairground.cli import streams
from fairground.cli.options import NOTHING_MEASURED, Json
from fairground.lab.doctor import can_measure, checks, default_seats, fixes, seats_lines
from fairground.lab.places import Places


def doctor(
    install: Annotated[bool, typer.Option("--install", help="Run the commands that fix what is lacking (as root).")] = False,
    as_json: Json = False,
) -> None:
    """Name what this machine lacks, or what disturbs measurements on it, with the command that fixes it.

    Examples: ./fairground doctor · ./fairground doctor --install
    """
    places = Places.of(os.environ)
    lines, seats = checks(places), default_seats()
    if install:
        for command in fixes(lines):
            _run(command)
        lines = checks(places)
    if as_json:
        streams.document({"checks": [asdict(line) for line in lines], "seats": asdict(seats)})
    else:
        for line in lines:
            mark = {"ok": "✓", "note": "!", "optional": "–", "lacking": "✗"}[line.state]
            streams.line(f"{mark} {line.sentence}")
            if line.fix:
                streams.line(f"    {'get it' if line.state == 'optional' else 'fix'}: {line.fix}")
        for text in seats_lines(seats):
            streams.line(text)
        streams.out.print(_sum(sum(line.state == "lacking" for line in lines)))
    if not can_measure(lines):
        raise typer.Exit(NOTHING_MEASURED)


def _run(command: Sequence[str]) -> None:
    """Run a fix. One that fails is said and passed over: the others may not need what it lacked."""
    streams.note(f"running: {shlex.join(command)}")
    try:
        code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        streams.note(f"`{command[0]}` cannot be started: {error.strerror}; install it, and run the command above again")
        return
    if code:
        streams.note(f"this failed with exit code {code}, as its last lines say; without a network nothing can be downloaded")


def _sum(lacking: int) -> str:
    if not lacking:
        return "ready"
    return (
        "one thing is lacking: what needs it is left out"
        if lacking == 1
        else f"{lacking} things are lacking: what needs them is left out"
    )
