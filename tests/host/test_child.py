"""One child of a keeper: how it is started and stopped, and which processes are its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from builders.children import ENVIRONMENT, TREE, is_alive, python
from builders.paths import ROOT
from builders.waiting import PATIENCE_S, eventually
from fairground.host import Child, Keeper, Streams
from fairground.host.cgroup import Group
from fairground.host.child import OwnView
from fairground.model import LabError, MachineError


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
    assert caught.value.exit_code == 3 and not isinstance(caught.value, MachineError)
    assert not any(list(folder.glob("absent-*")) for folder in keeper.groups.folders)


@pytest.mark.live
def test_hosts_of_its_own(keeper: Keeper, tmp_path: Path) -> None:
    """A child with a file of hosts resolves the names in it, as its descendants do; nobody else sees them."""
    hosts, said = tmp_path / "hosts", tmp_path / "said"
    hosts.write_text("127.54.32.9 its-database\n")
    program = "import os, socket; os.fork(); print(socket.gethostbyname('its-database'), flush=True)"
    with open(said, "wb") as stream:
        words = [sys.executable, "-c", program]
        child = keeper.spawn(words, role="server", env=ENVIRONMENT, streams=Streams.into(stream), view=OwnView(hosts=hosts))
    assert child.wait(PATIENCE_S) == 0
    child.stop()
    assert said.read_text().split() == ["127.54.32.9"] * 2
    assert "its-database" not in Path("/etc/hosts").read_text()


@pytest.mark.live
def test_hosts_that_are_not_there(keeper: Keeper, tmp_path: Path) -> None:
    """What cannot be laid over /etc/hosts is no fault of a server, and nothing is started."""
    with pytest.raises(MachineError, match="^cannot start `true`: /etc/hosts cannot be laid over"):
        keeper.spawn(["true"], role="server", env=ENVIRONMENT, view=OwnView(hosts=tmp_path / "nowhere"))


@pytest.mark.live
def test_missing_folder(keeper: Keeper, tmp_path: Path) -> None:
    """A working folder that is not there is a LabError as well."""
    with pytest.raises(LabError, match="^cannot start `true`: no such file or directory$"):
        keeper.spawn(["true"], role="absent", env=ENVIRONMENT, cwd=tmp_path / "nowhere")


@pytest.mark.live
def test_a_group_that_is_gone_is_no_fault_of_the_program(keeper: Keeper, tmp_path: Path) -> None:
    """What the machine refuses before the program is reached is the machine's."""
    with pytest.raises(MachineError, match="^cannot start `true`: no such file or directory$"):
        keeper.spawn(["true"], role="absent", env=ENVIRONMENT, group=Group(2, (tmp_path / "gone",)))


@pytest.mark.live
def test_an_order_longer_than_a_message_ends_nothing(keeper: Keeper) -> None:
    """It is a sentence on the environment; what runs goes on, and shorter orders are carried out."""
    earlier = keeper.spawn(["sleep", "60"], role="server", env=ENVIRONMENT)
    with pytest.raises(MachineError, match="longer than the kernel lets one message be"):
        keeper.spawn(["true"], role="absent", env={**ENVIRONMENT, "LONG": "ä" * 100_000})
    later = keeper.spawn(["true"], role="server", env={**ENVIRONMENT, "LONG": "a" * 90_000})
    assert later.wait(PATIENCE_S) == 0 and earlier.exit_code() is None
    assert not any(list(folder.glob("absent-*")) for folder in keeper.groups.folders)
    earlier.stop()
    later.stop()


@pytest.mark.live
def test_stop_of_a_willing_process(keeper: Keeper) -> None:
    """A process that ends on SIGTERM is given its time, and the time is told."""
    child = python(keeper, "import time; time.sleep(600)")
    stopped = child.stop()
    assert stopped.exit_code == -signal.SIGTERM
    assert stopped.seconds is not None and stopped.seconds >= 0
    assert stopped.strays == ()


