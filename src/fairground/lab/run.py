"""`run`: from a suite to a plan, from a plan to a run's folder, trial by trial; and a run that is resumed or reported."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path

from fairground import contract, generators, postgres, topology
from fairground.generators import Installed
from fairground.host import Keeper, machine
from fairground.host.build import Built, Unavailable
from fairground.inputs import manifest
from fairground.lab import building, ceilings, databases, measuring, reasons, setup
from fairground.lab.databases import Databases
from fairground.lab.elsewhere import HERE, Others
from fairground.lab.events import Began, Event, Planned, Reported, Said, Sink, TrialDone, unheard
from fairground.lab.places import Places
from fairground.measure import Bench, ceiling
from fairground.model import (
    OWN_MAJOR,
    LabError,
    Plan,
    Run,
    RunSettings,
    Server,
    Slot,
    Stack,
    Suite,
    Topology,
    Verdict,
    Workload,
    error,
    storing,
)
from fairground.model.record import Kind
from fairground.report.run import page, why
from fairground.report.trial import trial_page
from fairground.run import journal, plan, records, runner, store

PAGE = records.SHAPES[Kind.RUN].page


@dataclass(frozen=True)
class Inputs:
    """How a run is carried out, apart from what it measures. `command` is what a person would type for it.

    `why_s`: so many seconds go to experiments on what limited it, after its last block; None: none are made. `elsewhere`: the
    hosts that roles are on.
    """

    places: Places
    command: str = ""
    database_url: str | None = None
    why_s: float | None = None
    elsewhere: Others = HERE


def dry_run(suite: Suite, inputs: Inputs) -> Plan:
    """The plan of a suite as it would be if everything could be built. LabError for a load that its generator cannot make."""
    return _foreseen(suite, inputs, inputs.places.load_servers(), inputs.places.workloads())[0]


def run(suite: Suite, inputs: Inputs, sink: Sink = unheard) -> Generator[Event]:
    """Build what the suite needs, freeze its plan, measure it and report it. Close it to end early: what is done is kept.

    `sink` hears what happens inside one long call: commands of a build, and the progress of a trial.
    """
    places, suite = inputs.places, settled(suite, inputs.database_url)
    servers, workloads = places.load_servers(), places.workloads()
    foreseen, wish = _foreseen(suite, inputs, servers, workloads)
    chosen = wish.stacks_of(servers)
    with ExitStack() as held:
        tools = setup.tools(places, wish.generators)
        absent = building.absent_topologies(places, wish.topologies) | building.absent_generators(places, tools)
        yield from absent.values()
        yield from map(Said, inputs.elsewhere.remarks)
        keeper = held.enter_context(setup.keeping(places, inputs.elsewhere.front))
        if inputs.database_url is None:
            absent |= yield from building.absent_versions(keeper, places, wish.versions)
        lacking = {name: one.why for name, one in absent.items()}
        builds = yield from building.built(keeper, servers_of(chosen), places, sink)
        lacking |= {one.id: building.reason(made) for one in chosen if isinstance(made := builds[one.server.id], Unavailable)}
        if keeper.groups.version is None:
            lacking["control slowed"] = "a planted slowdown needs cgroups, and none can be made here"
        frozen = plan.of_suite(suite, servers, workloads, inputs.command, lacking) if lacking else foreseen
        needs = Needs.of(frozen)
        found = held.enter_context(
            Databases(keeper, places, inputs.database_url, needs.database, needs.versions, inputs.elsewhere.database)
        )
        yield Said("making the data …")
        yield from map(Said, found.ready())
        yield from keep_awake(held, keeper, places)
        here = {name: tool for name, tool in tools.items() if tool is not None and name in needs.generators}
        hall = Hall(keeper, found, chosen, workloads, places, here, sink, inputs.elsewhere)
        versions = hall.versions(needs.topologies)
        folder = store.create(
            places.results,
            frozen,
            started_unix_s=time.time(),
            machine=machine.fingerprint(keeper.awake),
            versions=versions,
            database_settings=found.settings(),
            stacks=setup.stack_infos(chosen, builds),
            workloads=needs.texts(workloads),
        )
        with kept(folder):
            yield from _measured(frozen, folder, needs, hall)
    yield from ended(folder, inputs)


def _databases(keeper: Keeper, inputs: Inputs, needs: Needs) -> Databases:
    """The database servers of a plan; none runs yet."""
    there = inputs.elsewhere.database
    return Databases(keeper, inputs.places, inputs.database_url, needs.database, needs.versions, there)


def kept(folder: Path) -> AbstractContextManager[None]:
    """What the machine refuses meanwhile is told with the command that goes on with the run."""
    return error.kept(folder, f"./fairground run --resume {shlex.quote(str(folder))}")


def resume(folder: Path, inputs: Inputs, budget_s: float | None = None, sink: Sink = unheard) -> Generator[Event]:
    """Go on with an interrupted run: its own plan, its own folder; finished trials stay as they are.

    A run that its budget ended goes on only with a larger one, `budget_s`, counted from its beginning.
    """
    known, places = store.load(folder), inputs.places
    left = left_of(known)
    if left and (not known.finished or budget_s is not None):
        known = with_budget(known, budget_s)
        needs, servers = Needs.of(known.plan), places.load_servers()
        with ExitStack() as held:
            yield from map(Said, inputs.elsewhere.remarks)
            keeper = held.enter_context(setup.keeping(places, inputs.elsewhere.front))
            chosen = replace(needs, stacks=frozenset(slot.cell.stack for slot in left)).stacks_of(servers)
            all_known(known, left, chosen, places)
            builds = yield from building.built(keeper, servers_of(chosen), places, sink)
            same_as_before(known, chosen, builds)
            found = held.enter_context(
                Databases(keeper, places, inputs.database_url, needs.database, needs.versions, inputs.elsewhere.database)
            )
            yield from map(Said, found.ready())
            tools = _tools(places, needs)
            hall = Hall(keeper, found, chosen, places.workloads(), places, tools, sink, inputs.elsewhere)
            runner.one_version(known, hall.versions(needs.topologies))
            if known.machine.awake:
                yield from keep_awake(held, keeper, places, must=True)
            with kept(folder):
                yield from _measured(known.plan, folder, needs, hall)
    yield from ended(folder, inputs)


def ended(folder: Path, inputs: Inputs) -> Iterator[Event]:
    """A run's pages; where there is time for experiments, these first, and the pages once more."""
    with kept(folder):
        written = report(folder)
    if inputs.why_s is not None:
        given = measuring.Inputs(inputs.places, inputs.command, inputs.database_url)
        yield from reasons.tried(written.run, written.tried, given, inputs.why_s)
        with kept(folder):
            written = report(folder)
    yield written


