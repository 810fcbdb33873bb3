"""What holds the lab: facts of the machine, and for each of them the sentence that says what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairground.host import isolation
from fairground.host.isolation import DELEGATE, LOST, OUT_OF_REACH, Isolation
from fairground.host.machine import MachineCheck

BEST = Isolation("2", True, frozenset({"cpu", "memory"}), True, None, None, 8, 8, None)
"""Root on a machine of its own, with version 2 of cgroups."""
WAITS = "; how long a role waits for a processor is told by version 2 alone"


def said(**facts: Any) -> dict[str, MachineCheck]:
    """The doctor's lines, by id, where these facts differ from the best."""
    return {line.id: line for line in isolation.checks(replace(BEST, **facts))}


def test_at_its_best_nothing_is_lost() -> None:
    """With all of it there are two lines, and both are fine."""
    assert said() == {
        "user": MachineCheck("user", "ok", "root: the embedded PostgreSQL runs in a user namespace"),
        "cgroups": MachineCheck("cgroups", "ok", "cgroups (version 2): CPU per role is exact"),
    }


@pytest.mark.parametrize(
    ("facts", "state", "sentence", "fix"),
    [
        ({"cgroups": "1"}, "ok", f"cgroups (version 1): CPU per role is exact{WAITS}", None),
        ({"cgroups": "hybrid"}, "ok", f"cgroups (version 1, beside 2 without controllers): CPU per role is exact{WAITS}", None),
        ({"cgroups": "none", "group": False}, "note", f"no cgroups are mounted: {LOST}", None),
        ({"group": False, "root": False}, "note", f"no cgroup can be made (version 2): {LOST}", DELEGATE),
        (
            {"group": False, "root": False, "cgroups": "1"},
            "note",
            f"no cgroup can be made (version 1): {LOST}",
            "run the lab as root: version 1 hands no groups to users",
        ),
        ({"group": False}, "note", f"no cgroup can be made (version 2): {LOST}", "mount /sys/fs/cgroup for writing"),
        (
            {"group": False, "container": "Docker"},
            "note",
            f"no cgroup can be made (version 2): {LOST}",
            "start the container with a cgroup namespace of its own and /sys/fs/cgroup mounted for writing",
        ),
        (
            {"controllers": frozenset({"memory"})},
            "note",
            "cgroups (version 2): CPU per role is exact. Without the controller `cpu`, `--cpus` gives whole cores",
            None,
        ),
        (
            {"controllers": frozenset()},
            "note",
            "cgroups (version 2): CPU per role is exact. Without the controllers `cpu` and `memory`, `--cpus` gives whole cores "
            "and a memory limit is each process's own",
            None,
        ),
    ],
)
def test_what_cgroups_lose(facts: dict[str, Any], state: str, sentence: str, fix: str | None) -> None:
    """Each version, and each thing that is lacking, has its sentence and what mends it."""
    assert said(**facts)["cgroups"] == MachineCheck("cgroups", state, sentence, fix)


@pytest.mark.parametrize(
    ("facts", "state", "fix"),
    [
        ({"root": False}, "ok", None),
        ({"root": False, "namespaces": "sysctl x"}, "note", "sysctl x"),
        ({}, "ok", None),
        ({"namespaces": "sysctl x"}, "lacking", "sysctl x"),
    ],
)
def test_root_needs_user_namespaces_most(facts: dict[str, Any], state: str, fix: str | None) -> None:
    """Root cannot run PostgreSQL without them; an ordinary user lacks them for few servers. Both are told the command."""
    line = said(**facts)["user"]
    assert (line.state, line.fix) == (state, fix)


def test_who_is_no_root_of_the_machine_is_told_what_is_out_of_reach() -> None:
    """An ordinary user and root of a user namespace cannot change the kernel's settings; root of the machine can."""
    assert [OUT_OF_REACH in said(**facts)["user"].sentence for facts in ({"root": False}, {"inside": True}, {})] == [
        True,
        True,
        False,
    ]
    assert said(inside=True)["user"].state == "note"
    assert said(inside=True, namespaces="sysctl x")["user"].state == "lacking"


