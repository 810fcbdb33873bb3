"""The project's habits, held as tests: sizes, what tests may do, and what no committed text may hold."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from builders.paths import ROOT, TESTS
from builders.sources import LAB, committed, lab_files, nodes, parsed, rust_files, shown, text_of

FUNCTION_LINES, FILE_LINES = 60, 450
LONGER: Mapping[str, int] = {}
"""Files that are longer, and how long. They may shrink, not grow."""

MOST_PARAMETERS = 8

USE_CASE_LINES = 3_700
"""So long all of `lab/` may be: what is no use case belongs to the package whose noun it is about."""

OF_THE_REPOSITORY = {
    "test_approaches.py",
    "test_arrows.py",
    "test_documents.py",
    "test_named_reasons.py",
    "test_names.py",
    "test_neutral.py",
    "test_neutral_contracts.py",
    "test_passes.py",
    "test_tidy.py",
    "test_twins.py",
    "test_workers.py",
    "test_zoo_animals.py",
    "test_zoo_parts.py",
}
"""Tests of no package: of the repository's habits, and of what tests use."""

BLOB_BYTES = 256 << 10
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock", "package-lock.json", "go.sum", "Cargo.lock")
PLACES_OF_ONE_MACHINE = ("/ro" + "ot/", "/wo" + "rk/", "/tm" + "p/fg")


# ---------------------------------------------------------------- sizes


def python_functions(path: Path, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every function of a Python file with its lines, docstring left out."""
    for node in nodes(tree):
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


def test_functions_fit_a_screen() -> None:
    """No function of the lab or the engine is longer than a screen."""
    functions = [one for path, tree in lab_files() for one in python_functions(path, tree)]
    functions += [one for path in rust_files() for one in rust_functions(path)]
    assert len(functions) > 200
    assert [(name, lines) for name, lines in functions if lines > FUNCTION_LINES] == []


def parameters(path: Path, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every function of a Python file with the number of its parameters, `self` and `cls` left out."""
    for node in nodes(tree):
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


def test_the_use_cases_stay_small() -> None:
    """The package that may import nearly all others is where code gathers that belongs elsewhere."""
    assert sum(len(path.read_text().splitlines()) for path in (LAB / "lab").glob("*.py")) <= USE_CASE_LINES


# ---------------------------------------------------------------- addresses


def strings(tree: ast.Module) -> Iterator[str]:
    """Every string of a Python file that is none of its docstrings."""
    words = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.value


def test_the_loopback_address_stands_in_one_file() -> None:
    """Where a role listens is its host's to say, so that no other file of those that start or reach roles has an address."""
    folders = [LAB / name for name in ("contract", "generators", "host", "measure", "postgres", "topology")]
    programs = [(path, text) for path, tree in lab_files() for text in strings(tree)]
    written = [
        (path, path.read_text()) for folder in folders for kind in ("toml", "conf", "ini") for path in folder.rglob(f"*.{kind}")
    ]
    found = {shown(path) for path, text in (*programs, *written) if "127.0.0.1" in text and set(folders) & set(path.parents)}
    assert found == {"src/fairground/host/network.py"}


# ---------------------------------------------------------------- tests


def test_every_test_says_what_holds() -> None:
    """Each test function has a docstring."""
    silent = []
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in nodes(parsed(path)):
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
    for node in nodes(program):
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


def test_no_two_modules_answer_to_one_name() -> None:
    """pytest puts each folder of tests among Python's: a helper named as a command of `bench/` would be taken for it."""
    helpers = {path.stem for path in committed() if path.is_relative_to(TESTS) and path.suffix == ".py"}
    assert helpers & {path.stem for path in (ROOT / "bench").glob("*.py")} == set()


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
    """A checkout has what the package declares, and its pages; extras of it that a checkout lacks are for tests, too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted, dev = (
        [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
        for name in ("requirements.in", "requirements-dev.in")
    )
    extras = dict(project["optional-dependencies"])
    assert [*project["dependencies"], *extras.pop("serve")] == wanted
    assert {one for extra in extras.values() for one in extra} <= set(dev)


def parents(lock: str) -> Iterator[tuple[str, set[str]]]:
    """Each package of a lock for Linux, and what asks for it."""
    for block in re.split(r"\n(?=[a-z])", lock):
        if (found := re.match(r"([a-z0-9-]+)==[^\n;]*(;[^\n]*)?", block)) and "win32" not in (found[2] or ""):
            yield found[1], set(re.findall(r"^    #(?: via|  ) +([a-z0-9-]+)(?: \(.*\))?$", block, re.MULTILINE))


def test_who_only_measures_installs_few_packages() -> None:
    """What the package brings without its extras, by the lock; the decision tells the same numbers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {name: by for name, by in parents((ROOT / "requirements.lock").read_text())}
    brought = {re.sub(r"\[.*", "", one) for one in project["dependencies"]}
    while more := {name for name, by in asked.items() if by & brought} - brought:
        brought |= more
    assert brought <= set(asked) and len(brought) <= 25
    decision = (ROOT / "docs" / "decisions" / "038-packages-of-the-lab.md").read_text()
    assert f"gets {len(brought)} packages, and {len(asked)} with it" in decision
