"""Other processes of the machine, by name: whose CPU counts, and whose does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.host import strangers
from fairground.host.process import NS_PER_TICK
from fairground.host.strangers import IDLE, Strangers, Used

LAB, KEEPER, ROLE, SHELL, THREAD, EDITOR = 100, 101, 102, 50, 3, 200
NAME = "a ) name 200"
"""The editor's, without what steers a terminal."""


def line(pid: int, parent: int, used: int, began: int, policy: int = 0) -> str:
    """A line of /proc/PID/stat, of a process or of a thread."""
    fields = ["S", str(parent), *["0"] * 9, str(used), "0", *["0"] * 6, str(began), *["0"] * 18, str(policy), "0", "0"]
    return f"{pid} (a ) name\x1b[31m {pid}) {' '.join(fields)}"


def proc(root: Path, ticks: dict[int, int], began: dict[int, int] | None = None) -> Path:
    """A /proc in which processes have used so many ticks: the lab, a role of its, its shell, a kernel's thread, an editor."""
    parents = {LAB: SHELL, KEEPER: LAB, ROLE: KEEPER, SHELL: 1, THREAD: 2, EDITOR: SHELL}
    for pid, used in ticks.items():
        (root / str(pid)).mkdir(parents=True, exist_ok=True)
        (root / str(pid) / "stat").write_text(line(pid, parents[pid], used, (began or {}).get(pid, pid)))
    (root / "1").mkdir(exist_ok=True)
    (root / "1" / "stat").write_text(line(1, 0, 5, 1))
    (root / "self").mkdir(exist_ok=True)
    (root / "999").mkdir(exist_ok=True)  # ended between the listing and the look
    return root


def test_only_what_the_lab_did_not_start_counts(tmp_path: Path) -> None:
    """The lab, what it started and the kernel's threads are no strangers; its shell and an editor are. Names are cleaned."""
    before = Strangers.now(LAB, proc(tmp_path / "before", dict.fromkeys((LAB, KEEPER, ROLE, SHELL, THREAD, EDITOR), 10)))
    used = {LAB: 90, KEEPER: 90, ROLE: 90, SHELL: 11, THREAD: 90, EDITOR: 13}
    spent = Strangers.now(LAB, proc(tmp_path / "after", used)).since(before)
    assert spent is not None and (spent.ns, spent.busiest_ns) == (4 * NS_PER_TICK, 3 * NS_PER_TICK)
    assert spent.busiest is not None and "200" in spent.busiest and "\x1b" not in spent.busiest


def test_what_a_host_on_this_machine_starts_is_the_labs(tmp_path: Path) -> None:
    """Such a host descends from somebody's shell, and makes the load for this lab."""
    before = Strangers.now(LAB, proc(tmp_path / "before", {SHELL: 10, EDITOR: 10}), also=[EDITOR])
    spent = Strangers.now(LAB, proc(tmp_path / "after", {SHELL: 11, EDITOR: 90}), also=[EDITOR]).since(before)
    assert spent is not None and spent.ns == NS_PER_TICK


def test_what_is_known_to_be_the_labs_is_not_read(tmp_path: Path) -> None:
    """Hundreds of backends would take longer than all strangers. Who descends from one of them is the lab's nevertheless."""
    root = proc(tmp_path, {SHELL: 10, EDITOR: 10})
    (root / str(SHELL) / "stat").write_text("no line that could be parsed")
    assert [pid for pid, _ in Strangers.now(LAB, root, also=[SHELL]).cpu_ns] == [1]
    (root / str(SHELL) / "stat").unlink()
    assert sorted(pid for pid, _ in Strangers.now(LAB, root).cpu_ns) == [1, EDITOR]


def test_hidden_processes_are_not_taken_for_none(tmp_path: Path) -> None:
    """Where /proc does not even show the first process, nobody knows what others do."""
    root = proc(tmp_path, {EDITOR: 1})
    seen = Strangers.now(LAB, root)
    shutil.rmtree(root / "1")
    hidden = Strangers.now(LAB, root)
    assert seen.seen and not hidden.seen and hidden.since(seen) is None is seen.since(hidden)


def test_who_began_meanwhile_counts_in_full(tmp_path: Path) -> None:
    """A number that is used again is another process; one that has ended is not seen; nobody is no name."""
    before = Strangers.now(LAB, proc(tmp_path / "before", {EDITOR: 10, SHELL: 10}))
    after = Strangers.now(LAB, proc(tmp_path / "after", {EDITOR: 2}, {EDITOR: 777}))
    assert after.since(before) == Used(2 * NS_PER_TICK, NAME, 2 * NS_PER_TICK)
    assert after.since(after) == Used(0, None, 0) == Strangers().since(before)


def test_threads_that_run_where_nobody_else_would_do_not_count(tmp_path: Path) -> None:
    """Another lab keeps the processors awake: that takes nothing from anybody. What its other threads do counts."""
    spent = []
    for name, spun, worked in (("before", 1000, 500), ("after", 9000, 507)):
        root = proc(tmp_path / name, {EDITOR: spun + worked})
        for thread, (used, policy) in {1: (spun, IDLE), 2: (worked, 0)}.items():
            (root / str(EDITOR) / "task" / str(thread)).mkdir(parents=True)
            (root / str(EDITOR) / "task" / str(thread) / "stat").write_text(line(thread, SHELL, used, EDITOR, policy))
        spent.append(Strangers.now(LAB, root))
    assert spent[1].since(spent[0]) == Used(7 * NS_PER_TICK, NAME, 7 * NS_PER_TICK)


def test_a_thread_that_ends_while_we_look_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed, and has ended when its file is read: what the others did is known all the same."""
    root, read = proc(tmp_path, {EDITOR: 1000}), strangers.read
    for thread in (1, 2):
        folder = root / str(EDITOR) / "task" / str(thread)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(line(thread, SHELL, 400, EDITOR, IDLE))
    monkeypatch.setattr(strangers, "read", lambda path: b"" if path.endswith("task/1/stat") else read(path))
    assert dict(Strangers.now(LAB, root).cpu_ns)[(EDITOR, EDITOR)][1] == 600 * NS_PER_TICK


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    """A number was used again between two looks, so that two processes seem to be each other's parents."""
    root = proc(tmp_path, {EDITOR: 1, SHELL: 1})
    (root / str(SHELL) / "stat").write_text((root / str(SHELL) / "stat").read_text().replace(" S 1 ", f" S {EDITOR} "))
    assert {pid for pid, _ in Strangers.now(LAB, root).cpu_ns} == {1, EDITOR, SHELL}


@pytest.mark.parametrize("ours", [True, False])
def test_a_busy_process_of_this_machine(ours: bool) -> None:
    """A child that worked is a stranger to a lab that is another process, and none to its parent."""
    command = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"]
    lab = os.getpid() if ours else None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        other = subprocess.Popen(["sleep", "60"])  # a lab that did not start the busy one
        try:
            before = Strangers.now(lab if ours else other.pid)
            assert child.stdout is not None and child.stdout.readline() == "done\n"
            after = Strangers.now(lab if ours else other.pid)
        finally:
            other.kill()
            other.wait()
            child.communicate("\n")
    worked = [ns for (pid, _), (_, ns) in after.cpu_ns.items() if pid == child.pid]
    assert bool(worked) is not ours
    if worked:
        used = after.since(before)
        assert worked[0] >= 20 * NS_PER_TICK and used is not None and used.ns >= 0
