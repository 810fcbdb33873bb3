"""Ports, readiness, a server's environment, and the machine's own counters."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from builders.contracts import SEEDS
from builders.paths import ROOT
from fairground.host import HostReading, free_port, host_use, listens, netloc, network, server, wait_ready, wait_until_silent
from fairground.host.strangers import Strangers
from fairground.model import CellSettings, LabError, Server, Severity, Stack, Variant

HOST = "127.0.0.1"
SRC = ROOT / "src"
SECOND_NS = 1_000_000_000


@contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A port where each connection gets the next of `answers`, the last one for ever."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen()
        listener.settimeout(0.05)
        ending = threading.Event()

        def serve() -> None:
            left = list(answers)
            while not ending.is_set():
                try:
                    connection = listener.accept()[0]
                except TimeoutError:
                    continue
                with connection:
                    connection.recv(4096)
                    connection.sendall(left.pop(0) if len(left) > 1 else left[0])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ending.set()
            thread.join()


def closed_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def ready(port: int, timeout_s: float = 30.0, alive: bool = True) -> str | None:
    """`wait_ready` as the lab calls it."""
    return wait_ready(HOST, port, "/ready", 204, timeout_s, lambda: alive)


# ---------------------------------------------------------------- ports


def test_free_port_is_free_and_in_range() -> None:
    """A free port lies in the range and can be bound."""
    port = free_port(18_000, 18_999)
    assert 18_000 <= port <= 18_999
    with socket.socket() as probe:
        probe.bind((HOST, port))


def test_a_port_of_an_address_of_either_family_is_free() -> None:
    """What a role on another host connects to may have an address of IPv6; whoever asks there names it in brackets."""
    port, asked = free_port(host="::1"), list[bytes]()
    with socket.create_server(("::1", port), family=socket.AF_INET6) as listening:

        def answer() -> None:
            with listening.accept()[0] as there:
                asked.append(there.recv(4096))
                there.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        serving = threading.Thread(target=answer)
        serving.start()
        assert wait_ready("::1", port, "/ready", 204, 5.0, lambda: True) is None
        serving.join()
    assert f"host: [::1]:{port}\r\n".encode() in asked[0].lower()


@pytest.mark.parametrize(("family", "address", "said"), [
    (socket.AF_INET, "127.0.0.1", None), (socket.AF_INET, "127.0.0.7", None), (socket.AF_INET6, "::1", None),
    (socket.AF_INET6, "::ffff:127.0.0.1", None),
    (socket.AF_INET, "0.0.0.0", "0.0.0.0"), (socket.AF_INET6, "::", "::"),
])  # fmt: skip
def test_a_server_that_listens_beyond_loopback_is_warned_of(family: socket.AddressFamily, address: str, said: str | None) -> None:
    """Loopback addresses are all right, whichever; any other is named."""
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        listener.listen(1)
        port = listener.getsockname()[1]
        found = server.exposure_of(HOST, port)
    assert (found is not None) is (said is not None)
    if found is not None:
        assert found.severity is Severity.WARN and found.sentence.startswith(f"it listens on {said},")
        assert server.exposure_of(HOST, port) is None


@pytest.mark.parametrize(
    ("listening", "named"),
    [
        (("10.0.0.5",), None),
        (("::ffff:10.0.0.5", "127.0.0.1"), None),
        (("10.0.0.5", "10.0.1.5"), "10.0.1.5"),
        (("0.0.0.0",), "0.0.0.0"),
    ],
)
def test_a_server_listens_where_it_was_told_to(
    listening: tuple[str, ...], named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address of a network is all right where HOST is that address, and no other one is."""
    sockets = [SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(ip=ip, port=80)) for ip in listening]
    monkeypatch.setattr(server.psutil, "net_connections", lambda _: sockets)
    found = server.exposure_of("10.0.0.5", 80)
    assert (None if found is None else found.evidence["addresses"]) == named


