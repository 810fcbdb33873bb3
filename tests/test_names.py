"""Names and docstrings of the lab: one class to a name, functions that are no bare participle, docstrings that open with what is done."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from builders.sources import LAB, committed, lab_files, nodes, parsed, shown

IRREGULAR = frozenset(
    [
        "begun",
        "bound",
        "brought",
        "built",
        "chosen",
        "done",
        "drawn",
        "driven",
        "found",
        "given",
        "gone",
        "held",
        "kept",
        "known",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "put",
        "said",
        "seen",
        "sent",
        "shown",
        "spent",
        "sought",
        "spoken",
        "sworn",
        "taken",
        "taught",
        "thought",
        "told",
        "understood",
        "won",
        "worn",
        "written",
    ]
) - {"put"}
"""Participles that do not end in -ed."""

NO_PARTICIPLES = frozenset(["exceed", "feed", "need", "proceed", "red", "seed", "speed", "embed", "shed", "succeed"])
"""Words that end like a participle and are none."""

FIRST_WORDS = frozenset(
    [
        "As",
        "At",
        "By",
        "For",
        "From",
        "How",
        "If",
        "In",
        "Of",
        "On",
        "Only",
        "So",
        "That",
        "To",
        "What",
        "When",
        "Where",
        "Whether",
        "Which",
        "Who",
        "Whose",
        "Why",
        "With",
    ]
)
"""Words that open no docstring: a reader wants to know first what is done, or what the thing is."""

FIRST_SENTENCE_WORDS = 20

OURS = ("fairground.", "builders.")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    return (node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True for what reads like a field: its name may say a state."""
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def is_participle(name: str) -> bool:
    """True for one word that says what was done to something."""
    return "_" not in name and name not in NO_PARTICIPLES and (name.endswith("ed") or name in IRREGULAR)


def participles(tree: ast.Module) -> list[str]:
    """Public functions of a module that a bare participle names."""
    return [one.name for one in functions(tree) if is_participle(one.name) and not is_property(one)]


def aliases(tree: ast.Module) -> list[str]:
    """Modules, classes and functions of ours that are imported under another name."""
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{one.name}" for one in node.names if one.asname not in (None, one.name)]
    return [name for name in found if name.startswith(OURS)]


def starred_tuples(tree: ast.Module) -> list[str]:
    """Calls that take several arguments from a tuple which the same function has made for them."""
    found = []
    for function in functions(tree):
        made = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
        stars = (one.value for call in calls for one in call.args if isinstance(one, ast.Starred))
        found += [ast.unparse(one) for one in stars if isinstance(one, ast.Tuple) or isinstance(one, ast.Name) and one.id in made]
    return found


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring, without the line breaks in it."""
    return re.split(r"(?<=[.!?:;])\s", " ".join(docstring.split("\n\n")[0].split()))[0]


def bad_docstrings(tree: ast.Module) -> list[str]:
    """First sentences of docstrings that open with a word of FIRST_WORDS, or are too long."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = (ast.get_docstring(node) for node in nodes(tree) if isinstance(node, kinds))
    sentences = (first_sentence(text) for text in texts if text)
    return [one for one in sentences if one.split()[0] in FIRST_WORDS or len(one.split()) > FIRST_SENTENCE_WORDS]


def in_files(find: object) -> dict[str, list[str]]:
    """File → what `find` finds in it, of files in which it finds something."""
    assert callable(find)
    return {str(path.relative_to(LAB)): found for path, tree in lab_files() if (found := find(tree))}


def test_a_class_name_is_unique() -> None:
    """No two classes of the lab have one name, so that a name says which thing is meant."""
    places = defaultdict[str, list[str]](list)
    for path, tree in lab_files():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(LAB)))
    assert len(places) > 200
    assert {name: some for name, some in places.items() if len(some) > 1} == {}


def test_no_function_is_a_bare_participle() -> None:
    """A public function is named by what it does or gives: `load`, `cost_of`, `is_void`."""
    assert in_files(participles) == {}


def test_nothing_of_ours_has_an_alias() -> None:
    """A module, and what it holds, has one name everywhere: in the lab, its tests and its benches."""
    files = [path for path in committed() if path.suffix == ".py"]
    assert len(files) > 500
    assert {shown(path): found for path in files if (found := aliases(parsed(path)))} == {}


def test_no_call_takes_a_tuple_made_for_it() -> None:
    """A reader sees which argument is which."""
    assert in_files(starred_tuples) == {}


def test_docstrings_open_with_what_is_done() -> None:
    """The first sentence is an imperative or names the thing, in at most 20 words."""
    assert in_files(bad_docstrings) == {}


@pytest.mark.parametrize(
    ("find", "text", "found"),
    [
        (participles, "def measured(): ...", ["measured"]),
        (participles, "def kept(): ...", ["kept"]),
        (participles, "class A:\n    @property\n    def kept(self): ...\n    def need(self): ...\ndef _told(): ...", []),
        (aliases, "from fairground.report.text.words import plural as counted", ["fairground.report.text.words.plural"]),
        (aliases, "from fairground.report.text import words as texts", ["fairground.report.text.words"]),
        (aliases, "from fairground.report.text import words as words\nimport numpy as np", []),
        (starred_tuples, "def f():\n    both = (1, 2)\n    g(*both)\n    g(*(3, 4))", ["both", "(3, 4)"]),
        (starred_tuples, "def f(some):\n    g(*some)\n    g(*[one for one in some])", []),
        (bad_docstrings, 'def f():\n    """Whether it is so."""', ["Whether it is so."]),
        (bad_docstrings, f'def f():\n    """Say {"very " * 20}much."""', [f"Say {'very ' * 20}much."]),
        (bad_docstrings, 'def f():\n    """So many."""', ["So many."]),
        (bad_docstrings, 'def f():\n    """Say it.\n\n    What more there is."""', []),
    ],
)
def test_each_rule_finds_what_breaks_it(find: object, text: str, found: list[str]) -> None:
    """The rules above can fail, and pass what keeps them."""
    assert callable(find) and find(ast.parse(text)) == found
