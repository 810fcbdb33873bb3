"""What works for any servers names none of the repository's own."""

from __future__ import annotations

import functools
import re

import pytest

from builders.paths import ROOT, TESTS
from builders.sources import committed, shown, text_of


def server_ids() -> list[str]:
    """The folders of `servers/`."""
    return sorted(path.parent.name for path in (ROOT / "servers").glob("*/server.toml"))


NEUTRAL = ("src", ".ci", ".github", "action.yml", "packaging", "Makefile", "fairground")


@functools.cache
def neutral_texts() -> dict[str, str]:
    """Files that must work for any servers, with their texts, names of packages left out: the lab, its tests, the suite of everything,
    and what builds and checks them."""
    own = [path for path in committed() if path.parts[len(ROOT.parts)] in NEUTRAL]
    tests = [path for path in committed() if path.is_relative_to(TESTS) and path.suffix == ".py"]
    return {shown(path): PACKAGES.sub("", text_of(path) or "") for path in (*own, *tests, ROOT / "suites" / "matrix.toml")}


def naming(id: str) -> re.Pattern[str]:
    """What names a server. An id that is one plain word may be a program's name as well (the doctor knows some): then only
    a stack of it, or its folder, is meant."""
    word = re.escape(id)
    return re.compile(rf"(?<![\w-]){word}(?![\w-])" if "-" in id else rf"(?<![\w-]){word}:(?=[a-z])|servers/{word}(?![\w-])")


PACKAGES = re.compile(r"apt-get install[^\n]*|missing\+=\([^)]*\)|packages=\"[^\"]*\"")
"""Names of the system's packages, which may be those of servers."""


@pytest.mark.parametrize("id", server_ids())
def test_no_servers_name(id: str) -> None:
    """Adding, renaming or removing a server touches its folder and nothing else."""
    pattern = naming(id)
    assert [name for name, text in neutral_texts().items() if id in text and pattern.search(text)] == []


def test_names_are_seen() -> None:
    """The search finds stacks, quoted ids and folders, and not longer words."""
    two, one = naming("two-words"), naming("word")
    assert all(two.search(text) for text in ('"two-words"', "two-words:plain", "servers/two-words/main"))
    assert not any(two.search(text) for text in ("two-words-more", "my-two-words", "two words"))
    assert all(one.search(text) for text in ('"word:plain"', "servers/word/main"))
    assert not any(one.search(text) for text in ("word", "a word: plain", "sword:plain", "servers/words"))
