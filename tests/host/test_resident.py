"""Processes that somebody else started are found by their port, and met again where others took their place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairground.host import RoleMeter, listener

pytestmark = pytest.mark.live

SERVES = """
import socket, sys
host = sys.argv[2]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
listening = socket.create_server((host, int(sys.argv[1])), family=family, dualstack_ipv6=":" in host)
print(listening.getsockname()[1], flush=True)
while sys.stdin.readline():
    sum(range(2_000_000))
    print("done", flush=True)
"""
"""Listens, and works a while for each line that it reads."""


@contextmanager
def serving(port: int = 0, program: str = sys.executable, host: str = "127.0.0.1") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Such a process and its port."""
    words = [program, "-c", SERVES, str(port), host]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def work(process: subprocess.Popen[str]) -> None:
    """Let it work once."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def test_a_process_that_took_anothers_place_is_metered() -> None:
    """What both used is one sum; what it used before is not its last."""
    with serving() as (first, port):
        found = listener(port)
        assert found is not None and found.pids == (first.pid,)
        meter = RoleMeter(found)
        before = meter.clock()
        work(first)
        meter.sample()
        spent_ns = meter.cpu_ns()
        assert spent_ns > before.cpu_ns
    with serving(port) as (second, _):
        meter.sample()
        begun = meter.clock()
        work(second)
        meter.sample()
        used = meter.use(begun, meter.clock())
        assert meter.child.alive()[0].pid == second.pid and begun.cpu_ns >= spent_ns
        assert used.cpu_us > 0 and meter.use(before, begun).periods is None
    meter.sample()
    assert meter.child.alive() == [], "nobody listens: it is still known who did"


def test_what_passes_connections_on_is_not_the_service(tmp_path: Path) -> None:
    """A forwarder listens for a process elsewhere."""
    (tmp_path / "socat").symlink_to(os.path.realpath(sys.executable))
    with serving(program=str(tmp_path / "socat")) as (_, port):
        assert listener(port) is None


def test_who_listens_at_another_address_is_not_the_service() -> None:
    """A port may be of several services. One on all addresses answers where nobody else does, of version 4 as well."""
    with serving() as (first, port), serving(port, host="127.0.0.2") as (second, _):
        assert [found.pids for at in ("127.0.0.1", "127.0.0.2") if (found := listener(port, at))] == [(first.pid,), (second.pid,)]
        assert listener(port, "127.0.0.3") is None
        either = listener(port)
        assert either is not None and set(either.pids) == {first.pid, second.pid}
    with serving(host="::") as (everywhere, port):
        assert [found.pids for at in ("127.0.0.1", "::1") if (found := listener(port, at))] == [(everywhere.pid,)] * 2


def test_what_the_lab_descends_from_is_not_the_service() -> None:
    """An init process holds sockets for others, and all that runs here is below it."""
    asks = "import sys; from fairground.host import listener; print(listener(int(sys.argv[1])))"
    with serving() as (process, port):
        asked = subprocess.run([sys.executable, "-c", asks, str(port)], capture_output=True, text=True)
        assert asked.stdout.startswith(f"Resident(port={port}, pids=({process.pid},)")
    begins = f"""
import socket, subprocess, sys
listening = socket.create_server(("127.0.0.1", 0))
subprocess.run([sys.executable, "-c", {asks!r}, str(listening.getsockname()[1])])
"""
    assert subprocess.run([sys.executable, "-c", begins], capture_output=True, text=True).stdout == "None\n"
