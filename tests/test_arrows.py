"""The arrows between the lab's modules, and which of them do nothing but compute."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping

import grimp
import pytest

from builders.paths import ROOT
from builders.sources import LAB, lab_files, nodes, parsed, shown

MAY_IMPORT: Mapping[str, set[str]] = {
    "model": set(),
    "stats": {"model"},
    "claims": {"model", "stats"},
    "inputs": {"model", "claims"},
    "contract": {"model"},
    "host": {"model"},
    "postgres": {"model", "host"},
    "topology": {"model", "host"},
    "generators": {"model", "host"},
    "judge": {"model", "inputs", "stats"},
    "measure": {"model", "stats", "judge", "host", "postgres", "topology", "generators", "contract"},
    "records": {"model", "stats", "judge", "capacity"},
    "run": {"model", "stats", "judge", "host", "measure", "records"},
    "capacity": {"model", "judge", "contract", "generators", "measure"},
    "report": {"model", "inputs", "stats", "claims", "run", "capacity"},
    "lab": {
        "model", "stats", "claims", "inputs", "contract", "host", "postgres", "topology", "generators", "judge", "measure", "run",
        "records", "capacity", "report", "fleet",
    },
    "fleet": {"model", "stats", "host", "generators", "postgres"},
    "serve": {"model", "host", "records", "run", "report", "lab"},
}  # fmt: skip
"""The arrows of ARCHITECTURE.md. `cli` may import all of them, and none of them may import `cli`."""

PROGRAMS = ("host/keeper.py", "serve/child.py")
"""Files that are also started as programs of their own, and speak with the lab over their streams."""

PURE = (
    "stats",
    "claims",
    "judge",
    "run/counting",
    "run/doubts",
    "run/first",
    "run/plan",
    "run/question",
    "run/retry",
    "run/rounds",
    "run/stopping",
    "run/windows",
    "capacity/cells",
    "capacity/objective",
    "capacity/loadcurve",
    "capacity/parts",
    "capacity/search",
    "capacity/service/parts",
    "capacity/service/values",
    "fleet/about",
    "fleet/shares",
)
FREE = ("judge/thresholds.py",)
"""Beside pure files, and reading a file of the lab's own."""

