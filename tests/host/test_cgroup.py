"""Control groups: what is read from them, what they hold, and where none can be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.waiting import eventually
from fairground.host import Limits, cgroup
from fairground.host.bounds import ResourceBounds
from fairground.host.cgroup import Group, Groups
from fairground.host.surroundings import Surroundings


def fake(folder: Path, **files: str) -> Path:
    """A folder with files named as in a cgroup (`cpu_stat` for `cpu.stat`)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


def test_version_2_readings(tmp_path: Path) -> None:
    """Version 2: CPU from `usage_usec`, memory without the page cache, throttled periods and processes."""
    folder = fake(
        tmp_path / "role",
        cpu_stat="usage_usec 1234\nuser_usec 1000\nsystem_usec 234\nnr_periods 9\nnr_throttled 5\nthrottled_usec 77\n",
        memory_stat="anon 4096\nfile 999999\nshmem 512\n",
        cgroup_procs="17\n23\n",
        cgroup_threads="17\n18\n23\n",
    )
    group = Group(2, (folder,))
    assert group.cpu_ns() == 1_234_000
    assert group.memory_bytes() == 4608
    assert group.throttled_periods() == 5
    assert group.pids() == [17, 23]
    assert group.threads() == 3
    assert group.join == (folder / "cgroup.procs",)


def test_version_1_readings(tmp_path: Path) -> None:
    """Version 1: CPU from one hierarchy, memory from the other."""
    cpu = fake(tmp_path / "cpuacct" / "role", cpuacct_usage="987654321\n", cgroup_procs="5\n", tasks="5\n6\n")
    memory = fake(tmp_path / "memory" / "role", memory_stat="cache 7777\nrss 8192\nshmem 100\n", cgroup_procs="5\n")
    group = Group(1, (cpu, memory))
    assert group.cpu_ns() == 987_654_321
    assert group.memory_bytes() == 8292
    assert group.threads() == 2
    assert group.throttled_periods() is None
    assert group.join == (cpu / "cgroup.procs", memory / "cgroup.procs")


def test_unreadable_is_none(tmp_path: Path) -> None:
    """A group whose files are missing or no group at all gives None, never 0."""
    for group in (Group(2, (tmp_path / "gone",)), Group(None, ())):
        assert (group.cpu_ns(), group.memory_bytes(), group.throttled_periods(), group.threads()) == (None,) * 4
    assert Group(None, ()).pids() is None
    assert Group(2, (tmp_path / "gone",)).pids() == []


def test_all_processes_of_all_groups(tmp_path: Path) -> None:
    """Each group's processes count once, whatever hierarchies it stands in; a group that has just gone has none."""
    for kind in ("cpuacct", "memory"):
        fake(tmp_path / kind / "lab" / "server-1", cgroup_procs="5\n")
        fake(tmp_path / kind / "lab" / "database-2", cgroup_procs="7\n8\n")
        fake(tmp_path / kind / "lab" / "gone-3")
    groups = Groups(1, (tmp_path / "cpuacct" / "lab", tmp_path / "memory" / "lab"))
    assert sorted(groups.pids()) == [5, 7, 8]
    assert Groups(None, ()).pids() == []


def test_version_2_limits(tmp_path: Path) -> None:
    """Version 2: a quota as time and period, memory without swap; the group says that it holds both."""
    folder = fake(tmp_path / "role", cpu_max="max 100000\n", memory_max="max\n", cgroup_procs="")
    (folder / "memory.swap.max").write_text("max\n")
    assert Group(2, (folder,)).limit(Limits(1.5, 64_000_000)) == {"cpus", "memory_bytes"}
    assert (folder / "cpu.max").read_text().startswith("150000 100000")
    assert (folder / "memory.max").read_text() == "64000000"
    assert (folder / "memory.swap.max").read_text().startswith("0")


