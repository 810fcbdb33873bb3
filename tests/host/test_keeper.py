"""The keeper: whatever ends the lab, nothing that it started survives, and what a role used is counted whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from builders.paths import ROOT
from builders.waiting import PATIENCE_S, eventually
from fairground.host import Child, Clock, Keeper, Limits, RoleMeter, Streams
from fairground.host import child as child_module
from fairground.host.cgroup import Groups
from fairground.model import LabError

ENVIRONMENT = {"PATH": os.defpath}

TREE = """
import os, signal, sys, time
def tell(name):
    with open(sys.argv[1], "a") as file:
        file.write(f"{name} {os.getpid()}\\n")
for number in range(2):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell("worker")
        time.sleep(600)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        tell("daemon")
        time.sleep(600)
    os._exit(0)
tell("parent")
time.sleep(600)
"""
"""A server of the nasty kind: two workers that ignore SIGTERM, and a daemon that forked twice into a session of its own."""

LAB = """
import json, os, sys, time
from pathlib import Path
from fairground import postgres
from fairground.model import Durability, LabError
from fairground.host import Keeper
cache, contract, tree, notes = (Path(word) for word in sys.argv[1:5])
try:
    with Keeper(os.environ) as keeper:
        database = postgres.start(keeper, cache, Durability.RELAXED, contract)
        child = keeper.spawn([sys.executable, "-S", str(tree), str(notes)], role="server", env={})
        while not notes.exists() or len(notes.read_text().splitlines()) < 4:
            time.sleep(0.01)
        folders = [str(folder) for folder in (*keeper.groups.folders, *child.group.folders, *database.child.group.folders)]
        print(json.dumps({"keeper": keeper.pid, "folders": folders}), flush=True)
        while True:
            child.exit_code()
            time.sleep(0.02)
except LabError as error:
    sys.exit(error.message)
"""
"""A lab in small: a keeper, an embedded PostgreSQL, and that server."""


@dataclass(frozen=True)
class Lab:
    """A running lab in small: its process, its keeper, its cgroup folders, and all that runs below it."""

    process: subprocess.Popen[str]
    keeper: psutil.Process
    folders: tuple[Path, ...]
    below: tuple[psutil.Process, ...]


@pytest.fixture
def lab(tmp_path: Path, cache: Path) -> Iterator[Lab]:
    """Such a lab in a process group of its own; killed at the end in case a test did not."""
    tree, notes = tmp_path / "tree.py", tmp_path / "pids"
    tree.write_text(TREE)
    process = subprocess.Popen(
        [sys.executable, "-c", LAB, str(cache), str(ROOT / "contract"), str(tree), str(notes)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said, process.stderr.read() if process.stderr else ""
    facts = json.loads(said)
    below = tuple(psutil.Process(process.pid).children(recursive=True))
    pids = {process.pid for process in below}
    told = {int(line.split()[1]) for line in notes.read_text().splitlines()}
    assert told <= pids, "every process of the server descends from the lab"
    assert any(one.name() == "postgres" for one in below)
    yield Lab(process, psutil.Process(facts["keeper"]), tuple(Path(folder) for folder in facts["folders"]), below)
    process.kill()
    process.communicate()


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs; one that only waits to be reaped does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_nothing_left(lab: Lab) -> None:
    """No process and no cgroup folder of the lab is left, within the time that is promised."""
    eventually(lambda: not any(is_alive(one) for one in lab.below))
    assert [f"{one.pid} {one.name()}" for one in lab.below if is_alive(one)] == []
    eventually(lambda: not any(folder.exists() for folder in lab.folders))
    assert [folder for folder in lab.folders if folder.exists()] == []


@pytest.mark.live
def test_nothing_survives_a_killed_lab(lab: Lab) -> None:
    """`kill -9` of the lab ends its server, daemons and PostgreSQL, and removes its cgroups."""
    lab.process.kill()
    assert_nothing_left(lab)


@pytest.mark.live
def test_nothing_survives_a_killed_process_group(lab: Lab) -> None:
    """`kill -9` of the lab's whole process group leaves the keeper to clean up."""
    os.killpg(lab.process.pid, signal.SIGKILL)
    assert_nothing_left(lab)


@pytest.mark.live
def test_nothing_survives_a_killed_keeper(lab: Lab) -> None:
    """`kill -9` of the keeper: the kernel ends its children, the lab the rest, and the lab says so."""
    lab.keeper.kill()
    assert_nothing_left(lab)
    _, said = lab.process.communicate(timeout=PATIENCE_S)
    assert said.strip() == "the keeper process was killed; everything that this run had started has been ended"


