"""The parent of everything that the lab starts; a program of its own, standard library only.

The lab sends commands over a socket and the keeper forks them, so that every process of a run, however deep, is a descendant of
the keeper (it is a child subreaper: daemons that fork twice come back to it). When the socket closes, because the lab ended in
whatever way, SIGKILL included, the keeper kills all of its descendants and ends. When the keeper itself is killed, its children
are killed by the kernel (parent-death signal) and what is left falls to the lab, which is a subreaper too.

Messages are JSON packets. In: `{"id", "argv", "cwd", "env", "join", "cpus", "data_bytes", "nofile", "niceness", "map_user"}`
with three file descriptors; `{"id", "groups"}`: cgroup folders to remove at the end, with those in them; or `{"id", "scrub",
"hidden"}` with a file that holds a pattern: a folder in whose files secrets are replaced at the end. Out: `{"id", "pid"}`,
`{"id", "error", "number", "is_program"}`, `{"exit": pid, "code": n}`. `is_program`: the program or its folder is at fault,
and not the machine.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, CLONE_NEWUSER = 1, 36, 0x10000000
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 0x1000, 0x4000, 0x40000
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve the lab on the socket whose descriptor is the first argument, until it closes."""
    lab = socket.socket(fileno=int(sys.argv[1]))
    lab.set_inheritable(False)  # a child that held our end would hide our death from the lab
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    mine: set[int] = set()
    groups: list[str] = []
    secrets: dict[str, dict[str, str]] = {}
    try:
        serve(lab, wake_read, mine, groups, secrets)
    finally:
        kill_descendants()
        remove_groups(groups)
        for one in secrets.values():
            scrub(one["scrub"], one["pattern"], one["hidden"])


def serve(lab: socket.socket, wake_read: int, mine: set[int], groups: list[str], secrets: dict[str, dict[str, str]]) -> None:
    """Start what the lab asks for and report what ends; return when the lab is gone."""
    while True:
        readable = select.select([lab.fileno(), wake_read], [], [])[0]
        if wake_read in readable:
            os.read(wake_read, 4096)
            report_exits(lab, mine)
        if lab.fileno() in readable:
            try:
                packet, fds, _, _ = socket.recv_fds(lab, 1 << 18, 3)
            except ConnectionResetError:  # it was killed before it read what we told it
                return
            if not packet:
                return
            message = json.loads(packet)
            if "groups" in message or "scrub" in message:
                groups.extend(message.get("groups", ()))
                if "scrub" in message:
                    secrets[message["scrub"]] = message | {"pattern": whole(fds[0])}
                reply(lab, {"id": message["id"], "pid": os.getpid()})
                continue
            try:
                pid = spawn(message, fds)
                mine.add(pid)
                reply(lab, {"id": message["id"], "pid": pid})
            except OSError as error:
                said, is_program = (error.strerror or str(error)).lower(), isinstance(error, ProgramError)
                reply(lab, {"id": message["id"], "error": said, "number": error.errno, "is_program": is_program})
            finally:
                for fd in fds:
                    os.close(fd)


