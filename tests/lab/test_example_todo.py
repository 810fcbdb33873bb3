"""The example of an application of one's own: the lab reads its folder, and its servers are pinned."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from builders.paths import ROOT
from fairground import contract
from fairground.inputs import contracts, undecided, workload_files
from fairground.lab.places import Places

EXAMPLE = ROOT / "examples" / "todo"
PLACES = Places.of({}, EXAMPLE / "servers")


def test_its_contract_and_servers_are_found_beside_each_other() -> None:
    """The folder has what a project of one's own has, every workload has quick cases, and both servers fulfil the contract."""
    own = PLACES.contracts()["todo"]
    servers = {server.id: server for server in PLACES.load_servers()}
    assert {server.contract.id for server in servers.values()} == {"todo"} and len(
        {one.language for one in servers.values()}
    ) == 2
    cases = contract.load(own)
    for workload in (one for one in PLACES.workloads() if one.contract.id == "todo"):
        assert contract.select(cases, workload.id), workload.id


def test_an_editors_lock_is_no_file_of_a_contract(tmp_path: Path) -> None:
    """Emacs makes a link to nothing beside each file that has changed: neither cases nor workloads are lost by it."""
    shutil.copytree(EXAMPLE / "contracts" / "todo", tmp_path / "todo")
    for name in ("contract.toml", "schema.sql", "cases/todos.toml", "workloads/day.toml"):
        path = tmp_path / "todo" / name
        assert path.is_file()
        path.with_name(f".#{path.name}").symlink_to("me@here.4711:1796000000")
    own = contracts.read_contract(tmp_path / "todo")
    assert (
        contract.load(own) and workload_files.load_workloads(own) and not undecided.find_marks(own.folder, tmp_path / "servers")
    )


def test_it_is_no_part_of_the_lab() -> None:
    """A person who lists the lab's servers does not see it."""
    assert "todo" not in Places.of({}).contracts()


def test_its_packages_are_pinned_by_hashes() -> None:
    """Each package of both lock files has a version and a hash, and none has the address of a registry."""
    lock = json.loads((EXAMPLE / "servers" / "todo-node" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages and all("integrity" in one and "resolved" not in one for one in packages.values())
    text = (EXAMPLE / "servers" / "todo-python" / "requirements.lock").read_text(encoding="utf-8")
    named = re.findall(r"^[\w.-]+(?:\[[\w,]+\])?==\S+ \\\n +--hash=sha256:", text, re.MULTILINE)
    assert named and len(named) == len(re.findall(r"^[a-z]", text, re.MULTILINE)) and "://" not in text
