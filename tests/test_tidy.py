"""The project's habits, held as tests: arrows between modules, purity, sizes, and what no committed text may hold."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import grimp
import pytest

from builders.paths import ROOT, TESTS

LAB = ROOT / "src" / "fairground"

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
    "run": {"model", "stats", "judge", "host", "measure", "capacity", "service"},
    "capacity": {"model", "generators", "measure"},
    "service": {"model", "judge", "contract", "capacity", "measure"},
    "report": {"model", "inputs", "stats", "claims", "run", "capacity", "service"},
    "lab": {
        "model", "stats", "claims", "inputs", "contract", "host", "postgres", "topology", "generators", "judge", "measure", "run",
        "capacity", "service", "report", "fleet",
    },
    "fleet": {"model", "stats", "host"},
    "serve": {"model", "run", "report", "lab"},
}  # fmt: skip
"""The arrows of ARCHITECTURE.md. `cli` may import all of them, and none of them may import `cli`."""

PROGRAMS = ("host/keeper.py", "report/charts/render.py")
"""Files that are also started as programs of their own, and speak with the lab over their streams."""

PURE = (
    "stats",
    "claims",
    "judge",
    "run/plan",
    "run/retry",
    "run/rounds",
    "run/stopping",
    "capacity/objective",
    "capacity/loadcurve",
    "capacity/parts",
    "capacity/search",
    "fleet/about",
    "fleet/shares",
    "service/parts",
    "service/values",
)
FREE = ("judge/thresholds.py",)
"""Beside pure files, and reading a file of the lab's own."""

FORBIDDEN_TO_PURE = {
    "asyncio", "builtins", "ctypes", "datetime", "glob", "http", "importlib", "io", "logging", "multiprocessing", "os", "pathlib",
    "platform", "psutil", "psycopg", "random", "resource", "secrets", "select", "shutil", "signal", "socket", "subprocess", "sys",
    "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
"""Modules that read a clock, files, the machine, or hidden chance."""

FUNCTION_LINES, FILE_LINES = 60, 450
LONGER: Mapping[str, int] = {}
"""Files that are longer, and how long. They may shrink, not grow."""

OF_THE_REPOSITORY = {
    "test_approaches.py",
    "test_documents.py",
    "test_noise.py",
    "test_tidy.py",
    "test_twins.py",
    "test_workers.py",
    "test_zoo_animals.py",
}
"""Tests of no package: of the repository's habits, and of what tests use."""

MOST_PARAMETERS = 8
BLOB_BYTES = 256 << 10
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock", "package-lock.json", "go.sum", "Cargo.lock")
PLACES_OF_ONE_MACHINE = ("/ro" + "ot/", "/wo" + "rk/", "/tm" + "p/fg")


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


# ---------------------------------------------------------------- purity


def imports(tree: ast.AST) -> set[str]:
    """The top-level names of all modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
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
        called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not called & {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "id", "hash"}


def uses_of_the_outside(tree: ast.AST) -> set[str]:
    """What of printing, arguments, environment and exit a file uses."""
    found = set()
    for node in ast.walk(tree):
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


# ---------------------------------------------------------------- sizes


def python_functions(path: Path, tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every function of a Python file with its lines, docstring left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            lines = (node.end_lineno or 0) - node.lineno + 1
            if docstring is not None:
                lines -= (docstring.end_lineno or 0) - docstring.lineno + 1
            yield f"{shown(path)}: {node.name}", lines


def rust_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a Rust file with its lines: from `fn` to the closing brace at the same indent."""
    lines = path.read_text().splitlines()
    for start, line in enumerate(lines):
        opening = re.match(r"(\s*)(?:pub(?:\([\w ]+\))? )?(?:const )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)", line)
        if opening and not line.rstrip().endswith((";", "}")):
            end = next((at for at in range(start + 1, len(lines)) if lines[at] == f"{opening[1]}}}"), None)
            if end is not None:
                yield f"{shown(path)}: {opening[2]}", end - start + 1


def rust_files() -> list[Path]:
    """The engine's sources."""
    return sorted((ROOT / "engine" / "src").rglob("*.rs"))


def test_functions_fit_a_screen() -> None:
    """No function of the lab or the engine is longer than a screen."""
    functions = [one for path, tree in lab_files() for one in python_functions(path, tree)]
    functions += [one for path in rust_files() for one in rust_functions(path)]
    assert len(functions) > 200
    assert [(name, lines) for name, lines in functions if lines > FUNCTION_LINES] == []


def parameters(path: Path, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every function of a Python file with the number of its parameters, `self` and `cls` left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            own = names[1:] if names[:1] in (["self"], ["cls"]) else names
            yield f"{path.relative_to(LAB)}: {node.name}", len(own) + len(node.args.kwonlyargs)


def test_functions_have_few_parameters() -> None:
    """No function of the lab has more than eight parameters: verbs take theirs from the table of options."""
    assert {name: count for path, tree in lab_files() for name, count in parameters(path, tree) if count > MOST_PARAMETERS} == {}


def test_files_are_one_noun_long() -> None:
    """No file of the lab or the engine is longer than it may be."""
    sizes = {shown(path): len(path.read_text().splitlines()) for path in (*sorted(LAB.rglob("*.py")), *rust_files())}
    assert {name: lines for name, lines in sizes.items() if lines > LONGER.get(name, FILE_LINES)} == {}
    assert [name for name in LONGER if sizes.get(name, 0) <= FILE_LINES] == [], "no longer long: take it from the table"


# ---------------------------------------------------------------- servers


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
    assert [name for name, text in neutral_texts().items() if pattern.search(text)] == []


def test_names_are_seen() -> None:
    """The search finds stacks, quoted ids and folders, and not longer words."""
    two, one = naming("two-words"), naming("word")
    assert all(two.search(text) for text in ('"two-words"', "two-words:plain", "servers/two-words/main"))
    assert not any(two.search(text) for text in ("two-words-more", "my-two-words", "two words"))
    assert all(one.search(text) for text in ('"word:plain"', "servers/word/main"))
    assert not any(one.search(text) for text in ("word", "a word: plain", "sword:plain", "servers/words"))


# ---------------------------------------------------------------- tests


def test_every_test_says_what_holds() -> None:
    """Each test function has a docstring."""
    silent = []
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node):
                silent.append(f"{shown(path)}: {node.name}")
    assert silent == []


def test_tests_mirror_the_lab() -> None:
    """A folder that holds tests has the name of a package of the lab, but for those of `bench/`, of `packaging/` and of the lab as a
    whole."""
    packages = {path.parent.name for path in LAB.glob("*/__init__.py")}
    folders = {path.parent.name for path in TESTS.rglob("test_*.py") if path.parent != TESTS}
    assert folders - packages == {"bench", "live", "packaging"}
    assert {path.name for path in TESTS.glob("test_*.py")} == OF_THE_REPOSITORY


def imported_tests(program: ast.Module) -> set[str]:
    """Modules of tests that a program imports."""
    found = set()
    for node in ast.walk(program):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if any(part.startswith("test_") for part in name.split("."))}