def test_version_1_limits(tmp_path: Path) -> None:
    """Version 1: the quota in one hierarchy, memory and swap in another, and nothing in the third."""
    accounting = fake(tmp_path / "cpuacct" / "role", cpuacct_usage="1\n")
    cpu = fake(tmp_path / "cpu" / "role", cpu_stat="nr_periods 9\nnr_throttled 4\nthrottled_time 7\n")
    for name in ("cpu.cfs_period_us", "cpu.cfs_quota_us"):
        (cpu / name).write_text("")
    memory = fake(tmp_path / "memory" / "role", memory_stat="")
    for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
        (memory / name).write_text("")
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    group = Group(1, (accounting, cpu, memory))
    assert group.limit(Limits(0.5, 64_000_000)) == {"cpus", "memory_bytes"}
    assert ((cpu / "cpu.cfs_period_us").read_text(), (cpu / "cpu.cfs_quota_us").read_text()) == ("100000", "50000")
    assert {(memory / name).read_text() for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")} == {"64000000"}
    assert (group.periods(), group.throttled_periods(), group.memory_kills()) == (9, 4, 3)
    assert group.limit(Limits(None, 64_000_000)) == {"memory_bytes"}


def test_limits_that_no_group_holds(tmp_path: Path) -> None:
    """Without the controller's files nothing is held and nothing is made up."""
    folder = fake(tmp_path / "role", cpu_stat="usage_usec 1\n")
    group = Group(2, (folder,))
    assert group.limit(Limits(1.0, 1_000_000)) == frozenset()
    assert [file.name for file in folder.iterdir()] == ["cpu.stat"]
    assert (group.periods(), group.memory_kills()) == (None, None)


@pytest.mark.parametrize(
    ("group", "limits", "cores", "data", "words"),
    [
        (Group(None, ()), Limits(), None, None, {}),
        (Group(None, ()), Limits(cores=(1,)), (1,), None, {"cores": "1"}),
        (Group(1, (), frozenset({"cpus"})), Limits(0.5), None, None, {"cpus": "cgroup1 quota of 0.5"}),
        (
            Group(2, (), frozenset({"cpus", "memory_bytes"})), Limits(1, 5_000_000, (0, 1)), (0, 1), None,
            {"cpus": "cgroup2 quota of 1", "cores": "0,1", "memory": "5 MB by cgroup2"},
        ),
        (
            Group(None, ()), Limits(1.5, 5_000_000, (0, 2, 4)), (0, 2), 5_000_000,
            {
                "cpus": "affinity to 2, for want of a quota", "cores": "0,2",
                "memory": "5 MB by rlimit of each process's data, for want of a memory controller",
            },
        ),
    ],
)  # fmt: skip
def test_bounds(
    group: Group,
    limits: Limits,
    cores: tuple[int, ...] | None,
    data: int | None,
    words: dict[str, str],
) -> None:
    """What a cgroup does not hold falls to affinity and rlimit, and the result is told which."""
    assert ResourceBounds.of(group, limits) == ResourceBounds(cores, data, words)


@pytest.mark.parametrize("version", [1, 2])
def test_no_groups_where_none_can_be_made(tmp_path: Path, version: int) -> None:
    """A folder in which no group appears leaves the lab without groups, and leaves nothing in the folder."""
    fake(tmp_path / "cpuacct")
    if version == 2:
        fake(tmp_path, cgroup_controllers="cpu memory\n")
    groups = Groups.create("fairground-test", tmp_path)
    assert (groups.version, groups.folders) == (None, ())
    assert groups.add("server") == Group(None, ())
    assert not list(tmp_path.glob("**/fairground-test"))


def _version_2_root() -> Path | None:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)