@pytest.mark.live
def test_several_that_are_asked_end_together(keeper: Keeper, tmp_path: Path) -> None:
    """Each begins to end when it is asked, before the first of them is waited for; none of them ended by itself."""
    end = "import pathlib, signal, sys, time; signal.signal(15, lambda *_: (pathlib.Path(sys.argv[2]).touch(), sys.exit(4)))"
    program = f"{end}; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
    names = [(str(tmp_path / f"up-{number}"), str(tmp_path / f"asked-{number}")) for number in range(3)]
    children = [python(keeper, program, *pair) for pair in names]
    assert eventually(lambda: all(Path(up).exists() for up, _ in names))
    moments = [child.ask() for child in children]
    assert eventually(lambda: all(Path(asked).exists() for _, asked in names))
    assert [child.ask() for child in children] == moments
    stopped = [child.stop() for child in children]
    assert [(one.exit_code, one.strays) for one in stopped] == [(4, ())] * 3
    assert [child.ended_by_itself() for child in children] == [None] * 3


@pytest.mark.live
def test_one_that_ended_before_it_was_asked_says_so(keeper: Keeper) -> None:
    """Its exit code is told as its own doing, also after it was asked to end."""
    child = python(keeper, "raise SystemExit(7)")
    assert child.wait(PATIENCE_S) == 7
    assert child.ended_by_itself() == 7
    child.ask()
    assert child.stop().exit_code == child.ended_by_itself() == 7


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


LEAVER = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"a) 1 (2 3", 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    os.fork()
elif os.fork() == 0 and os.fork():
    os._exit(0)
time.sleep(600)
"""
"""A program with a name that looks like numbers, a child that left its session, that one's child, and a grandchild whose parent is
gone."""


def _below(child: Child) -> set[int]:
    """Those whose parents are known, and run."""
    return {one.pid for one in psutil.Process(child.pid).children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE}


@pytest.mark.live
def test_processes_are_known_without_a_group(groupless: Keeper) -> None:
    """Those of its session, also where their parents are gone, and all that descend from them; nobody else's."""
    one, other = python(groupless, LEAVER), python(groupless, "import time; time.sleep(600)")
    try:
        assert eventually(lambda: len(_below(one)) == 2 and len(one.processes()) == 4)
        assert {process.pid for process in one.alive()} == {process.pid for process in one.processes()} > {one.pid, *_below(one)}
        assert [process.pid for process in other.alive()] == [other.pid]
    finally:
        one.stop(grace_s=0.3)
        other.stop(grace_s=0.3)


@pytest.mark.live
@pytest.mark.parametrize("leads", [False, True], ids=["member", "leader"])
def test_who_has_the_number_of_an_ended_child_is_left_alone(leads: bool, groupless: Keeper) -> None:
    """It is no process of that child, and not killed with it, even where it leads a session of that number."""
    child = python(groupless, "pass")
    assert child.wait(PATIENCE_S) == 0
    with subprocess.Popen(["sleep", "600"], start_new_session=leads) as stranger:
        try:
            child.pid = stranger.pid  # as if the kernel had used it again
            groupless._exits[stranger.pid] = 0
            assert child.alive() == [] and child.stop(grace_s=0.0).strays == ()
            assert stranger.poll() is None
        finally:
            groupless._exits.pop(stranger.pid, None)
            stranger.kill()


@pytest.mark.live
def test_what_an_ended_child_left_is_its_own(groupless: Keeper) -> None:
    """Who is in its session is known after its end, and those below."""
    child = python(groupless, "import os, time; os.fork() or (os.fork(), time.sleep(600))")
    assert child.wait(PATIENCE_S) == 0
    assert eventually(lambda: len(child.alive()) == 2)
    assert len(child.stop(grace_s=0.0).strays) == 2 and child.alive() == []


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