@pytest.mark.live
def test_nothing_survives_an_interrupted_lab(lab: Lab) -> None:
    """Ctrl-C: the lab leaves its `with` block, and nothing of it stays."""
    lab.process.send_signal(signal.SIGINT)
    assert_nothing_left(lab)


# ---------------------------------------------------------------- one child


@pytest.fixture
def groupless(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    """A keeper on a machine where no cgroup can be made."""
    monkeypatch.setattr(child_module.Groups, "create", lambda name: Groups(None, ()))
    with Keeper(os.environ) as kept:
        assert kept.groups.version is None
        yield kept


def python(keeper: Keeper, program: str, *words: str, env: Mapping[str, str] = ENVIRONMENT) -> Child:
    """A small Python program under a keeper."""
    return keeper.spawn([sys.executable, "-S", "-c", program, *words], role="server", env=env)


@pytest.mark.live
@pytest.mark.parametrize(
    ("program", "code"), [("raise SystemExit(7)", 7), ("pass", 0), ("import os; os.kill(os.getpid(), 6)", -6)]
)
def test_exit_code(keeper: Keeper, program: str, code: int) -> None:
    """A child's exit code is known after it ended; a signal is a negative number."""
    child = python(keeper, program)
    assert child.wait(PATIENCE_S) == code
    assert child.stop().strays == ()


@pytest.mark.live
def test_missing_program(keeper: Keeper) -> None:
    """A program that is not there is a LabError with its name, and nothing of its role is left."""
    with pytest.raises(LabError) as caught:
        keeper.spawn(["no-such-program"], role="absent", env=ENVIRONMENT)
    assert caught.value.message == "cannot start `no-such-program`: no such file or directory"
    assert caught.value.exit_code == 3
    assert not any(list(folder.glob("absent-*")) for folder in keeper.groups.folders)


@pytest.mark.live
def test_missing_folder(keeper: Keeper, tmp_path: Path) -> None:
    """A working folder that is not there is a LabError as well."""
    with pytest.raises(LabError, match="^cannot start `true`: no such file or directory$"):
        keeper.spawn(["true"], role="absent", env=ENVIRONMENT, cwd=tmp_path / "nowhere")


@pytest.mark.live
def test_stop_of_a_willing_process(keeper: Keeper) -> None:
    """A process that ends on SIGTERM is given its time, and the time is told."""
    child = python(keeper, "import time; time.sleep(600)")
    stopped = child.stop()
    assert stopped.exit_code == -signal.SIGTERM
    assert stopped.seconds is not None and stopped.seconds < 5.0
    assert stopped.strays == ()


@pytest.mark.live
@pytest.mark.parametrize("groups", ["keeper", "groupless"])
def test_stop_of_a_deaf_process(groups: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A process that ignores SIGTERM is killed after its grace, and no time is made up for it."""
    deaf = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w').close(); time.sleep(600)"
    child = python(request.getfixturevalue(groups), deaf, str(tmp_path / "ready"))
    assert eventually((tmp_path / "ready").exists)
    stopped = child.stop(grace_s=0.2)
    assert (stopped.seconds, stopped.exit_code, stopped.strays) == (None, -signal.SIGKILL, ())


@pytest.mark.live
@pytest.mark.parametrize("groups", ["keeper", "groupless"])
def test_strays_are_reported_and_killed(groups: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """What a stopped server leaves behind, daemons of their own session too, is named and killed, with and without cgroups."""
    notes = tmp_path / "pids"
    child = python(request.getfixturevalue(groups), TREE, str(notes), env={**ENVIRONMENT, "PORT": "1"})
    assert eventually(lambda: notes.exists() and len(notes.read_text().splitlines()) == 4)
    pids = {int(pid): name for name, pid in (line.split() for line in notes.read_text().splitlines())}
    left = [psutil.Process(pid) for pid, name in pids.items() if name != "parent"]
    stopped = child.stop(grace_s=0.3)
    assert stopped.exit_code == -signal.SIGTERM
    assert {int(stray.split()[0]) for stray in stopped.strays} == {process.pid for process in left}
    assert eventually(lambda: not any(is_alive(process) for process in left))
    assert not any(folder.exists() for folder in child.group.folders)


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for group in sys.argv[3:]:
            with open(group, "w") as procs:
                procs.write("0")
        with open(sys.argv[1] + ".new", "w") as notes:
            notes.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        os.execve("/bin/sleep", ["sleep", "600"], {} if sys.argv[2] == "nameless" else dict(os.environ))
    os._exit(0)
os.wait()
time.sleep(600)
"""
"""A program with a daemon: `DAEMON NOTES kept|nameless GROUPS...`, the groups' files being those that the daemon moves to."""


def with_daemon(
    keeper: Keeper, folder: Path, port: int, environment: str, groups: Sequence[Path] = ()
) -> tuple[Child, psutil.Process]:
    """A child that listens on `port` as far as its environment says, and its daemon."""
    notes = folder / f"daemon-{port}"
    child = python(keeper, DAEMON, str(notes), environment, *map(str, groups), env={**ENVIRONMENT, "PORT": str(port)})
    assert eventually(notes.exists)
    daemon = psutil.Process(int(notes.read_text()))
    assert eventually(lambda: daemon.name() == "sleep")
    return child, daemon


@pytest.mark.live
@pytest.mark.parametrize("groups", ["keeper", "groupless"])
def test_daemons_are_told_apart(groups: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Of two children with a daemon each, either one's stop names and kills its own daemon, and leaves the other's alone."""
    keeper = request.getfixturevalue(groups)
    one, first = with_daemon(keeper, tmp_path, 1, "kept")
    two, second = with_daemon(keeper, tmp_path, 2, "kept")
    assert one.outside() == two.outside() == ()
    assert one.stop(grace_s=0.3).strays == (f"{first.pid} sleep",)
    assert is_alive(second) and keeper.end_nameless() == ()
    assert two.stop(grace_s=0.3).strays == (f"{second.pid} sleep",)
    assert eventually(lambda: not is_alive(first) and not is_alive(second))


@pytest.mark.live
def test_daemon_that_left_its_group(keeper: Keeper, tmp_path: Path) -> None:
    """It is known by its environment: said to be outside while its child runs, and killed with it."""
    if keeper.groups.version is None:
        pytest.skip("no control group can be made here")
    away = [folder.parent / "cgroup.procs" for folder in keeper.groups.folders]
    child, daemon = with_daemon(keeper, tmp_path, 1, "kept", away)
    assert child.outside() == (f"{daemon.pid} sleep",)
    assert child.stop(grace_s=0.3).strays == (f"{daemon.pid} sleep",)
    assert eventually(lambda: not is_alive(daemon))


@pytest.mark.live
def test_daemon_that_left_all_traces(keeper: Keeper, tmp_path: Path) -> None:
    """Neither group nor environment tell whose it is: the stop of its child does not find it, and what looks for such ones does."""
    if keeper.groups.version is None:
        pytest.skip("no control group can be made here")
    away = [folder.parent / "cgroup.procs" for folder in keeper.groups.folders]
    child, daemon = with_daemon(keeper, tmp_path, 1, "nameless", away)
    assert child.stop(grace_s=0.3).strays == () and is_alive(daemon)
    assert keeper.end_nameless() == (f"{daemon.pid} sleep",)
    assert eventually(lambda: not is_alive(daemon))


@pytest.mark.live
def test_child_sees_what_it_was_given(keeper: Keeper, tmp_path: Path) -> None:
    """A child has the ordered environment and folder and nothing else: default signals, its own session."""
    facts = "dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), signal.getsignal(15) == 0"
    program = f"import json, os, signal; print(json.dumps([{facts}]))"
    with open(tmp_path / "said", "w+b") as said:
        child = keeper.spawn(
            [sys.executable, "-S", "-c", program],
            role="server",
            env={"ONE": "1", "LC_ALL": "C.UTF-8"},
            cwd=tmp_path,
            streams=Streams(stdout=said),
        )
        assert child.wait(PATIENCE_S) == 0
        said.seek(0)
        environment, folder, leads, default = json.load(said)
    child.stop()
    assert environment == {"ONE": "1", "LC_ALL": "C.UTF-8"}
    assert (Path(folder), leads, default) == (tmp_path, True, True)


@pytest.mark.live
def test_two_keepers_have_groups_of_their_own(keeper: Keeper) -> None:
    """A second keeper in one process does not lose its cgroups to the first."""
    with Keeper(os.environ) as other:
        assert other.groups.version == keeper.groups.version
        assert not set(other.groups.folders) & set(keeper.groups.folders)
        folders = other.groups.folders
    assert not any(folder.exists() for folder in folders)


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
    assert meter.use(Clock(0), Clock(used_ns)).cpu_us == used_ns / 1000
    assert meter.use(Clock(0), Clock(used_ns)).source == f"cgroup{keeper.groups.version}"
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
    assert meter.use(Clock(0), Clock(used_ns)).source == "schedstat"
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
        monkeypatch.setattr(child_module.os, "listdir", listing)
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
