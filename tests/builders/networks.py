"""Hosts with networks of their own, joined by a bridge, and what passes it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders.fleet import BRIEF, Fleet
from builders.waiting import eventually

LAB, HOSTS = "10.77.0.1", {"a": "10.77.0.2", "b": "10.77.0.3"}
FURTHER = {"c": "10.77.0.4"}
"""A host that is there, and joins where a test wants it."""
ALL_PROTOCOLS = 3
"""ETH_P_ALL"""
NETWORK = 0x4000_0000
"""CLONE_NEWNET; `os.setns` is of Python 3.12."""


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


@contextmanager
def made() -> Iterator[Network]:
    """A lab and two hosts; the test is skipped where no namespace can be made."""
    found = Network(f"fg{os.getpid()}")
    with ExitStack() as held:
        try:
            _make(found.name, held)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            pytest.skip(f"no network namespace can be made here: {said.strip()}")
        yield found


def _make(name: str, made: ExitStack) -> None:
    """Namespaces, each with its loopback; those of the hosts have a cable to the lab's bridge."""
    for place in ("lab", *HOSTS, *FURTHER):
        ip("netns", "add", f"{name}-{place}")
        made.callback(ip, "netns", "delete", f"{name}-{place}")
        ip("-n", f"{name}-{place}", "link", "set", "lo", "up")
    lab = ("-n", f"{name}-lab")
    ip(*lab, "link", "add", "bridge", "type", "bridge")
    ip(*lab, "address", "add", f"{LAB}/24", "dev", "bridge")
    ip(*lab, "link", "set", "bridge", "up", "promisc", "on")  # a capture sees what two hosts say to each other, too
    for host, address in {**HOSTS, **FURTHER}.items():
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
    port: int
    """The one that it goes to."""


def segments(packets: list[bytes]) -> list[Segment]:
    """The TCP segments among packets. The others resolve addresses, and are checked by who they speak to."""
    found = list[Segment]()
    for packet in packets:
        if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
            continue
        head = 14 + 4 * (packet[14] & 15)
        length = int.from_bytes(packet[16:18])
        payload = packet[head + 4 * (packet[head + 12] >> 4) : 14 + length]
        ends = socket.inet_ntoa(packet[26:30]), socket.inet_ntoa(packet[30:34])
        found.append(Segment(*ends, payload, int.from_bytes(packet[head + 2 : head + 4])))
    return found


def begun(
    fleet: Fleet, network: Network, servers: Path, folder: Path
) -> tuple[subprocess.Popen[str], dict[str, subprocess.Popen[str]]]:
    """A run that has begun on two hosts by TLS, and the hosts."""
    tls, results = folder / "tls", folder / "results"
    inside = network.inside
    fleet.start("serve", "host", "serve", "--address", f"tls://{LAB}:0", "--tls", str(tls), "--json", before=inside("lab"))
    assert eventually(lambda: "}" in fleet.said("serve"), 120), fleet.said("serve")
    address = json.loads((folder / "serve.out").read_text())["address"]
    secured = ("--tls", str(tls))
    hosts = {
        name: fleet.start(name, "host", "join", address, "--allow", str(servers), "--name", name, *secured, before=inside(name))
        for name in HOSTS
    }
    assert eventually(lambda: all("has joined" in fleet.said(name) for name in HOSTS), 120), "".join(map(fleet.said, HOSTS))
    words = ["-s", "healthy", *BRIEF, "--servers", str(servers), "--results", str(results), "--hosts", address, *secured]
    run = fleet.start("run", "run", *words, before=inside("lab"))
    assert eventually(lambda: list(results.glob("*/head.json")) or run.poll() is not None, 120), fleet.said("run")
    return run, hosts


LOST: Mapping[str, Callable[[Network, subprocess.Popen[str]], None]] = {
    "cut": lambda network, _: network.down("b"),
    "stop": lambda _, host: host.send_signal(signal.SIGSTOP),
    "kill": lambda _, host: host.kill(),
}
"""How host b is lost: its link goes down, it stands still, or its worker is killed."""
