"""Helps, word for word, the version, and how the module ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from builders.paths import TESTS
from cli.command import PLAIN, ROOT, Golden, Run
from fairground.cli import verbs

GOLDEN = TESTS / "golden" / "cli"
VERBS = tuple(verbs.VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, fairground: Run, golden: Golden) -> None:
    """The help of every verb, word for word, on standard output."""
    done = fairground(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    golden(GOLDEN / f"{verb}.txt", done.stdout)


@pytest.mark.parametrize("verb", ["serve", "join", "list"])
def test_help_of_a_hosts_verb(verb: str, fairground: Run, golden: Golden) -> None:
    """The help of each verb below `host`, word for word."""
    done = fairground("host", verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    golden(GOLDEN / "host" / f"{verb}.txt", done.stdout)


def test_help_of_the_whole(fairground: Run, golden: Golden) -> None:
    """The help of the whole, word for word; the same without any word, and with `-h`."""
    helps = [fairground(*words) for words in (("--help",), (), ("-h",))]
    assert [(done.returncode, done.stderr) for done in helps] == [(0, "")] * 3
    assert len({done.stdout for done in helps}) == 1
    golden(GOLDEN / "fairground.txt", helps[0].stdout)


@pytest.mark.parametrize("name", VERBS)
def test_a_listed_sentence_is_the_verbs_own(name: str) -> None:
    """What the help of the whole says of a verb that it has not loaded is what the verb says of itself."""
    verb = verbs.VERBS[name]
    loaded = verb.load(name)
    assert loaded.name == name
    assert loaded.help.splitlines()[0].startswith(verb.sentence)


HEAVY = ("numpy", "scipy", "psycopg", "jinja2", "psutil")


@pytest.mark.live
@pytest.mark.parametrize(
    ("words", "lean"),
    [((), HEAVY), (("--help",), HEAVY), (("lsit",), HEAVY), (("list", "stacks", "--json"), HEAVY[:-1])],
    ids=" ".join,
)
def test_what_needs_no_number_loads_no_numerics(words: tuple[str, ...], lean: tuple[str, ...]) -> None:
    """The help, a wrong verb and the list of stacks load nothing that computes, draws or speaks with a database."""
    program = f"""
import sys
from fairground.cli import main
sys.argv = ["fairground", *{words!r}]
try:
    main()
except SystemExit:
    pass
print([name for name in {lean!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | PLAIN, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "[]"


def test_every_golden_help_is_of_a_verb() -> None:
    """No help of a verb that is gone stays behind."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*VERBS, "fairground"}


def test_help_shows_how() -> None:
    """Every help has an example that begins as a person would type it, and fits the width."""
    for path in GOLDEN.glob("*.txt"):
        text = path.read_text()
        assert re.search(r"Examples?:\s+\./fairground", text), path.name
        assert max(len(line) for line in text.splitlines()) <= 100, path.name


@pytest.mark.live
def test_version() -> None:
    """`python -m fairground --version` prints the version of pyproject.toml."""
    done = subprocess.run(
        [sys.executable, "-m", "fairground", "--version"], env=os.environ | PLAIN, capture_output=True, text=True
    )
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert done.returncode == 0 and done.stdout.startswith(f"fairground {declared[1]}")


@pytest.mark.live
def test_exit_code_of_the_module() -> None:
    """`python -m fairground` ends with the verb's own exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "fairground", "list", "wishes"], env=os.environ | PLAIN, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no list of `wishes`\n")


def test_no_help_shows_a_type_of_python() -> None:
    """What may be repeated is shown by the type of each value."""
    assert not [path.name for path in GOLDEN.glob("*.txt") if "list[" in path.read_text()]
