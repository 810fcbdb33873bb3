"""`why`: the experiment that tests a reason: the cell as it was beside its changed copies, in turns, for about a minute."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from fairground.inputs import manifest, workload_files
from fairground.lab.events import Event, Sink, unheard
from fairground.lab.preparation import Inputs, prepare
from fairground.lab.recording import open_record, record_units, until_over
from fairground.measure.experiment import one_start
from fairground.model.experiment import AS_IT_WAS, ArmChange, WhyAsked
from fairground.model.record import RecordKind
from fairground.run import stopping


def try_reason(inputs: Inputs, asked: WhyAsked, sink: Sink = unheard) -> Iterator[Event]:
    """Measure what is missing of an experiment. An arm that fails is a finding of its start."""
    places, changes = inputs.places, (ArmChange(AS_IT_WAS, "", asked.cell), *asked.experiment.changes)
    (stack,) = manifest.find_stack(places.load_servers(), asked.cell.stack)
    cells = [change.cell for change in changes]
    workloads = {one.label: workload_files.render(places.workload(one.cell.workload), one.cell.settings.scale) for one in changes}
    with prepare(inputs, cells, [stack], sink, least=len(cells)) as testbed:
        record = open_record(inputs, RecordKind.WHY, asked, testbed)
        make = functools.partial(one_start, testbed.bench, asked, stack, workloads, record.folder)
        yield from record_units(record, until_over(record, lambda made: make(len(made) + 1), stopping.experiment_end))
