"""Counted starts of real servers: one with two processes, one that cheats, and one that goes on as another program."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders import zoo
from fairground.host import emulation
from fairground.host.emulation import Emulator
from fairground.measure import Bench
from fairground.measure.arm import CountedArm
from fairground.measure.counting import one_start
from fairground.model import Cell, CellSettings, Load, Stack, Topology
from fairground.model.count import CountedStart
from fairground.stats import counts

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def emulator(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Emulator:
    """QEMU with a plugin that is built for this test."""
    return emulation.find(bench.keeper, tmp_path_factory.mktemp("cache"))


def animal(name: str) -> Stack:
    """A stack of the zoo. Its Python is named by its path: what stands on PATH may be a script that leaves the emulation."""
    stack = zoo.stack_of({"stack": name})
    return replace(stack, variant=replace(stack.variant, serve=(sys.executable, "serve.py")))


def counted(bench: Bench, emulator: Emulator, stack: Stack, workload: str, folder: Path, workers: int = 1) -> CountedStart:
    """One start with few requests, of which only the last windows are counted."""
    settings = CellSettings(workers=workers, pool_size=8, scale=zoo.SCALE)
    cell = Cell(stack.id, workload, Topology(), Load(16, warmup_max_s=2.0), settings)
    arm = CountedArm(stack.id, cell, zoo.WORKLOADS[workload], 1, stack, emulator=emulator)
    return one_start(bench, arm, 320, counts.FLOOR, folder, 1)


def test_two_processes_are_counted_and_audited(bench: Bench, emulator: Emulator, tmp_path: Path) -> None:
    """Forked workers add up, writes are audited as ever, and no time is told."""
    found = counted(bench, emulator, animal("crew:asyncio"), "tx", tmp_path, workers=2)
    assert (found.rejected, found.void) == (None, None), found.findings
    instructions, calls = counts.instructions(found), counts.calls_by_name(found)
    assert instructions is not None and instructions > 10_000
    assert min(one.answers for one in found.counted) >= 1 and calls["recvfrom"] + calls.get("read", 0) > 1
    assert len(list((tmp_path / "counts").glob("*.counts"))) == 2


def test_a_cheat_has_no_count(bench: Bench, emulator: Emulator, tmp_path: Path) -> None:
    """Writes that are not there are found by the audit of a counted session as of any other."""
    found = counted(bench, emulator, animal("lost-tx:asyncio"), "tx", tmp_path)
    assert found.rejected is not None and found.windows and found.counted == ()


def test_a_server_that_leaves_the_emulation_has_no_count(bench: Bench, emulator: Emulator, tmp_path: Path) -> None:
    """A shell that goes on as the server runs natively: it is told with its command, and nothing is loaded."""
    stack = animal("healthy:asyncio")
    wrapped = replace(stack, variant=replace(stack.variant, serve=("sh", "-c", f"exec {' '.join(stack.serve)}")))
    found = counted(bench, emulator, wrapped, "ping", tmp_path)
    assert found.void is not None and found.void.startswith("`") and "is not counted" in found.void
    assert stack.serve[-1] in found.void and found.windows == ()
