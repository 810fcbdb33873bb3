"""What a host does with an order: the steps of a run of its own, on its own machine, into a folder that it leaves.

This is a process of its own, and without Dask unless other roles are on other hosts: the measuring is that of `lab.run`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fairground import records
from fairground.fleet.alone import alone
from fairground.fleet.order import Answer, Order, Refusal, Work
from fairground.host import build, machine
from fairground.host.build import Built, Unavailable
from fairground.inputs import manifest
from fairground.inputs.hosts import HostsAsked
from fairground.lab import building, elsewhere, setup
from fairground.lab import run as runs
from fairground.lab.databases import Databases
from fairground.lab.elsewhere import Others
from fairground.lab.events import Event, Said, unheard
from fairground.lab.places import Places
from fairground.model import LabError, Server, Workload, storing
from fairground.run import runner

Value = TypeVar("Value")


def answer(order: Order, places: Places, host: str, at: HostsAsked) -> Answer:
    """Carry out an order; what a person would be told is the answer then. `at`: where the hosts of other roles have joined."""
    try:
        with alone(), ExitStack() as held:
            return _answer(order, places, host, held.enter_context(elsewhere.beside(at, order.plan)), held)
    except LabError as error:
        return Answer(host, refusal=Refusal(error.message, error.hint, error.exit_code))


def _answer(order: Order, places: Places, host: str, there: Others, held: ExitStack) -> Answer:
    said, workloads = list(there.remarks), places.workloads()
    needs = runs.Needs.of(order.plan)
    runs.check_machine(order.plan, None)
    chosen = needs.stacks_of(_servers(order, places, workloads))
    tools = setup.tools(places, needs.generators)
    absent = building.absent_topologies(places, needs.topologies) | building.absent_generators(places, tools)
    keeper = held.enter_context(setup.keeping(places, there.front))
    absent |= _heard(building.absent_versions(keeper, places, needs.versions), said)
    lacking = {name: one.why for name, one in absent.items()}
    builds: Mapping[str, Built | Unavailable] = _heard(building.built(keeper, runs.servers_of(chosen), places, unheard), said)
    lacking |= {one.id: building.reason(made) for one in chosen if isinstance(made := builds[one.server.id], Unavailable)}
    if keeper.groups.version is None:
        lacking["control slowed"] = "a planted slowdown needs cgroups, and none can be made there"
    present = [version for version in needs.versions if f"PostgreSQL {version}" not in lacking] or [None]
    databases = held.enter_context(Databases(keeper, places, None, needs.database, present, there.database))
    said += databases.ready()
    _heard(runs.keep_awake(held, keeper, places), said)
    here = {name: tool for name, tool in tools.items() if tool is not None}
    hall = runs.Hall(keeper, databases, chosen, workloads, places, here, unheard, there)
    found = Answer(
        host,
        machine.fingerprint(keeper.awake),
        hall.versions([one for one in needs.topologies if f"topology {one.id}" not in absent]),
        databases.settings(),
        setup.stack_infos(chosen, builds),
        lacking,
        tuple(said),
    )
    return found if order.work is Work.READY else _measured(order, found, needs, hall)


def _measured(order: Order, found: Answer, needs: runs.Needs, hall: runs.Hall) -> Answer:
    """The answer with what was measured. The run's folder goes with the process."""
    assert found.machine is not None
    with _scratch(hall.places.cache / "fleet") as results:
        folder = records.create_run(
            results,
            order.plan,
            started_unix_s=time.time(),
            machine=found.machine,
            versions=found.versions,
            database_settings=found.database_settings,
            stacks=found.stacks,
            workloads={},
        )
        for trial in order.known:
            records.append_trial(folder, trial)
        if order.work is Work.SHARE:
            return replace(found, trials=tuple(runner.run(order.plan, folder, *runs.stage(needs, hall))))
        said = list[str]()
        _heard(runs.limits(records.load_run(folder), needs, hall), said)
        known = records.load_run(folder)
        return replace(found, limits=known.limits, qualification=known.qualification, remarks=(*found.remarks, *said))


@contextmanager
def _scratch(home: Path) -> Iterator[Path]:
    with storing(home):
        home.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(prefix="share-", dir=home)
    with made as folder:
        yield Path(folder)


def _servers(order: Order, places: Places, workloads: Sequence[Workload]) -> list[Server]:
    """The servers of an order, in the folders of the sources that were sent."""
    found = list[Server]()
    for id, digest in order.servers.items():
        folder = build.sent(digest, places.cache)
        if folder is None:
            raise LabError(f"the sources of the server `{id}` were not sent", None, 3)
        found += manifest.load_servers(folder.parent, [workload.id for workload in workloads])
    return found


def _heard(events: Generator[Event, None, Value] | Iterable[Event], said: list[str]) -> Value:
    """The value of a use case, and what it says."""
    going = iter(events)
    while True:
        try:
            event = next(going)
        except StopIteration as end:
            found: Value = end.value
            return found
        if isinstance(event, Said):
            said.append(event.sentence)
