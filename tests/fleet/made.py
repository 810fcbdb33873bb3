"""Machines, hosts and plans that are made up."""

from __future__ import annotations

from dataclasses import replace

from fairground.fleet import about
from fairground.fleet.about import About
from fairground.fleet.cluster import Member
from fairground.model import Cell, CellSettings, Load, Machine, Plan, PlanSlot, Seats, Topology

CELL = Cell("a:plain", "tx", Topology(), Load(), CellSettings())
MACHINE = Machine("one", "CPU", 2, 1 << 30, "6.1", None, None, None, None, {"open files": "1024"})


def host(name: str, **changes: object) -> About:
    """A host that can measure for version 1 of the lab, on a machine of its own."""
    told = About(
        about.PROTOCOL, "1", name, replace(MACHINE, hostname_hash=f"hash of {name}"), "x86_64", about.ROLES, (), Seats((), (), ()), ("all",)
    )  # fmt: skip
    return replace(told, **changes)  # type: ignore[arg-type]


def member(name: str, **changes: object) -> Member:
    """The same as the lab sees it."""
    return Member(f"tcp://{name}", host(name, **changes))


def plan(blocks: int, stacks: int = 2, workloads: tuple[str, ...] = ("tx", "ping")) -> Plan:
    """In each block, each stack on each workload."""
    cells = [replace(CELL, stack=f"s{stack}:plain", workload=workload) for workload in workloads for stack in range(stacks)]
    slots = [PlanSlot(number, block, cell, 1) for number, (block, cell) in
             enumerate(((block, cell) for block in range(1, blocks + 1) for cell in cells), start=1)]  # fmt: skip
    return Plan("made up", 1, blocks, tuple(slots), {}, "run", "s0:plain")
