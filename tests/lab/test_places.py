"""Where a lab finds its folders: in a checkout, installed, and beside a project's own servers."""

from __future__ import annotations

import shutil
from importlib.metadata import FileHash, PackagePath
from pathlib import Path

import pytest

from fairground.inputs import revisions, roots
from fairground.lab import folders, places, setup
from fairground.lab.places import Places
from fairground.model import LabError

MANIFEST = """
title    = "One"
language = "C"
homepage = "https://example.com"
about    = "For tests of places."
version  = ["true"]
serve    = ["true"]
[variants.plain]
about = "as it comes"
approach = "documented"
"""


def add_server(servers: Path, name: str) -> Path:
    """A server's folder with its manifest, a source, and what a build left behind."""
    folder = servers / name
    folder.mkdir(parents=True)
    (folder / "server.toml").write_text(MANIFEST)
    (folder / ".gitignore").write_text("out\n")
    (folder / "main.c").write_text("int main;")
    (folder / "out").write_text("built")
    return folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of an installed lab with two servers; the current folder is an empty one."""
    data = tmp_path / "site" / "fairground" / "data"
    for name in ("alder", "birch"):
        add_server(data / "servers", name)
    shutil.copytree(roots.ROOT / "contracts" / "seeds", data / "contracts" / "seeds")
    (data / "suites").mkdir()
    (data / "suites" / "one.toml").write_text("")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return data


def of(data: Path, servers: Path | None = None) -> Places:
    """Places of the lab whose data these are."""
    return Places.of({"FAIRGROUND_CACHE": str(data.parents[2] / "cache")}, servers, root=data)


def test_a_package_knows_its_root(tmp_path: Path) -> None:
    """A package whose checkout has the engine reads that checkout; any other reads the data inside itself."""
    package = tmp_path / "lab" / "src" / "fairground"
    assert roots.root_of(package) == package / "data"
    (tmp_path / "lab" / "engine").mkdir(parents=True)
    (tmp_path / "lab" / "engine" / "Cargo.toml").touch()
    assert roots.root_of(package) == tmp_path / "lab"


def test_an_installed_lab_builds_copies(installed: Path, tmp_path: Path) -> None:
    """The lab's own servers are copied into the cache without what was built; nothing else is left there, and a copy that is there is taken."""
    found = of(installed).load_servers()
    assert [server.id for server in found] == ["alder", "birch"]
    folder = found[0].folder
    assert folder.is_relative_to(tmp_path / "cache" / "builds" / "servers") and folder.name == "alder"
    assert {path.name for path in folder.iterdir()} == {"server.toml", ".gitignore", "main.c"}
    (folder / "out").write_text("built here")
    assert of(installed).load_servers()[0].folder == folder and (folder / "out").exists()
    (installed / "servers" / "alder" / "main.c").write_text("int other;")
    assert of(installed).load_servers()[0].folder != folder
    assert {path.name for path in folder.parent.iterdir()} == {"alder"}


def test_results_of_an_installed_lab_are_here(installed: Path, tmp_path: Path) -> None:
    """An installed lab keeps results in the current folder, a checkout in itself; what is said stands."""
    assert of(installed).results.resolve() == tmp_path / "project" / "results"
    assert Places.of({}).results == roots.ROOT / "results"
    assert Places.of({}, results=Path("there"), root=installed).results == Path("there")


def test_servers_of_a_project_are_beside_the_labs(installed: Path) -> None:
    """Servers in the current folder are found, by id among the lab's, and are built where they are."""
    own = add_server(Path("servers"), "aspen")
    found = of(installed).load_servers()
    assert [server.id for server in found] == ["alder", "aspen", "birch"]
    assert found[1].folder == own
    assert [server.id for server in of(installed, Path("servers")).load_servers()] == ["aspen"]