@pytest.mark.parametrize(
    "program", ["import test_one", "from test_one import two", "from pack.test_one import two", "from pack import test_one"]
)
def test_imports_of_tests_are_seen(program: str) -> None:
    """The search for imports of tests finds each way to write one, and nothing in an import of something else."""
    assert len(imported_tests(ast.parse(program))) == 1
    assert imported_tests(ast.parse(program.replace("test_one", "one"))) == set()


def test_no_test_imports_another() -> None:
    """What several tests build is in `tests/builders`."""
    files = [path for path in committed() if path.is_relative_to(TESTS) and path.suffix == ".py"]
    assert [shown(path) for path in files if imported_tests(parsed(path))] == []


def test_golden_files(tmp_path: Path, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden file that says something else fails and leaves what was got beside it; told to write, it is written anew."""
    monkeypatch.delenv("FAIRGROUND_GOLDEN", raising=False)
    path, got = tmp_path / "one.txt", tmp_path / "one.txt.got"
    for wanted in (None, "one\n"):
        if wanted is not None:
            path.write_text(wanted)
        with pytest.raises(pytest.fail.Exception, match="the golden file says something else"):
            golden(path, "two\n")
        assert got.read_text() == "two\n"
    golden(path, "one\n")
    assert not got.exists()
    monkeypatch.setenv("FAIRGROUND_GOLDEN", "write")
    golden(path, "two\n")
    assert path.read_text() == "two\n"


# ---------------------------------------------------------------- what is committed


def test_no_large_files() -> None:
    """Nothing large is committed but lock files."""
    large = [shown(path) for path in committed() if path.name not in LOCKS and path.stat().st_size > BLOB_BYTES]
    assert large == []


def test_no_place_of_one_machine() -> None:
    """No committed text holds a path of the machine that it was made on."""
    found = [
        f"{shown(path)}: {place}"
        for path in committed()
        if (text := text_of(path)) is not None
        for place in PLACES_OF_ONE_MACHINE
        if re.search(rf"(?<![\w.$}}]){re.escape(place)}", text)
    ]
    assert found == []


def locked(name: str) -> Sequence[Path]:
    """The committed lock files of that name."""
    return [path for path in committed() if path.name == name]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock", "requirements-docs.lock"])
def test_python_locks_have_hashes_and_no_addresses(name: str) -> None:
    """A Python lock pins every package by hash, and says nothing of where to get it."""
    for path in locked(name):
        text = path.read_text()
        assert "://" not in text and not re.search(r"^--", text, re.MULTILINE), shown(path)
        pinned = re.findall(r"^[\w.\-\[\],]+==", text, re.MULTILINE)
        assert pinned and len(pinned) == len(re.findall(r"^[\w.\-\[\],]+==[^\n]*\\\n\s+--hash=sha256:", text, re.MULTILINE)), (
            shown(path)
        )


def test_node_locks_have_hashes_and_no_addresses() -> None:
    """A Node lock holds no `resolved`, and the hash of every package."""
    for path in locked("package-lock.json"):
        packages = json.loads(path.read_text())["packages"]
        assert [name for name, package in packages.items() if "resolved" in package] == [], shown(path)
        assert [name for name, package in packages.items() if name and "integrity" not in package] == [], shown(path)


def test_cargo_locks_have_one_registry() -> None:
    """A Cargo lock names the public registry, its usual way of saying `crates.io`, and no other address."""
    for path in locked("Cargo.lock"):
        addresses = set(re.findall(r"[^\"\s]+://[^\"\s]+", path.read_text()))
        assert addresses <= {"registry+https://github.com/rust-lang/crates.io-index"}, shown(path)


def test_what_the_lab_needs_is_told_once() -> None:
    """The package and its extras declare what `requirements.in` says, so that whoever installs them lacks nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    wanted = [line for line in (ROOT / "requirements.in").read_text().splitlines() if line and not line.startswith("#")]
    assert declared == wanted
