"""Carry out an order on a host: the steps of a run of its own, on its own machine, into a folder that it leaves.

This is a process of its own, and without Dask unless other roles are on other hosts: the measuring is that of `lab.run`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fairground import records
from fairground.fleet.alone import alone
from fairground.fleet.order import Order, OrderAnswer, OrderWork, Refusal
from fairground.fleet.others import Others
from fairground.host import sources
from fairground.inputs import manifest
from fairground.inputs.hosts import HostsAsked
from fairground.lab import elsewhere, run
from fairground.lab.events import Said, Within
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, Testbed, prepare
from fairground.model import LabError, Server, Stack, Workload, storing
from fairground.run import ceilings, runner


def answer(order: Order, places: Places, host: str, at: HostsAsked) -> OrderAnswer:
    """Carry out an order; what a person would be told is the answer then. `at`: where the hosts of other roles have joined."""
    try:
        with alone(), elsewhere.beside(at, order.plan) as there:
            return _answer(order, places, host, there)
    except LabError as error:
        return OrderAnswer(host, refusal=Refusal(error.message, error.hint, error.exit_code))


def _answer(order: Order, places: Places, host: str, there: Others) -> OrderAnswer:
    said, workloads, cells = list[str](), places.workloads(), order.plan.cells
    run.check_machine(order.plan, None)
    stacks = manifest.stacks_of(order.plan.slots, _servers(order, places, workloads))

    def hear(event: Within) -> None:
        if isinstance(event, Said) and not event.sentence.endswith("…"):
            said.append(event.sentence)

    with prepare(Inputs(places, elsewhere=there), cells, stacks, hear, least=0) as testbed:
        found = OrderAnswer(
            host, testbed.machine, testbed.versions, testbed.database_settings, testbed.stacks, testbed.lacking, tuple(said)
        )
        if order.work is OrderWork.READY:
            return found
        with _scratch(places.cache / "fleet") as results:
            folder = run.create_folder(results, order.plan, testbed, {})
            for trial in order.known:
                records.append_trial(folder, trial)
            return _with_measurements(order, found, folder, testbed, run.render_workloads(order.plan, workloads), stacks)


def _with_measurements(
    order: Order, found: OrderAnswer, folder: Path, testbed: Testbed, workloads: Mapping[str, Workload], stacks: Sequence[Stack]
) -> OrderAnswer:
    """Measure what is ordered into a run's folder, which goes with the process."""
    if order.work is OrderWork.SHARE:
        by_id = {stack.id: stack for stack in stacks}
        return replace(found, trials=tuple(runner.run(order.plan, folder, by_id, workloads, testbed.bench)))
    said = tuple(ceilings.measure(testbed.bench, records.load_run(folder), workloads))
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
        folder = sources.sent_folder(digest, places.cache)
        if folder is None:
            raise LabError(f"the sources of the server `{id}` were not sent", None, 3)
        found += manifest.load_servers(folder.parent, places.contracts(), [workload.id for workload in workloads])
    return found
