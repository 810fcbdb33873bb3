"""The lab without rights: as an ordinary user, as root of a user namespace without cgroups, and where no namespace can be made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import quiet
from fairground import records
from fairground.host.isolation import LOST, OUT_OF_REACH
from fairground.inputs.roots import ROOT
from fairground.model import Verdict

pytestmark = pytest.mark.live

ZOO = ROOT / "tests" / "zoo"
BRIEF = ["--window", "1", "--blocks", "1", "--warmup", "1,1", "--connections", "8", "--workers", "1", "--pool-size", "4",
         "--scale", "1"]  # fmt: skip
NOBODY = 65_534
# The interpreter may lie in root's home: reading everything is all that is kept of root.
READS = [f"--{rights}=-all,+dac_read_search" for rights in ("inh-caps", "ambient-caps", "bounding-set")]
ORDINARY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *READS] if os.geteuid() == 0 else []
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
READ_ONLY = """
while read -r _ at _; do
    case $at in /sys/fs/cgroup*) mount -o remount,bind,ro "$at" || exit 99 ;; esac
done </proc/mounts
exec "$@"
"""
NO_MORE = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
SPAWN = """
import os
from fairground.host import Keeper
from fairground.host.child import OwnView
from fairground.model import LabError
with Keeper(os.environ) as keeper:
    try:
        keeper.spawn(["true"], role="database", env={}, view=OwnView(map_user=True))
    except LabError as error:
        print(type(error).__name__, error.message, error.hint, sep="\\n")
"""


@dataclass(frozen=True)
class Person:
    """Who runs the lab: what stands before its command, and folders that are this person's."""

    before: tuple[str, ...]
    home: Path

    def call(self, *words: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Python with these words, with the lab's source on its path."""
        environment: Mapping[str, str] = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("FAIRGROUND", "XDG"))},
            "HOME": str(self.home),
            "FAIRGROUND_CACHE": str(self.home / "cache"),
            "TMPDIR": str(self.home),
            "PYTHONPATH": quiet.PATH,
            "PYTHONDONTWRITEBYTECODE": "1",
            "CI": "1",
        }
        command = [*self.before, sys.executable, *words]
        return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s)

    def lab(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The lab with these words."""
        return self.call("-m", "fairground", *words)

    def doctor(self) -> dict[str, dict[str, str]]:
        """What the doctor says, by the lines' ids."""
        done = self.lab("doctor", "--json")
        assert done.returncode == 0, done.stderr
        return {line["id"]: line for line in json.loads(done.stdout)["checks"]}


def person(folder: Path, before: list[str], *script: str) -> Person:
    """Somebody whose home is this folder. Skips the test where the machine cannot make one."""
    home = folder / "home"
    home.mkdir()
    if before == ORDINARY and before:
        os.chown(home, NOBODY, NOBODY)
    found = Person((*before, *script, *(["sh"] if script else [])), home)
    if before and shutil.which(before[0]) is None:
        pytest.skip(f"{before[0]} is missing")
    tried = found.call("-c", "pass")
    if before == NAMESPACE and "unshare failed" in tried.stderr:
        pytest.skip(f"no user namespace can be made here: {tried.stderr.strip()}")
    assert tried.returncode == 0, tried.stderr
    return found


@pytest.fixture(params=["an ordinary user", pytest.param("root of a namespace", marks=pytest.mark.nightly)])
def somebody(request: pytest.FixtureRequest, tmp_path: Path) -> Person:
    """Who cannot make a cgroup: an ordinary user, or root of a user namespace for whom they are read-only."""
    return person(tmp_path, ORDINARY) if request.param == "an ordinary user" else person(tmp_path, NAMESPACE, READ_ONLY)


def test_without_cgroups_a_run_measures_and_the_doctor_says_what_is_lost(somebody: Person) -> None:
    """The doctor names exact CPU per role and all else that is lost; a run then has trials, with CPU that was sampled."""
    lines = somebody.doctor()
    assert lines["cgroups"]["state"] == "note" and LOST in lines["cgroups"]["sentence"]
    assert OUT_OF_REACH in lines["user"]["sentence"] and lines["engine"]["state"] == "ok"
    results = somebody.home / "results"
    done = somebody.lab(
        "run", "--servers", str(ZOO), "-s", "healthy", "-w", "tx", *BRIEF, "--no-controls", "--results", str(results)
    )
    assert done.returncode == 0, done.stderr
    run = records.load_run(records.find_run(results, "latest"))
    assert run.finished and run.trials
    for trial in run.trials:
        assert trial.verdict is not Verdict.REJECTED and trial.result is not None, trial.findings
        assert trial.audit and all(line.holds for line in trial.audit)
        assert {trial.roles[role].source for role in ("server", "database")} == {"schedstat"}
        assert all(trial.roles[role].cpu_us for role in ("server", "database"))
    assert (run.folder / "report.html").exists()


def test_without_user_namespaces_root_is_told_so(tmp_path: Path) -> None:
    """Root cannot start PostgreSQL then. The kernel's words for it are those of a full disk, and the lab's are not."""
    root = person(tmp_path, NAMESPACE, NO_MORE)
    assert root.doctor()["user"] == {
        "id": "user",
        "state": "lacking",
        "sentence": "root, and user namespaces are off: the embedded PostgreSQL, nginx as a proxy and poolers cannot be started",
        "fix": "sysctl -w user.max_user_namespaces=1000",
    }
    done = root.lab("run", "--servers", str(ZOO), "-s", "healthy", "-w", "tx", *BRIEF, "--results", str(tmp_path / "results"))
    assert done.returncode == 3 and "initdb`: no user namespace can be made" in done.stderr, done.stderr
    assert "needs user namespaces" in done.stderr and "Traceback" not in done.stderr
    kind, sentence, hint = root.call("-c", SPAWN).stdout.splitlines()
    assert kind == "MachineError" and sentence.startswith("cannot start `true`: no user namespace can be made (")
    assert "user namespaces" in hint
