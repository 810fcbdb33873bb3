"""A terminal that cannot show every letter: the output goes on, with question marks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.odd import answer, odd
from builders.paths import ROOT

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A locale without more letters than ASCII has, files among it."""
LATIN = {"PYTHONIOENCODING": "iso-8859-1"}


def command(environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the lab where the terminal is such a one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    there = {**kept, "PYTHONPATH": str(ROOT / "src"), "CI": "1", "NO_COLOR": "1", **environ}
    return subprocess.run([sys.executable, "-m", "fairground", *words], env=there, capture_output=True, timeout=120)


@pytest.mark.live
@pytest.mark.parametrize(
    ("environ", "words"),
    [
        (ASCII, ("list", "workloads")),
        (ASCII, ("run", "--help")),
        (LATIN, ("list", "workloads")),
        (LATIN, ("run", "--stack", "µ → none")),
        ({"PYTHONIOENCODING": "ascii:strict"}, ("run", "--stack", "µ → none")),
    ],
)
def test_what_cannot_be_shown_is_replaced(environ: dict[str, str], words: tuple[str, ...]) -> None:
    """No verb ends for the sake of a letter; an error is still the sentence that it is."""
    done = command(environ, *words)
    assert done.returncode == (2 if "--stack" in words else 0), done.stderr
    assert done.stdout or b"error: there is no stack" in done.stderr
    assert b"UnicodeEncodeError" not in done.stderr


@pytest.mark.live
def test_letters_that_can_be_shown_are(tmp_path: Path) -> None:
    """Where the terminal has the letter, it is written; where it has not, a question mark stands for it."""
    rich, poor = (command({"PYTHONIOENCODING": named}, "run", "--stack", "µ→") for named in ("utf-8", "iso-8859-1"))
    assert "`µ→`".encode() in rich.stderr and b"`\xb5?`" in poor.stderr


@pytest.mark.live
@pytest.mark.parametrize("environ", [ASCII, LATIN])
def test_a_try_ends_as_elsewhere(environ: dict[str, str], tmp_path: Path) -> None:
    """The page has all letters, the terminal those that it can show."""
    with odd(lambda *_: answer(200, "grün →".encode())) as port:
        done = command(environ, "try", f"http://127.0.0.1:{port}/", "--no-load", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert b"12 of 12 checks hold" in done.stdout and b"? status" in done.stdout
    (folder,) = tmp_path.iterdir()
    assert "✓" in (folder / "try.html").read_text(encoding="utf-8")