FORBIDDEN_TO_PURE = {
    "asyncio", "builtins", "ctypes", "datetime", "glob", "http", "importlib", "io", "logging", "multiprocessing", "os", "pathlib",
    "platform", "psutil", "psycopg", "random", "resource", "secrets", "select", "shutil", "signal", "socket", "subprocess", "sys",
    "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
"""Modules that read a clock, files, the machine, or hidden chance."""


# ---------------------------------------------------------------- arrows


@functools.cache
def arrows() -> dict[str, set[str]]:
    """Which top-level module of the lab imports which others, as it is, imports inside functions included."""
    graph = grimp.build_graph("fairground", cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in graph.modules - {"fairground"}:
        own = module.split(".")[1]
        others = {other.split(".")[1] for other in graph.find_modules_directly_imported_by(module) if other != "fairground"}
        found.setdefault(own, set()).update(others - {own})
    return found


@pytest.mark.parametrize("module", sorted(MAY_IMPORT))
def test_arrows_point_one_way(module: str) -> None:
    """A module imports what the table allows it, and nothing else of the lab."""
    assert arrows()[module] <= MAY_IMPORT[module]


def test_the_table_is_whole_and_has_no_circle() -> None:
    """Every module is in the table, and the table itself can be put in an order in which every arrow points back."""
    assert set(arrows()) == set(MAY_IMPORT) | {"cli", "__main__"}
    left, known = dict(MAY_IMPORT), set[str]()
    while left:
        next_ones = {module for module, others in left.items() if others <= known}
        assert next_ones, f"a circle among {sorted(left)}"
        known |= next_ones
        left = {module: others for module, others in left.items() if module not in next_ones}


def test_nothing_imports_cli() -> None:
    """The command line is on top: only the program's entry knows it."""
    assert {module for module, others in arrows().items() if "cli" in others} == {"__main__"}


def test_the_document_has_this_table() -> None:
    """ARCHITECTURE.md allows each module the same arrows, and names the same modules as those that only compute."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    every = MAY_IMPORT.keys() | {"cli"}
    rest = {
        module: every - {module} - set(re.findall(r"\w+", words)[2:]) for module, words in told.items() if words.startswith("all")
    }
    named = {module: set(words.split(", ")) - {"–"} for module, words in told.items() if module not in rest}
    assert {**named, **rest} == {**MAY_IMPORT, "cli": set(MAY_IMPORT)}
    (pure,) = re.findall(r"^- (`stats`[^.]*) do no I/O", text, re.MULTILINE)
    assert set(re.findall(r"`([^`]+)`", pure)) == set(PURE)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other in a circle, whole and in order: those that reach each other."""

    @functools.cache
    def reached(module: str) -> frozenset[str]:
        found, left = set[str](), [module]
        while left:
            new = graph.get(left.pop(), set()) - found
            found |= new
            left += new
        return frozenset(found)

    groups = {frozenset(other for other in reached(one) if one in reached(other)) for one in graph if one in reached(one)}
    return sorted(sorted(group) for group in groups)


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, [["b", "c"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_circles_are_seen(graph: Mapping[str, set[str]], found: list[list[str]]) -> None:
    """The search finds each circle of a made-up graph whole, and none where there is none."""
    assert circles(graph) == found


def test_no_package_has_a_circle_inside() -> None:
    """No modules of the lab import each other in a circle, imports inside functions and for types alone included."""
    graph = grimp.build_graph("fairground", cache_dir=None)
    assert circles({module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}) == []


# ---------------------------------------------------------------- purity


def imports(tree: ast.Module) -> set[str]:
    """The top-level names of all modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_do_nothing(module: str) -> None:
    """Plan, statistics and diagnosis do no I/O and read no clock: they import nothing that could, and open nothing."""
    found = [LAB / f"{module}.py"] if (LAB / f"{module}.py").exists() else sorted((LAB / module).rglob("*.py"))
    files = [path for path in found if str(path.relative_to(LAB)) not in FREE]
    assert files
    for tree in map(parsed, files):
        assert not imports(tree) & FORBIDDEN_TO_PURE
        called = {node.func.id for node in nodes(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not called & {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "id", "hash"}


def uses_of_the_outside(tree: ast.Module) -> set[str]:
    """What of printing, arguments, environment and exit a file uses."""
    found = set()
    for node in nodes(tree):
        match node:
            case ast.Call(func=ast.Name(id="print" | "exit" | "quit" | "input" as name)):
                found.add(name)
            case ast.Name(id="SystemExit"):
                found.add("SystemExit")
            case ast.Attribute(value=ast.Name(id="sys"), attr="argv" | "exit" | "stdout" | "stderr" | "stdin" as name):
                found.add(f"sys.{name}")
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "getenv" | "putenv" | "_exit" as name):
                found.add(f"os.{name}")
            case ast.ImportFrom(module="sys" | "os" as module, names=names):
                found |= {f"{module}.{alias.name}" for alias in names if alias.name in ("argv", "exit", "environ", "getenv")}
    return found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("print(1)", {"print"}),
        ("import sys\nsys.exit(sys.argv)", {"sys.exit", "sys.argv"}),
        ("from os import environ", {"os.environ"}),
        ("raise SystemExit", {"SystemExit"}),
        ("import os\nos.getpid(); sys.executable", set()),
    ],
)
def test_uses_are_seen(program: str, found: set[str]) -> None:
    """The search for uses of the outside finds each kind of them."""
    assert uses_of_the_outside(ast.parse(program)) == found


def test_only_the_command_line_speaks() -> None:
    """Only `cli` prints, reads arguments or the environment, or exits, but for programs of their own."""
    speakers = {
        shown(path): uses for path, tree in lab_files() if path.parent.name != "cli" and (uses := uses_of_the_outside(tree))
    }
    assert set(speakers) == {f"src/fairground/{program}" for program in PROGRAMS}