@pytest.mark.live
def test_real_version_2() -> None:
    """On a real version 2 hierarchy a process that joined is listed, its CPU counted, and its folder removed."""
    root = _version_2_root()
    if root is None:
        pytest.skip("no cgroup version 2 is mounted here")
    groups = Groups.create(f"fairground-test-{os.getpid()}", root)
    if groups.version is None:
        pytest.skip(f"no cgroup can be made in {root}")
    group = groups.add("server")
    try:
        busy = "import sys, time\nopen(sys.argv[1], 'w').write('0')\nwhile time.process_time() < 0.2: pass\ntime.sleep(600)"
        process = subprocess.Popen([sys.executable, "-S", "-c", busy, str(group.join[0])])
        try:
            assert eventually(lambda: (group.cpu_ns() or 0) >= 150_000_000, 60)
            assert group.pids() == [process.pid]
        finally:
            process.kill()
            process.wait()
        again = groups.add("server")
        assert again.folders != group.folders
        again.remove()
    finally:
        group.remove()
        for folder in groups.folders:
            folder.rmdir()
    assert not any(folder.exists() for folder in (*group.folders, *groups.folders))


@pytest.mark.parametrize("version", [1, 2])
def test_groups_of_labs_that_have_ended_are_removed(version: int, tmp_path: Path) -> None:
    """With those of their roles, at the next start. What lives, what is busy and what is no lab's stays."""
    parents = [tmp_path] if version == 2 else [tmp_path / "cpuacct", tmp_path / "memory"]
    dead, living = 4_194_305, os.getpid()  # above the largest number that a process can have
    gone = [f"fairground-{dead}", f"fairground-{dead}-last", f"fairground-doctor-{dead}"]
    kept = [f"fairground-{living}", f"fairground-{dead}x", "other-1", f"fairground-{dead + 1}"]
    for parent in parents:
        for name in (*gone, *kept):
            (parent / name / "server-1").mkdir(parents=True)
        (parent / kept[-1] / "server-1" / "busy").touch()  # as of a group with processes, which cannot be removed
    if version == 2:
        (tmp_path / "cgroup.controllers").touch()
    Groups.create("fairground-test", tmp_path)
    for parent in parents:
        there = {path.name for path in parent.iterdir() if path.is_dir()}
        assert there & {*gone} == set() and {*kept} <= there


@pytest.mark.parametrize("version", [1, 2])
def test_the_quota_of_a_group_above_is_read(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's processes are in a group below the one with the quota; a group without periods tells nothing."""
    top = tmp_path if version == 2 else tmp_path / "cpu"
    own = top / "box" / "inner"
    own.mkdir(parents=True)
    (own / "cpu.stat").write_text("usage_usec 5\n")
    line = "0::/box/inner" if version == 2 else "7:memory:/elsewhere\n4:cpu,cpuacct:/box/inner"
    monkeypatch.setattr(cgroup.Path, "read_text", lambda self, read=Path.read_text: line if "/proc/" in str(self) else read(self))
    assert cgroup.periods_of(1, tmp_path) is None
    (own / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\n")
    assert cgroup.periods_of(1, tmp_path) == (0, 0)
    (top / "box" / "cpu.stat").write_text("nr_periods 80\nnr_throttled 31\n")
    assert cgroup.periods_of(1, tmp_path) == (80, 31)


def test_the_quota_of_a_group_above_the_lab_is_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session's scope without one, in the slice of a user who has one: what that loses spoils a window of the lab's."""
    own = tmp_path / "user.slice" / "session-3.scope"
    own.mkdir(parents=True)
    (own / "cpu.stat").write_text("usage_usec 5\nnr_periods 0\nnr_throttled 0\n")
    line = "0::/user.slice/session-3.scope"
    monkeypatch.setattr(cgroup.Path, "read_text", lambda self, read=Path.read_text: line if self.name == "cgroup" else read(self))
    monkeypatch.setattr(cgroup.periods_of, "__defaults__", (tmp_path,))
    assert (Surroundings.now().periods, Surroundings.now().throttled_periods) == (0, 0)
    (own.parent / "cpu.stat").write_text("usage_usec 5\nnr_periods 1000\nnr_throttled 900\n")
    assert (Surroundings.now().periods, Surroundings.now().throttled_periods) == (1000, 900)