@pytest.mark.parametrize(
    ("ip", "port", "pid", "named"),
    [
        ("0.0.0.0", 9999, 7, "0.0.0.0 at port 9999"),
        ("::", 22, 8, ":: at port 22"),
        ("10.0.0.5", 9999, 7, "10.0.0.5 at port 9999"),
        ("127.0.0.1", 9999, 7, None),
        ("0.0.0.0", 9999, 9, None),
        ("0.0.0.0", 9999, None, None),
    ],
)
def test_a_server_that_listens_at_another_port_is_warned_of(
    ip: str, port: int, pid: int | None, named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any process of the server, at any port beyond loopback; what others have is theirs."""
    one = SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(ip=ip, port=port), pid=pid)
    monkeypatch.setattr(server.psutil, "net_connections", lambda _: [one])
    found = server.exposure_of(HOST, 80, [7, 8])
    assert (None if found is None else found.evidence["addresses"]) == named


@pytest.mark.parametrize(("host", "shown"), [("10.0.0.5", "10.0.0.5:80"), ("::1", "[::1]:80")])
def test_host_and_port_in_one(host: str, shown: str) -> None:
    """An IPv6 address stands in brackets, or its last group would be the port."""
    assert netloc(host, 80) == shown


def test_free_port_steps_over_used_ones() -> None:
    """A port that is taken is never handed out; a block without a free one is a LabError."""
    with ExitStack() as held:
        first = free_port(15_000, 15_049)
        for port in range(15_000, 15_050):
            if port != first:
                holder = held.enter_context(socket.socket())
                holder.bind((HOST, port))
                holder.listen()
        assert {free_port(15_000, 15_049) for _ in range(3)} == {first}
        last = held.enter_context(socket.socket())
        last.bind((HOST, first))
        last.listen()
        with pytest.raises(LabError, match="^no free port between 15000 and 15049$"):
            free_port(15_000, 15_049)


def test_labs_side_by_side_have_ports_of_their_own() -> None:
    """A second process gets no port of the first one's block, until that one has ended; when all blocks are taken, that is said."""
    ask = "from fairground.host import free_port; print(free_port(15_100, 15_199))"
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {ask}; sys.stdout.flush(); sys.stdin.read()"]
    with ExitStack() as held:
        labs = [
            held.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(2)
        ]
        ports = [int(lab.stdout.readline()) for lab in labs if lab.stdout]
        assert sorted(port // 50 for port in ports) == [302, 303]
        third = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert "2 labs are at work on this machine, and all ports from 15100 to 15199 are theirs" in third.stderr
    assert 15_100 <= free_port(15_100, 15_199) <= 15_199


def test_no_ports_below_the_ephemeral_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel's own range begins below ours the lab refuses, with the command that mends it."""
    monkeypatch.setattr(network, "_ephemeral_low", lambda: 1024)
    with pytest.raises(LabError) as caught:
        free_port(15_200, 15_299)
    assert caught.value.message == "the ephemeral port range begins at 1024, which leaves no port for servers"
    assert caught.value.hint == "sysctl -w net.ipv4.ip_local_port_range='32768 60999'"
    assert caught.value.exit_code == 3


def test_listens_and_silence() -> None:
    """A port listens while something accepts there, and is silent afterwards."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert listens(HOST, port)
        assert not wait_until_silent(HOST, port, 0.05)
    assert wait_until_silent(HOST, port)
    assert not listens(HOST, port)


# ---------------------------------------------------------------- readiness


def test_ready_once_the_status_is_right() -> None:
    """Other statuses and answers that are not HTTP are tried again until the right one comes."""
    with answering(b"HTTP/1.1 503 No\r\n\r\n", b"nonsense\r\n", b"HTTP/1.1 204 No Content\r\n\r\n") as port:
        assert ready(port) is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 500 No\r\n\r\n", "GET /ready: status 500 instead of 204, "),
        (b"HTTP/1.1 200 OK\r\n\r\n", "GET /ready: status 200 instead of 204, "),
        (b"SSH-2.0-other\r\n", "GET /ready: an answer that is not HTTP, "),
        (b"", "GET /ready: an answer that is not HTTP, "),
    ],
)
def test_not_ready_says_what_came(answer: bytes, said: str) -> None:
    """A server that never gives the right answer is described by its last one."""
    with answering(answer) as port:
        problem = ready(port, timeout_s=0.05)
    assert problem is not None and problem.startswith(said) and problem.endswith(" tries")


@pytest.mark.parametrize(("answer", "knows"), [(b"HTTP/1.1 404 No\r\n\r\n", True), (b"SSH-2.0-other\r\n", False)])
def test_a_server_without_the_contract_is_told_of_try(answer: bytes, knows: bool) -> None:
    """Who answers HTTP, and another status, may be measured without a contract; what speaks something else may not."""
    with answering(answer) as port:
        child = cast(Any, SimpleNamespace(exit_code=lambda: None))
        problem = server.wait(child, SEEDS.ready, HOST, port, 0.05)
    assert problem is not None and ("./fairground try URL" in problem) is knows


def test_not_ready_when_nobody_listens() -> None:
    """A refused connection is said in the system's words."""
    problem = ready(closed_port(), timeout_s=0.1)
    assert problem is not None and problem.startswith("GET /ready: connection refused, ")


def test_not_ready_when_it_ended() -> None:
    """A process that ended is not waited for."""
    assert ready(closed_port(), alive=False) == "the process ended"


# ---------------------------------------------------------------- the contract's environment


def stack(**env: str) -> Stack:
    """A stack whose variant sets `env`."""
    variant = Variant("plain", "as it comes", env)
    return Stack(Server("one", "One", "C", "", "", Path("/"), (), (), ("v",), ("s",), {"plain": variant}, {}, SEEDS), variant)


def test_environment_is_the_contracts() -> None:
    """A server gets the contract's variables, PATH, HOME and its variant's, and nothing else of ours."""
    inherited = {"PATH": "/bin", "HOME": "/home/one", "SECRET": "x", "POOL_SIZE": "999", "LANG": "de_DE"}
    found = server.environment(
        inherited, stack(DRIVER="two"), server.values_of(CellSettings(), HOST, 18_080, "postgresql://u:p@h:1/d")
    )
    assert found == {
        "PATH": "/bin",
        "HOME": "/home/one",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "DRIVER": "two",
        "HOST": HOST,
        "PORT": "18080",
        "DATABASE_URL": "postgresql://u:p@h:1/d",
        "POOL_SIZE": "25",
        "POOL_WAIT_MS": "",
        "WORKERS": "2",
        "PREPARED": "on",
    }


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        (CellSettings(pool_wait_ms=0), "POOL_WAIT_MS", "0"),
        (CellSettings(pool_wait_ms=250), "POOL_WAIT_MS", "250"),
        (CellSettings(prepared=False), "PREPARED", "off"),
        (CellSettings(workers=7), "WORKERS", "7"),
        (CellSettings(pool_size=3), "POOL_SIZE", "3"),
    ],
)
def test_environment_follows_the_settings(settings: CellSettings, name: str, value: str) -> None:
    """Every setting reaches the server; no wait at all is not the same as no limit."""
    assert server.environment({}, stack(), server.values_of(settings, HOST, 1, ""))[name] == value


