"""Processors that are kept from idling while something is measured, and that nobody loses time to it."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from builders.paths import ENGINE
from builders.waiting import eventually
from fairground.host import HostReading, Keeper, RoleMeter, awake, host_use, keep_awake, usage
from fairground.host.cgroup import Groups
from fairground.host.machine import fingerprint, is_virtual
from fairground.lab import doctor
from fairground.lab.places import Places
from fairground.model import LabError

PLACES = Places(environ=os.environ)


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    """A keeper of this test's own: the session's is awake all along."""
    with Keeper(os.environ) as kept:
        yield kept


def spinners(keeper: Keeper) -> list[int]:
    """The processes of the lab that keep processors awake."""
    folder = keeper.groups.last
    assert folder is not None
    return [int(line) for line in (folder / "cgroup.procs").read_text().split()] if folder.exists() else []


def test_awake_while_it_lasts(keeper: Keeper) -> None:
    """It spins inside of the `with`, in a group that stands back, and is gone afterwards with its group."""
    with keep_awake(keeper, ENGINE):
        assert keeper.awake
        (pid,) = spinners(keeper)
        assert (keeper.groups.last / "cpu.idle").read_text().strip() == "1"  # type: ignore[operator]
        assert len(os.listdir(f"/proc/{pid}/task")) > len(os.sched_getaffinity(0))
    assert not keeper.awake
    assert not Path(f"/proc/{pid}").exists()
    assert not keeper.groups.last.exists()  # type: ignore[union-attr]


@pytest.mark.live
def test_it_stands_back(keeper: Keeper) -> None:
    """Ordinary work on every processor leaves it next to nothing, also where the kernel shares processors out by session."""
    busy = [keeper.spawn([sys.executable, "-c", "while True: pass"], role="busy", env={}) for _ in os.sched_getaffinity(0)]
    try:
        with keep_awake(keeper, ENGINE):
            (pid,) = spinners(keeper)
            meters = [RoleMeter(child) for child in busy]
            assert eventually(lambda: all(meter.cpu_ns() > 0.05e9 for meter in meters), 60)
            worked, spun, began = sum(meter.cpu_ns() for meter in meters), run_ns(pid), time.monotonic_ns()
            assert eventually(lambda: sum(meter.cpu_ns() for meter in meters) > worked + 0.5e9, 60)
            passed, spun = time.monotonic_ns() - began, run_ns(pid) - spun
    finally:
        for child in busy:
            child.stop()
    assert spun < 0.1 * passed * len(busy)  # of the time of all processors: others may want them, too


def run_ns(pid: int) -> int:
    """CPU time of all threads of a process so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def test_it_counts_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """What spins is not foreign work, and does not make the machine busy; that it waits is no pressure. Others' niced work is."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    spent_s = {"user": 1, "nice": 7, "idle": 2}
    clocks = itertools.cycle([{}, spent_s])
    monkeypatch.setattr(
        usage, "_cpu_ns", lambda: {name: 0 for name in names} | {name: s * 10**9 for name, s in next(clocks).items()}
    )
    use = host_use(HostReading.now(0), HostReading.now(8 * 10**9), [])
    assert (use.busy_share, use.foreign_cpu_us, use.pressure_cpu_some_share) == (0.1, 1e6, None)
    beside = host_use(HostReading.now(0), HostReading.now(4 * 10**9), [])
    assert (beside.busy_share, beside.foreign_cpu_us) == (0.4, 4e6)
    died = host_use(HostReading.now(3 * 10**9), HostReading.now(), [])
    assert (died.busy_share, died.foreign_cpu_us) == (0.8, 8e6)
    asleep = host_use(HostReading.now(), HostReading.now(), [])
    assert (asleep.busy_share, asleep.foreign_cpu_us) == (0.8, 8e6)


@pytest.mark.live
@pytest.mark.nightly
def test_what_spins_is_niced(keeper: Keeper) -> None:
    """The kernel books what spins as niced time, which is what is counted as idle."""
    with keep_awake(keeper, ENGINE):
        before = niced()
        until = time.monotonic() + 60
        while niced() < before + 20 and time.monotonic() < until:
            time.sleep(0.05)
        assert niced() >= before + 20
        assert (keeper.spun_ns() or 0) > 0
    assert keeper.spun_ns() is None


@pytest.mark.live
@pytest.mark.nightly
def test_what_other_labs_spin_with_counts_too(keeper: Keeper) -> None:
    """Two labs keep the same processors awake: neither is foreign work to the other."""
    with Keeper(os.environ) as other, keep_awake(other, ENGINE), keep_awake(keeper, ENGINE):
        (theirs,), (ours,) = spinners(other), spinners(keeper)
        assert {one.pid for one in keeper.spinners} >= {theirs, ours}
        assert {one.pid for one in other.spinners}.isdisjoint({ours})
        until = time.monotonic() + 60
        while min(spun_s(theirs), spun_s(ours)) < 0.1 and time.monotonic() < until:
            time.sleep(0.05)
        both = spun_s(theirs) + spun_s(ours)
        assert min(spun_s(theirs), spun_s(ours)) >= 0.1
        assert (keeper.spun_ns() or 0) >= round(both * 1e9)


def spun_s(pid: int) -> float:
    """CPU time of a process so far."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def niced() -> int:
    """Ticks of niced time on all processors so far."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[2])


def test_not_where_it_would_take_time_from_others(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a group that stands back, where sessions are groups: refused, with the setting that mends it."""
    monkeypatch.setattr(Groups, "yielding", lambda _: None)
    monkeypatch.setattr(awake, "_sessions_grouped", lambda: True)
    with pytest.raises(LabError) as caught, keep_awake(keeper, ENGINE):
        pass
    assert "sched_autogroup_enabled=0" in (caught.value.hint or "")
    assert not keeper.awake


