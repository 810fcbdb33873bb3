"""Trials in which a limit is planted, as the zoo's `expected.toml` lists them: shared by its tests and by `bench/limits.py`."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders.paths import TESTS
from fairground import topology
from fairground.inputs import manifest, wires
from fairground.judge import bottleneck
from fairground.measure import Bench, prepared, run
from fairground.model import Cell, Load, Settings, Slot, Topology, Trial

ZOO = TESTS / "zoo"
ROWS: list[dict[str, Any]] = tomllib.loads((ZOO / "expected.toml").read_text())["limit"]
SCALE = 1
FEW_PORTS = 200
NETWORK = 0x40000000  # CLONE_NEWNET
UP = struct.pack("16sh22x", b"lo", 0x41)  # an ifreq: flags IFF_UP and IFF_RUNNING
SET_FLAGS = 0x8914  # SIOCSIFFLAGS
WORKLOADS = {one.id: manifest.render(one, SCALE) for one in manifest.load_workloads(ZOO.parents[1] / "workloads")}


def name(row: Mapping[str, Any]) -> str:
    """How a row is called: the limit, and who has it."""
    return f"{row['diagnosis']}-{row['stack']}"


def lacking(row: Mapping[str, Any]) -> str | None:
    """Why a row cannot be tried here; None when it can."""
    if found := topology.lacking(path(row), os.environ.get("PATH")):
        return found[0]
    try:
        with place(row):
            return None
    except OSError as error:
        return f"no network of our own can be made here: {error}"


def path(row: Mapping[str, Any]) -> Topology:
    """The topology of a row."""
    return Topology(pooler=row.get("pooler"), wire=wires.one("wire", row["wire"]) if "wire" in row else None)


def place(row: Mapping[str, Any]) -> AbstractContextManager[None]:
    """The network in which a row wants its keeper, its database and its trial."""
    return few_ports() if row.get("place") == "few-ports" else nullcontext()


@contextmanager
def few_ports() -> Iterator[None]:
    """This thread, with what it starts, in a network of its own: a loopback with `FEW_PORTS` ports for outgoing connections.

    OSError where that is not allowed.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter("unshare", NETWORK)
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, SET_FLAGS, UP)
            Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"40000 {40000 + FEW_PORTS - 1}")
            yield
        finally:
            _enter("setns", home, NETWORK)
    finally:
        os.close(home)


def _enter(call: str, *arguments: int) -> None:
    """A call of the C library that changes this thread's namespaces; OSError where it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), call)(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def tried(bench: Bench, row: Mapping[str, Any], folder: Path, seed: int = 7, connections: int | None = None) -> Trial:
    """One trial of a row; with other than its own `connections`, where they are given."""
    (stack,) = manifest.find_stack(manifest.load_servers(ZOO), row["stack"])
    load = Load(
        connections or row["connections"],
        keep_alive=not row.get("close"),
        window_s=3.0,
        warmup_min_s=1.0,
        warmup_max_s=1.0,
        timeout_ms=5000,
    )
    settings = Settings(workers=1, pool_size=row.get("pool_size", 8), scale=SCALE, **row.get("settings", {}))
    if row.get("one_core"):
        settings = replace(settings, pin=(("server", (min(os.sched_getaffinity(0)),)),))
    cell = Cell(stack.id, row["workload"], path(row), load, settings)
    return run(bench, Slot(1, 1, cell, seed), 1, stack, WORKLOADS[row["workload"]], folder, "trial")


def named(trial: Trial) -> list[str]:
    """The limits that a trial names, strongest first."""
    known = {*bottleneck.NAMES, prepared.ID}
    return list(dict.fromkeys(finding.id for finding in trial.findings if finding.id in known))
