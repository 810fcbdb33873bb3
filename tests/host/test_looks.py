"""What one look at a process says, and which processes belong together."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from fairground.host import process
from fairground.host.process import Process, below, look, look_all


def test_a_look_says_what_others_say() -> None:
    """This process has the parent, the threads, the memory and the time that psutil reads, and runs."""
    found, other = look(os.getpid()), psutil.Process()
    assert found is not None and found.runs
    assert (found.pid, found.parent, found.session) == (os.getpid(), os.getppid(), os.getsid(0))
    assert found.threads == other.num_threads() and found.policy == os.sched_getscheduler(0)
    assert found.memory_bytes == pytest.approx(other.memory_info().rss, rel=0.2)
    assert found.cpu_ns / 1e9 == pytest.approx(sum(os.times()[:2]), abs=0.1)
    assert found.reaped_ns / 1e9 == pytest.approx(sum(os.times()[2:4]), abs=0.1)


def test_names_with_spaces_and_parentheses(tmp_path: Path) -> None:
    """A process may call itself what it likes: its numbers are read behind the last parenthesis. Ended, it is none."""
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    sleeper = subprocess.Popen([odd, "60"])
    try:
        found = look(sleeper.pid)
        assert found is not None and (found.pid, found.name, found.parent) == (sleeper.pid, "a) R 1 (b", os.getpid())
    finally:
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        left = look(sleeper.pid)
        sleeper.wait()
    assert left is not None and not left.runs, "an exit code that nobody has asked for"
    assert look(sleeper.pid) is None


def test_a_list_may_leave_some_unread(tmp_path: Path) -> None:
    """They come in the order of their numbers; what is no number, what ended and what is left out is not among them."""
    line = process.read(f"/proc/{os.getpid()}/stat").decode()
    for pid in ("10", "9", "111", "8"):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(line.replace(str(os.getpid()), pid, 1))
    (tmp_path / "7").mkdir()
    (tmp_path / "self").mkdir()
    assert [one.pid for one in look_all(tmp_path)] == [8, 9, 10, 111]
    assert [one.pid for one in look_all(tmp_path, without=frozenset([9, 111]))] == [8, 10]


def test_whom_a_process_has_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots, a session, and all that descend from either; an exit code belongs to nobody, and its children to it all the same."""
    family = {1: (0, 1, "S"), 5: (1, 5, "S"), 6: (5, 6, "Z"), 7: (6, 6, "S"), 8: (1, 5, "S"), 9: (8, 9, "S"), 20: (1, 20, "S")}
    played = [Process(pid, "it", state, parent, session, 0, 0, 1, 1, 0, 0) for pid, (parent, session, state) in family.items()]
    monkeypatch.setattr(process, "look_all", lambda: played)
    assert [one.pid for one in below([5])] == [5, 7]
    assert [one.pid for one in below([5], session=5)] == [5, 7, 8, 9]
    assert [one.pid for one in below([20, 6, 77])] == [7, 20]
    assert below([]) == []


def test_whose_number_is_anothers_by_now_has_nobody_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is in a session is known after its leader's end, until another process has that number."""
    member = Process(8, "it", "S", 1, 5, 0, 0, 1, 1, 0, 0)
    another = Process(5, "other", "S", 1, 5, 0, 0, 1, 2, 0, 0)
    monkeypatch.setattr(process, "look_all", lambda: [member])
    assert below([], session=5) == [member]
    monkeypatch.setattr(process, "look_all", lambda: [another, member])
    assert below([], session=5) == [] and below([5], session=5) == [another, member]


def test_processes_of_others_may_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /proc shows a user his own processes alone, those are found all the same."""
    read = os.open

    def hidden(path: str, flags: int) -> int:
        if path == "/proc/1/stat":
            raise PermissionError(1, "Operation not permitted", path)
        return read(path, flags)

    monkeypatch.setattr(process.os, "open", hidden)
    assert look(1) is None
    leader = os.getsid(0)
    assert os.getpid() in {one.pid for one in below([leader], session=leader)}
