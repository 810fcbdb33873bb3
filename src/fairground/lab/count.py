"""`--count`: what servers carry out for an answer, in instructions and system calls, one start after the other."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.host import build, emulation
from fairground.host.emulation import Emulator, Locator, Symbols
from fairground.host.emulation.emulator import machine_words
from fairground.inputs import revisions, workload_files
from fairground.inputs.asked import one_stack
from fairground.lab.compare import Named
from fairground.lab.events import Event, Going, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, Testbed, prepare
from fairground.lab.recording import NewEntry, Units, open_record, record_units
from fairground.measure import counted
from fairground.measure.arm import CountedArm
from fairground.measure.counting import one_start
from fairground.model import Cell, Stack, Workload
from fairground.model.count import PROCESSOR, CountArm, CountAsked, CountedStart
from fairground.model.record import Record, RecordEnd, RecordKind
from fairground.run import counting
from fairground.run.counting import Due


def arms_of(named: Named) -> tuple[CountArm, CountArm]:
    """Both sides of a comparison, as they are counted."""
    old, new = named.revisions or (None, None)
    return CountArm(named.label_a, named.stack_a, old), CountArm(named.label_b, named.stack_b, new)


def count_stacks(inputs: Inputs, asked: CountAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Count what is missing. LabError where nothing can be counted here."""
    places = inputs.places
    counted.require(places.environ.get("PATH"), asked)
    stacks = _stacks(places, asked)
    asked = replace(asked, arms=tuple(_with_commit(arm, stacks[arm.label]) for arm in asked.arms))
    workloads = {id: workload_files.render(places.workload(id), asked.settings.scale) for id in asked.workloads}
    cells = [_cell(stack, workload, asked) for workload in workloads.values() for stack in stacks.values()]
    with prepare(inputs, cells, list(stacks.values()), sink, awake=False, least=len(cells)) as testbed:
        emulator = None if asked.counters else emulation.find(testbed.bench.keeper, places.cache)
        by = {"counted by": "the processor"} if emulator is None else {"QEMU": emulator.version}
        own = {**by, "libc": " ".join(platform.libc_ver()) or "unknown", PROCESSOR: platform.machine()}
        testbed = replace(testbed, versions={**testbed.versions, **own})
        infos = {label: build.stack_infos([stack], testbed.builds)[stack.id] for label, stack in stacks.items()}
        locators = _locators(testbed, stacks, places) if asked.where else {}
        record = open_record(inputs, RecordKind.COUNT, asked, testbed, infos)
        yield from record_units(record, StartsToCount(testbed, emulator, stacks, workloads, record, locators).units())


def _with_commit(arm: CountArm, stack: Stack) -> CountArm:
    return arm if arm.commit is not None else replace(arm, commit=revisions.commit_of(stack.server.folder))


def _locators(testbed: Testbed, stacks: Mapping[str, Stack], places: Places) -> dict[str, Locator]:
    """Label → who tells the functions of its server. LabError where a program has no symbols."""
    symbols, found = Symbols(testbed.bench.keeper, places.cache), dict[str, Locator]()
    for label, stack in stacks.items():
        folder = stack.server.folder
        (program, *_) = machine_words(stack.serve, folder, testbed.bench.keeper.environ.get("PATH"))
        found[label] = Locator.of(symbols, program, folder)
    return found


@dataclass
class StartsToCount:
    """A counted measurement that goes on."""

    testbed: Testbed
    emulator: Emulator | None
    stacks: Mapping[str, Stack]
    workloads: Mapping[str, Workload]
    record: Record[CountAsked, CountedStart]
    locators: Mapping[str, Locator]

    def units(self) -> Units:
        """Start after start, until none is worth its time."""
        made, asked = list(self.record.entries), self.record.head.asked
        while (due := counting.next_start(made, asked)) is not None:
            yield Going(f"start {due.number} of {due.arm.label} on {due.workload}", None)
            made.append(self._start(due, made))
            yield NewEntry(made[-1], max(0.0, asked.budget_s - math.fsum(one.took_s for one in made)))
        yield RecordEnd(time.time(), counting.ending(made, asked))

    def _start(self, due: Due, made: Sequence[CountedStart]) -> CountedStart:
        asked, stack, workload = self.record.head.asked, self.stacks[due.arm.label], self.workloads[due.workload]
        cell = _cell(stack, workload, asked)
        arm = CountedArm(due.arm.label, cell, workload, asked.seed, stack, emulator=self.emulator)
        arm = replace(arm, locator=self.locators.get(due.arm.label))
        names = (part.replace("/", "-").replace(":", "-") for part in (due.arm.label, due.workload, str(due.number)))
        folder = self.record.folder / "raw" / " ".join(names)
        requests = counting.requests_of(made, asked, due)
        bench = self.testbed.bench.on(asked.settings.postgres_version)
        return one_start(bench, arm, requests, asked.floor, folder, due.number)


def _cell(stack: Stack, workload: Workload, asked: CountAsked) -> Cell:
    return Cell(stack.id, workload.id, asked.topology, asked.load, asked.settings)


def _stacks(places: Places, asked: CountAsked) -> dict[str, Stack]:
    """Label → the stack, as it is in its revision."""
    known = places.load_servers()
    found = {}
    for arm in asked.arms:
        stack = one_stack(known, arm.stack)
        found[arm.label] = (
            stack if arm.revision is None else revisions.checked_out(places.cache, places.contracts(), arm.revision, stack)
        )
    return found
