"""Seats: the cores of each role on machines of all sizes, and the reader of what this process may use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from fairground.host import seats
from fairground.host.seats import Processor, Processors
from fairground.model import Seats


def machine(cores: int, threads: int = 1, nodes: int = 1, quota: float | None = None) -> Processors:
    """So many physical cores with so many SMT threads each, numbered as Linux does: all first threads, then all second ones."""
    found = [
        Processor(thread * cores + core, core, core * nodes // cores) for thread in range(threads) for core in range(cores)
    ]  # fmt: skip
    return Processors(tuple(found), quota)


def sizes(found: Seats) -> tuple[int, int, int]:
    """How many processors server, database and generator have."""
    return len(found.server), len(found.database), len(found.generator)


@pytest.mark.parametrize(
    ("cores", "wanted"),
    [(3, (1, 1, 1)), (4, (2, 1, 1)), (6, (3, 2, 1)), (8, (4, 2, 2)), (16, (8, 5, 3)), (64, (32, 19, 13)), (128, (64, 38, 26))],
)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("nodes", [1, 2])
def test_each_role_has_cores_of_its_own(cores: int, threads: int, nodes: int, wanted: tuple[int, int, int]) -> None:
    """Every processor is one role's, siblings go together, and the server stays on one node."""
    there = machine(cores, threads, nodes)
    found = seats.seats(there)
    assert sizes(found) == tuple(threads * many for many in wanted)
    assert sorted((*found.server, *found.database, *found.generator)) == [one.number for one in there.usable]
    core = {one.number: one.core for one in there.usable}
    mine, database, generator = ({core[number] for number in some} for some in (found.server, found.database, found.generator))
    assert not mine & database and not mine & generator and not database & generator
    if cores % nodes == 0 and cores > 3:
        assert len({one.node for one in there.usable if one.number in found.server}) == 1
        assert len({one.node for one in there.usable if one.number in (*found.database, *found.generator)}) == 1


def test_two_cores() -> None:
    """The server has one; generator and database have the other together, with its siblings."""
    assert seats.seats(machine(2)) == Seats((0,), (1,), (1,))
    found = seats.seats(machine(2, threads=2))
    assert (found.server, found.database, found.generator) == ((0, 2), (1, 3), (1, 3))
    assert not found.shared


def test_one_core_is_shared_and_says_so() -> None:
    """Nobody gets a core of its own where there is one."""
    assert seats.seats(machine(1)) == Seats(
        (), (), (), "there is one core only: server, database and generator share what there is"
    )
    assert seats.seats(machine(1)).shared


def test_siblings_of_the_only_core_are_divided_and_it_is_said() -> None:
    """Two threads of one core are better than none, and slow each other down."""
    found = seats.seats(machine(1, threads=2))
    assert (found.server, found.database, found.generator) == ((0,), (1,), (1,))
    assert "SMT siblings" in found.remark


def test_a_cpuset_of_three() -> None:
    """Only the cores of the mask are given, whatever their numbers; half a physical core is one."""
    three = Processors((Processor(2, 2), Processor(5, 5), Processor(9, 9)))
    assert seats.seats(three) == Seats((2,), (5,), (9,))
    halves = Processors((Processor(0, 0), Processor(1, 1), Processor(4, 0)))
    found = seats.seats(halves)
    assert (found.server, found.database, found.generator) == ((0, 4), (1,), (1,))


def test_a_quota_lets_whole_processors_count() -> None:
    """1.5 processors are one, which is shared; three of eight cores are 1/1/1; siblings count last."""
    found = seats.seats(machine(4, quota=1.5))
    assert found.shared and found.remark.startswith("the CPU quota of 1.5 is less than two cores: ")
    assert sizes(seats.seats(machine(8, quota=3.7))) == (1, 1, 1)
    found = seats.seats(machine(4, threads=2, quota=4.0))
    assert (found.server, found.database, found.generator) == ((0, 1), (2,), (3,))
    assert found.remark == "the CPU quota of 4 lets 4 of 8 cores count"
    assert seats.seats(machine(4, quota=4.0)) == seats.seats(machine(4))
    assert seats.seats(machine(4, quota=64.0)) == seats.seats(machine(4))


def test_a_quota_stays_on_one_node() -> None:
    """Where a quota leaves processors out, those that count are near each other."""
    there = machine(16, nodes=2, quota=8.0)
    found = seats.seats(there)
    assert {one.node for one in there.usable if one.number in (*found.server, *found.database, *found.generator)} == {0}


def test_nodes_of_unequal_size() -> None:
    """A role takes the node with the least room that is enough; what fits on none spans as few as can be."""
    sizes_of_nodes = [(0, range(6)), (1, range(6, 8))]
    there = Processors(tuple(Processor(number, number, node) for node, some in sizes_of_nodes for number in some))
    found = seats.seats(there)
    assert (found.server, found.database, found.generator) == ((0, 1, 2, 3), (4, 5), (6, 7))
    four = Processors(tuple(Processor(number, number, number // 4) for number in range(16)))
    assert seats.seats(four).server == tuple(range(8))


# ---------------------------------------------------------------- the machine


def files(root: Path, texts: Mapping[str, str]) -> Path:
    """A root with these files."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def siblings(number: int) -> str:
    """Where the kernel lists a processor's siblings."""
    return f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list"


def test_the_machine_is_read(tmp_path: Path) -> None:
    """Siblings in both of the kernel's spellings, nodes, and only the processors of the mask."""
    root = files(
        tmp_path,
        {siblings(0): "0,4", siblings(1): "1,5", siblings(4): "0,4", siblings(6): "6-7", siblings(7): "6-7"}
        | {"sys/devices/system/node/node0/cpulist": "0-1,4-5", "sys/devices/system/node/node1/cpulist": "2-3,6-7"},
    )
    assert seats.read(root, (0, 1, 4, 6, 7)) == Processors(
        (Processor(0, 0, 0), Processor(1, 1, 0), Processor(4, 0, 0), Processor(6, 6, 1), Processor(7, 6, 1))
    )


def test_a_machine_that_shows_nothing_has_cores_for_themselves(tmp_path: Path) -> None:
    """Without `sys` each processor is a core, on one node, under no quota."""
    assert seats.read(tmp_path, (3, 1)) == Processors((Processor(1, 1), Processor(3, 3)))


@pytest.mark.parametrize(
    ("texts", "quota"),
    [
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "200000 100000", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, 2.0),
        ({"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "400000 100000", "sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"}, None),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n2:cpu,cpuacct:/docker/1\n0::/",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            2.5,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            None,
        ),
    ],
)  # fmt: skip
def test_quotas_are_read(tmp_path: Path, texts: Mapping[str, str], quota: float | None) -> None:
    """Of both versions of cgroups, the smallest of our own group and those above."""
    assert seats.read(files(tmp_path, texts), (0, 1)).quota == quota


def test_this_machine() -> None:
    """What is read here is what this process may use, and every seat is on it."""
    there = seats.read()
    ours = os.sched_getaffinity(0)
    assert {one.number for one in there.usable} == ours
    found = seats.seats(there)
    assert {*found.server, *found.database, *found.generator} <= ours
