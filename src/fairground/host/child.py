"""Starting and stopping processes: the lab's side of the keeper."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from fairground.host.bounds import ResourceBounds
from fairground.host.cgroup import Group, Groups, Limits
from fairground.host.network import LOOPBACK
from fairground.host.process import Process, below, cpu_ns_of, descendants_of, is_running, look, name_of, tasks
from fairground.host.refusal import keeper_ended, refusal_of, too_long
from fairground.host.streams import Streams, in_memory
from fairground.model import KeeperEnded, LabError
from fairground.model.known import KNOWN
from fairground.model.secret import HIDDEN

PR_SET_CHILD_SUBREAPER = 36
CHANGED = ("PATH", "HOME")
"""Variables that wrappers of programs change, so that nobody is known by them."""
BUILD_NICENESS = 10
"""Builds stand back: what a person does beside one goes on, and so does another lab's measurement."""
OPEN_FILES = 65_536
"""The most files that a child may have open, as far as the machine lets it."""


@dataclass(frozen=True)
class Stopped:
    """The end of a process: `seconds` from the signal to the exit (None: it had to be killed), and strays that it left behind."""

    seconds: float | None
    exit_code: int | None
    strays: tuple[str, ...]


@dataclass(frozen=True)
class OwnView:
    """The view of the machine that a process has for itself, in namespaces of its own.

    `map_user`: root looks like an ordinary user to it. `hosts`: a file that it sees in the place of /etc/hosts.
    """

    map_user: bool = False
    hosts: Path | None = None


ANSWERS_S, CLOSES_S = 20.0, 20.0
"""A keeper that does not answer within so long stands still. The time in which one ends what it keeps."""
LOOK_S = 1.0
"""The seconds between two looks at whether it stands still: somebody may have stopped it."""
STOPPED = frozenset("Tt")


