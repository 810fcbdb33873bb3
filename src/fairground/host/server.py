"""Starting a server under test: the contract's environment, and nothing else."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psutil

from fairground.host.cgroup import Limits
from fairground.host.child import Child, Keeper, OwnView
from fairground.host.listening import listen_queues, most_waiting, server_ends, sockets_of
from fairground.host.network import ip_of, wait_ready
from fairground.host.streams import Streams
from fairground.model import CellSettings, Finding, MachineError, Server, Severity, Stack, storing
from fairground.model.contract import CompiledDatabase, Ready, fill_names

Under = Callable[[Sequence[str], Path], Sequence[str]]
OTHERS = "docs/contracts.md has what a contract asks, and `./fairground try URL` measures a server without one"
"""What to do with a server that is up, and does not know the contract."""
GIVE_ADDRESS = "give its address in `--database`: postgresql://USER:PASSWORD@ADDRESS:PORT/DATABASE"
"""What to do where a server with a compiled-in database could not be shown it."""


def values_of(settings: CellSettings, host: str, port: int, database_url: str) -> dict[str, str]:
    """The values that a server can be told, by the names that contracts have for them (`model.contract.TOLD`)."""
    return {
        "host": host,
        "port": str(port),
        **database_values(database_url),
        "pool_size": str(settings.pool_total),
        "pool_wait_ms": "" if settings.pool_wait_ms is None else str(settings.pool_wait_ms),
        "workers": str(settings.workers),
        "prepared": "on" if settings.prepared else "off",
    }


def database_values(url: str) -> dict[str, str]:
    """The values that say where a database is."""
    database = urlsplit(url)
    return {
        "database_url": url,
        "database_host": database.hostname or "",
        "database_port": str(database.port or ""),
        "database_name": unquote(database.path.removeprefix("/")),
        "database_user": unquote(database.username or ""),
        "database_password": unquote(database.password or ""),
    }


def bare_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The variables that every program needs: of the lab's own environment no more than PATH and HOME."""
    return {**{name: inherited[name] for name in ("PATH", "HOME") if name in inherited}, "LANG": "C.UTF-8", "TZ": "UTC"}


def environment(inherited: Mapping[str, str], stack: Stack, values: Mapping[str, str]) -> dict[str, str]:
    """The contract's variables with these `values`, what every program needs, and what the stack's variant sets."""
    return {
        **bare_environment(inherited),
        **stack.variant.env,
        **{name: fill_names(text, values) for name, text in stack.server.told.items()},
    }


def start(
    keeper: Keeper,
    stack: Stack,
    settings: CellSettings,
    host: str,
    port: int,
    database_url: str,
    stderr: Path,
    under: Under | None = None,
) -> Child:
    """Start a stack in its folder; what it prints on either stream goes to the file `stderr`.

    `under` makes of its command, and its folder, the words that start it under an emulation; None: it runs natively.
    A database that it has compiled in is found at `database_url` all the same, in /etc/hosts of its own.
    """
    values = values_of(settings, host, port, database_url)
    memory_bytes = None if settings.memory_mb is None else settings.memory_mb * 1_000_000
    with open(stderr, "ab") as stream:
        words = [fill_names(word, values) for word in stack.serve]
        return keeper.spawn(
            words if under is None else under(words, stack.server.folder),
            role="server",
            env=environment(keeper.environ, stack, values),
            cwd=stack.server.folder,
            streams=Streams.into(stream),
            limits=Limits(settings.cpus, memory_bytes, settings.cores_of("server")),
            view=OwnView(hosts=None if stack.server.database is None else _hosts(stack.server.database, values, stderr)),
        )


def _hosts(database: CompiledDatabase, values: Mapping[str, str], beside: Path) -> Path:
    """Write the names of hosts as a server with a compiled-in database sees them."""
    file = beside.with_name("hosts")
    with storing(file):
        everybody = Path("/etc/hosts").read_text(encoding="utf-8", errors="replace")
        file.write_text(f"{_address_of(values['database_host'])} {database.host}\n{everybody}", encoding="utf-8")
    return file


