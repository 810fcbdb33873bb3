"""The first look at a suite in a fresh checkout: what is quick to build is measured before the rest is built."""

from __future__ import annotations

from fairground.host import build, build_time, needs
from fairground.inputs import manifest
from fairground.lab.preparation import Inputs
from fairground.lab.run import dry_run
from fairground.model import Suite
from fairground.run import first


def look(suite: Suite, inputs: Inputs) -> tuple[Suite, float] | None:
    """The suite of a first look, and the seconds that the rest takes to be built; None where the whole one begins at once."""
    places, planned = inputs.places, dry_run(suite, inputs)
    stacks = manifest.stacks_of(planned.slots, places.load_servers())
    asked = {some[0].server.id: some for some in build.group_stacks(stacks).values()}
    absent = needs.unavailable([some[0].server for some in asked.values()], places.environ, places.cache)
    here = {id: build_time.left_s(some, places.cache) for id, some in asked.items() if id not in absent}
    builds_s = {stack.id: here[stack.server.id] for stack in stacks if stack.server.id in here}
    found = first.look(suite, planned.cells, builds_s)
    if found is None:
        return None
    chosen = {stack.server.id for stack in stacks if stack.id in found.groups[0].stacks}
    return found, sum(seconds for id, seconds in here.items() if id not in chosen)