def all_known(known: Run, left: Sequence[Slot], chosen: Sequence[Stack], places: Places) -> None:
    """LabError when a stack that is still to be measured is in no server here."""
    absent = sorted({slot.cell.stack for slot in left} - {stack.id for stack in chosen})
    if absent:
        sentence = f"run `{known.id}` has stacks that `{places.servers}` has not: {', '.join(absent)}"
        raise LabError(sentence, "name the folder that the run began with: --servers DIR")


def report(folder: Path) -> Reported:
    """Write summary.csv, report.html and a page for each trial of a run, finished or not."""
    found = store.load(folder)
    store.write_summary(folder, page.summary_csv(found))
    path = folder / PAGE
    for place, text in rendered(found):
        if place == PAGE:
            journal.replace(path, text.encode())
            continue
        with storing(folder / place):
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
    return Reported(path, found, _tried(found))


def _tried(found: Run) -> why.TriedBy:
    """What experiments on a run's reasons found."""
    return why.tried(one for one in records.of_kind(found.folder.parent, Kind.WHY) if one.head.asked.run == found.id)


def rendered(found: Run, home: str | None = None) -> Iterator[tuple[str, str]]:
    """(place in the run's folder, text) of its page and of every trial's. `home`: where the list of records is, in a site."""
    yield PAGE, page.html(found, _tried(found), home)
    yield from trial_page.pages(found)


def rejected(found: Run) -> int:
    """How many slots ended rejected."""
    return sum(trial.verdict is Verdict.REJECTED for trial in found.trials)


def measured(found: Run) -> int:
    """How many trials have a verdict other than void."""
    return sum(trial.verdict is not Verdict.VOID for trial in found.trials)


# ---------------------------------------------------------------- what a plan needs


