"""What roles and surroundings are read as: threads that wait, memory, clock rate, the lab's own quota, the database's rest."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from builders.children import python
from builders.contracts import SEEDS
from builders.waiting import eventually
from fairground.host import Child, CpuClock, Keeper, RoleMeter, cgroup, counters, surroundings
from fairground.host.cgroup import Group
from fairground.host.process import Process, look
from fairground.host.spent import Ran, threads_of
from fairground.host.surroundings import Surroundings
from fairground.measure import watch
from fairground.measure.watch import WatchedArm, database_use
from fairground.postgres import Activity, Counters, Database, Hygiene, hygiene

# ---------------------------------------------------------------- threads


class Ended:
    """A child without a cgroup whose processes are over."""

    group, bounds = Group(None, ()), {"cores": "0"}

    def alive(self) -> list[Process]:
        """None are left."""
        return []


class Grouped:
    """A child whose group tells all; its processes are listed, and the list is counted."""

    bounds: Mapping[str, str] = {}

    def __init__(self, folder: Path | None) -> None:
        self.listed, self.group = 0, Group(None, ())
        if folder is not None:
            files = {"cpu.stat": "usage_usec 5\n", "memory.stat": "anon 4096\nshmem 0\n", "cgroup.threads": "1\n2\n3\n"}
            for name, text in files.items():
                (folder / name).write_text(text)
            self.group = Group(2, (folder,))

    def alive(self) -> list[Process]:
        """This process."""
        self.listed += 1
        return [me()]


def me() -> Process:
    """This process, as it is now."""
    found = look(os.getpid())
    assert found is not None
    return found


def test_a_sample_of_a_group_lists_no_processes(tmp_path: Path) -> None:
    """A database has hundreds of them, and whoever reads them all takes a core from what is measured."""
    child = Grouped(tmp_path)
    meter = RoleMeter(cast(Child, child), threads=False)
    meter.sample()
    assert (meter.memory_peak_bytes, meter.threads_peak, child.listed) == (4096, 3, 0)
    assert (meter.clock().threads, child.listed) == ({}, 0)
    closely = RoleMeter(cast(Child, child), closely=True)
    closely.sample()
    assert closely.clock().threads and child.listed == 2


def test_a_sample_without_a_group_reads_each_process() -> None:
    """Then nobody else knows memory, threads and CPU."""
    child = Grouped(None)
    meter = RoleMeter(cast(Child, child))
    meter.sample()
    assert child.listed == 1 and meter.memory_bytes and meter.threads_peak
    assert meter.clock().threads and child.listed == 2, "CPU and threads are of one look"


def clock(at_ns: int, pressure_us: int | None = None, **threads: Ran) -> CpuClock:
    """A clock with these threads."""
    return CpuClock(0, at_ns=at_ns, threads={(1, name): ran for name, ran in threads.items()}, pressure_cpu_some_us=pressure_us)


def test_the_busiest_thread_is_the_one_that_ran_most() -> None:
    """Its running, its waiting and its switches are told, of the time between both readings."""
    meter = RoleMeter(cast(Child, Ended()))
    before = clock(0, 100, a=Ran(500, 70, 3), b=Ran(10**9, 0, 0))
    after = clock(
        10**9, 300_100, a=Ran(500 + 6 * 10**8, 70 + 10**8, 13), b=Ran(10**9 + 5, 9 * 10**8, 99), new=Ran(9 * 10**9, 0, 0)
    )
    use = meter.use(before, after)
    assert (use.busiest_thread_share, use.busiest_thread_waited_share) == (pytest.approx(0.6), pytest.approx(0.1))
    assert use.involuntary_switches_per_s == pytest.approx(10)
    assert use.pressure_cpu_some_share == pytest.approx(0.3)


def test_what_no_thread_tells_is_unknown() -> None:
    """No thread at both readings, no switches read, no pressure: None, never 0."""
    use = RoleMeter(cast(Child, Ended())).use(clock(0), clock(10**9, a=Ran(5, 5)))
    assert (use.busiest_thread_share, use.busiest_thread_waited_share, use.pressure_cpu_some_share) == (None, None, None)
    use = RoleMeter(cast(Child, Ended())).use(clock(0, a=Ran(0, 0)), clock(10**9, a=Ran(5, 5)))
    assert use.busiest_thread_share is not None and use.involuntary_switches_per_s is None


def test_a_role_goes_on_in_another_process() -> None:
    """What the process before had used is kept, and what only its group counted is unknown from there on."""
    meter = RoleMeter(cast(Child, Ended()))
    before = clock(0, 100)
    meter.succeed(cast(Child, Ended()), 5_000_000)
    after = meter.clock()
    assert after.cpu_ns == 5_000_000 and after.pressure_cpu_some_us is None
    use = meter.use(before, after)
    assert (use.cpu_us, use.pressure_cpu_some_share) == (5000.0, None)


def test_instructions_are_those_between_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted from the moment on at which that is asked for; unknown before it, after its end, and where the machine has none."""
    meter, closed = RoleMeter(cast(Child, Ended())), list[bool]()
    counted = SimpleNamespace(read=iter([700, 1000, None]).__next__, close=lambda: closed.append(True))
    monkeypatch.setattr(counters, "count", lambda _: counted)
    early = meter.clock()
    meter.count_instructions()
    before, after, late = meter.clock(), meter.clock(), meter.clock()
    assert meter.use(before, after).instructions == 300
    assert meter.use(early, after).instructions is None and meter.use(after, late).instructions is None
    meter.stop_counting()
    monkeypatch.setattr(counters, "count", lambda _: None)
    other = RoleMeter(cast(Child, Ended()))
    other.count_instructions()
    other.stop_counting()
    assert closed == [True] and other.use(other.clock(), other.clock()).instructions is None


