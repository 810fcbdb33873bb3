"""Dockerfiles: instructions with their lines, stages, and what a shell's line is made of."""

from __future__ import annotations

import pytest

from fairground.inputs import dockerfile

TEXT = """\
# a comment
ARG KIND=slim
FROM tool:1-${KIND} AS Maker
RUN one && \\
    # within
    two

RUN <<END
three
END
FROM never AS unused
from base
COPY --from=maker ["/made/it", "/it"]
"""


def test_instructions_have_their_lines() -> None:
    """Continued lines are one instruction, comments are none, and a here-document belongs to its own."""
    found = dockerfile.instructions(TEXT)
    assert [(one.word, one.line) for one in found] == [
        ("ARG", 2), ("FROM", 3), ("RUN", 4), ("RUN", 8), ("FROM", 11), ("FROM", 12), ("COPY", 13),
    ]  # fmt: skip
    assert found[2].text == "one && two" and "three" in found[3].text
    assert found[-1].flags == {"from": "maker"} and found[-1].words() == ["/made/it", "/it"]


def test_a_shift_begins_no_here_document() -> None:
    """What follows it is instructions."""
    text = "RUN tool --most=$((1<<20)) $(( 1 << n ))\nCMD x\nRUN tool <<-'END' >file\nCMD y\nEND\n"
    assert [one.word for one in dockerfile.instructions(text)] == ["RUN", "CMD", "RUN"]


def test_an_argument_from_before_the_first_stage_has_its_value() -> None:
    """Where a stage declares it without one; another value of the stage's own stays, and so does what nobody gave."""
    text = "ARG V=1\nARG W='a b'\nFROM x\nARG V W\nARG V=2\nARG Z\n"
    (stage,) = dockerfile.stages(dockerfile.instructions(text))
    found = [dockerfile.assignments(one.text, {}) for one in stage.instructions]
    assert found == [{"V": "1", "W": "a b"}, {"V": "2"}, {}]


def test_stages_are_those_that_the_last_one_needs() -> None:
    """A stage that nobody copies from is left out; a name has no case, and an argument is filled in."""
    assert [(one.name, one.base) for one in dockerfile.stages(dockerfile.instructions(TEXT))] == [
        ("maker", "tool:1-slim"),
        ("2", "base"),
    ]
    assert dockerfile.stages(dockerfile.instructions("# nothing\n")) == ()


@pytest.mark.parametrize(
    ("text", "known", "found"),
    [
        ("A=1 B='two words'", {}, {"A": "1", "B": "two words"}),
        ("A some words", {}, {"A": "some words"}),
        ("A=${B:-x}/$C", {"C": "c"}, {"A": "x/c"}),
        ("A", {}, {}),
    ],
)
def test_assignments(text: str, known: dict[str, str], found: dict[str, str]) -> None:
    """Both forms of `ENV`, with what is known filled in."""
    assert dockerfile.assignments(text, known) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a && b; c | d", [("a", "&&"), ("b", ";"), ("c", "|"), ("d", "")]),
        ("a 'x && y' 2>&1 && b", [("a 'x && y' 2>&1", "&&"), ("b", "")]),
    ],
)
def test_commands_are_split_outside_of_quotes(text: str, found: list[tuple[str, str]]) -> None:
    """Operators within quotes are text, and `>&` is none."""
    assert dockerfile.commands(text) == found


def test_a_pipe_is_one_step() -> None:
    """What is piped, chosen or left behind is one step that is no plain command."""
    assert dockerfile.steps("a; b | c && d || e; f &") == [("a", True), ("b | c", False), ("d || e", False), ("f &", False)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tool -o=/app/x /b https://h/p c/d", ["/app/x", "/b"]),
        ("-cp /a/x:/b/* /p:Name=1", ["/a/x", "/b/*"]),
        ("./run ../up", []),
    ],
)
def test_paths(text: str, found: list[str]) -> None:
    """Absolute paths are found wherever a value begins, and addresses, relative paths and options are none."""
    assert [one[0] for one in dockerfile.paths(text)] == found