JOIN = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for folder in sys.argv[2:]:
            with open(folder + "/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))
        with open(sys.argv[1], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""
"""A daemon that joins groups which are another child's, or its own."""


@pytest.mark.parametrize("whose", ["another's", "its own"])
def test_who_joins_a_group_is_named(whose: str, keeper: Keeper, tmp_path: Path) -> None:
    """What a child started and what it forked are its own, daemons too; who comes from elsewhere is an intruder."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here")
    victim = python(keeper, TREE, str(tmp_path / "tree"), env={**ENVIRONMENT, "NAME": "victim"})
    assert eventually(lambda: (tmp_path / "tree").exists() and len((tmp_path / "tree").read_text().split()) == 8)
    assert victim.intruders() == ()
    folders = [str(folder) for folder in victim.group.folders] if whose == "another's" else []
    other = python(keeper, JOIN, str(tmp_path / "joined"), *folders, env={**ENVIRONMENT, "NAME": "other"})
    assert eventually(lambda: (tmp_path / "joined").exists() and bool((tmp_path / "joined").read_text()))
    named = [int(one.split()[0]) for one in victim.intruders()]
    assert named == ([int((tmp_path / "joined").read_text())] if folders else [])
    assert other.intruders() == ()
    assert len(other.stop(0.0).strays) == 1, "its daemon ends with it, wherever that is"
    assert victim.intruders() == () and victim.exit_code() is None and len(victim.alive()) == 4
    victim.stop(0.0)


SENT = """
import os, subprocess, sys, time
for folder in sys.argv[2:]:
    with open(folder + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
helper = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(sys.argv[1], "w") as file:
    file.write(str(helper.pid))
time.sleep(600)
"""
"""A child that enters the group of another one, and starts a helper there."""


@pytest.mark.parametrize("sent", [True, False])
def test_who_is_sent_into_a_group_is_no_intruder(sent: bool, keeper: Keeper, tmp_path: Path) -> None:
    """What the lab sends into a group is its own there, with what it starts; the same child unsent is an intruder."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here")
    victim = python(keeper, "import time; time.sleep(600)")
    argv = [sys.executable, "-c", SENT, str(tmp_path / "in"), *map(str, victim.group.folders)]
    other = keeper.spawn(argv, role="other", env={**ENVIRONMENT, "NAME": "other"})
    other.joins = victim.group if sent else None
    assert eventually(lambda: (tmp_path / "in").exists() and bool((tmp_path / "in").read_text()))
    inside = {other.pid, int((tmp_path / "in").read_text())}
    assert inside <= set(victim.group.pids() or ())
    assert {int(one.split()[0]) for one in victim.intruders()} == (set() if sent else inside)
    other.stop(0.0)
    victim.stop(0.0)


STANDS_STILL = """
import os, signal, sys, time
import psutil
from fairground.host import child
from fairground.model import LabError

child.ANSWERS_S, child.LOOK_S = 0.5, 0.0
keeper = child.Keeper(os.environ)
kept = keeper.spawn(["sleep", "60"], role="server", env={"PATH": os.environ["PATH"]})
process = psutil.Process(kept.pid)
os.kill(keeper.pid, signal.SIGSTOP)
while psutil.Process(keeper.pid).status() != psutil.STATUS_STOPPED:
    time.sleep(0.01)
try:
    if sys.argv[1] == "exit code":
        kept.exit_code()
    if sys.argv[1] == "spawn":
        keeper.spawn(["true"], role="other", env={})
except LabError as error:
    print(error.message)
keeper.close()
while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
    time.sleep(0.01)
print("ended")
"""


@pytest.mark.live
@pytest.mark.parametrize("what", ["close", "spawn", "exit code"])
def test_a_keeper_that_stands_still_holds_nobody_up(what: str) -> None:
    """Somebody stopped it: the end of the lab lets it go on; a question ends it, and all that it kept, in a sentence."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", STANDS_STILL, what], env=environment, capture_output=True, text=True, timeout=60)
    told = "" if what == "close" else "the keeper process was killed; everything that this run had started has been ended\n"
    assert (done.stdout, done.stderr) == (f"{told}ended\n", "")