def test_a_checkout_finds_the_servers_of_a_project(installed: Path) -> None:
    """A checkout that is called from a project's folder has its servers, too; in its own folder it has no others."""
    add_server(Path("servers"), "aspen-of-tests")
    found = Places.of({})
    assert found.lab_servers == roots.ROOT / "servers" and found.results == roots.ROOT / "results"
    assert {"aspen-of-tests"} < {server.id for server in found.load_servers()}


def test_a_checkout_takes_no_other_folder_for_servers(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `servers` that holds something else changes nothing, and neither does the checkout's own."""
    Path("servers").mkdir()
    assert Places.of({}).lab_servers is None
    monkeypatch.chdir(roots.ROOT)
    assert Places.of({}) == Places(cache=Places.of({}).cache)


def test_one_id_in_two_folders_is_refused(installed: Path) -> None:
    """Which of two servers of one id is meant is not guessed."""
    add_server(Path("servers"), "birch")
    with pytest.raises(LabError, match="`birch` is a server of the lab's own and one in `servers`") as caught:
        of(installed).load_servers()
    assert caught.value.hint == "rename the folder servers/birch, or read that folder alone: --servers servers"


def test_the_engine_is_beside_the_interpreter(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine of an installed lab is where installers put programs; where it is nowhere, one sentence says so."""
    monkeypatch.setattr(places.sysconfig, "get_path", lambda name, scheme="": f"{installed.parents[2]}/bin{scheme and '-user'}")
    with pytest.raises(LabError, match="the load engine is not beside the lab") as caught:
        _ = of(installed).engine
    assert caught.value.exit_code == 3
    for folder in (installed.parents[1] / "bin", installed.parents[2] / "bin-user", installed.parents[2] / "bin"):
        folder.mkdir()
        (folder / "fairload").touch()
        assert of(installed).engine == folder / "fairload"


def test_a_suite_of_the_lab_is_found_from_anywhere(installed: Path) -> None:
    """`suites/…` is the current folder's file where there is one, and else the lab's own; other paths are as they are."""
    lab = of(installed)
    assert lab.suite(Path("suites/one.toml")) == installed / "suites" / "one.toml"
    assert [lab.suite(Path(text)) for text in ("suites/none.toml", "one.toml")] == [Path("suites/none.toml"), Path("one.toml")]
    Path("suites").mkdir()
    Path("suites/one.toml").touch()
    assert lab.suite(Path("suites/one.toml")) == Path("suites/one.toml")


def test_a_new_server_is_not_one_of_the_labs(installed: Path) -> None:
    """`new` puts a server into the project, and refuses an id that the lab has."""
    assert folders.new(of(installed), "cedar", "alder") == Path("servers/cedar")
    with pytest.raises(LabError, match="alder` exists already"):
        folders.new(of(installed), "alder", "birch")


def test_revisions_are_those_of_the_servers_own_checkout(installed: Path) -> None:
    """An installed lab's own server has no revisions: it is in no checkout."""
    lab = of(installed)
    stack = lab.load_servers()[0].stacks[0]
    with pytest.raises(LabError, match="`HEAD` is not a revision of this checkout"):
        revisions.checked_out(lab.cache, lab.contracts(), "HEAD", stack)


def test_an_installed_lab_names_its_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of an installed lab has a digest of its files, which another build changes and compiled files do not."""

    def listed(name: str, value: str) -> PackagePath:
        found = PackagePath(name)
        found.hash = FileHash(f"sha256={value}")
        return found

    def digest(*files: PackagePath) -> str:
        monkeypatch.setattr(setup, "files", lambda name: list(files))
        return setup._installed_digest()

    one = digest(listed("fairground/model.py", "a"), listed("fairground/engine.py", "b"))
    assert one == digest(listed("fairground/engine.py", "b"), listed("fairground/model.py", "a"), listed("fairground/a.pyc", "c"))
    assert one == digest(listed("fairground/model.py", "a"), listed("fairground/engine.py", "b"), listed("bin/fairground", "d"))
    assert one != digest(listed("fairground/model.py", "z"), listed("fairground/engine.py", "b"))
