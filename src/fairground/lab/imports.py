"""`import`: servers made of the folder of a framework that another benchmark keeps, one for each test that a contract has.

The framework's folder is only read. What a server needs of it is copied below `files/`, and `server.toml` says how it is built
and served. A server that could not be loaded afterwards is not written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairground.inputs import dockerfile, frameworks, manifest, manifest_text
from fairground.inputs.frameworks import FrameworkTest, ImportRules
from fairground.inputs.recipe import FILES, IMAGE, Recipe, Remark
from fairground.lab.places import Places
from fairground.model import LabError, foreign, storing
from fairground.model.contract import Contract

MOST_BYTES = 1 << 20
"""The largest file in which names are looked for."""


@dataclass(frozen=True)
class ImportedTest:
    """The outcome of one test: the server's folder, or why there is none (`cause`), and what could not be taken over."""

    test: str
    id: str
    folder: str | None
    cause: str | None
    missing: tuple[str, ...]
    """Tools that it needs and that are not on PATH."""
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    """All that came of a folder; `remarks` are of its file of tests."""

    tests: tuple[ImportedTest, ...]
    remarks: tuple[str, ...]


def import_servers(places: Places, contract_id: str, folder: Path) -> Imported:
    """Write a server for each test of the framework in `folder`. LabError where there is no such contract, or no framework."""
    known = places.contracts()
    able = sorted(id for id, one in known.items() if (one.folder / frameworks.FILE).is_file())
    if contract_id not in able:
        raise LabError(f"nothing can be imported for `{contract_id}`", f"contracts with rules for it: {', '.join(able)}")
    contract = known[contract_id]
    rules = frameworks.read_rules(contract)
    tests, remarks = frameworks.read_tests(folder, rules)
    there = places.servers.is_dir() or places.lab_servers is not None
    taken = {server.id: server.folder for server in (places.load_servers() if there else ())}
    found = list[ImportedTest]()
    for test in tests:
        found.append(_import(places, contract, rules, folder, test, taken))
        if found[-1].folder is not None:
            taken[test.id] = Path(found[-1].folder)
    return Imported(tuple(found), tuple(str(one) for one in remarks))


def _import(
    places: Places, contract: Contract, rules: ImportRules, folder: Path, test: FrameworkTest, taken: dict[str, Path]
) -> ImportedTest:
    target = places.servers / test.id
    file = folder / test.dockerfile
    cause = None
    if test.database not in rules.databases:
        cause = f"its database is {test.database}"
    elif not any(test.text(key) for key in rules.paths):
        cause = f"it has none of {', '.join(rules.paths)}"
    elif test.id in taken or target.exists():
        cause = f"`{taken.get(test.id, target)}` exists already"
    elif not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
        cause = f"there is no `{test.dockerfile}`"
    if cause is not None:
        return _left_out(test, cause)
    text = file.read_text(encoding="utf-8", errors="replace")
    stages = dockerfile.stages(dockerfile.instructions(text))
    if not stages:
        return _left_out(test, f"`{test.dockerfile}` has no FROM")
    told = {"TFB_TEST_NAME": test.name} if "TFB_TEST_NAME" in text else {}
    recipe = Recipe(test.dockerfile, folder, stages, told)
    recipe.finish(test.text("docker_cmd") or None)
    if recipe.serve is None:
        return _left_out(test, "what serves could not be read", *recipe.remarks)
    return _write(places, contract, rules, folder, test, recipe)


def _write(
    places: Places, contract: Contract, rules: ImportRules, folder: Path, test: FrameworkTest, recipe: Recipe
) -> ImportedTest:
    """Put the server among the others once it is whole and could be loaded."""
    target = places.servers / test.id
    with storing(target), tempfile.TemporaryDirectory() as name:
        made = Path(name) / test.id
        made.mkdir()
        recipe.remarks += _copy(folder, made / FILES, recipe)
        places_of_host = () if rules.host is None or test.database == "none" else tuple(_compiled_in(made, rules.host))
        compiled = rules.compiled if places_of_host else None
        if compiled is None:
            recipe.remarks += [Remark(*place, f"`{rules.host}` is compiled in") for place in places_of_host]
        written, more = manifest_text.write(contract, rules, test, recipe, compiled)
        (made / "server.toml").write_text(written, encoding="utf-8")
        (made / ".gitignore").write_text(f"/{IMAGE}/\n", encoding="utf-8")
        remarks = tuple(foreign.line(str(one)) for one in more)
        try:
            manifest.load_servers(Path(name), {contract.id: contract}, [one.id for one in places.workloads()])
        except LabError as error:
            return ImportedTest(test.name, test.id, None, error.message, (), remarks)
        places.servers.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, target, symlinks=True)
    return ImportedTest(test.name, test.id, str(target), None, recipe.lacks(places.environ.get("PATH")), remarks)


def _left_out(test: FrameworkTest, cause: str, *remarks: Remark) -> ImportedTest:
    return ImportedTest(test.name, test.id, None, foreign.line(cause), (), tuple(foreign.line(str(one)) for one in remarks))


def _copy(folder: Path, target: Path, recipe: Recipe) -> list[Remark]:
    """Copy what the dockerfile copies. A link that leads out of the framework's folder is left out, and said."""
    root, remarks = folder.resolve(), list[Remark]()

    def leave_out(current: str, names: list[str]) -> set[str]:
        links = [name for name in names if Path(current, name).is_symlink()]
        gone = {name for name in links if not Path(current, name).resolve().is_relative_to(root)}
        remarks.extend(
            Remark(Path(current, name).relative_to(root).as_posix(), None, "a link that leads elsewhere") for name in gone
        )
        return gone | ({".git"} & set(names))

    target.mkdir()
    for source in sorted(recipe.sources):
        old, new = root / source, target / source
        if not old.resolve().is_relative_to(root):
            remarks.append(Remark(source, None, "a link that leads elsewhere"))
        elif old.is_dir():
            shutil.copytree(old, new, symlinks=True, ignore=leave_out, dirs_exist_ok=True)
        else:
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)
    return remarks


def _compiled_in(made: Path, host: str) -> Iterator[tuple[str, int]]:
    """Find the database's host in the files that were copied: file and line of each."""
    for current, folders, names in os.walk(made / FILES):
        folders.sort()
        for path in (Path(current, name) for name in sorted(names)):
            if path.is_symlink() or path.stat().st_size > MOST_BYTES or path.suffix in (".dockerfile", ".md"):
                continue
            content = path.read_bytes()
            if b"\0" in content[:1024]:
                continue
            for line, text in enumerate(content.decode(errors="replace").splitlines(), 1):
                if host in text:
                    yield path.relative_to(made).as_posix(), line
