"""The repository's files, as tests of its habits read them: what is committed, the lab's and the engine's sources, syntax trees."""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.paths import ROOT

LAB = ROOT / "src" / "fairground"


@functools.cache
def committed() -> tuple[Path, ...]:
    """Every file that is in the repository, or would be with the next commit."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True
    )
    if listing.returncode != 0:
        pytest.skip("this is no checkout: what is committed is not known")
    return tuple(path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file())


def shown(path: Path) -> str:
    """A file's name in messages."""
    return str(path.relative_to(ROOT))


@functools.cache
def parsed(path: Path) -> ast.Module:
    """A Python file's syntax tree, which is read and never changed."""
    return ast.parse(path.read_text())


@functools.cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a file's tree, in the order of `ast.walk`: many tests look at each of them."""
    return tuple(ast.walk(tree))


def lab_files() -> Iterator[tuple[Path, ast.Module]]:
    """Every Python file of the lab, parsed."""
    for path in sorted(LAB.rglob("*.py")):
        yield path, parsed(path)


@functools.cache
def text_of(path: Path) -> str | None:
    """A file's text; None where it is none."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def rust_files() -> list[Path]:
    """The engine's sources."""
    return sorted((ROOT / "engine" / "src").rglob("*.rs"))
