"""`run --hosts`: a plan that several hosts measure in parallel, each share of it on one of them by the code of a local run."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fairground import records
from fairground.fleet import about, alike, cluster, tasks, tls
from fairground.fleet.choice import Fleet, choose
from fairground.fleet.cluster import Done
from fairground.fleet.order import Order, OrderAnswer, OrderWork
from fairground.fleet.shares import PlanShare
from fairground.host import build, sources
from fairground.inputs import manifest
from fairground.inputs.hosts import HostsAsked
from fairground.lab import setup
from fairground.lab.events import Absent, Began, Event, Planned, Said, TrialDone
from fairground.lab.preparation import Inputs
from fairground.lab.run import check_plan, end, require_stacks, resumable, texts, without_own_version
from fairground.model import Ending, LabError, Plan, PlanSlot, Run, Stack, Suite, Trial
from fairground.model.resume import database_of, options_again_of
from fairground.records import host_trial
from fairground.report.text.words import plural
from fairground.run import plan, stopping

NOT_YET = "leave it out, or measure on this machine alone"
LEFT_OUT = "leave host {} out (`hosts` of hosts.toml), then ./fairground run --resume RUN --hosts hosts.toml"


@contextmanager
def fleet(asked: HostsAsked, roles: Sequence[str] = about.ROLES) -> Iterator[Fleet]:
    """The hosts that have joined at an address and take these `roles`. LabError where none can be reached, or can measure."""
    at, certificate = tls.link(asked.address, asked.tls)
    with cluster.connect(at, certificate) as client:
        chosen = choose(cluster.members(client), setup.lab_version(), asked.hosts, str(at), roles)
        yield replace(chosen, client=client)


def dry_run(suite: Suite, inputs: Inputs, hosts: int) -> Plan:
    """The plan of a suite as it would be if this many hosts could build everything. LabError for what they cannot measure."""
    _check(inputs)
    workloads = inputs.places.workloads()
    suite = without_own_version(suite, None)
    foreseen = plan.of_suite(suite, inputs.places.load_servers(), workloads, inputs.command, hosts=hosts)
    check_plan(foreseen, workloads, None)
    return foreseen


def run(suite: Suite, there: Fleet, inputs: Inputs) -> Generator[Event]:
    """Measure a suite on hosts, as `lab.run.run_suite` does on one machine.

    Close it to end early: what is done is kept, and hosts stop what goes on.
    """
    places = inputs.places
    servers, workloads = places.load_servers(), places.workloads()
    foreseen = dry_run(suite, inputs, len(there.members))
    yield from map(Said, there.remarks)
    chosen = manifest.stacks_of(foreseen.slots, servers)
    answers = yield from _ready(there, foreseen, chosen)
    lacking = {name: why for one in answers for name, why in one.lacking.items()}
    yield from (Absent(name, why) for name, why in lacking.items())
    frozen = plan.of_suite(without_own_version(suite, None), servers, workloads, inputs.command, lacking, len(there.members))
    first = answers[0]
    assert first.machine is not None
    folder = records.create_run(
        places.results,
        frozen,
        started_unix_s=time.time(),
        machine=first.machine,
        versions=alike.common_versions(answers),
        database_settings=first.database_settings,
        stacks=alike.stack_infos(chosen, answers),
        workloads=texts(frozen, workloads),
    )
    with resumable(folder, inputs), records.hold_record(folder):
        yield from measure_shares(records.load_run(folder), there, _digests(chosen), options_again_of(inputs.command))
    yield from end(folder, inputs)


def resume(folder: Path, there: Fleet, inputs: Inputs, budget_s: float | None = None) -> Generator[Event]:
    """Go on with an interrupted run on hosts of its kind of machine; a heat that was begun on one goes on there.

    A run that its budget ended goes on only with a larger one, `budget_s`, counted from its beginning.
    """
    known = records.load_run(folder)
    _check(inputs)
    left = records.left_of(known)
    if left and (not known.finished or budget_s is not None):
        known = records.with_budget(known, budget_s)
        yield from map(Said, there.remarks)
        chosen = manifest.stacks_of(left, inputs.places.load_servers())
        require_stacks(known, left, chosen, inputs.places)
        head = records.read_head(folder)
        records.require_unheld(folder)
        if database_of(head.command):
            sentence = f"`{known.id}` was begun with `--database`, and each host has its own database"
            raise LabError(sentence, "go on on this machine, without `--hosts`")
        infos = {one.id: replace(head.stacks[one.id], content_hash=sources.content_hash(one.server.folder)) for one in chosen}
        records.require_same(head, replace(head, stacks=infos))
        answers = yield from _ready(there, replace(known.plan, slots=tuple(left)), chosen)
        for one in (answer for answer in answers if answer.lacking):
            name, why = next(iter(one.lacking.items()))
            raise LabError(f"host `{one.host}` lacks `{name}`, which the run has: {why}", LEFT_OUT.format(one.host), 3)
        versions = {name: text for name, text in alike.common_versions(answers).items() if name in known.versions}
        records.require_same(head, replace(head, versions={**head.versions, **versions}))
        assert answers[0].machine is not None
        alike.require_kind(f"run `{known.id}` was begun on another kind of machine", known.machine, answers[0].machine)
        with resumable(folder, inputs, budget_s), records.hold_record(folder):
            records.reopen_run(folder, budget_s)
            again = options_again_of(inputs.command, budget_s)
            yield from measure_shares(replace(records.load_run(folder), plan=known.plan), there, _digests(chosen), again)
    yield from end(folder, inputs)


def _check(inputs: Inputs) -> None:
    """LabError for what hosts cannot do."""
    if inputs.database_url is not None:
        raise LabError("`--database` names one server, and each host has its own database", NOT_YET)
    if inputs.why_s is not None:
        raise LabError("`--why` makes its experiments on this machine, and the run is of hosts", NOT_YET)


def _ready(there: Fleet, planned: Plan, chosen: Sequence[Stack]) -> Generator[Event, None, list[OrderAnswer]]:
    """Let every host build the servers and start its database once. LabError where they are not alike, or refuse."""
    digests = _digests(chosen)
    for host in there.members:
        refused = [id for id, digest in digests.items() if not host.about.allows(id, digest)]
        if refused:
            raise LabError(
                f"the owner of host `{host.about.name}` does not allow the server `{refused[0]}` as it is here",
                f"on that host: ./fairground host join … --allow {refused[0]}",
            )
    yield Said(f"making {plural(len(there.members), 'host')} ready: {', '.join(one.about.name for one in there.members)} …")
    folders = {stack.server.id: stack.server.folder for stack in chosen}
    packed = {digests[id]: (id, sources.pack_sources(folder)) for id, folder in folders.items()}
    for host in there.members:
        cluster.send(there.client, host, packed)
    order = Order(OrderWork.READY, tasks.each_cell_once(planned), digests).to_json()
    answers = [OrderAnswer.from_json(text) for text in cluster.ready(there.client, there.members, order, there.roles)]
    for one in answers:
        if one.refusal is not None:
            raise one.refusal.error(one.host)
        yield from (Said(f"host {one.host}: {sentence}") for sentence in one.remarks)
    own = build.contract_versions(chosen)
    for one in answers:
        there_too = {name: one.versions.get(name) for name in own}
        alike.require_same(f"host `{one.host}` has another copy of a contract", own, there_too)
    alike.require_alike(answers)
    return answers


def _digests(chosen: Sequence[Stack]) -> dict[str, str]:
    """Server → the hash of its sources here."""
    return {stack.server.id: sources.sources_hash(stack.server.folder) for stack in chosen}


# ---------------------------------------------------------------- measuring


def measure_shares(known: Run, there: Fleet, digests: Mapping[str, str], again: str) -> Generator[Event]:
    """Have measured what is left of a run. At its end it is told what is missing.

    `digests`: server → hash of its sources. `again`: the options with which the run goes on.
    """
    yield Planned(known.plan, known.folder, plan.estimate_s(records.left_of(known)) / len(there.members))
    yield Began(known.plan, known.everything, len(there.members))
    asked = known.plan.slots
    if known.plan.budget_s is None:
        yield from _carried_out(known, there, digests)
    else:
        asked = yield from _in_waves(known, there, digests)
    done = records.done_of(records.load_run(known.folder).everything)
    if missing := [slot for slot in asked if slot.number not in done]:
        command = f"./fairground run --resume {known.id}{again}"
        yield Said(f"{len(missing)} of {len(asked)} trials {'is' if len(missing) == 1 else 'are'} missing; go on with: {command}")


def _in_waves(known: Run, there: Fleet, digests: Mapping[str, str]) -> Generator[Event, None, tuple[PlanSlot, ...]]:
    """Measure as many blocks at once as there are hosts, until the time is up or all is narrow. The slots asked for.

    What a wave measures is decided before it, as before a block on one machine. Where a wave lost a trial the run ends as it is.
    """
    planned, hosts = known.plan, len(there.members)
    blocks = sorted({slot.block for slot in planned.slots})
    assert planned.budget_s is not None
    asked, unneeded, measured, began_s = list[PlanSlot](), list[int](), known.everything, time.monotonic()
    for wave in (blocks[first : first + hosts] for first in range(0, len(blocks), hosts)):
        slots = [slot for slot in planned.slots if slot.block in wave]
        wanted, left_out = stopping.choose_slots(planned, slots, [one for one in measured if one.block < wave[0]])
        asked, unneeded = [*asked, *wanted], [*unneeded, *left_out]
        begun = records.load_run(known.folder)
        yield from _carried_out(replace(begun, plan=replace(planned, slots=wanted)), there, digests)
        found = records.load_run(known.folder)
        measured = found.everything
        if not {slot.number for slot in wanted} <= records.done_of(found.everything):
            return tuple(asked)
        newest = wave[-1] >= max((one.block for one in measured), default=0)
        trials_s = stopping.spent_s(measured) - stopping.spent_s(known.everything)
        beside_s = max(0.0, time.monotonic() - began_s - trials_s / hosts)  # each order starts a database, for instance
        if newest and (ending := stopping.ending(planned, measured, planned.budget_s, hosts, beside_s)):
            records.end_run(known.folder, replace(ending, unneeded=tuple(unneeded)))
            return tuple(asked)
    if unneeded:
        records.end_run(known.folder, Ending(planned.blocks, stopping.NO_MORE, tuple(unneeded)))
    return tuple(asked)


def _carried_out(known: Run, there: Fleet, digests: Mapping[str, str]) -> Generator[Event]:
    """Have measured all that is left of a plan, and keep it."""
    asked = tasks.tasks(known, records.left_of(known), there.members, digests)
    for block in [one.share.slots[0].block for one in asked if one.share is not None and not one.hosts]:
        yield Said(f"block {block} was begun in part on a machine that has not joined: it is left as it is")
    given = [one for one in asked if one.hosts]
    for done in cluster.carried_out(there.client, [(one.order, one.hosts) for one in given], roles=there.roles):
        yield from _kept(known, given[done.place].share, done)


def _kept(known: Run, share: PlanShare | None, done: Done) -> Iterator[Event]:
    """Keep what a host found; what cannot be kept is told, and its slots stay open. `share` None: the machine's limits."""
    what = "the machine's limits" if share is None else f"a share of block {share.slots[0].block}"
    try:
        found = tasks.answer_of(done)
        checked = trials_of(known, share, found)
    except LabError as error:
        yield Said(f"{what} is not measured: {error.message}")
        return
    for limit in found.limits if share is None else ():
        records.append_limit(known.folder, limit)
    if share is None and found.qualification is not None:
        records.write_qualification(known.folder, found.qualification)
    for trial in checked:
        records.append_trial(known.folder, trial)
        yield TrialDone(trial)


def trials_of(known: Run, share: PlanShare | None, found: OrderAnswer) -> list[Trial]:
    """The trials of an answer, each with the machine that made it and a folder of this run's.

    LabError where the host is not of the run's kind and versions any more, or answers for slots that it was not given.
    """
    if found.machine is None:
        raise LabError(f"host `{found.host}` does not say what machine it is", LEFT_OUT.format(found.host))
    alike.require_kind(f"host `{found.host}` is not as the run's machines", known.machine, found.machine)
    both = {name: text for name, text in found.versions.items() if name in known.versions}
    alike.require_same(f"host `{found.host}` has other versions", {name: known.versions[name] for name in both}, both)
    slots = {slot.number: slot for slot in (share.slots if share is not None else ())}
    if any(one.number not in slots or one.cell != slots[one.number].cell for one in found.trials):
        raise LabError(f"host `{found.host}` answered for slots that it was not given", LEFT_OUT.format(found.host))
    return [host_trial.take(known, slots[one.number], one, found.machine) for one in found.trials]
