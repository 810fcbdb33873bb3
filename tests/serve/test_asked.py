"""From what a page asks for to a command: known names and numbers in bounds, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairground.inputs import options
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.serve import asked
from fairground.serve.asked import Known

KNOWN = Known(("one:plain", "two:fast"), ("ping", "tx"), ("demo",))
PLACES = Places(root=Path("/lab"), servers=Path("/lab/servers"), results=Path("/r"))
SHARED = ("--json", "--progress", "--results", "/r", "--servers", "/lab/servers")


def test_what_can_be_asked_becomes_a_command() -> None:
    """A suite, stacks on workloads, and two stacks held against each other."""
    assert asked.words({"verb": "suite", "suites": "demo"}, KNOWN, PLACES) == ("run", "/lab/suites/demo.toml", *SHARED)
    document = {
        "verb": "run",
        "stacks": ["one:plain"],
        "workloads": ["ping", "tx"],
        "blocks": 2,
        "window": 0.5,
        "connections": None,
    }
    assert asked.words(document, KNOWN, PLACES) == (
        "run", "--stack", "one:plain", "--workload", "ping", "--workload", "tx", "--blocks", "2", "--window", "0.5", *SHARED,
    )  # fmt: skip
    document = {"verb": "compare", "stacks": ["one:plain", "two:fast"], "workloads": ["tx"], "blocks": 2, "connections": 8}
    assert asked.words(document, KNOWN, PLACES) == (
        "compare", "one:plain", "two:fast", "--workload", "tx", "--connections", "8", "--json",
        "--results", "/r", "--servers", "/lab/servers",
    )  # fmt: skip


def test_its_options_are_those_of_the_command_line() -> None:
    """Every option that a page can lead to is in the table of `run`."""
    known = {one.spelling for one in options.OPTIONS}
    document = {"verb": "run", "stacks": ["one:plain"], "workloads": ["ping"], "blocks": 2, "window": 1, "connections": 5}
    assert {word for word in asked.words(document, KNOWN, PLACES) if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "cannot be started from this page"),
        ({"verb": "clean"}, "cannot be started from this page"),
        ({"verb": "suite", "suites": "../../etc/passwd"}, "is not among the suites"),
        ({"verb": "run", "stacks": ["--database"], "workloads": ["ping"]}, "is not among the stacks"),
        ({"verb": "run", "stacks": [], "workloads": ["ping"]}, "`stacks` needs 1 or more"),
        ({"verb": "run", "stacks": ["one:plain"], "workloads": {"ping": 1}}, "`workloads` needs"),
        ({"verb": "run", "stacks": [["one:plain"]], "workloads": ["ping"]}, "is not among the stacks"),
        ({"verb": "run", "stacks": ["one:plain"], "workloads": ["ping"], "blocks": 1.5}, "`blocks` is 1.5"),
        ({"verb": "run", "stacks": ["one:plain"], "workloads": ["ping"], "blocks": True}, "`blocks` is True"),
        ({"verb": "run", "stacks": ["one:plain"], "workloads": ["ping"], "window": "1; rm"}, "`window` is '1; rm'"),
        ({"verb": "run", "stacks": ["one:plain"], "workloads": ["ping"], "connections": 10**9}, "`connections` is"),
        ({"verb": "compare", "stacks": ["one:plain"], "workloads": ["ping"]}, "`stacks` needs 2"),
        ({"verb": "compare", "stacks": ["one:plain", "two:fast"], "workloads": ["ping", "tx"]}, "`workloads` needs 1"),
    ],
)
def test_anything_else_is_refused(document: dict[str, Any], words: str) -> None:
    """One sentence names what is wrong."""
    with pytest.raises(LabError) as caught:
        asked.words(document, KNOWN, PLACES)
    assert words in caught.value.message
