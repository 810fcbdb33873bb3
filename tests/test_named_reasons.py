"""The table of reasons is the only place where a reason is named."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from builders.sources import LAB, lab_files, nodes, shown
from fairground.model.reason import REASONS

TABLE = LAB / "model" / "reason.py"
OTHER_MEANINGS = {"backlog", "deadlock", "generator", "memory", "pool", "pooler", "ports", "throttled", "wire"}
"""Ids that are also words for a role, a setting, a check or a kernel's counter: there alone may they stand as strings."""


def texts(inside: Sequence[ast.AST]) -> Iterator[str]:
    """The strings among some nodes, docstrings left out."""
    words = {id(one.value) for one in inside if isinstance(one, ast.Expr)}
    for one in inside:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in words:
            yield one.value


def free_strings(tree: ast.Module) -> Iterator[str]:
    """The reasons that a file names by a string of its own: any of them in a finding or a diagnosis, the plain ones anywhere."""
    for node in nodes(tree):
        match node:
            case ast.Call(func=ast.Name("Finding"), args=[id, *_]):
                yield from (text for text in texts(list(ast.walk(id))) if text in REASONS)
            case ast.Assign(targets=[ast.Attribute(attr="diagnosis")], value=value) | ast.keyword(arg="diagnosis", value=value):
                yield from texts(list(ast.walk(value)))
            case ast.Compare(left=ast.Attribute(attr="diagnosis"), comparators=[value]):
                yield from texts(list(ast.walk(value)))
    yield from (text for text in texts(nodes(tree)) if text in REASONS and text not in OTHER_MEANINGS)


@pytest.mark.parametrize(
    "program",
    [
        "Finding('pool', severity, 'it waits')",
        "self.diagnosis = 'pool'",
        "replace(trial, diagnosis='pool')",
        "if trial.diagnosis == 'pool': pass",
        "named = 'db-lock'",
    ],
)
def test_free_strings_are_seen(program: str) -> None:
    """The search finds each way to name a reason beside the table; a role of the same name is none."""
    assert list(free_strings(ast.parse(program)))
    assert list(free_strings(ast.parse("'''db-lock'''\nroles = {'pool': 1}"))) == []


def named(path: Path, tree: ast.Module) -> list[str]:
    """The free strings of one file, with its name."""
    return [f"{shown(path)}: {text}" for text in free_strings(tree)]


def test_reasons_are_named_in_the_table_alone() -> None:
    """No code gives, compares or explains a reason by a string of its own: what it can give is in the table."""
    assert [one for path, tree in lab_files() if path != TABLE for one in named(path, tree)] == []
