"""How a fleet shares a plan out, on hosts that are none and a clock that is none; and what that costs the lab.

    bench/fleets.py

Plan, shares, orders and the lab's side of the fleet are the real ones. In place of Dask's scheduler there is a list of made-up
hosts: whichever is free first takes the earliest order that it may carry out. No server is measured, and nothing is asserted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import frame
from fairground.fleet import about, cluster, tasks
from fairground.fleet.about import About
from fairground.fleet.cluster import Done, Member
from fairground.fleet.tasks import HostTask
from fairground.host import machine
from fairground.inputs import manifest
from fairground.lab.places import Places
from fairground.model import SCHEMA_VERSION, Machine, Plan, Run, Seats
from fairground.run import plan

SUITE = "matrix"
AROUND_S = 10.0
"""What an order takes a host beside its trials, in seconds: a process, a database that starts and ends. A guess."""


def main() -> None:
    """Print how long made-up fleets need for the suite, and what sharing out a large plan costs."""
    parser = frame.parser(__doc__, write=False)
    parser.add_argument("--hosts", type=int, default=200, help="of the large plan")
    parser.add_argument("--blocks", type=int, default=10_000, help="of the large plan")
    options = parser.parse_args()
    print(f"| hosts | `{SUITE}`, minutes | of the time of one | its orders |\n|--:|--:|--:|--:|")
    alone_s = None
    for count in (1, 2, 3, 6, 18):
        told = simulated(planned(), count)
        alone_s = alone_s or told.took_s
        print(f"| {count} | {told.took_s / 60:.1f} | {told.took_s / alone_s:.1%} | {told.orders} |")
    large, spent_s = _timed(lambda: planned(options.blocks, 2))
    told, handed_s = _timed(lambda: simulated(large, options.hosts))
    size = f"{options.blocks:,} blocks of {len(large.slots) // options.blocks} slots for {options.hosts} hosts"
    print(f"\n{size}: {told.orders:,} orders, {spent_s:.1f} s of CPU to plan and {handed_s:.1f} s to share out")


def planned(blocks: int | None = None, most: int | None = None) -> Plan:
    """The plan of the suite, in so many blocks (None: in its own), with `most` of its stacks on as many workloads (None: all)."""
    places = Places.of(os.environ)
    suite = manifest.load_suite(places.suites / f"{SUITE}.toml")
    servers, workloads = places.load_servers(), places.workloads()
    if most is not None:
        (group,) = suite.groups
        stacks = sorted({slot.cell.stack for slot in plan.of_suite(suite, servers, workloads, "").slots})
        suite = replace(suite, groups=(replace(group, stacks=tuple(stacks[:most]), workloads=group.workloads[:most]),))
    return plan.of_suite(replace(suite, blocks=blocks or suite.blocks), servers, workloads, "")


@dataclass(frozen=True)
class Told:
    """What a made-up fleet did: seconds on its clock until the last order was done, how many orders there were, and ends."""

    took_s: float
    orders: int
    done: tuple[Done, ...]
    busy_s: Mapping[str, float]
    """Seconds of each host's work, by name."""
    longest_s: float
    """What the longest order took."""


def simulated(measured: Plan, count: int) -> Told:
    """A plan on so many hosts of one kind, from its first order to its last."""
    here = machine.fingerprint()
    members = [member(f"host-{number}", here) for number in range(1, count + 1)]
    known = Run(SCHEMA_VERSION, "made-up", Path(), 0.0, measured, here, {}, {}, {}, {}, (), (), False)
    asked = tasks.tasks(known, measured.slots, members, {})
    clock = Clock({one.address: 0.0 for one in members}, {one.order: seconds(one) for one in asked})
    done = tuple(cluster.carried_out(cast(Any, clock), [(one.order, one.hosts) for one in asked]))
    names = {one.address: one.about.name for one in members}
    busy_s = {names[at]: spent_s for at, spent_s in clock.busy_s.items()}
    return Told(max(clock.free_s.values()), len(asked), done, busy_s, max(clock.lasts_s.values()))


def seconds(task: HostTask) -> float:
    """What a task takes a host: its trials by their loads alone, and what is around them."""
    return AROUND_S + (0.0 if task.share is None else plan.estimate_s(task.share.slots))


def member(name: str, here: Machine) -> Member:
    """A host on a machine like this one, whose name is its own."""
    there = replace(here, hostname_hash=name)
    said = About(about.PROTOCOL, "made-up", name, there, "", about.ROLES, (), Seats((), (), ()), (about.EVERY_SERVER,))
    return Member(f"tcp://{name}", said)


@dataclass(eq=False)
class Given:
    """An order that was given, as Dask's future: what is done with it when it is finished."""

    order: bytes
    workers: Sequence[str]
    status: str = "pending"
    host: str = ""
    ends_s: float = 0.0
    heard: list[Callable[[Given], object]] = field(default_factory=list)

    def add_done_callback(self, told: Callable[[Given], object]) -> None:
        self.heard.append(told)

    def finish(self) -> None:
        """It is carried out."""
        self.status = "finished"
        for told in self.heard:
            told(self)

    def result(self) -> bytes:
        """Who carried it out."""
        return self.host.encode()


@dataclass
class Clock:
    """Dask's client in front of made-up hosts. `free_s`: when each is free again; `lasts_s`: what each order takes.

    All orders are carried out when it is first asked who is there, which is after all were given.
    """

    free_s: dict[str, float]
    lasts_s: Mapping[bytes, float]
    busy_s: dict[str, float] = field(default_factory=dict)
    given: list[tuple[int, Given]] = field(default_factory=list)

    def submit(self, _: object, order: bytes, *, workers: Sequence[str], priority: int, **__: object) -> Given:
        """Take an order for one of these hosts; of all that are free for it the highest priority is the next."""
        made = Given(order, workers)
        self.given.append((priority, made))
        return made

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        """Who is there, at the end of the made-up time."""
        for one in sorted(self._carried_out(), key=lambda order: order.ends_s):
            one.finish()
        return {"workers": self.free_s}

    def _carried_out(self) -> Iterator[Given]:
        waiting, self.given = sorted(self.given, key=lambda pair: -pair[0]), []
        for _, one in waiting:
            one.host = min(one.workers, key=lambda at: self.free_s[at])
            spent_s = self.lasts_s[one.order]
            self.free_s[one.host] += spent_s
            self.busy_s[one.host] = self.busy_s.get(one.host, 0.0) + spent_s
            one.ends_s = self.free_s[one.host]
            yield one


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a piece of work gives, and the CPU time of this process that it took, in seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


if __name__ == "__main__":
    main()