def _address_of(host: str) -> str:
    """An address of the database's host, of version 4 where it has one. MachineError where its name leads nowhere."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise MachineError(
            f"`{host}`, the database's host, has no address: {str(error.strerror).lower()}", GIVE_ADDRESS
        ) from error
    return str(min(found, key=lambda one: one[0] is not socket.AF_INET)[4][0])


def ready_of(server: Server) -> Ready:
    """The request by which the lab learns that a server is ready, with its own path."""
    return Ready(fill_names(server.ready.path, {**server.contract.paths, **server.paths}), server.ready.status)


def wait(child: Child, ready: Ready, host: str, port: int, timeout_s: float = 30.0) -> str | None:
    """Wait until a server answers that it is `ready`; None then, else one phrase on why it did not."""
    problem = wait_ready(host, port, ready.path, ready.status, timeout_s, lambda: child.exit_code() is None)
    return problem if problem is None or "instead of" not in problem else f"{problem}; {OTHERS}"


def exposure_of(host: str, port: int, pids: Collection[int] = ()) -> Finding | None:
    """A warning when something listens beyond `host`, the server's HOST, and the loopback addresses.

    That is whatever listens on `port`, and the server's processes, `pids`, wherever they listen.
    """
    listening = {
        (one.laddr.ip, one.laddr.port)
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and (one.laddr.port == port or one.pid in pids)
    }
    own = ipaddress.ip_address(host)
    beyond = sorted((text, at) for text, at in listening if ((one := ip_of(text)) != own or at != port) and not one.is_loopback)
    if not beyond:
        return None
    named = ", ".join(text if at == port else f"{text} at port {at}" for text, at in beyond)
    sentence = f"it listens on {named}, whatever HOST says: other machines may reach it while it runs"
    return Finding("exposed", Severity.WARN, sentence, {"addresses": named, "port": port})


def short_queue(port: int, wanted: int | None, pids: Iterable[int]) -> Finding | None:
    """A warning when a listen queue of these processes at `port` has less room than `wanted`; None: any room will do.

    More than the kernel lets a queue have is wanted of nobody.
    """
    if wanted is None:
        return None
    own = {inode for pid in pids for inode in sockets_of(pid)}
    room = min((one.backlog for one in listen_queues() if one.port == port and one.inode in own), default=wanted)
    if room >= min(wanted, most_waiting()):
        return None
    sentence = f"its listen queue has room for {room:,} connections, and the contract asks for {wanted:,}"
    return Finding("short-backlog", Severity.WARN, sentence, {"backlog": room, "wanted": wanted})


def holders(child: Child, host: str, port: int) -> tuple[str, ...]:
    """The processes that listen or talk at the server's port, and that are none of its own; empty where all are its own.

    Whose a socket is takes a look at every process, which is left out where all of them are its own. It is asked under load.
    """
    ends = server_ends(host, port)
    if ends and ends <= {inode for one in child.alive() for inode in sockets_of(one.pid)}:
        return ()
    at = [one for one in psutil.net_connections("tcp") if one.laddr and one.laddr.port == port and _is_server_end(one, host)]
    own = {process.pid for process in child.processes()}  # read last: who was started meanwhile belongs to it
    return foreign_holders([(one.pid, one.status == psutil.CONN_LISTEN) for one in at], own, _name)


def _is_server_end(one: Any, host: str) -> bool:
    """True for what listens, and for the server's end of a connection: a client may have the same number at another address."""
    if one.status == psutil.CONN_LISTEN:
        return True
    return bool(one.status == psutil.CONN_ESTABLISHED and ip_of(one.laddr.ip) == ipaddress.ip_address(host))


def foreign_holders(
    sockets: Collection[tuple[int | None, bool]], own: Container[int], name: Callable[[int], str]
) -> tuple[str, ...]:
    """The names of processes that hold sockets and are not `own`.

    A socket is the process that holds it, None where none can be seen, and whether it listens. A connection of nobody is one
    that was not accepted yet.
    """
    found = {name(pid) for pid, _ in sockets if pid is not None and pid not in own}
    unseen = any(pid is None for pid, listens in sockets if listens)
    return (*sorted(found), *(["a process that cannot be seen from here"] if unseen else []))


def _name(pid: int) -> str:
    try:
        return f"{psutil.Process(pid).name()} ({pid})"
    except psutil.Error:
        return f"process {pid}"