def test_threads_of_this_process_are_read() -> None:
    """Each of our threads has a running time, and switches when they are asked for; a process that is gone has none."""
    going = threading.Event()
    other = threading.Thread(target=going.wait)
    other.start()
    try:
        found = threads_of(me(), closely=True)
        assert {(os.getpid(), str(os.getpid())), (os.getpid(), str(other.native_id))} <= set(found)
        assert all(ran.switches is not None and ran.run_ns >= 0 for ran in found.values())
        assert all(ran.switches is None for ran in threads_of(me(), closely=False).values())
    finally:
        going.set()
        other.join()
    ended = replace(me(), pid=2**22 + 1)
    assert threads_of(ended, closely=True) == {} == threads_of(replace(ended, threads=2))


# ---------------------------------------------------------------- surroundings


def test_surroundings_of_this_machine() -> None:
    """The kernel's files here are understood, and what is counted only grows."""
    one, two = Surroundings.now(), Surroundings.now()
    assert one.major_faults is not None and one.swapped_pages is not None
    found = two.since(one, 1e6)
    assert found["major_faults"] >= 0 and found["swapped_pages"] >= 0


def test_surroundings_are_differences() -> None:
    """Counters are told as what was added, the clock rate as its change; what one reading lacks is unknown."""
    before = Surroundings(1000, 2_000_000.0, 5, 7, 1, 100, 10, 4)
    found = Surroundings(51_000, 1_500_000.0, 6, 7, 2, 130, 30, 9).since(before, 1e6)
    assert found == {
        "pressure_io_full_share": pytest.approx(0.05),
        "frequency_change_share": pytest.approx(-0.25),
        "heat_throttles": 1,
        "swapped_pages": 0,
        "memory_kills": 1,
        "major_faults": 30,
        "periods": 20,
        "throttled_periods": 5,
    }
    assert set(Surroundings().since(before, 1e6).values()) == {None}
    assert set(Surroundings(*[1] * 8).since(Surroundings(), 1e6).values()) == {None}


