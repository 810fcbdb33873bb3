"""Ports and readiness: where a process listens, and whether it answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from fairground.model import LabError


def free_port(first: int = 18_000, last: int = 19_999, host: str = "127.0.0.1") -> int:
    """A port that nobody listens on, below the ephemeral range: the generator's own sockets live there."""
    low = _ephemeral_low()
    span = min(last, low - 1) - first
    if span < 1:
        raise LabError(
            f"the ephemeral port range begins at {low}, which leaves no port for servers",
            hint="sysctl -w net.ipv4.ip_local_port_range='32768 60999'",
            exit_code=3,
        )
    # Start at a place of our own each time, so that a port in TIME_WAIT or of another lab is rarely met.
    offset = time.monotonic_ns() // 1000 % span
    for step in range(span):
        port = first + (offset + step) % span
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                return port
            except OSError:
                continue
    raise LabError(f"no free port between {first} and {last}", hint="ss -ltn shows who holds them", exit_code=3)


def listens(host: str, port: int) -> bool:
    """Whether something accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((host, port)) == 0


def wait_until_silent(host: str, port: int, timeout_s: float = 2.0) -> bool:
    """Wait until nothing listens there any more; False when something still does."""
    deadline = time.monotonic() + timeout_s
    while listens(host, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_ready(host: str, port: int, path: str, status: int, timeout_s: float, alive: Callable[[], bool]) -> str | None:
    """Ask `path` until it answers `status`; None then, else one phrase on what happened last (refused, ended, another status)."""
    deadline = time.monotonic() + timeout_s
    last, tries = "no answer", 0
    while time.monotonic() < deadline:
        if not alive():
            return "the process ended"
        tries += 1
        try:
            answered = _status(host, port, path)
            if answered == status:
                return None
            last = f"status {answered}"
        except OSError as error:
            last = (error.strerror or str(error)).lower()
        except ValueError:
            last = "an answer that is not HTTP"
        time.sleep(0.02)
    return f"GET {path}: {last}, {tries} tries"


def _status(host: str, port: int, path: str) -> int:
    with socket.create_connection((host, port), timeout=1.0) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head = b""
        while b"\r\n" not in head and len(head) < 4096:
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
