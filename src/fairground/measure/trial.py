"""The trial: one measurement of one cell, from fresh data to an audited result. A session of one arm and one window."""

from __future__ import annotations

import time
from pathlib import Path

from fairground.measure.arm import Doing, Ended, StackArm
from fairground.measure.bench import Bench
from fairground.measure.schedule import whole
from fairground.measure.session import Session
from fairground.model import Progress, Slot, Stack, Trial, Workload


def run(bench: Bench, slot: Slot, attempt: int, stack: Stack, workload: Workload, folder: Path, folder_name: str) -> Trial:
    """Measure one slot of a plan. `folder` is where raw data goes, `folder_name` how the run names it."""
    folder.mkdir(parents=True, exist_ok=True)
    started_unix_s, began = time.time(), time.monotonic()
    arm = StackArm(stack.id, slot.cell, workload, slot.seed, stack, slot.planted)

    def on(now: Doing) -> None:
        bench.say(Progress(slot, attempt, now.phase, now.elapsed_s, now.total_s, now.ok, now.not_ok, now.p99_us))

    with Session(bench, [arm], folder, on) as session:
        for _ in session.play(whole(arm.label, slot.cell.load, slot.seed)):
            pass
    return _trial(session.ended[arm.label], slot, attempt, folder_name, (started_unix_s, time.monotonic() - began))


def _trial(ended: Ended, slot: Slot, attempt: int, folder_name: str, times: tuple[float, float]) -> Trial:
    """An arm's end as the trial of a slot; `times`: when it began, and how long it took."""
    window = ended.windows[0] if ended.windows else None
    result = window.result if window is not None and window.result is not None else ended.result
    return Trial(
        number=slot.number,
        block=slot.block,
        attempt=attempt,
        cell=slot.cell,
        seed=slot.seed,
        started_unix_s=times[0],
        duration_s=times[1],
        phases_s=ended.phases_s,
        result=result,
        roles=window.roles if window is not None else {},
        host=window.host if window is not None else None,
        database=ended.database,
        audit=ended.audit,
        findings=ended.findings,
        verdict=ended.verdict,
        diagnosis=ended.diagnosis,
        stderr_tail=ended.stderr_tail,
        folder=folder_name,
        control=slot.control,
    )
