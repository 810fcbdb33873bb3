"""The expressions in which a workload's audit says what it expects: `before`, `acknowledged`, whole numbers, +, - and *."""

from __future__ import annotations

import ast


def is_valid(text: str) -> bool:
    """Whether a text is one of them."""
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