@dataclass(frozen=True)
class Needs:
    """What a plan needs of the lab, by name; all its database servers are under the settings `database`."""

    stacks: frozenset[str]
    workloads: frozenset[str]
    generators: tuple[str, ...]
    topologies: tuple[Topology, ...]
    database: RunSettings
    versions: tuple[int | None, ...]
    """Of PostgreSQL, as cells' settings say them, each once."""

    @classmethod
    def of(cls, planned: Plan) -> Needs:
        """LabError when the plan has several values of what a run has one of."""
        cells = list(dict.fromkeys(slot.cell for slot in planned.slots))
        return cls(
            frozenset(cell.stack for cell in cells),
            frozenset(cell.workload for cell in cells),
            tuple(dict.fromkeys(cell.load.generator for cell in cells)),
            tuple(dict.fromkeys(cell.topology for cell in cells)),
            _one({cell.settings.run for cell in cells}),
            tuple(dict.fromkeys(cell.settings.postgres_version for cell in cells)),
        )

    def stacks_of(self, servers: Sequence[Server]) -> list[Stack]:
        """The stacks that are needed, of all that there are."""
        return [stack for server in servers for stack in server.stacks if stack.id in self.stacks]

    def rendered(self, workloads: Sequence[Workload]) -> dict[str, Workload]:
        """Every workload by id, for the scale of the data."""
        return {workload.id: manifest.render(workload, self.database.scale) for workload in workloads}

    def texts(self, workloads: Sequence[Workload]) -> dict[str, dict[str, str]]:
        """What a run's folder says of its workloads."""
        return {
            workload.id: {
                "title": workload.title,
                "why": " ".join(workload.why.split()),
                "request": f"{workload.method} {workload.path}" + (f" {workload.body}" if workload.body else ""),
                "limit_sql": workload.limit_sql or "",
            }
            for workload in self.rendered([one for one in workloads if one.id in self.workloads]).values()
        }


def _one(values: Collection[RunSettings]) -> RunSettings:
    """The settings that all cells share; LabError when they do not, since a run's database servers have the same."""
    if len(values) != 1:
        apart = next(one.name for one in fields(RunSettings) if len({getattr(value, one.name) for value in values}) > 1)
        there = ", ".join(sorted({str(getattr(value, apart)) for value in values}))
        raise LabError(f"the plan has several values of `{apart}`: {there}", "make a run for each of them")
    (shared,) = values
    return shared


def settled(suite: Suite, url: str | None) -> Suite:
    """The suite without the lab's own version where it is named: the cell is the same as that of a suite which names none.

    A given database may be of another version, so that there a version which is named stays.
    """
    if url:
        return suite
    own = [replace(one, settings=replace(one.settings, postgres_version=None)) for one in suite.groups]
    groups = [
        usual if group.settings.postgres_version == OWN_MAJOR else group for group, usual in zip(suite.groups, own, strict=True)
    ]
    return replace(suite, groups=tuple(groups))


def _foreseen(suite: Suite, inputs: Inputs, servers: Sequence[Server], workloads: Sequence[Workload]) -> tuple[Plan, Needs]:
    """The plan if everything could be built, and what it needs. LabError for what cannot be measured here."""
    planned = plan.of_suite(settled(suite, inputs.database_url), servers, workloads, inputs.command)
    needs = Needs.of(planned)
    check_plan(planned, needs, workloads, inputs.database_url)
    check_machine(planned, inputs.database_url)
    return planned, needs


def check_plan(planned: Plan, needs: Needs, workloads: Sequence[Workload], database_url: str | None) -> None:
    """LabError for what no machine can measure."""
    cells = dict.fromkeys(slot.cell for slot in planned.slots)
    generators.check(cells, needs.rendered(workloads))
    databases.check(needs.versions, database_url)
    if None in needs.versions:  # others know their own settings, once they are here
        postgres.check(dict(needs.database.postgres))
    for cell in cells:
        setup.check_fault(cell, database_url)


def check_machine(planned: Plan, database_url: str | None) -> None:
    """LabError for cores, connections or threads that this machine has not."""
    cells = dict.fromkeys(slot.cell for slot in planned.slots)
    for settings in dict.fromkeys(cell.settings for cell in cells):
        setup.check_pins(settings, database_url)
    for cell in cells:
        setup.check_amounts(cell.load, cell.settings)


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Hall:
    """What is up while the trials of a run are made."""

    keeper: Keeper
    databases: Databases
    stacks: Sequence[Stack]
    workloads: Sequence[Workload]
    places: Places
    tools: Mapping[str, Installed]
    """Load generators from elsewhere that the plan uses."""
    sink: Sink
    elsewhere: Others = HERE

    def versions(self, topologies: Sequence[Topology]) -> dict[str, str]:
        """Versions of everything that the plan uses, these topologies among them."""
        hops = topology.versions(topologies, self.places.environ.get("PATH"))
        known = setup.versions_with(self.places, self.databases.releases()) | setup.tool_versions(self.tools)
        return {**known, **hops, **self.elsewhere.versions}


