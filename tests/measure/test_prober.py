"""What the lab's own requests ask for while a server is loaded."""

from __future__ import annotations

import random

from builders.paths import ROOT
from fairground.inputs import manifest
from fairground.measure import prober

PROBED = [one for one in manifest.load_workloads(ROOT / "workloads") if one.audit.written is not None]


class Zero(random.Random):
    """Chance that gives 0 wherever it may."""

    def randint(self, a: int, b: int) -> int:
        return 0 if a <= 0 <= b else a


def test_a_probe_moves_something() -> None:
    """A write of nothing would be taken for one that never came: no slot is 0, even where its range holds it."""
    assert PROBED
    for workload in PROBED:
        rendered = manifest.render(workload, 1)
        slots = prober.drawn(rendered.path, Zero())
        assert set(slots) == {name for name, _, _ in prober.INT_SLOT.findall(rendered.path)} and all(slots.values())


def test_a_probe_stays_within_the_loads_ranges() -> None:
    """Both ends of a range are drawn, and nothing beyond."""
    found = {prober.drawn("/x?a={int:1..3}&b={int:-2..0}", random.Random(seed))["b"] for seed in range(100)}
    assert found == {-2, -1}
