"""A fleet whose hosts have networks of their own: a host that is cut off in the middle, and what is on the wire meanwhile."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from builders.fleet import BRIEF, Fleet, until
from builders.paths import ROOT
from fairground.lab.run import left_of
from fairground.run import store

pytestmark = [pytest.mark.live, pytest.mark.measures]

LAB, HOSTS = "10.77.0.1", {"a": "10.77.0.2", "b": "10.77.0.3"}
ALL_PROTOCOLS = 3
"""ETH_P_ALL"""
NETWORK = 0x4000_0000
"""CLONE_NEWNET; `os.setns` is of Python 3.12."""
ENDED = (0, 3)
"""Trials that a busy machine made void are measured, too: it is the fleet that is tested here."""
TLS_RECORDS = (20, 21, 22, 23, 24)
"""The first byte of each record: change of cipher, alert, handshake, data, heartbeat."""


@dataclass(frozen=True)
class Network:
    """Namespaces joined by a bridge in the lab's. `name`: what all of their names begin with."""

    name: str

    def inside(self, place: str, *words: str) -> list[str]:
        """The command that runs in the network of a place. The mounts stay, so that cgroups are there."""
        return ["nsenter", f"--net=/run/netns/{self.name}-{place}", *words]

    def down(self, host: str) -> None:
        """Cut a host off: nothing comes through any more, and nobody is told."""
        ip("-n", f"{self.name}-lab", "link", "set", f"to-{host}", "down")


def ip(*words: str) -> None:
    """One command of `ip`."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def network() -> Iterator[Network]:
    """A lab and two hosts; skipped where no namespace can be made."""
    found = Network(f"fg{os.getpid()}")
    with ExitStack() as made:
        try:
            _make(found.name, made)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            pytest.skip(f"no network namespace can be made here: {said.strip()}")
        yield found


def _make(name: str, made: ExitStack) -> None:
    """Three namespaces, each with its loopback; those of the hosts have a cable to the lab's bridge."""
    for place in ("lab", *HOSTS):
        ip("netns", "add", f"{name}-{place}")
        made.callback(ip, "netns", "delete", f"{name}-{place}")
        ip("-n", f"{name}-{place}", "link", "set", "lo", "up")
    lab = ("-n", f"{name}-lab")
    ip(*lab, "link", "add", "bridge", "type", "bridge")
    ip(*lab, "address", "add", f"{LAB}/24", "dev", "bridge")
    ip(*lab, "link", "set", "bridge", "up")
    for host, address in HOSTS.items():
        ip(*lab, "link", "add", f"to-{host}", "type", "veth", "peer", "name", "cable", "netns", f"{name}-{host}")
        ip(*lab, "link", "set", f"to-{host}", "master", "bridge", "up")
        ip("-n", f"{name}-{host}", "address", "add", f"{address}/24", "dev", "cable")
        ip("-n", f"{name}-{host}", "link", "set", "cable", "up")


class Capture:
    """Every packet that passes the bridge, from a thread that is in the lab's network."""

    def __init__(self, network: Network) -> None:
        self.packets = list[bytes]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(f"/run/netns/{network.name}-lab",))
        self._thread.start()

    def _run(self, namespace: str) -> None:
        with open(namespace) as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), NETWORK) != 0:  # this thread alone
                raise OSError(ctypes.get_errno(), "setns")
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as seen:
            seen.bind(("bridge", 0))
            seen.settimeout(0.2)
            while not self._over.is_set():
                with suppress(TimeoutError):
                    self.packets.append(seen.recv(65_536))

    def stop(self) -> None:
        """The end of it."""
        self._over.set()
        self._thread.join()


@dataclass(frozen=True)
class Segment:
    """One TCP segment over IPv4."""

    source: str
    target: str
    payload: bytes