def test_clock_rate_and_heat_of_the_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates are averaged and throttles added over our processors; a machine that shows neither has None."""
    monkeypatch.setattr(surroundings, "CPUS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 3})
    assert (Surroundings.now().frequency_khz, Surroundings.now().heat_throttles) == (None, None)
    for number, (rate, throttles) in enumerate([(1_000_000, 2), (3_000_000, 5), (9_000_000, 100)]):
        for name, value in (("cpufreq/scaling_cur_freq", rate), ("thermal_throttle/core_throttle_count", throttles)):
            path = tmp_path / f"cpu{number}" / name
            path.parent.mkdir(parents=True)
            path.write_text(f"{value}\n")
    assert (Surroundings.now().frequency_khz, Surroundings.now().heat_throttles) == (2_000_000.0, 7)


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("some avg10=0.00 avg60=0.00 avg300=0.18 total=46684818\nfull avg10=0.00 total=10729827\n", "full", 10_729_827),
        ("some avg10=0.00 avg60=0.00 avg300=0.18 total=46684818\n", "some", 46_684_818),
        ("some avg10=0.00 total=1\n", "full", None),
        ("nonsense", "some", None),
    ],
)
def test_pressure(tmp_path: Path, text: str, kind: str, found: int | None) -> None:
    """The total of the line that is asked for, in µs; a file without it gives None."""
    (tmp_path / "io").write_text(text)
    assert cgroup.pressure_us(tmp_path / "io", kind) == found


def test_pressure_of_a_group(tmp_path: Path) -> None:
    """Version 2 tells how long its threads waited; version 1 has no such file."""
    (tmp_path / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n")
    assert Group(2, (tmp_path,)).pressure_cpu_some_us() == 77
    assert Group(1, (tmp_path,)).pressure_cpu_some_us() is None
    assert cgroup.pressure_us(tmp_path / "gone", "some") is None


# ---------------------------------------------------------------- the database's rest


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ((), (0, None, None, None)),
        ((Hygiene(7, 0, 0), Hygiene(7, 0, 0)), (2, 0, 0, 0)),
        ((Hygiene(7, 0, 3), Hygiene(8, 1, 0), Hygiene(9, 1, 1)), (3, 2, 2, 2)),
        ((Hygiene(None, None, None), Hygiene(None, None, None)), (2, None, None, None)),
        ((Hygiene(7, 0, 0), Hygiene(7, None, 0)), (2, 0, None, 0)),
    ],
)
def test_samples_of_strangers(seen: Sequence[Hygiene], found: tuple[int | None, ...]) -> None:
    """Checkpoints are a difference, strangers are samples in which there were some; what one sample hides is unknown."""
    use = database_use(Counters(1, 2, 3, 4, 5, 6), WatchedArm("trial", hygiene=list(seen)), 9)
    assert (use.hygiene_samples, use.checkpoints, use.autovacuum_samples, use.foreign_samples) == found
    assert (use.commits, use.temp_files, use.wal_bytes) == (1, 6, 9)


def test_nobody_looked_on() -> None:
    """Without a watch what it would have seen is unknown, and the counters are there."""
    use = database_use(Counters(1, 2, 3, 4, 5), None, None)
    assert (use.commits, use.connections_peak, use.checkpoints, use.foreign_samples) == (1, None, None, None)


@pytest.mark.live
def test_strangers_in_the_database_server_are_seen(database: Database) -> None:
    """A statement in another database is a stranger's; an idle session and the lab's own are not. Checkpoints are counted."""
    database.reset(SEEDS.data(1))
    address = database.admin
    with (
        psycopg.connect(
            host=address.host, port=address.port, user=address.user, password=address.password, dbname="postgres", autocommit=True
        ) as stranger,
        database.connect("postgres") as ours,
    ):
        before = hygiene(ours).checkpoints
        assert eventually(lambda: replace(hygiene(ours), checkpoints=0) == Hygiene(0, 0, 0))
        working = threading.Thread(target=stranger.execute, args=["SELECT pg_sleep(1)"])
        working.start()
        try:
            assert any(hygiene(ours).foreign == 1 for _ in range(2000))
        finally:
            working.join()
        ours.execute("CHECKPOINT")  # returns before the checkpointer has counted it
        assert before is not None and eventually(lambda: (hygiene(ours).checkpoints or 0) > before)


def test_the_watch_looks_for_strangers_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sample of a window, every fifth, and one after it; never before or later."""
    seen: list[int] = []
    monkeypatch.setattr(watch, "hygiene", lambda _: seen.append(0) or Hygiene(0, 0, 0))
    looking = WatchedArm("trial")

    def samples(count: int) -> int:
        before = len(seen)
        for _ in range(count):
            looking.take(Activity({"idle": 1}, ()), True)
            looking.look_for_strangers(cast(Any, None))
        return len(seen) - before

    assert samples(3) == 0
    looking.open_window()
    assert samples(11) == 3
    looking.close_window()
    assert samples(4) == 1


