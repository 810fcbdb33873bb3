"""Ports and readiness: where a process listens, and whether it answers."""

from __future__ import annotations

import functools
import ipaddress
import itertools
import socket
import time
from collections.abc import Callable
from pathlib import Path

from fairground.model import MachineError, of_machine
from fairground.model.wire import ACCEPT, request_bytes

LOOPBACK = "127.0.0.1"
"""The address at which what a lab starts listens on its own machine. Nothing that measures has this address from elsewhere."""
OWN_LOOPBACK = "127.54.32"
"""The loopback addresses of which a database has one to itself, where a server has its port compiled in."""
STATUS_WITHIN_S = 1.0
BLOCK = 50
"""Ports of one lab in a range. Labs at work side by side have different blocks, so that none meets the other's servers."""
_claims: list[socket.socket] = []
_turns = itertools.count()


def free_port(first: int = 18_000, last: int = 19_999, host: str = LOOPBACK) -> int:
    """A port of this lab's block that nobody listens on, below the ephemeral range: the generator's own sockets live there."""
    block = _block(first, last)
    for _ in range(BLOCK):
        port = block + next(_turns) % BLOCK
        with socket.socket(family_of(host)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                return port
            except OSError:
                continue
    raise MachineError(f"no free port between {block} and {block + BLOCK - 1}", hint="ss -ltn shows who holds them")


def free_address(port: int) -> str | None:
    """A loopback address at which nobody listens on this port, claimed until this process ends; None where there is none."""
    for number in range(1, 255):
        address = f"{OWN_LOOPBACK}.{number}"
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0fairground-address-{address}-{port}")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return address
    return None


@functools.cache
def _block(first: int, last: int) -> int:
    """The first port of a block that no other lab of this machine has claimed, claimed until this process ends.

    The claim is an abstract Unix socket's name: it belongs to the network namespace, as ports do, and ends with its owner.
    """
    low = _ephemeral_low()
    starts = range(first, min(last + 1, low) - BLOCK + 1, BLOCK)
    if not starts:
        raise MachineError(
            f"the ephemeral port range begins at {low}, which leaves no port for servers",
            hint="sysctl -w net.ipv4.ip_local_port_range='32768 60999'",
        )
    for start in starts:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0fairground-ports-{start}")
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return start
    raise MachineError(
        f"{len(starts)} labs are at work on this machine, and all ports from {first} to {last} are theirs",
        hint="wait until one has ended",
    )


def family_of(host: str) -> socket.AddressFamily:
    """The family of a host's address; of IPv4 where it is a name."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def netloc(host: str, port: int) -> str:
    """Host and port as URLs and configurations have them: an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listens(host: str, port: int) -> bool:
    """True if something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=0.5):
            return True
    except OSError:
        return False


def wait_until_silent(host: str, port: int, timeout_s: float = 2.0) -> bool:
    """Wait until nothing listens there any more; False when something still does."""
    deadline = time.monotonic() + timeout_s
    while listens(host, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_ready(host: str, port: int, path: str, status: int, timeout_s: float, alive: Callable[[], bool]) -> str | None:
    """Ask `path` until it answers `status`; None then, else one phrase on what happened last (refused, ended, another status).

    MachineError where at the end it was this machine that let the lab open no connection.
    """
    deadline = time.monotonic() + timeout_s
    last, tries, refused = "no answer", 0, None
    while not tries or time.monotonic() < deadline:  # once in any case: nobody has asked it before
        if not alive():
            return "the process ended"
        tries, refused = tries + 1, None
        try:
            answered = _status(host, port, path)
            if answered == status:
                return None
            last = f"status {answered} instead of {status}"
        except OSError as error:
            last, refused = (error.strerror or str(error)).lower(), of_machine(error)
        except ValueError:
            last = "an answer that is not HTTP"
        time.sleep(0.02)
    if refused is not None:
        raise refused
    return f"GET {path}: {last}, {tries} tries"


def _status(host: str, port: int, path: str) -> int:
    """The status of an answer whose first line is there within a second. OSError or ValueError otherwise."""
    ends = time.monotonic() + STATUS_WITHIN_S
    with socket.create_connection((host, port), timeout=STATUS_WITHIN_S) as connection:
        connection.sendall(request_bytes(("GET", path), netloc(host, port), (ACCEPT,), None))
        head = b""
        while b"\r\n" not in head and len(head) < 4096:
            if (left_s := ends - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(left_s)
            chunk = connection.recv(4096)
            if not chunk:
                break
            head += chunk
    parts = head.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1."):
        raise ValueError(head[:40])
    return int(parts[1][:3])


def _ephemeral_low() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return 32_768


def ip_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address; one of IPv4 on an IPv6 socket (`::ffff:10.0.0.5`) as what it is."""
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
