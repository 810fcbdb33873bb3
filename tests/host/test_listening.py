"""Listen queues: each socket has its own count of what it had no room for."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from builders.waiting import eventually
from fairground.host import Child, resident
from fairground.host.listening import ListenDrops, ListenQueue, listen_queues, server_ends, sockets_of
from fairground.host.server import holders, short_queue
from fairground.host.usage import RoleMeter


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Sockets that are closed at the end."""
    with ExitStack() as held:
        yield held


def listening(held: ExitStack, backlog: int, family: int = socket.AF_INET) -> socket.socket:
    """A socket that listens at loopback and accepts nothing."""
    one = held.enter_context(socket.socket(family))
    one.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    one.listen(backlog)
    return one


def knock(held: ExitStack, at: socket.socket, times: int) -> None:
    """Begin to connect so many times, and wait for none."""
    for _ in range(times):
        one = held.enter_context(socket.socket(at.family))
        one.setblocking(False)
        one.connect_ex(at.getsockname())


def queue_of(one: socket.socket) -> ListenQueue:
    """What the kernel tells of a socket's queue."""
    (found,) = [queue for queue in listen_queues() if queue.inode == os.fstat(one.fileno()).st_ino]
    return found


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_full_queue_is_known(held: ExitStack, family: int) -> None:
    """It has its port, its length, what waits in it, and a count of what did not fit; a queue with room has dropped nothing."""
    full, roomy = listening(held, 1, family), listening(held, 64, family)
    knock(held, full, 5)
    knock(held, roomy, 5)
    assert eventually(lambda: queue_of(full).drops >= 3)
    assert (queue_of(full).port, queue_of(full).backlog, queue_of(full).waiting) == (full.getsockname()[1], 1, 2)
    assert eventually(lambda: queue_of(roomy).waiting == 5)
    assert queue_of(roomy).drops == 0


def test_only_sockets_of_the_role_count(held: ExitStack) -> None:
    """Another process's full queue is none of ours, though the kernel's counters of the machine have it."""
    full = listening(held, 0)
    child, up = os.pipe(), os.fork()
    if up == 0:
        os.close(child[1])
        full.close()
        os.read(child[0], 1)
        os._exit(0)
    try:
        knock(held, full, 4)
        assert eventually(lambda: (ListenDrops().read([os.getpid()]) or 0) >= 3)
        assert eventually(lambda: os.fstat(full.fileno()).st_ino not in set(sockets_of(up)))
        assert ListenDrops().read([up]) is None
    finally:
        os.close(child[1])
        os.waitpid(up, 0)
        os.close(child[0])


def test_a_socket_that_listens_later_is_found(held: ExitStack) -> None:
    """Whose the sockets are is asked anew where others listen than before."""
    drops = ListenDrops()
    before = drops.read([os.getpid()])
    late = listening(held, 0)
    knock(held, late, 4)
    assert eventually(lambda: (drops.read([os.getpid()]) or 0) >= (before or 0) + 3)


def test_the_meter_of_a_role_has_it(held: ExitStack) -> None:
    """Between two readings of its clock: what came before the first does not count."""
    full = listening(held, 0)
    knock(held, full, 3)
    assert eventually(lambda: queue_of(full).drops >= 2)
    role = resident.listener(full.getsockname()[1])
    assert role is not None
    meter = RoleMeter(role)
    before, first = meter.clock(), queue_of(full).drops
    assert meter.use(before, before).dropped_connections == 0
    knock(held, full, 2)
    assert eventually(lambda: queue_of(full).drops > first)
    assert (meter.use(before, meter.clock()).dropped_connections or 0) > 0
    assert RoleMeter(role, threads=False).clock().dropped is None


@pytest.mark.parametrize(
    ("backlog", "wanted", "told"), [(511, 4096, 511), (4096, 4096, None), (1, None, None), (65_535, 1 << 20, None)]
)
def test_a_short_queue_is_warned_of(held: ExitStack, backlog: int, wanted: int | None, told: int | None) -> None:
    """Its room stands beside what is wanted; no socket can have more than the kernel allows, so nobody is held to more."""
    one = listening(held, backlog)
    found = short_queue(one.getsockname()[1], wanted, [os.getpid()])
    assert (found and found.evidence["backlog"]) == told
    assert found is None or f"room for {told} connections" in found.sentence


def test_the_shortest_queue_of_a_port_is_told_and_only_its_own(held: ExitStack) -> None:
    """Several processes may listen at one port; another one's port is not looked at."""
    one, other = (held.enter_context(socket.socket()) for _ in range(2))
    for at, backlog in ((one, 4096), (other, 16)):
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        at.bind(one.getsockname() if at is other else ("127.0.0.1", 0))
        at.listen(backlog)
    listening(held, 8)
    found = short_queue(one.getsockname()[1], 4096, [os.getpid()])
    assert found is not None and found.evidence == {"backlog": 16, "wanted": 4096}
    assert short_queue(one.getsockname()[1], 4096, []) is None


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "127.0.0.1")]
)
def test_the_servers_ends_are_known(held: ExitStack, family: int, host: str) -> None:
    """The socket that listens and what it accepted; neither a client's end, nor what was not accepted, nor another port."""
    at = held.enter_context(socket.socket(family))
    at.bind(("::" if family == socket.AF_INET6 else host, 0))
    at.listen(8)
    port = at.getsockname()[1]
    for _ in range(2):
        held.enter_context(socket.create_connection((host, port)))
    accepted = held.enter_context(at.accept()[0])
    listening(held, 8)
    assert server_ends(host, port) == {os.fstat(one.fileno()).st_ino for one in (at, accepted)}
    assert server_ends("127.0.0.9", port) == {os.fstat(at.fileno()).st_ino}


def test_a_kernel_that_does_not_tell_is_not_taken_for_an_empty_port(held: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is no list: nothing is known of the port, and who holds it is looked for in every process."""
    port = listening(held, 8).getsockname()[1]
    monkeypatch.setattr("fairground.host.listening.BY_FAMILY", 99)
    assert server_ends("127.0.0.1", port) is None and listen_queues() == []
    nobody = SimpleNamespace(alive=lambda: [], processes=lambda: [])
    assert holders(cast(Child, nobody), "127.0.0.1", port) == (f"{psutil.Process().name()} ({os.getpid()})",)


def test_who_holds_a_port_beside_its_server_is_named(held: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every socket at the port is the server's own nobody else is looked at; one more is traced to its process."""
    one, other = listening(held, 8), listening(held, 8)
    own = SimpleNamespace(alive=lambda: [SimpleNamespace(pid=os.getpid())], processes=lambda: [psutil.Process()])
    nobody = SimpleNamespace(alive=lambda: [], processes=lambda: [])
    looked = list[str]()
    every = psutil.net_connections
    monkeypatch.setattr(psutil, "net_connections", lambda kind: looked.append(kind) or every(kind))
    assert holders(cast(Child, own), "127.0.0.1", one.getsockname()[1]) == () and not looked
    assert holders(cast(Child, nobody), "127.0.0.1", other.getsockname()[1]) == (f"{psutil.Process().name()} ({os.getpid()})",)
