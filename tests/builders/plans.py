"""Servers, workloads and suites that exist on paper, and their plans."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from fairground.model import (
    Approach,
    Audit,
    CellSettings,
    Load,
    LoadRequest,
    Needs,
    Plan,
    Server,
    Stack,
    Suite,
    SuiteGroup,
    Topology,
    Variant,
    Workload,
)
from fairground.run import plan

TX = Topology(pooler="pgbouncer-tx")


def server(identity: str, variants: int = 1, skip: dict[str, str] | None = None, documented: Collection[str] = ()) -> Server:
    """A server that exists on paper; its variants are tuned, but for those that are `documented`."""
    names = [f"v{number}" for number in range(1, variants + 1)]
    ways = {name: Approach.DOCUMENTED if name in documented else Approach.TUNED for name in names}
    table = {name: Variant(name, "about", approach=ways[name]) for name in names}
    return Server(identity, "Title", "None", "-", "about", Path(identity), (), (), ("v",), ("s",), table, skip or {})


def stacks(count: int) -> tuple[Stack, ...]:
    """Stacks of as many servers."""
    return tuple(server(f"s{number}").stacks[0] for number in range(count))


def workload(identity: str) -> Workload:
    """A workload that asks nothing."""
    return Workload(identity, "Title", "why", (LoadRequest(identity, "GET", "/", needs=Needs()),), Audit(), None)


def workloads(count: int) -> tuple[Workload, ...]:
    """As many workloads."""
    return tuple(workload(f"w{number}") for number in range(count))


def compared(stack_count: int, blocks: int, workload_count: int = 1, **more: object) -> Suite:
    """A suite of so many stacks."""
    names = tuple(stack.id for stack in stacks(stack_count))
    group = SuiteGroup(names, tuple(one.id for one in workloads(workload_count)), (Load(),), CellSettings(), (Topology(), TX))
    return replace(Suite("s", "S", "", blocks, 7, (group,)), **more)  # type: ignore[arg-type]


def planned(wanted: Suite, unavailable: dict[str, str] | None = None, hosts: int = 1) -> Plan:
    """The plan of a suite of paper servers, for so many hosts."""
    servers = [server(f"s{number}") for number in range(9)]
    return plan.of_suite(wanted, servers, workloads(3), "c", unavailable, hosts)