@pytest.mark.parametrize(
    ("mapped", "inside"), [("0 0 4294967295\n", False), ("0 1000 1\n", True), ("0 0 1\n", True), ("", False)]
)
def test_a_user_namespace_is_seen_by_its_map(tmp_path: Path, mapped: str, inside: bool) -> None:
    """The first namespace maps all users to themselves; where nothing is told, nothing is claimed."""
    root = tree(tmp_path, {"proc/self/uid_map": f"         {mapped}"} if mapped else {})
    assert isolation.read(root, (0,), 0).inside is inside


def test_a_share_of_the_machine_is_noted() -> None:
    """A container, a cpuset and a quota each have a line; who has all processors has none."""
    lines = said(container="Docker", usable=2, quota=1.5)
    assert {"container", "cpuset", "quota"} <= set(lines) and all(
        lines[id].state == "note" for id in ("container", "cpuset", "quota")
    )
    assert "(Docker)" in lines["container"].sentence
    assert lines["cpuset"].sentence == "2 of the machine's 8 processors are ours, and others may run on them, too"
    assert lines["quota"].sentence.startswith("a quota of 1.5 processors holds the lab: ") and lines["quota"].fix
    assert not {"container", "cpuset", "quota"} & set(said())


# ---------------------------------------------------------------- reading


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    """A root folder of a machine that shows these files; the names that end in a slash are folders."""
    for name, text in {"proc/self/cgroup": "", **files}.items():
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"sys/fs/cgroup/cgroup.controllers": "cpu memory"}, "2"),
        ({"sys/fs/cgroup/cpuacct/": ""}, "1"),
        ({"sys/fs/cgroup/memory/": "", "sys/fs/cgroup/unified/cgroup.controllers": ""}, "hybrid"),
        ({"sys/fs/cgroup/": ""}, "none"),
        ({}, "none"),
    ],
)
def test_versions_are_told_apart(tmp_path: Path, files: dict[str, str], version: str) -> None:
    """The version shows in what is mounted; where no group can be made there is none and it holds nothing."""
    found = isolation.read(tree(tmp_path, files), (0,), 0)
    assert (found.cgroups, found.group, found.controllers) == (version, False, frozenset())


def test_facts_are_read(tmp_path: Path) -> None:
    """Container, quota, cpuset and namespaces as the kernel shows them."""
    root = tree(
        tmp_path,
        {
            "sys/fs/cgroup/cgroup.controllers": "cpu",
            "sys/fs/cgroup/cpu.max": "150000 100000",
            "proc/self/cgroup": "0::/\n",
            "proc/1/cgroup": "0::/docker/123\n",
            "proc/sys/user/max_user_namespaces": "0",
            "sys/devices/system/cpu/online": "0-7",
        },
    )
    found = isolation.read(root, (2, 3), 1000)
    assert (found.container, found.quota, found.usable, found.processors, found.root) == ("Docker", 1.5, 2, 8, False)
    assert found.namespaces == "sysctl -w user.max_user_namespaces=1000"


@pytest.mark.parametrize(("uid", "restricted", "lacks"), [(1000, "1", True), (1000, "0", False), (0, "1", False)])
def test_apparmor_restricts_ordinary_users(tmp_path: Path, uid: int, restricted: str, lacks: bool) -> None:
    """Root is not held by it."""
    kernel = {"proc/sys/user/max_user_namespaces": "9", "proc/sys/kernel/apparmor_restrict_unprivileged_userns": restricted}
    fix = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    assert isolation.read(tree(tmp_path, kernel), (0,), uid).namespaces == (fix if lacks else None)


def test_this_machine_is_read_and_left_as_it_was() -> None:
    """Here, too, each line has a known state, and the group that was tried is gone."""
    lines = list(isolation.checks(isolation.read()))
    assert {line.state for line in lines} <= {"ok", "note", "lacking"}
    assert not list(Path("/sys/fs/cgroup").glob("fairground-doctor-*")) + list(
        Path("/sys/fs/cgroup").glob("*/fairground-doctor-*")
    )