def segments(packets: list[bytes]) -> list[Segment]:
    """The TCP segments among packets. The others resolve addresses, and are checked by who they speak to."""
    found = list[Segment]()
    for packet in packets:
        if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
            continue
        head = 14 + 4 * (packet[14] & 15)
        length = int.from_bytes(packet[16:18])
        payload = packet[head + 4 * (packet[head + 12] >> 4) : 14 + length]
        found.append(Segment(socket.inet_ntoa(packet[26:30]), socket.inet_ntoa(packet[30:34]), payload))
    return found


def started(fleet: Fleet, network: Network, folder: Path) -> tuple[subprocess.Popen[str], dict[str, subprocess.Popen[str]]]:
    """A run that has begun on two hosts by TLS, and the hosts."""
    servers, tls, results = folder / "servers", folder / "tls", folder / "results"
    shutil.copytree(ROOT / "tests" / "zoo" / "healthy", servers / "healthy")
    shutil.copytree(ROOT / "tests" / "zoo" / "animal", servers / "healthy" / "animal")  # what is sent is one folder
    inside = network.inside
    fleet.start("serve", "host", "serve", "--address", f"tls://{LAB}:0", "--tls", str(tls), "--json", before=inside("lab"))
    until(lambda: "}" in fleet.said("serve"), lambda: fleet.said("serve"))
    address = json.loads((folder / "serve.out").read_text())["address"]
    secured = ("--tls", str(tls))
    hosts = {
        name: fleet.start(name, "host", "join", address, "--allow", str(servers), "--name", name, *secured, before=inside(name))
        for name in HOSTS
    }
    until(lambda: all("has joined" in fleet.said(name) for name in HOSTS), lambda: "".join(map(fleet.said, HOSTS)))
    words = ["-s", "healthy", *BRIEF, "--servers", str(servers), "--results", str(results), "--hosts", address, *secured]
    run = fleet.start("run", "run", *words, before=inside("lab"))
    until(lambda: list(results.glob("*/plan.json")) or run.poll() is not None, lambda: fleet.said("run"))
    return run, hosts


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """What a process has started, and what that has."""
    found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def cut(network: Network, host: subprocess.Popen[str]) -> None:
    """The link of host b goes down."""
    network.down("b")


def stop(network: Network, host: subprocess.Popen[str]) -> None:
    """Host b stands still."""
    host.send_signal(signal.SIGSTOP)


@pytest.mark.parametrize("lose", [cut, stop])
def test_a_host_that_is_lost_costs_no_trial(
    fleet: Fleet, network: Network, tmp_path: Path, lose: Callable[[Network, subprocess.Popen[str]], None]
) -> None:
    """Its share goes to the other host, the run is whole, and what the lost one had started ends with it.

    What passes between the fleet's networks meanwhile is TLS between its addresses, and nothing else.
    """
    capture = Capture(network)
    try:
        run, hosts = started(fleet, network, tmp_path)
        theirs = below(hosts["b"])
        lose(network, hosts["b"])
        assert run.wait(300) in ENDED, fleet.said("run")
    finally:
        capture.stop()
    (folder,) = (tmp_path / "results").glob("*/")
    found = store.load(folder)
    assert not left_of(found) and {one.block for one in found.everything} == {1, 2}, fleet.said("run")
    until(lambda: not alive(theirs), lambda: str(alive(theirs)), 60)
    hosts["b"].send_signal(signal.SIGCONT)
    assert_is_tls(segments(capture.packets))


def assert_is_tls(found: list[Segment]) -> None:
    """Nobody else is spoken to, nothing is in the clear, and each connection begins with a record of TLS."""
    spoken = [one for one in found if one.payload]
    assert {one.source for one in spoken} == {LAB, *HOSTS.values()}
    assert {one.target for one in found} <= {LAB, *HOSTS.values()}
    assert not any(b"healthy" in one.payload or b"fairground" in one.payload for one in spoken)
    firsts = {(one.source, one.target): one.payload[0] for one in reversed(spoken)}
    assert set(firsts.values()) <= set(TLS_RECORDS), firsts
