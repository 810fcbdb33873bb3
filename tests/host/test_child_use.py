"""What a child of a keeper uses is counted whole, and it is held to its limits and cores."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from builders.children import ENVIRONMENT, python
from builders.waiting import eventually
from fairground.host import CpuClock, Keeper, Limits, RoleMeter, Streams

# ---------------------------------------------------------------- CPU

BUSY = """
import subprocess, sys, time
loop = "import time\\nwhile time.process_time() < %s: pass"
subprocess.run([sys.executable, "-S", "-c", loop % sys.argv[1]])
open(sys.argv[2], "w").close()
time.sleep(600)
"""
"""A parent that does nothing and a child of it that works for so many seconds of CPU time, and is gone then."""


@pytest.mark.live
def test_cgroup_counts_children_that_came_and_went(keeper: Keeper, tmp_path: Path) -> None:
    """CPU read from a cgroup after a worker has ended still holds that worker's work."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here")
    child = python(keeper, BUSY, "0.3", str(tmp_path / "done"))
    meter = RoleMeter(child)
    assert eventually((tmp_path / "done").exists, 60)
    assert [process.pid for process in child.processes()] == [child.pid]
    used_ns = meter.cpu_ns()
    assert used_ns >= 300_000_000
    assert meter.use(CpuClock(0), CpuClock(used_ns)).cpu_us == used_ns / 1000
    assert meter.use(CpuClock(0), CpuClock(used_ns)).source == f"cgroup{keeper.groups.version}"
    child.stop()


@pytest.mark.live
def test_schedstat_counts_children_that_came_and_went(groupless: Keeper, tmp_path: Path) -> None:
    """Without cgroups a worker's CPU is sampled while it lives, kept when it is gone, and the source says so."""
    child = python(groupless, BUSY, "0.6", str(tmp_path / "done"))
    meter = RoleMeter(child)
    deadline = time.monotonic() + 60
    while not (tmp_path / "done").exists() and time.monotonic() < deadline:
        meter.sample()
        time.sleep(0.01)
    used_ns = meter.cpu_ns()
    assert used_ns >= 300_000_000
    assert meter.use(CpuClock(0), CpuClock(used_ns)).source == "schedstat"
    assert meter.threads_peak is not None and meter.threads_peak >= 2
    assert meter.memory_peak_bytes is not None and meter.memory_peak_bytes > 1_000_000
    child.stop()


# ---------------------------------------------------------------- limits and cores


@pytest.mark.live
@pytest.mark.parametrize("groups", ["keeper", "groupless"])
def test_limits_of_a_real_process(groups: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A limited process is held to its quota and its memory, by cgroups where there are any, by affinity and rlimit else."""
    kept: Keeper = request.getfixturevalue(groups)
    program = (
        "import os, resource, sys, time\n"
        "print(sorted(os.sched_getaffinity(0)), resource.getrlimit(resource.RLIMIT_DATA)[0], flush=True)\n"
        "while not os.path.exists(sys.argv[1]): pass\n"
        "block = bytearray(300_000_000)\n"
    )
    with open(tmp_path / "said", "w+b") as said:
        child = kept.spawn(
            [sys.executable, "-S", "-c", program, str(tmp_path / "go")],
            role="server", env=ENVIRONMENT, streams=Streams(stdout=said), limits=Limits(0.02, 60_000_000, (0,)),
        )  # fmt: skip
        try:
            assert eventually(lambda: (tmp_path / "said").stat().st_size > 0, 60)
            said.seek(0)
            affinity, data = said.read().decode().rsplit(" ", 1)
            assert affinity == "[0]"
            if "cpus" in child.group.held:
                assert eventually(lambda: (child.group.throttled_periods() or 0) > 0, 60)
            else:
                assert child.bounds["cpus"] == "affinity to 1, for want of a quota"
            assert (int(data) == 60_000_000) is ("memory_bytes" not in child.group.held)
            (tmp_path / "go").touch()
            assert child.wait(60) not in (0, None), "a block larger than the limit cannot be had"
            assert child.group.memory_kills() in (None, 1)
        finally:
            child.stop()
    assert not any(folder.exists() for folder in child.group.folders)


@pytest.mark.live
def test_pinning_a_running_process(keeper: Keeper) -> None:
    """A running process and all of its threads are moved to other cores, and set free again."""
    cores = sorted(os.sched_getaffinity(0))
    child = keeper.spawn(["sleep", "60"], role="server", env=ENVIRONMENT)
    try:
        child.pin(cores[:1])
        assert (os.sched_getaffinity(child.pid), child.bounds) == ({cores[0]}, {"cores": str(cores[0])})
        child.pin(None)
        assert (sorted(os.sched_getaffinity(child.pid)), child.bounds) == (cores, {})
    finally:
        child.stop()


@pytest.mark.live
@pytest.mark.parametrize("end", [FileNotFoundError, ProcessLookupError])
def test_pinning_leaves_out_who_ends_meanwhile(keeper: Keeper, monkeypatch: pytest.MonkeyPatch, end: type[OSError]) -> None:
    """A process that ends before or while its threads are listed is nobody to pin: the kernel says so in two ways."""
    child = keeper.spawn(["sleep", "60"], role="server", env=ENVIRONMENT)
    before = os.sched_getaffinity(child.pid)

    def listing(folder: str) -> list[str]:
        assert folder == f"/proc/{child.pid}/task"
        raise end(folder)

    try:
        monkeypatch.setattr(os, "listdir", listing)
        child.pin(sorted(before)[:1])
        assert os.sched_getaffinity(child.pid) == before
    finally:
        monkeypatch.undo()
        child.stop()


@pytest.mark.live
def test_a_process_number_that_is_used_again(keeper: Keeper) -> None:
    """A child whose number an earlier one had is not taken for ended."""
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    keeper._exits.update(dict.fromkeys(range(1, most + 1), 0))
    try:
        child = keeper.spawn(["sleep", "30"], role="server", env={"PATH": os.defpath})
        assert child.exit_code() is None
        assert child.stop().exit_code == -signal.SIGTERM
    finally:
        keeper._exits.clear()
