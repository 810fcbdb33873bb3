"""A slowdown on purpose: CPU that is spent beside an arm, so that an experiment or a control has a difference to find."""

from __future__ import annotations

from fairground.host import Child, burner
from fairground.measure.arm import StackArm
from fairground.measure.bench import Bench
from fairground.model import LabError
from fairground.postgres import Database


def plant(bench: Bench, arm: StackArm, server: Child | None, database: Database) -> Child | None:
    """Start what spends CPU on purpose beside this arm, if anything is to. LabError where it cannot be started."""
    if not arm.planted or server is None:
        return None
    settings = arm.cell.settings
    cores = settings.cores_of(arm.slowed)
    if arm.slowed == "server":
        return burner.plant(bench.keeper, bench.engine, server, arm.planted, cores)
    if (other := database.child) is None:
        raise LabError("a slowdown of the database needs one of the lab's own, on this machine")
    return burner.beside(bench.keeper, bench.engine, server, arm.planted, other, settings.pool_total, cores)