def test_samples_are_those_of_the_arm_on_turn() -> None:
    """Connections always count; what backends wait for and were asked counts in the arm's window, while it is its turn."""
    arm = WatchedArm("trial")
    busy = Activity({"Lock:tuple": 2, "idle": 1}, (("Lock:tuple", "UPDATE t"),), frozenset((7, 8, 9)))
    arm.take(busy, True)
    assert (arm.connections_peak, arm.wait_samples, dict(arm.statements)) == (3, 0, {})
    arm.open_window()
    arm.take(busy, False)
    assert (arm.wait_samples, dict(arm.wait_events)) == (0, {})
    arm.take(busy, True)
    assert (arm.wait_samples, dict(arm.wait_events)) == (1, {"Lock:tuple": 2, "idle": 1})
    assert dict(arm.statements) == {("Lock:tuple", "UPDATE t"): 1}
    arm.open_window(afresh=False)
    assert arm.wait_samples == 1
    arm.open_window()
    assert (arm.wait_samples, dict(arm.statements), arm.connections_peak) == (0, {}, 3)
    assert dict(arm.asked) == {("Lock:tuple", "UPDATE t"): 1}, "the audit looks at the whole life"


def test_looks_are_of_windows_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory of the server and CPU of it and the database are kept in a window in one piece, in turns they are not."""
    monkeypatch.setattr(watch, "stolen_us", lambda: 70_000.0)
    arm = WatchedArm("trial")
    for role in ("server", "database", "generator"):
        meter = SimpleNamespace(cpu_ns=lambda: 5_000_000, memory_bytes=3, start=lambda: None)
        arm.meters[role] = cast(Any, meter)
    arm.look()
    assert arm.looks == []
    arm.open_window()
    arm.look()
    arm.look()
    arm.close_window()
    arm.look()
    assert [(one.memory_bytes, one.cpu_us, one.stolen_us) for one in arm.looks] == [
        (3, {"server": 5000.0, "database": 5000.0}, 70_000.0)
    ] * 2
    arm.open_window(afresh=False)
    arm.look()
    assert len(arm.looks) == 2
    arm.open_window()
    assert arm.looks == []


@pytest.mark.live
def test_a_process_that_is_stopped_is_seen(keeper: Keeper) -> None:
    """The share of the looks since the window began in which a signal had stopped it; one that sleeps is not."""
    child = python(keeper, "import time; time.sleep(600)")
    meter = RoleMeter(child)
    meter.start()
    before = meter.clock()
    meter.sample()
    os.kill(child.pid, signal.SIGSTOP)
    assert eventually(lambda: (one := look(child.pid)) is not None and one.state == "T")
    meter.sample()
    os.kill(child.pid, signal.SIGCONT)
    assert meter.use(before, meter.clock()).stopped_share == 0.5
    child.stop(0.0)