def test_without_groups(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all threads are equals, the lowest priority is enough."""
    monkeypatch.setattr(Groups, "yielding", lambda _: None)
    monkeypatch.setattr(awake, "_sessions_grouped", lambda: False)
    with keep_awake(keeper, ENGINE):
        assert keeper.awake
    assert not keeper.awake


def test_an_engine_that_cannot(keeper: Keeper) -> None:
    """What it said is passed on, and nothing is left."""
    with pytest.raises(LabError, match="kept awake"), keep_awake(keeper, Path("/bin/false")):
        pass
    assert not keeper.awake
    assert not keeper.groups.last.exists()  # type: ignore[union-attr]


def test_a_kernel_without_idle_groups(tmp_path: Path) -> None:
    """No file `cpu.idle`: no such group, and no folder is left."""
    groups = Groups(1, (tmp_path / "cpuacct",), tmp_path / "cpu", tmp_path / "last")
    assert groups.yielding() is None
    assert not (tmp_path / "last").exists()


@pytest.mark.parametrize(("said", "expected"), [("yes", True), ("no", False)])
def test_what_the_person_says(said: str, expected: bool) -> None:
    """FAIRGROUND_AWAKE decides on every kind of machine."""
    assert awake.wants_awake({awake.AWAKE: said}) is expected


def test_the_machine_decides_where_nobody_says() -> None:
    """By default only a virtual machine's processors are kept awake."""
    assert awake.wants_awake({}) is is_virtual(fingerprint())
    assert awake.wants_awake({awake.AWAKE: "auto"}) is is_virtual(fingerprint())


def test_a_word_that_is_none() -> None:
    """A word that is no choice is refused with the choices."""
    with pytest.raises(LabError, match="FAIRGROUND_AWAKE is `maybe`") as caught:
        awake.wants_awake({awake.AWAKE: "maybe"})
    assert caught.value.hint == "write auto, yes or no"


def test_the_doctor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept awake, left alone on request, or the setting that is in the way."""
    monkeypatch.setenv(awake.AWAKE, "yes")
    assert doctor.awake_check(PLACES).state == "ok"
    monkeypatch.setattr(Groups, "yielding", lambda _: None)
    monkeypatch.setattr(awake, "_sessions_grouped", lambda: True)
    refused = doctor.awake_check(PLACES)
    assert (refused.state, refused.fix) == ("lacking", "sysctl -w kernel.sched_autogroup_enabled=0")
    monkeypatch.setenv(awake.AWAKE, "no")
    assert "left to the kernel" in doctor.awake_check(PLACES).sentence


def test_what_cannot_be_is_said_or_refused(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the run goes on and says so; one who asked for it, or a run that was begun so, is refused."""
    monkeypatch.setattr(Groups, "yielding", lambda _: None)
    monkeypatch.setattr(awake, "_sessions_grouped", lambda: True)
    monkeypatch.setattr(awake, "wants_awake", lambda _: True)
    said: list[str] = []
    with ExitStack() as held:
        monkeypatch.delenv(awake.AWAKE, raising=False)
        awake.hold_awake(held, keeper, PLACES.environ, PLACES.engine, said.append)
        assert len(said) == 1 and "steal" in said[0]
        with pytest.raises(LabError):
            awake.hold_awake(held, keeper, PLACES.environ, PLACES.engine, said.append, must=True)
        monkeypatch.setenv(awake.AWAKE, "yes")
        with pytest.raises(LabError):
            awake.hold_awake(held, keeper, PLACES.environ, PLACES.engine, said.append)
