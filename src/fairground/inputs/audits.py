"""Check what a workload's audit says: names that a database can have, numbers that mean something, integer arithmetic."""

from __future__ import annotations

import ast
import dataclasses
import re

from fairground.model import Audit
from fairground.model.source import Source, location_text

DATABASE_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def check_needs(source: Source, audit: Audit) -> None:
    """Check what one answer needs of the database: numbers that mean something, and names that the database can have."""
    for i, statement in enumerate(audit.statements):
        source.require_text(("audit", "statements", i), statement)
    if audit.statements_per_answer <= 0:
        hint = "write how many statements one answer needs"
        raise source.error(("audit", "statements_per_answer"), "`audit.statements_per_answer` is not above 0 in", hint)
    most = audit.most_commits_per_answer
    if most is not None and most < max(audit.commits_per_answer, 1):
        hint = "write the most commits that an honest answer makes, or leave it out"
        place = ("audit", "most_commits_per_answer")
        raise source.error(place, "`audit.most_commits_per_answer` is below what one answer needs in", hint)
    numbers = [(("audit", "functions", name), name, calls) for name, calls in audit.functions.items()]
    numbers += [(("audit", "tables", name), name, min(dataclasses.astuple(need))) for name, need in audit.tables.items()]
    for location, name, least in numbers:
        if not DATABASE_NAME.fullmatch(name):
            problem = f"`{name}` is not a valid name for `{location_text(location[:2])}` of"
            raise source.error(location, problem, "use a-z, 0-9 and _ only")
        if least < 0:
            raise source.error(location, f"`{location_text(location)}` is below 0 in", "write what one good answer needs")


def is_expression(text: str) -> bool:
    """True if the text is arithmetic on whole numbers, `before` and `acknowledged`."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    grammar = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Load)
    return all(
        isinstance(node, grammar)
        or (isinstance(node, ast.Name) and node.id in ("before", "acknowledged"))
        or (isinstance(node, ast.Constant) and type(node.value) is int)
        for node in ast.walk(tree)
    )
