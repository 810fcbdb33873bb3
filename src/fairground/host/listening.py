"""Listen queues of single sockets: how long each may grow, what waits in it, and what the kernel has dropped of it.

The kernel's counters of full listen queues (`TcpExtListenOverflows`) add up all sockets of a machine. Each socket has a count of
its own, which only sock_diag(7) tells.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SOCK_DIAG = 4
"""NETLINK_SOCK_DIAG of linux/netlink.h."""
BY_FAMILY = 20
"""SOCK_DIAG_BY_FAMILY of linux/sock_diag.h."""
REQUEST_DUMP = 0x301
DONE, ERROR = 3, 2
ESTABLISHED, LISTENING = 1 << 1, 1 << 10
"""The states TCP_ESTABLISHED and TCP_LISTEN."""
MEMORY = 7
"""The attribute INET_DIAG_SKMEMINFO."""
DROPS = 8
"""The place of SK_MEMINFO_DROPS in it."""
HEAD = struct.Struct("=IHHII")
QUESTION = struct.Struct("=BBBxI48x")
QUEUES_AT, INODE_AT = 56, 68
TCP_LISTEN = 10
NOT_ACCEPTED = 0
"""The inode of a connection that nobody has accepted yet."""
SOCKET_BYTES = 72
"""The length of `struct inet_diag_msg`: family, state, timer, retransmits, addresses (48), expiry, queues, user, inode."""


@dataclass(frozen=True)
class ListenQueue:
    """The listen queue of one socket. `drops`: connections so far that it had no room for, each try counted."""

    inode: int
    port: int
    waiting: int
    backlog: int
    drops: int


def most_waiting() -> int:
    """The longest listen queue that the kernel lets a socket have, whatever it asks for (net.core.somaxconn)."""
    return int(Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii"))


def listen_queues() -> list[ListenQueue]:
    """Every TCP socket that listens in this process's network namespace; empty where the kernel does not tell."""
    return [_queue_of(message) for _, message in _sockets(LISTENING) or ()]


def server_ends(host: str, port: int) -> set[int] | None:
    """The inodes of sockets at a server's port: those that listen, and the accepted ends of connections to its `host`.

    None where the kernel does not tell. A look at every process's descriptors takes many times as long.
    """
    found = _sockets(LISTENING | ESTABLISHED)
    if found is None:
        return None
    wanted, inodes = ipaddress.ip_address(host), set[int]()
    for family, message in found:
        (own_port,) = struct.unpack_from("!H", message, 4)
        if own_port == port and (message[1] == TCP_LISTEN or _address_of(family, message) == wanted):
            inodes.add(struct.unpack_from("=I", message, INODE_AT)[0])
    return inodes - {NOT_ACCEPTED}


def _sockets(states: int) -> list[tuple[int, bytes]] | None:
    """The family and the `struct inet_diag_msg` of every TCP socket in these states; None where the kernel does not tell."""
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as asked:
        asked.settimeout(1.0)
        return [(family, one) for family in (socket.AF_INET, socket.AF_INET6) for one in _dump(asked, family, states)]
    return None


def _address_of(family: int, message: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of the socket's own end; one of IPv4 on an IPv6 socket as what it is."""
    if family == socket.AF_INET:
        return ipaddress.IPv4Address(message[8:12])
    address = ipaddress.IPv6Address(message[8:24])
    return address.ipv4_mapped or address


@dataclass
class ListenDrops:
    """The connections that the listen queues of one role's processes have dropped."""

    _listening: frozenset[int] = frozenset()
    _own: frozenset[int] = field(default_factory=frozenset)

    def read(self, pids: Collection[int]) -> int | None:
        """Drops so far of the sockets that these processes hold; None where none of them is known to listen.

        Whose a socket is is asked again only where other sockets listen than before: it takes a look at each descriptor.
        """
        queues: Mapping[int, ListenQueue] = {one.inode: one for one in listen_queues()}
        if queues.keys() != self._listening:
            self._listening = frozenset(queues)
            self._own = self._listening & {inode for pid in pids for inode in sockets_of(pid)}
        own = [queues[inode].drops for inode in self._own]
        return sum(own) if own else None


def sockets_of(pid: int) -> Iterator[int]:
    """The inodes of all sockets that a process holds; none of one that has ended, or is another user's."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                kind, _, inode = os.readlink(f"/proc/{pid}/fd/{name}").partition(":")
                if kind == "socket":
                    yield int(inode.strip("[]"))


def _dump(asked: socket.socket, family: int, states: int) -> Iterator[bytes]:
    question = QUESTION.pack(family, socket.IPPROTO_TCP, 1 << (MEMORY - 1), states)
    asked.send(HEAD.pack(HEAD.size + len(question), BY_FAMILY, REQUEST_DUMP, 1, 0) + question)
    while True:
        data = asked.recv(1 << 16)
        while data:
            length, kind, *_ = HEAD.unpack_from(data)
            if kind == ERROR:  # half a list says nothing of who is missing from it
                raise OSError("the kernel does not tell sockets")
            if kind == DONE:
                return
            yield data[HEAD.size : length]
            data = data[_aligned(length) :]


def _queue_of(message: bytes) -> ListenQueue:
    """Parse a `struct inet_diag_msg` and the attributes behind it."""
    (port,) = struct.unpack_from("!H", message, 4)
    waiting, backlog, _, inode = struct.unpack_from("=4I", message, QUEUES_AT)
    drops, attributes = 0, message[SOCKET_BYTES:]
    while attributes:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == MEMORY and length >= 4 + 4 * (DROPS + 1):
            (drops,) = struct.unpack_from("=I", attributes, 4 + 4 * DROPS)
        attributes = attributes[_aligned(length) :]
    return ListenQueue(inode, port, waiting, backlog, drops)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