def whole(descriptor: int) -> str:
    """Read all of a file by its descriptor, and close that."""
    with open(descriptor, encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.seek(0)
        return file.read()


def reply(lab: socket.socket, message: dict[str, object]) -> None:
    """Send one packet; a lab that is gone is noticed by `serve`, not here."""
    try:
        lab.send(json.dumps(message).encode())
    except OSError:
        pass


def report_exits(lab: socket.socket, mine: set[int]) -> None:
    """Reap every ended child; strays that came back to us are reaped in silence."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in mine:
            mine.discard(pid)
            reply(lab, {"exit": pid, "code": os.waitstatus_to_exitcode(status)})


class ProgramError(OSError):
    """The error that a command's own folder or program cannot be taken."""


def spawn(order: dict[str, Any], fds: list[int]) -> int:
    """Fork and execute one command; raise OSError where the machine refuses that, and ProgramError where the program does."""
    error_read, error_write = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
    except OSError:
        os.close(error_read)
        os.close(error_write)
        raise
    if pid == 0:
        kind = OSError
        try:
            become(order, fds)
            kind = ProgramError
            os.chdir(order["cwd"])
            os.execvpe(order["argv"][0], order["argv"], order["env"])
        except BaseException as error:
            number, name = getattr(error, "errno", None) or 0, str(getattr(error, "filename", None) or error)
            os.write(error_write, json.dumps([kind is ProgramError, number, name]).encode())
        os._exit(127)
    os.close(error_write)
    with os.fdopen(error_read, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        is_program, number, name = json.loads(failure)
        raise (ProgramError if is_program else OSError)(number, os.strerror(number) if number else name, name)
    return pid


def stand_back(niceness: int) -> None:
    """Let others run first. Where the kernel shares processors out between sessions, it is the session that has to be nice."""
    os.nice(niceness)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:
        autogroup.write(str(niceness))


def become(order: dict[str, Any], fds: list[int]) -> None:
    """Take on the ordered surroundings in the child."""
    keeper = os.getppid()
    os.setsid()
    for path in order["join"]:
        with open(path, "w") as procs:
            procs.write("0")
    if order.get("niceness"):
        stand_back(order["niceness"])
    if order.get("map_user"):
        map_user()
    if order.get("hosts"):
        own_hosts(order["hosts"])
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != keeper:
        os._exit(127)
    if order.get("cpus"):
        os.sched_setaffinity(0, order["cpus"])
    if order.get("nofile"):
        soft = min(int(order["nofile"]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if order.get("data_bytes"):
        resource.setrlimit(resource.RLIMIT_DATA, (order["data_bytes"], order["data_bytes"]))
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_DFL)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)


def map_user() -> None:
    """Look like an ordinary user to ourselves, and stay who we are to the kernel.

    PostgreSQL refuses to run as root; in a user namespace that maps uid 1000 inside to root outside it sees uid 1000, and
    its files stay root's. So no account has to be made and no folder has to change hands.
    """
    uid, gid = os.geteuid(), os.getegid()
    if LIBC.unshare(CLONE_NEWUSER) != 0:
        # Its number is kept to words: that of one namespace too many is that of a full disk.
        raise RuntimeError(f"no user namespace can be made ({os.strerror(ctypes.get_errno())})")
    for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def own_hosts(path: str) -> None:
    """Put a file in the place of /etc/hosts for this process and its descendants alone: names then lead where it says."""
    uid, gid = os.geteuid(), os.getegid()
    if LIBC.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)) != 0:
        raise RuntimeError(f"no namespace of its own can be made ({os.strerror(ctypes.get_errno())})")
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mounts = ((b"none", b"/", MS_REC | MS_PRIVATE), (path.encode(), b"/etc/hosts", MS_BIND))
    for source, target, flags in mounts:
        if LIBC.mount(source, target, None, flags, None) != 0:
            raise RuntimeError(f"{target.decode()} cannot be laid over ({os.strerror(ctypes.get_errno())})")


def descendants() -> list[int]:
    """Every live process below this one, from the parent links in /proc."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                parents[int(name)] = int(fields[1])
    found: list[int] = []
    frontier = {os.getpid()}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found.extend(frontier)
    return found


def kill_descendants() -> None:
    """SIGKILL everything below until nothing is left; a process that forks meanwhile is met in the next pass."""
    deadline = time.monotonic() + 8
    while (left := descendants()) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reap_all()
        time.sleep(0.02)


def reap_all() -> None:
    """Collect every ended child, so that none stays as a zombie."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def remove_groups(folders: list[str]) -> None:
    """Remove the cgroups of the run, those of its roles first; a folder that is busy for a moment is tried again."""
    for folder in [role for parent in folders for role in subfolders(parent)] + folders:
        for _ in range(50):
            try:
                os.rmdir(folder)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)


def subfolders(parent: str) -> list[str]:
    """The folders in a folder; none where it is gone."""
    try:
        return [entry.path for entry in os.scandir(parent) if entry.is_dir()]
    except OSError:
        return []


def scrub(folder: str, pattern: str, hidden: str) -> None:
    """Put `hidden` in place of what fits the pattern in a folder's files: a lab that was killed could not do it."""
    known = re.compile(pattern)
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
                    text = file.read()
                if (clean := known.sub(hidden, text)) != text:
                    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                        file.write(clean)
            except OSError:
                continue


if __name__ == "__main__":
    main()
