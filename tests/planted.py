"""Trials in which a limit is planted, as the zoo's `expected.toml` lists them: shared by its tests and by `bench/`."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ENGINE, TESTS
from fairground import contract, postgres, topology
from fairground.host import Keeper, machine
from fairground.host.awake import hold_awake
from fairground.inputs import manifest, seating, wires, workload_files
from fairground.lab import setup
from fairground.lab.places import Places
from fairground.measure import Bench, run
from fairground.measure.experiment import one_start
from fairground.model import Cell, CellSettings, Durability, LabError, Load, PlanSlot, Stack, Topology, Trial
from fairground.model.experiment import AS_IT_WAS, Start, WhyAsked
from fairground.model.reason import REASONS
from fairground.run import question, stopping

ZOO = TESTS / "zoo"
EXPECTED = tomllib.loads((ZOO / "expected.toml").read_text())
ROWS: list[dict[str, Any]] = EXPECTED["limit"]
WRONG: list[dict[str, Any]] = EXPECTED["wrong"]
SCALE = 1
FEW_PORTS = 200
NETWORK = 0x40000000  # CLONE_NEWNET
UP = struct.pack("16sh22x", b"lo", 0x41)  # an ifreq: flags IFF_UP and IFF_RUNNING
SET_FLAGS = 0x8914  # SIOCSIFFLAGS
PLAIN = {one.id: one for one in workload_files.load_workloads(SEEDS)}
WORKLOADS = {name: workload_files.render(one, SCALE) for name, one in PLAIN.items()}


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


@contextmanager
def standing(row: Mapping[str, Any], say: Callable[[str], None]) -> Iterator[tuple[Bench, Path]]:
    """A bench in the place that a row asks for, and a folder for raw data that is gone afterwards."""
    with ExitStack() as held:
        held.enter_context(place(row))
        keeper = held.enter_context(Keeper(os.environ))
        hold_awake(held, keeper, os.environ, Places.of(os.environ).engine, say)
        scratch = Path(held.enter_context(tempfile.TemporaryDirectory()))
        durability = Durability.DURABLE if row.get("place") == "durable" else Durability.RELAXED
        database = postgres.start(keeper, scratch / "cache", durability)
        held.callback(database.stop)
        database.prepare(SEEDS.data(SCALE))
        engine, cases = ENGINE, contract.load(SEEDS)
        yield Bench(keeper, database, engine, cases, machine.cores(), ready_timeout_s=5.0), scratch


def expected(row: Mapping[str, Any], seats: str = seating.SHARED) -> str:
    """The limit that a row's trial must name with these seats."""
    return str(row.get(seats, row["diagnosis"]))


def cell(row: Mapping[str, Any], connections: int | None = None, seats: str = seating.SHARED) -> Cell:
    """The cell of a row, in these seats; with other than its own `connections`, where they are given."""
    load = Load(
        connections or row["connections"],
        keep_alive=not row.get("close"),
        window_s=3.0,
        warmup_min_s=1.0,
        warmup_max_s=1.0,
        timeout_ms=5000,
    )
    settings = CellSettings(workers=1, pool_size=row.get("pool_size", 8), scale=SCALE, **row.get("settings", {}))
    if row.get("one_core"):
        settings = replace(settings, pin=(("server", (min(os.sched_getaffinity(0)),)),))
    if row.get("place") == "durable":
        settings = replace(settings, durability=Durability.DURABLE)
    wish = seating.Wish(seats, workers=True)
    settings = seating.seat_settings(settings, (path(row),), wish, setup.machine_seats(None))
    return Cell(row["stack"], row["workload"], path(row), load, settings)


def stack(row: Mapping[str, Any]) -> Stack:
    """The stack of a row."""
    (found,) = manifest.find_stack(manifest.load_servers(ZOO, CONTRACTS), row["stack"])
    return found


def tried(
    bench: Bench,
    row: Mapping[str, Any],
    folder: Path,
    seed: int = 7,
    connections: int | None = None,
    seats: str = seating.SHARED,
) -> Trial:
    """One trial of a row, in these seats; with other than its own `connections`, where they are given."""
    return run(
        bench, PlanSlot(1, 1, cell(row, connections, seats), seed), 1, stack(row), WORKLOADS[row["workload"]], folder, "trial"
    )


def experiment(
    bench: Bench, row: Mapping[str, Any], folder: Path, budget_s: float, seed: int = 7
) -> tuple[WhyAsked, list[Start]]:
    """The experiment on what a row says of its cell, with the starts that fit into the time. LabError where there is none.

    It is asked after a trial, which has the evidence.
    """
    trials = [tried(bench, row, folder / "trial", seed)]
    told = {"twin": PLAIN[row["workload"]].twin or "", "fixed_rows": PLAIN[row["workload"]].fixed_rows or ""}
    asked = question.pose("planted", cell(row), row.get("wrong") or row["diagnosis"], trials, budget_s, told)
    changes = {AS_IT_WAS: asked.cell, **{one.label: one.cell for one in asked.experiment.changes}}
    for changed in changes.values():
        if problem := topology.lacking(changed.topology, os.environ.get("PATH")):
            raise LabError(*problem)
    workloads = {label: workload_files.render(PLAIN[one.workload], one.settings.scale) for label, one in changes.items()}
    starts: list[Start] = []
    while stopping.experiment_end(starts, asked) is None:
        starts.append(one_start(bench, asked, stack(row), workloads, folder, len(starts) + 1))
    return asked, starts


def named(trial: Trial) -> list[str]:
    """The limits that a trial names, strongest first."""
    return list(dict.fromkeys(finding.id for finding in trial.findings if finding.id in REASONS))
