"""The audit of what the project uses: every lock file of the repository is asked about, or named as left out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from builders.paths import ROOT

LOCKS = (
    "requirements.lock",
    "engine/Cargo.lock",
    "engine/fuzz/Cargo.lock",
    "examples/one/servers/two/requirements.lock",
    "servers/one/go.sum",
    "src/deep/programs/package-lock.json",
    "servers/two/pom.xml",
    "servers/three/Gemfile",
    "servers/four/yarn.lock",
)
AUDITS = ("pip-audit", "cargo", "cargo-audit", "cargo-deny", "govulncheck", "npm")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with these lock files and the script, and audits that find nothing but where a folder has the file `hole`."""
    folder = tmp_path / "repository"
    for name in LOCKS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "packaging").mkdir()
    shutil.copy(ROOT / "packaging" / "audit.sh", folder / "packaging")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    (tmp_path / "bin").mkdir()
    for name in AUDITS:
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\n[ ! -e hole ] || { echo '2 high severity vulnerabilities'; exit 1; }\n")
        program.chmod(0o755)
    return folder


def audited(repository: Path) -> tuple[int, list[str]]:
    """How the audit ends, and its lines."""
    environment = {**os.environ, "PATH": f"{repository.parent / 'bin'}:{os.environ['PATH']}"}
    command = [str(repository / "packaging" / "audit.sh")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_every_lock_file_is_asked_or_named(repository: Path) -> None:
    """Wherever it is in the repository; one of a kind that no audit knows is left out by name."""
    code, lines = audited(repository)
    told = {line.split(": ")[1].split()[-1]: line.split()[1] for line in lines}
    assert code == 0 and set(told) == set(LOCKS)
    assert {name for name, word in told.items() if word == "left"} == set(LOCKS[-3:])


def test_a_hole_in_any_of_them_fails(repository: Path) -> None:
    """Also where the package is the lab's own, and no server's."""
    (repository / "src/deep/programs/hole").write_text("")
    code, lines = audited(repository)
    assert code == 1 and [line for line in lines if "HOLES" in line] == [
        "audit: HOLES     npm audit src/deep/programs/package-lock.json"
    ]
