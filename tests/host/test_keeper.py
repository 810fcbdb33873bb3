"""The keeper: whatever ends the lab, nothing that it started survives."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from builders.children import TREE, is_alive
from builders.paths import ROOT
from builders.waiting import PATIENCE_S, eventually
from fairground.host import keeper

LAB = """
import json, os, sys, time
from pathlib import Path
from fairground import postgres
from fairground.model import Durability, LabError
from fairground.host import Keeper
cache, tree, notes = (Path(word) for word in sys.argv[1:4])
try:
    with Keeper(os.environ) as keeper:
        database = postgres.start(keeper, cache, Durability.RELAXED)
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
        [sys.executable, "-c", LAB, str(cache), str(tree), str(notes)],
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


@pytest.mark.parametrize("told", [True, False])
def test_a_keeper_ends_in_silence(told: bool) -> None:
    """Its lab may be gone before it read the last word, which resets the connection; or after it."""
    lab, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = (sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno()))
    with theirs:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, start_new_session=True)
    lab.send(json.dumps({"id": 1, "groups": []}).encode())
    select.select([lab], [], [], PATIENCE_S)  # its answer is here
    if told:
        assert json.loads(lab.recv(1 << 16))["id"] == 1
    lab.close()
    assert process.communicate(timeout=PATIENCE_S) == (None, b"") and process.returncode == 0


NO_FORK = """
import os, sys
from fairground.host import keeper
def refused():
    raise BlockingIOError(11, "Resource temporarily unavailable")
if sys.argv[1] == "full":
    os.fork = refused
before = os.listdir("/proc/self/fd")
try:
    keeper.spawn({"argv": ["true"], "cwd": "/", "env": {"PATH": os.environ["PATH"]}, "join": []}, [])
except OSError as error:
    print(type(error) is keeper.ProgramError, error.errno, os.listdir("/proc/self/fd") == before)
"""


@pytest.mark.parametrize(("machine", "told"), [("full", "False 11 True\n"), ("calm", "")])
def test_a_keeper_that_may_not_fork_says_so_and_keeps_no_descriptor(machine: str, told: str) -> None:
    """A limit on processes is met at the fork, before there is a program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    assert subprocess.check_output([sys.executable, "-c", NO_FORK, machine], env=environment, text=True) == told


GUARDED = """
import os, sys, time
from pathlib import Path
from fairground.host import Keeper, Streams
from fairground.model.known import KNOWN
kept, beside = Path(sys.argv[1]), Path(sys.argv[2])
KNOWN.remember(*(f"{number:040}-t0ken" for number in range(1000)), sys.stdin.readline().strip())
with Keeper(os.environ) as keeper:
    keeper.guard(kept)
    for folder in (kept, beside):
        with open(folder / "server.log", "wb") as log:
            keeper.spawn(["sh", "-c", "echo port 80, $WORD, done; echo said > said; sleep 600"], role="server", cwd=folder,
                         env={"PATH": os.environ["PATH"], "WORD": os.environ["WORD"]}, streams=Streams.into(log))
    while not all((folder / "said").exists() for folder in (kept, beside)):
        time.sleep(0.01)
    print("up", flush=True)
    time.sleep(600)
"""
"""A lab that was given a secret, and tokens by thousands of logins, with a server that writes it into its log, in the folder of a record and beside it."""


@pytest.mark.live
def test_a_killed_lab_leaves_no_secret_in_a_record(tmp_path: Path) -> None:
    """The keeper takes out of a record's files what the lab could not any more; other files and other words stay."""
    word, kept, beside = f"S3cr3t-{os.getpid()}", tmp_path / "kept", tmp_path / "beside"
    kept.mkdir()
    beside.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED, str(kept), str(beside)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "WORD": word},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "up\n"
    assert word in (kept / "server.log").read_text(), "it is there while the lab lives"
    process.kill()
    process.communicate()
    eventually(lambda: word not in (kept / "server.log").read_text())
    assert (kept / "server.log").read_text() == "port 80, (hidden), done\n"
    assert (beside / "server.log").read_text() == f"port 80, {word}, done\n"
