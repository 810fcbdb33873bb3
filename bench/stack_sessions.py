"""A session of stacks on the lab's bench, as runs in turns have it, for the programs in bench/ that load what is up."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import frame
from fairground.host import Keeper, build, machine
from fairground.host.awake import hold_awake
from fairground.inputs import manifest, seating, workload_files
from fairground.lab import setup
from fairground.lab.places import Places
from fairground.measure import Bench
from fairground.measure.arm import StackArm
from fairground.measure.session import ArmSession
from fairground.model import Cell, CellSettings, Load, Topology
from fairground.postgres import databases


@contextlib.contextmanager
def session(asked: Sequence[tuple[str, str]], load: Load, label: Callable[[Cell], str]) -> Iterator[tuple[ArmSession, list[str]]]:
    """Each of the stacks that are `asked`, up with its workload. Beside the session, the labels of its arms, by their cells."""
    places = Places.of(os.environ)
    servers, workloads = places.load_servers(), {one.id: one for one in places.workloads()}
    stacks = {name: manifest.find_stack(servers, name)[0] for name, _ in asked}
    settings = seating.seat_settings(CellSettings(), (Topology(),), seating.Wish(), setup.machine_seats(None))
    arms = []
    for name, workload in asked:
        cell = Cell(stacks[name].id, workload, Topology(), load, settings)
        arms.append(StackArm(label(cell), cell, workload_files.render(workloads[workload], settings.scale), 7, stacks[name]))
    with ExitStack() as held:
        keeper = held.enter_context(Keeper(os.environ))
        for stack in stacks.values():
            build.build(keeper, [stack], places.cache)
        database = held.enter_context(databases.open_database(keeper, places.cache, None, settings.run))
        hold_awake(held, keeper, places.environ, places.engine, frame.tell)
        bench = Bench(keeper, database, places.engine, places.cases(), machine.cores())
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        yield held.enter_context(ArmSession(bench, arms, folder)), [arm.label for arm in arms]