def test_a_variant_cannot_alter_the_measurement() -> None:
    """What a variant sets never stands in the way of the contract's variables."""
    assert (
        server.environment({}, stack(WORKERS="64", PORT="1"), server.values_of(CellSettings(), HOST, 18_080, ""))["WORKERS"]
        == "2"
    )


def test_a_server_is_told_in_its_own_words() -> None:
    """A manifest's own environment stands in place of the contract's, and each part of the address has a name."""
    there = stack()
    own = {"DB": "host=$database_host port=$database_port user=$database_user dbname=${database_name}", "SECRET": "1"}
    told = replace(there, server=replace(there.server, environment=own))
    values = server.values_of(CellSettings(), HOST, 1, "postgresql://u:p%40@h:5/d")
    found = server.environment({}, told, values)
    assert found["DB"] == "host=h port=5 user=u dbname=d" and "PORT" not in found and values["database_password"] == "p@"
    assert not told.server.is_told("pool_size") and there.server.is_told("pool_size")


# ---------------------------------------------------------------- the machine


def reading(at_s: float, pressure_us: int | None, retransmits: int, **cpu_s: float) -> HostReading:
    """The machine's counters at a moment, CPU in seconds by kind."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    cpu_ns = {name: int(cpu_s.get(name, 0) * SECOND_NS) for name in names}
    return HostReading(at_s, cpu_ns, pressure_us, {"TcpRetransSegs": retransmits})


def test_host_use_is_a_difference() -> None:
    """Shares are of the time between two readings; what is not our roles' is foreign, interrupts are nobody's."""
    before = reading(100.0, 1_000_000, 5, user=10, system=5, idle=100, steal=1)
    after = reading(110.0, 3_000_000, 9, user=15, nice=1, system=7, idle=109, iowait=1, irq=0.5, softirq=0.5, steal=2)
    use = host_use(before, after, [5_000_000.0, 2_000_000.0])
    assert use.steal_share == pytest.approx(1 / 20)
    assert use.busy_share == pytest.approx(1 - 10 / 20)
    assert use.foreign_cpu_us == pytest.approx(1_000_000)
    assert use.pressure_cpu_some_share == pytest.approx(0.2)
    assert use.tcp == {"TcpRetransSegs": 4}


def test_other_processes_clocks_count_where_they_say_more() -> None:
    """What ticks hide is in them, and they have a name; what they cannot see is in the ticks. Hidden ones are not known."""
    before, after = reading(0.0, 0, 0, idle=1), reading(1.0, 0, 0, user=1, idle=2)
    slow, fast = (Strangers({(7, 1): ("editor", ns)}) for ns in (0, 400_000_000))
    for roles_us, foreign_us in ((900_000.0, 400_000.0), (200_000.0, 800_000.0)):
        use = host_use(replace(before, strangers=slow), replace(after, strangers=fast), [roles_us])
        assert (use.foreign_cpu_us, use.stranger, use.stranger_cpu_us) == (foreign_us, "editor", 400_000.0)
    hidden = host_use(replace(before, strangers=slow), replace(after, strangers=replace(fast, seen=False)), [900_000.0])
    assert (hidden.foreign_cpu_us, hidden.stranger, hidden.stranger_cpu_us) == (100_000.0, None, None)


def test_host_use_does_not_guess() -> None:
    """A role whose CPU is unknown leaves the foreign share unknown; no pressure file, no pressure."""
    before, after = reading(0.0, None, 0, idle=1), reading(1.0, 5, 0, user=1, idle=2)
    use = host_use(before, after, [1.0, None])
    assert (use.foreign_cpu_us, use.pressure_cpu_some_share) == (None, None)


def test_host_use_is_never_negative() -> None:
    """Roles measured more finely than the machine never make foreign CPU negative."""
    before, after = reading(0.0, 0, 0), reading(1.0, 0, 0, user=1)
    assert host_use(before, after, [2_000_000.0]).foreign_cpu_us == 0.0


def test_host_reading_of_this_machine() -> None:
    """The kernel's files here are understood: time goes on, counters only grow."""
    one, two = HostReading.now(), HostReading.now()
    assert two.at_s >= one.at_s
    assert sum(two.cpu_ns.values()) >= sum(one.cpu_ns.values()) > 0
    assert {"TcpRetransSegs", "TcpActiveOpens"} <= set(one.tcp)
    assert all(two.tcp[name] >= value for name, value in one.tcp.items())