class Keeper:
    """The process that starts and outlives all others of this lab; see `keeper.py` for why.

    `environ` is the environment that the lab itself was started in: builds see all of it, servers PATH and HOME. `address`: where
    what it starts listens, and is reached by the other roles. `front`: where that listens which the generator speaks to, where
    it is on another host (None: at the same address).
    """

    def __init__(self, environ: Mapping[str, str], address: str = LOOPBACK, front: str | None = None) -> None:
        self.environ, self.address, self.front = dict(environ), address, front or address
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = Path(__file__).with_name("keeper.py")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(program), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
        self.spinners: tuple[psutil.Process, ...] = ()
        """The processes that keep the processors from idling at present, other labs' included; see `awake`."""
        self._sent, self._looked_s = 0, time.monotonic()
        self._exits: dict[int, int] = {}
        self._children: set[int] = set()
        self._alive: dict[int, Child] = {}
        """Children that were not stopped yet, by their number."""
        self.groups = Groups.create(f"fairground-{self.pid}")
        if self.groups.folders:
            self._ask({"groups": [str(folder) for folder in self.groups.parents]}, ())

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """End the keeper, which kills whatever is still running below it."""
        self._socket.close()
        self._resume()  # one that stands still could not end what it keeps
        try:
            self._process.wait(CLOSES_S)
        except subprocess.TimeoutExpired:
            self._lost()

    def require(self) -> None:
        """Raise KeeperEnded where it was killed."""
        self._receive(wait_for=None)

    def guard(self, folder: Path) -> None:
        """Let the keeper hide the secrets that are known by now in a folder's files, should the lab be killed."""
        if KNOWN.pattern is not None:
            with in_memory(KNOWN.pattern) as pattern:  # a packet has no room for that of many logins
                self._ask({"scrub": str(folder.resolve()), "hidden": HIDDEN}, (pattern,))

    def _resume(self) -> None:
        """Let the keeper go on, if somebody has stopped it."""
        if self._stands_still():
            self._process.send_signal(signal.SIGCONT)

    def _stands_still(self) -> bool:
        found = look(self.pid)
        return found is not None and found.state in STOPPED

    @property
    def awake(self) -> bool:
        """True if the processors are kept from idling at present."""
        return bool(self.spinners)

    def spun_ns(self) -> int | None:
        """CPU time so far of what keeps the processors from idling; None where nothing does."""
        return sum(cpu_ns_of(one) for one in self.spinners) if self.spinners else None

    def spawn(
        self,
        argv: Sequence[str],
        *,
        role: str,
        env: Mapping[str, str],
        cwd: Path | str = "/",
        streams: Streams | None = None,
        limits: Limits | None = None,
        view: OwnView = OwnView(),
        group: Group | None = None,
    ) -> Child:
        """Start `argv` in a session and (where the machine has them) a cgroup of its own, or `group`.

        What of `limits` no cgroup can hold is held otherwise; the child's `bounds` say how. `streams` None: all are /dev/null.
        Raises LabError when the program cannot be executed, and MachineError when the machine starts nothing.
        """
        group = group or self.groups.add(role, limits)
        bounds = ResourceBounds.of(group, limits or Limits())
        with open(os.devnull, "r+b") as null:
            order = {
                "argv": list(argv),
                "cwd": str(cwd),
                "env": dict(env),
                "cpus": list(bounds.cores) if bounds.cores else None,
                "data_bytes": bounds.data_bytes,
                "join": [str(path) for path in group.join],
                "nofile": OPEN_FILES,
                "niceness": BUILD_NICENESS if role == "build" else 0,
                "map_user": view.map_user,
                "hosts": None if view.hosts is None else str(view.hosts.resolve()),
            }
            try:
                answer = self._ask(order, (streams or Streams()).descriptors(null.fileno()))
            except LabError:
                group.remove()
                raise
        if "error" in answer:
            group.remove()
            raise refusal_of(argv[0], answer, view != OwnView())
        pid = int(str(answer["pid"]))
        self._children.add(pid)
        self._exits.pop(pid, None)  # of an earlier child that had this number: the kernel uses them again
        self._alive[pid] = Child(self, pid, role, group, tuple(argv), bounds.words, env)
        return self._alive[pid]

    def forget(self, child: Child) -> None:
        """Forget a child that was stopped: it has no processes any more."""
        self._alive.pop(child.pid, None)

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a child that has ended (negative: the signal's number), else None."""
        self._receive(wait_for=None)
        return self._exits.get(pid)

    def has_told_end(self, pid: int) -> bool:
        """True if the end of a child was told of by now. Nothing is received, so that any thread may ask."""
        return pid in self._exits

    def orphans(self) -> list[psutil.Process]:
        """Processes that lost their parent and came back to the keeper: daemons that forked twice."""
        try:
            return [p for p in psutil.Process(self.pid).children() if p.pid not in self._children]
        except psutil.NoSuchProcess:
            return []

    def origin(self, orphan: psutil.Process) -> Child | None:
        """The child that an orphan descends from: the one in whose group it is, or whose environment it has.

        Where these are two, the one that more of its environment tells of: a daemon may join a group. None: it has left both.
        """
        grouped = [child for child in self._alive.values() if orphan.pid in (child.group.pids() or ())]
        named = self.origin_by_environment(orphan)
        return max([named, *grouped] if named else grouped, key=lambda child: len(child.env), default=None)

    def origin_by_environment(self, orphan: psutil.Process) -> Child | None:
        """The child whose environment an orphan has, whatever group it has joined; None where it has left that behind."""
        try:
            has = orphan.environ().items()
        except psutil.Error:
            return None
        named = [child for child in self._alive.values() if child.env and child.env.items() <= has]
        return max(named, key=lambda child: len(child.env), default=None)

    def roots(self, group: Group) -> frozenset[int]:
        """The processes that the lab started in a group, or sent into it."""
        return frozenset(child.pid for child in self._alive.values() if group in (child.group, child.joins))

    def end_nameless(self) -> tuple[str, ...]:
        """Kill the orphans of which nobody can tell what child they descend from, and name them."""
        nameless = [one for one in self.orphans() if is_running(one) and self.origin(one) is None]
        names = tuple(name_of(one) for one in nameless)
        for one in nameless:
            _signal(one.pid, signal.SIGKILL)
        return names

    def _ask(self, message: Mapping[str, object], fds: Sequence[int]) -> dict[str, object]:
        self._sent += 1
        packet = json.dumps({"id": self._sent, **message}).encode()
        try:
            socket.send_fds(self._socket, [packet], list(fds))
        except OSError as error:
            raise too_long() if error.errno == errno.EMSGSIZE else self._lost() from error
        return self._receive(wait_for=self._sent)

    def _receive(self, wait_for: int | None) -> dict[str, object]:
        """Take in what the keeper says: until the reply `wait_for`, or (None) only what is already there."""
        while True:
            self._socket.settimeout(ANSWERS_S if wait_for is not None else 0)
            try:
                packet = self._socket.recv(1 << 18)
            except TimeoutError:
                raise self._lost() from None
            except BlockingIOError:
                if time.monotonic() - self._looked_s > LOOK_S:
                    self._looked_s = time.monotonic()
                    if self._stands_still():
                        raise self._lost() from None
                return {}
            if not packet:
                raise self._lost()
            message = json.loads(packet)
            if "exit" in message:
                self._exits[message["exit"]] = message["code"]
                self._children.discard(message["exit"])
            elif message["id"] == wait_for:
                return message  # type: ignore[no-any-return]

    def _lost(self) -> KeeperEnded:
        """End what the killed keeper kept, since it has come to us, and what forks meanwhile."""
        self._process.kill()  # where it stands still
        self._process.wait()
        deadline = time.monotonic() + 5
        while (left := self._left_over()) and time.monotonic() < deadline:
            for process in left:
                _signal(process.pid, signal.SIGKILL)
            time.sleep(0.02)
        self.groups.remove()
        return keeper_ended()

    def _left_over(self) -> list[psutil.Process]:
        """The processes that run below the lab, apart from the keeper."""
        return [p for p in psutil.Process().children(recursive=True) if p.pid != self.pid and is_running(p)]


class Child:
    """One started process with all of its descendants."""

    def __init__(
        self,
        keeper: Keeper,
        pid: int,
        role: str,
        group: Group,
        argv: tuple[str, ...],
        bounds: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._keeper, self.pid, self.role, self.group, self.argv = keeper, pid, role, group, argv
        self.joins: Group | None = None
        """The group of another child that it enters by itself, as the lab told it to: there it is no intruder."""
        self.bounds = dict(bounds or {})
        self.env = {name: value for name, value in (env or {}).items() if name not in CHANGED}
        """The variables that its descendants are known by, wherever they go."""
        self._asked_s: float | None = None
        self._ended_before: int | None = None
        self._own = set[int]()
        """The members of its group that were found to be its own, while they are in it."""

    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._keeper.exit_code(self.pid)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the end; None when it still runs after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while (code := self.exit_code()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return code

    def send(self, number: int) -> None:
        """Send a signal to the process itself; one that has ended is left alone."""
        if self.exit_code() is None:
            _signal(self.pid, number)

    def pin(self, cores: Sequence[int] | None) -> None:
        """Let it and its descendants run on these cores only (None: on all that we have), new ones too."""
        for one in self.alive():
            for thread in tasks(one.pid):
                try:
                    os.sched_setaffinity(thread, cores or os.sched_getaffinity(0))
                except ProcessLookupError:
                    continue
        self.bounds = {"cores": ",".join(map(str, cores))} if cores else {}

    def alive(self) -> list[Process]:
        """The process and its descendants, as the kernel shows them now. One that can no longer be told to be its is left out."""
        pids = self.group.pids()
        if pids is None:
            return below([] if self._keeper.has_told_end(self.pid) else [self.pid], session=self.pid)
        return [one for one in map(look, pids) if one and one.runs]

    def processes(self) -> list[psutil.Process]:
        """The same as psutil knows them, for what needs more than a look: signals, sockets, users."""
        found = []
        for one in self.alive():
            try:
                found.append(psutil.Process(one.pid))
            except psutil.NoSuchProcess:
                continue
        return found

    def ended_by_itself(self) -> int | None:
        """Its exit code where it ended before it was asked to; None where it was asked first, or still runs."""
        return self.exit_code() if self._asked_s is None else self._ended_before

    def ask(self, number: int = signal.SIGTERM) -> float:
        """Ask it to end, and do not wait: so several can end at once. The moment (monotonic, s); asked again, it is the first."""
        if self._asked_s is None:
            self._asked_s, self._ended_before = time.monotonic(), self.exit_code()
            self.send(number)
        return self._asked_s

    def stop(self, grace_s: float = 5.0, number: int = signal.SIGTERM) -> Stopped:
        """Ask it to end unless that was done, then make it; find and kill what it left behind, and remove its cgroup."""
        began = self.ask(number)
        code = self.wait(began + grace_s - time.monotonic())
        seconds = time.monotonic() - began if code is not None else None
        # Workers may need a moment after their parent: they are strays only if they outlive the grace.
        while code is not None and self.alive() and time.monotonic() - began < grace_s:
            time.sleep(0.01)
        strays = list({process.pid: process for process in [*self.processes(), *self._lost()]}.values())
        names = tuple(name_of(process) for process in strays if process.pid != self.pid)
        self._kill(strays)
        self.group.remove()
        self._keeper.forget(self)
        return Stopped(seconds, code if code is not None else self.wait(2.0), names)

    def intruders(self) -> tuple[str, ...]:
        """Name the members of its group that neither the lab started there nor what descends from those: they joined it.

        Only who is new in it is looked at: a database has hundreds of members.
        """
        members = set(self.group.pids() or ())
        self._own &= members
        roots, found = self._keeper.roots(self.group), list[str]()
        for one in filter(None, map(look, members - self._own)):
            if self._belongs(one.pid, roots):
                self._own.add(one.pid)
            else:
                found.append(f"{one.pid} {one.name}")
        return tuple(found)

    def _belongs(self, pid: int, roots: frozenset[int]) -> bool:
        """True if a member descends from the group's roots, or lost its parent and has its environment. One that ended does."""
        seen, at = set[int](), pid
        while at not in seen and at not in roots and at not in self._own:
            seen.add(at)
            one = look(at)
            if one is None or not one.runs:
                return True
            if one.parent == self._keeper.pid:
                return self._is_orphan_of_mine(at)
            at = one.parent
        return at in roots or at in self._own

    def _is_orphan_of_mine(self, pid: int) -> bool:
        try:
            return self._keeper.origin_by_environment(psutil.Process(pid)) is self
        except psutil.NoSuchProcess:
            return True

    def outside(self) -> tuple[str, ...]:
        """Its processes that have left its group, where it has one: what they use is counted and limited by nobody."""
        if self.group.pids() is None:
            return ()
        ended = self._keeper.has_told_end(self.pid) or not psutil.pid_exists(self.pid)
        own = [] if ended else [psutil.Process(self.pid)]
        found = [process for one in own for process in (one, *descendants_of(one))] + self._lost()
        inside = set(self.group.pids() or ())  # read last: what is below by now has been put into it
        return tuple(name_of(one) for one in found if one.pid not in inside and is_running(one))

    def _lost(self) -> list[psutil.Process]:
        """Daemons that it made: they came back to the keeper, and may have left its group."""
        mine = [one for one in self._keeper.orphans() if is_running(one) and self._keeper.origin(one) is self]
        return [process for one in mine for process in (one, *descendants_of(one))]

    def _kill(self, strays: Sequence[psutil.Process]) -> None:
        deadline = time.monotonic() + 5
        if self.exit_code() is None:
            _signal(self.pid, signal.SIGKILL)
        for process in strays:
            _signal(process.pid, signal.SIGKILL)
        while time.monotonic() < deadline:
            left = [*self.processes(), *filter(is_running, strays)]  # a daemon is in no session of ours
            if not left:
                return
            for process in left:
                _signal(process.pid, signal.SIGKILL)
            time.sleep(0.01)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
