"""CPU of processes without a cgroup: threads and children that come and go between two readings are in it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from fairground.host import spent
from fairground.host.process import Process
from fairground.host.spent import Spent

THREADS = """
for _ in range(60):
    one = threading.Thread(target=burn)
    one.start()
    one.join()
"""
CHILDREN = """
for _ in range(30):
    child = os.fork()
    if child == 0:
        burn()
        os._exit(0)
    os.waitpid(child, 0)
"""
PROGRAM = """
import os, sys, threading, time
def burn():
    until = time.thread_time_ns() + 10_000_000
    while time.thread_time_ns() < until:
        pass
def used():
    return sum(os.times()[:4])
sys.stdin.readline()
before = used()
{work}
print(round((used() - before) * 1e9), flush=True)
sys.stdin.readline()
"""


@pytest.mark.live
@pytest.mark.parametrize("work", [THREADS, CHILDREN], ids=["threads", "children"])
def test_what_came_and_went_between_two_readings_is_counted(work: str) -> None:
    """Two readings alone, and what ended between them is in their difference, as the process itself counts it."""
    words = [sys.executable, "-c", PROGRAM.format(work=work)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        meter = Spent()
        before = meter.read(alive(process.pid))
        process.stdin.write("go\n")
        process.stdin.flush()
        told_ns = int(process.stdout.readline())
        found_ns = meter.read(alive(process.pid)) - before
        process.stdin.close()
    assert told_ns * 0.8 < found_ns < told_ns * 1.25 + 30_000_000


def alive(*pids: int) -> list[Process]:
    """These processes as they are now, as far as they run."""
    return [one for one in map(spent.look, pids) if one]


def test_a_thread_that_ends_while_we_read_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is listed and is gone when it is read is left out; the rest of its process is read."""
    pid, listed = os.getpid(), os.listdir

    def with_a_ghost(path: Any) -> list[str]:
        return ["999999999", *listed(path)]

    monkeypatch.setattr(spent.os, "listdir", with_a_ghost)
    (me,) = alive(pid)
    found = spent.threads_of(replace(me, threads=2))
    assert (pid, str(pid)) in found
    assert (pid, "999999999") not in found


def test_a_process_with_one_thread_is_asked_for_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database has hundreds of them, and the thread has the number of its process."""
    (me,) = alive(os.getpid())
    monkeypatch.setattr(spent.os, "listdir", lambda _: pytest.fail("it was listed"))
    assert list(spent.threads_of(replace(me, threads=1))) == [(me.pid, str(me.pid))]


def played(monkeypatch: pytest.MonkeyPatch, readings: dict[int, tuple[int, int, int]]) -> None:
    """From now on processes are read as these: when they started, their own time, that of collected children."""
    shown = {
        pid: Process(pid, "it", "S", 1, 1, own_ns, reaped_ns, 1, started, 0, 0)
        for pid, (started, own_ns, reaped_ns) in readings.items()
    }
    monkeypatch.setattr(spent, "look", shown.get)
    monkeypatch.setattr(spent, "threads_of", lambda _: {})


def test_a_child_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alive it has its own time; collected, that of its parent's books; never both, and never less than before."""
    meter = Spent()
    played(monkeypatch, {10: (1, 100, 7), 11: (2, 40, 0)})
    first = meter.read(alive(10, 11))
    assert first == 140, "what a parent had collected before it was seen is nobody's"
    played(monkeypatch, {10: (1, 100, 7 + 60)})
    assert meter.read(alive(10)) - first == 20
    played(monkeypatch, {10: (1, 130, 7 + 60)})
    assert meter.read(alive(10)) - first == 50


def test_an_ended_child_that_nobody_collected_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was last read of it stays; a new process under its number begins anew."""
    meter = Spent()
    played(monkeypatch, {10: (1, 100, 0), 11: (2, 40, 0)})
    meter.read(alive(10, 11))
    played(monkeypatch, {10: (1, 100, 0), 11: (9, 5, 0)})
    assert meter.read(alive(10)) == 140, "a number that was given again, and is not ours"
    assert meter.read(alive(10, 11)) == 145


def test_threads_are_read_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample between two readings takes the time of whole processes, and a reading that of their threads where it is more."""
    meter = Spent()
    played(monkeypatch, {10: (1, 100, 0)})
    monkeypatch.setattr(spent, "threads_of", lambda one: {(one.pid, "10"): spent.Ran(107, 0)})
    assert meter.read(alive(10), closely=False) == 100
    assert meter.read(alive(10)) == 107
    assert meter.read(alive(10), closely=False) == 107
