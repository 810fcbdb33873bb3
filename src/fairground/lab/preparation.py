"""Everything that must be up and known before the first load, in one order for every verb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground import generators, records, topology
from fairground.fleet.others import HERE, Others
from fairground.host import Keeper, build, machine
from fairground.host.awake import hold_awake
from fairground.host.build import BuiltServer, Unavailable
from fairground.lab import building, setup
from fairground.lab.events import Said, Sink
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.model import Cell, LabError, Machine, Stack, StackInfo
from fairground.model.contract import ContractData
from fairground.model.record import Record
from fairground.postgres import databases
from fairground.postgres.databases import Databases


@dataclass(frozen=True)
class Inputs:
    """The surroundings of a use case, apart from what it measures. `command` is what a person would type for it.

    `record` is the one to go on with; None: a new one is begun. `why_s`: seconds that go to experiments on what limited a run,
    after its last block; None: none are made. `elsewhere`: the hosts that roles are on. `prior`: what earlier runs saw counts.
    """

    places: Places
    command: str = ""
    database_url: str | None = None
    record: Record[Any, Any] | None = None
    why_s: float | None = None
    elsewhere: Others = HERE
    prior: bool = False


@dataclass(frozen=True)
class Testbed:
    """The processes that are up while something is measured, and what is known of them."""

    bench: Bench
    builds: Mapping[Path, BuiltServer | Unavailable]
    """Folder of a server → what came of its build."""
    stacks: Mapping[str, StackInfo]
    lacking: Mapping[str, str]
    """What is not here, as a plan names it (`plan.of_suite`) → why."""
    versions: Mapping[str, str]
    database_settings: Mapping[str, str]
    machine: Machine


@contextmanager
def prepare(
    inputs: Inputs, cells: Sequence[Cell], stacks: Sequence[Stack], sink: Sink, awake: bool | None = None, least: int = 1
) -> Iterator[Testbed]:
    """Start the keeper, build the servers of `stacks`, start the database servers of `cells`, and keep processors from idling.

    Without a cell no database server is started. `awake`: whether processors must be kept from idling; None: as the surroundings
    say. LabError where fewer than `least` of the cells can be measured here, or a record cannot go on.
    """
    places, there, path = inputs.places, inputs.elsewhere, inputs.places.environ.get("PATH")
    if (begun := inputs.record) is not None:
        records.require_unheld(begun.folder)
        if cells:
            records.require_database(begun.head, inputs.database_url)
    with ExitStack() as held:
        for remark in there.remarks:
            sink(Said(remark))
        tools = generators.find_all(dict.fromkeys(cell.load.generator for cell in cells), places.tool_path)
        lacking = building.absent_tools(places, tools, sink)
        lacking |= building.absent_topologies(path, dict.fromkeys(cell.topology for cell in cells), sink)
        _left_of(cells, lacking, least)  # before anything is built
        keeper = held.enter_context(Keeper(places.environ, front=there.front))
        if inputs.database_url is None:
            lacking |= building.absent_versions(keeper, places, databases.versions_of(cells), sink)
        builds = building.build_servers(keeper, stacks, places, sink)
        lacking |= building.unavailable(stacks, builds)
        left = _left_of(cells, lacking, least)
        if keeper.groups.version is None:
            lacking["control slowed"] = "a planted slowdown needs cgroups, and none can be made here"
        found = _databases(held, keeper, inputs, cells, left, stacks, sink)
        hold_awake(held, keeper, places.environ, places.engine, lambda sentence: sink(Said(sentence)), awake)
        used = {cell.load.generator for cell in left}
        here = {name: tool for name, tool in tools.items() if tool is not None and name in used}
        hops = topology.versions(list(dict.fromkeys(cell.topology for cell in left)), path)
        own = setup.versions_with(places, found.releases() if found is not None else {})
        yield Testbed(
            _bench(keeper, found, inputs, here, sink),
            builds,
            build.stack_infos(stacks, builds),
            lacking,
            own | build.contract_versions(stacks) | generators.tool_versions(here) | hops | dict(there.versions),
            found.settings() if found is not None else {},
            machine.fingerprint(keeper.awake),
        )


def names_of(cell: Cell) -> set[str]:
    """The names under which what a cell needs may be lacking."""
    return {
        cell.stack,
        f"generator {cell.load.generator}",
        f"topology {cell.topology.id}",
        databases.version_name(cell.settings.postgres_version),
    }


def _left_of(cells: Sequence[Cell], lacking: Mapping[str, str], least: int) -> list[Cell]:
    """The cells that lack nothing. LabError where they are fewer than `least`."""
    left = [cell for cell in cells if not lacking.keys() & names_of(cell)]
    if len(left) >= least or not cells:
        return left
    wanted = {name for cell in cells for name in names_of(cell)}
    reasons = {name: why for name, why in lacking.items() if name in wanted}
    if len(reasons) == 1:
        ((name, (why, _, mend)),) = ((name, why.partition(" → ")) for name, why in reasons.items())
        raise LabError(f"{name} is not here: {why}", mend or None, exit_code=3)
    listed = "; ".join(f"{name}: {why}" for name, why in reasons.items())
    raise LabError(f"what is to be measured needs more than is here ({listed})", "./fairground doctor", exit_code=3)


def _data(stacks: Iterable[Stack], cells: Iterable[Cell]) -> list[ContractData]:
    """The data that cells are measured on, each once."""
    contracts = {stack.id: stack.server.contract for stack in stacks}
    at = ((contracts[cell.stack], cell.settings) for cell in cells)
    return list(dict.fromkeys(contract.data(settings.scale, settings.sql_before) for contract, settings in at))


def _databases(
    held: ExitStack,
    keeper: Keeper,
    inputs: Inputs,
    cells: Sequence[Cell],
    left: Sequence[Cell],
    stacks: Sequence[Stack],
    sink: Sink,
) -> Databases | None:
    """The database servers of the cells that are left, with their data; None where there is no cell at all."""
    if not cells:
        return None
    found = Databases(
        keeper, inputs.places.cache, inputs.database_url, databases.settings_of(cells), databases.versions_of(left) or (None,),
        _data(stacks, left or cells), inputs.elsewhere.database, _port_of(stacks),
    )  # fmt: skip
    held.enter_context(found)
    sink(Said("making the data …"))
    for remark in found.ready():
        sink(Said(remark))
    return found


def _port_of(stacks: Sequence[Stack]) -> int | None:
    """The port at which one of them looks for its database whatever it is told; None where each is told."""
    compiled = (stack.server.database for stack in stacks)
    return next((one.port for one in compiled if one is not None), None)


def _bench(keeper: Keeper, found: Databases | None, inputs: Inputs, tools: Mapping[str, Any], sink: Sink) -> Bench:
    """The bench on what has been started."""
    places, there = inputs.places, inputs.elsewhere
    return Bench(
        keeper,
        found.now if found is not None else None,
        places.engine,
        places.cases() if found is not None else (),
        machine.cores(),
        sink,
        tools=tools,
        disks=(places.cache,) if found is not None and found.now.child is not None else (),  # the embedded database fills it
        databases=found.of if found is not None else None,
        elsewhere=there.generator,
        its_host=there.database,
    )