def _measured(frozen: Plan, folder: Path, needs: Needs, hall: Hall) -> Generator[Event]:
    """Measure what is left of a plan."""
    known = store.load(folder)
    yield Planned(frozen, folder, plan.seconds(left_of(known)))
    yield from limits(known, needs, hall)
    yield Began(frozen, known.everything)
    again = ceilings.Again(_bounds(folder, hall), folder, needs.rendered(hall.workloads), hall.databases.of)
    yield from map(TrialDone, runner.run(frozen, folder, *stage(needs, hall), before=again))
    yield from map(Said, again.failed())


def _bounds(folder: Path, hall: Hall) -> ceiling.Bench:
    """What the limits of a run's machine are measured with."""
    where = hall.elsewhere.generator
    return ceiling.Bench(hall.keeper, hall.databases.now, hall.places.engine, folder / "limits", machine.cores(), where)


def limits(known: Run, needs: Needs, hall: Hall) -> Generator[Event]:
    """Measure what the machine of a run can do at most, unless that is known."""
    bounds = _bounds(known.folder, hall)
    yield from ceilings.measured(bounds, known, needs.rendered(hall.workloads), hall.databases.of)
    yield from ceilings.qualified(bounds, known)


def stage(needs: Needs, hall: Hall) -> tuple[Mapping[str, Stack], Mapping[str, Workload], Bench]:
    """What the trials of a plan are made with: stacks and workloads by their ids, and the bench."""
    places = hall.places
    cases = contract.load(places.contract / "cases")
    database = hall.databases.now
    bench = Bench(
        hall.keeper, database, places.engine, cases, machine.cores(), hall.sink, tools=hall.tools,
        disks=setup.disks(places, database), databases=hall.databases.of,
        elsewhere=hall.elsewhere.generator, its_host=hall.elsewhere.database,
    )  # fmt: skip
    return {stack.id: stack for stack in hall.stacks}, needs.rendered(hall.workloads), bench


def _tools(places: Places, needs: Needs) -> dict[str, Installed]:
    """The load generators from elsewhere that the plan uses; LabError when one has vanished since it was made."""
    tools = setup.tools(places, needs.generators)
    for name, tool in tools.items():
        if tool is None:
            raise LabError(f"the load generator `{name}` is not here any more", setup.install_words(places, name), 3)
    return {name: tool for name, tool in tools.items() if tool is not None}


def left_of(known: Run) -> list[Slot]:
    """The slots of a run that are not done."""
    done = store.done_slots(known)
    return [slot for slot in known.plan.slots if slot.number not in done]


def with_budget(known: Run, budget_s: float | None) -> Run:
    """The run under another budget, open again."""
    if budget_s is None:
        return known
    if known.plan.budget_s is None:
        raise LabError(f"run `{known.id}` has no budget: it ends with its plan", "leave `--budget` out")
    store.reopen(known.folder)
    return replace(known, plan=replace(known.plan, budget_s=budget_s))


def keep_awake(held: ExitStack, keeper: Keeper, places: Places, must: bool = False) -> Generator[Event]:
    """Keep processors from idling where that is wanted; what keeps that from being done is told."""
    said = list[str]()
    setup.keep_awake(held, keeper, places, said.append, must)
    yield from map(Said, said)


def servers_of(stacks: Sequence[Stack]) -> list[Server]:
    """The servers of these stacks, each once."""
    return list({stack.server.id: stack.server for stack in stacks}.values())


def same_as_before(known: Run, stacks: Sequence[Stack], builds: Mapping[str, Built | Unavailable]) -> None:
    """A run is of one version of every server: refuse to go on with others."""
    for stack in stacks:
        made, before = builds[stack.server.id], known.stacks[stack.id].content_hash
        if isinstance(made, Unavailable):
            raise LabError(f"`{stack.id}` is not available any more: {made.reason}", made.hint, exit_code=3)
        if made.content_hash != before:
            raise has_changed(stack.server)


def has_changed(server: Server) -> LabError:
    """The error for a run that is to go on with other sources than it began with."""
    return LabError(
        f"`{server.id}` has changed since the run began, and a run holds one version of each server",
        "begin a new run, or restore the server's folder",
    )
