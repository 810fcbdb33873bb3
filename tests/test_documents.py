"""What people read first, and what servers say of themselves: sentences are short, and so is what a newcomer reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from builders.paths import ROOT

SENTENCE_WORDS = 25
LINES = {
    "README.md": 150,
    "METHODOLOGY.md": 265,
    "ARCHITECTURE.md": 120,
    "CHANGELOG.md": 150,
    "docs/tutorial.md": 150,
    "docs/method-log.md": 150,
}
DECISIONS = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
SERVERS = sorted(path.parent.name for path in (ROOT / "servers").glob("*/README.md"))


def prose(markdown: str) -> Iterator[str]:
    """Each paragraph and each item of a list as one line; code, tables, headings and pictures left out."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:[|#]|!\[).*$", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*>]|\d+\.) ", "\n" + text):
        if block.strip():
            yield " ".join(block.split())


def sentences(markdown: str) -> Iterator[str]:
    """The sentences of a document. A link is its words, a piece of code is one word, and so is a list of single names."""
    for block in prose(markdown):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)
        plain = re.sub(r"`[^`]*`", "code", plain).replace("*", "")
        plain = re.sub(r"[\w-]+(?:, [\w-]+)+,? (?:and|or) [\w-]+", "names", plain)
        yield from re.split(r"(?<=[.!?])\s+", plain)


def long_sentences(markdown: str) -> list[str]:
    """Those of more words than a sentence may have."""
    return [one for one in sentences(markdown) if len(re.findall(r"\S*\w\S*", one)) > SENTENCE_WORDS]


def test_long_sentences_are_seen() -> None:
    """The search counts words over lines and inside items, and neither code, tables nor lists of names."""
    words = "word " * SENTENCE_WORDS
    assert len(long_sentences(f"# Title\n\n- {words}\n  more.\n- Short.\n")) == 1
    assert long_sentences(f"{words}`code and code`.") == [f"{words}code."]
    names = ", ".join(["name"] * SENTENCE_WORDS)
    assert long_sentences(f"{words.strip()}.\n\n```\n{words} more\n```\n| {words} | more |\n\nThese are {names} and name.") == []


@pytest.mark.parametrize(("name", "lines"), LINES.items())
def test_documents_are_read_from_top_to_bottom(name: str, lines: int) -> None:
    """What a newcomer reads is short, and so are its sentences."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert long_sentences(text) == []
    assert len(text.splitlines()) <= lines


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_one_short_page(name: str) -> None:
    """It says context, decision, alternatives, evidence and status, in short sentences, and the list of decisions has it."""
    text = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Alternatives", "Evidence", "Status"]
    assert long_sentences(text) == [] and len(text.splitlines()) <= 25
    number = int(name.split("-")[0])
    title = text.split("\n", 1)[0].removeprefix("# ")
    assert f"{number}. [{title}]({name})\n" in (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_tells_its_choices_in_short_sentences(server: str) -> None:
    """Who compares two servers reads the READMEs of both."""
    assert long_sentences((ROOT / "servers" / server / "README.md").read_text(encoding="utf-8")) == []
