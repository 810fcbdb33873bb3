"""The lab and its engine know a grammar, and no word of any contract: not a table, a path, a workload, or a server's variable."""

from __future__ import annotations

import ast
import functools
import re

import pytest

from builders.contracts import CONTRACTS, EVERY_WORKLOAD
from builders.paths import ROOT
from builders.sources import committed, nodes, parsed, shown, text_of
from fairground.model import Workload
from fairground.model.contract import Contract

THEIR_OWN = {
    "json": "a format",
    "ping": "a question that only asks whether a connection lives",
    "time": "a quantity",
    "lookup": "a word of long English names, among those that are no secrets",
    "create": "a word of SQL, and what records do",
    "update": "a word of SQL, and of methods",
    "read": "what is done with files and counters",
    "page": "the kind of a report",
    "items": "a word of JSON Schema",
}
"""Words of contracts that the lab needs for something else, and for what."""


def words_of(contract: Contract, workloads: list[Workload]) -> set[str]:
    """The names of a contract: tables, functions, paths, workloads, and what servers are told by."""
    found = {*contract.environment, *contract.paths, *contract.paths.values(), contract.ready.path}
    found |= set(re.findall(r'CREATE (?:TABLE|FUNCTION) "?(\w+)', contract.sql["schema"]))
    for one in workloads:
        found |= {one.id.removeprefix(f"{contract.id}/"), *(re.split(r"[?{]", each.path)[0] for each in one.requests)}
    return {word for word in found if not word.startswith("$")}


WORDS = sorted(
    set().union(*(words_of(one, [each for each in EVERY_WORKLOAD if each.contract.id == id]) for id, one in CONTRACTS.items()))
)
CODE = [path for path in committed() if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "engine" / "src")]


def literals(tree: ast.Module) -> set[str]:
    """The texts that stand in a module, without its docstrings."""
    blocks = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in nodes(tree) if isinstance(node, blocks)]
    docs = {id(line.value) for body in bodies for line in body if isinstance(line, ast.Expr)}
    constants = [node for node in nodes(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return {node.value for node in constants if isinstance(node.value, str)}


@functools.cache
def texts() -> dict[str, str]:
    """The files of the code, and what is in them."""
    return {shown(path): text_of(path) or "" for path in CODE}


@functools.cache
def spoken() -> dict[str, set[str]]:
    """The texts that stand in each module."""
    return {shown(path): literals(parsed(path)) for path in CODE if path.suffix == ".py"}


@pytest.mark.parametrize("word", [word for word in WORDS if word not in THEIR_OWN])
def test_no_module_has_a_word_of_a_contract(word: str) -> None:
    """No text of the lab's own is the name of something that a contract has."""
    assert [name for name, said in spoken().items() if word in said] == []


@pytest.mark.parametrize("word", [word for word in WORDS if re.search(r"\w[_-]\w|/\w+/", word)])
def test_no_file_speaks_of_a_contract(word: str) -> None:
    """Names that are no ordinary words stand nowhere in the code: no comment, page or help text is about one contract."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    assert [name for name, text in texts().items() if word in text and pattern.search(text)] == []


def test_words_are_seen() -> None:
    """The search finds names in code, and none in what is said of it; every exception is a word of some contract."""
    assert literals(ast.parse('"""A text on one."""\nx = "two"\ny = {"three": f"four{x}"}')) == {"two", "three", "four"}
    assert {"web_users", "/db/ping", "POOL_SIZE", "fortunes", "updates"} <= set(WORDS)
    assert set(THEIR_OWN) <= set(WORDS)
