"""A run as a record: its plan was asked, its trials (controls among them) are the entries.

Beside them stand the database's settings, the workloads in words, `limits.jsonl` with one line for each limit as it is measured,
and `qualification.json`: what the engine found of known numbers. `judged.json` names the runs that a replication judged
together, in the last of them. `end.json` says why a run ended before all of its plan was measured.
`trials/0001-b1-<stack>-<workload>[-retry]/` holds the raw files of a trial, `summary.csv` one line for each.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairground.judge import levels, thresholds
from fairground.model import (
    SCHEMA_VERSION,
    Ending,
    GoneError,
    JudgedRuns,
    LabError,
    Limit,
    Machine,
    Plan,
    PlanSlot,
    Qualification,
    Run,
    StackInfo,
    Trial,
    Verdict,
    storing,
)
from fairground.model.record import Head, Record, RecordKind
from fairground.model.secret import PRIVATE_FOLDER
from fairground.records import journal, shapes, store
from fairground.records.shapes import DATABASE, END, ENTRIES, HEAD, JUDGED, LIMITS, QUALIFICATION, WORKLOADS

ATTEMPTS = 3
"""A slot whose trial was void is measured again, at most so often in all."""

# ---------------------------------------------------------------- writing


def create_run(
    results: Path,
    plan: Plan,
    *,
    started_unix_s: float,
    machine: Machine,
    versions: Mapping[str, str],
    database_settings: Mapping[str, str],
    stacks: Mapping[str, StackInfo],
    workloads: Mapping[str, Mapping[str, str]],
) -> Path:
    """Make a run's folder with all that is known before the first trial."""
    judged = thresholds.standard().values()
    head = Head(SCHEMA_VERSION, RecordKind.RUN, "", plan.command, started_unix_s, machine, versions, judged, stacks, plan)
    return store.create(results, plan.title, head, {DATABASE: database_settings, WORKLOADS: workloads}).folder


def append_trial(folder: Path, trial: Trial) -> None:
    """Add a finished trial. When this returns, the trial survives a crash of the machine."""
    shapes.append(folder, RecordKind.RUN, ENTRIES, trial)


def append_limit(folder: Path, limit: Limit) -> None:
    """Add a measured limit, as lasting as a trial."""
    shapes.append(folder, RecordKind.RUN, LIMITS, limit)


def write_qualification(folder: Path, found: Qualification) -> None:
    """Keep what the engine found of known numbers."""
    shapes.write(folder, RecordKind.RUN, QUALIFICATION, found)


def end_run(folder: Path, ending: Ending) -> None:
    """Note why the run ends before its last planned block; a later note, of a run that went on, replaces it."""
    shapes.write(folder, RecordKind.RUN, END, ending)


def reopen_run(folder: Path, budget_s: float | None) -> None:
    """Forget why the run ended early, where it goes on under another budget. For who holds it: what is refused keeps its end."""
    if budget_s is not None:
        (folder / END).unlink(missing_ok=True)


def write_judged(folder: Path, suite: str, runs: Sequence[str], looks: int) -> None:
    """Keep which runs a suite's claims were judged by, with the last of them: its page can be made anew."""
    known = shapes.read(folder, RecordKind.RUN, JUDGED) or {}
    shapes.write(folder, RecordKind.RUN, JUDGED, {**known, suite: JudgedRuns(tuple(runs), looks)})


def trial_folder(folder: Path, slot: PlanSlot, attempt: int) -> Path:
    """Make the empty folder for the raw files of a trial. What an attempt that was cut short left there is removed."""
    retry = "" if attempt == 1 else "-retry" if attempt == 2 else f"-retry{attempt - 1}"
    name = f"{slot.number:04}-b{slot.block}-{journal.slug(slot.cell.stack)}-{journal.slug(slot.cell.workload)}{retry}"
    made = folder / "trials" / name
    if not (folder / HEAD).is_file():  # else the folders above would be made again, and hold no run
        raise GoneError(folder)
    with storing(made):
        if made.exists():
            shutil.rmtree(made)
        made.parent.mkdir(exist_ok=True)
        made.mkdir(PRIVATE_FOLDER)
    return made


def with_budget(known: Run, budget_s: float | None) -> Run:
    """Put a run under another budget. LabError where it has none."""
    if budget_s is None:
        return known
    if known.plan.budget_s is None:
        raise LabError(f"run `{known.id}` has no budget: it ends with its plan", "leave `--budget` out")
    return replace(known, plan=replace(known.plan, budget_s=budget_s))


# ---------------------------------------------------------------- reading


def load_run(folder: Path) -> Run:
    """Read a finished or interrupted run. LabError where the folder holds no run, or is damaged."""
    record = store.load(folder)
    if record.head.kind is not RecordKind.RUN:
        raise LabError(f"`{folder}` is a {record.head.kind} and not a run", "`./fairground list runs` shows the runs there are")
    return run_of(record)


def judged_runs_of(found: Run, suite: str) -> tuple[list[Run], int]:
    """The runs that a suite's claims were judged by, which end with `found`, and how often they may be judged.

    Those that are gone are left out; where nothing is kept it is the run alone, judged once.
    """
    known = (shapes.read(found.folder, RecordKind.RUN, JUDGED) or {}).get(suite, JudgedRuns((), 1))
    folders = [found.folder.parent / id for id in known.runs if journal.is_plain(id) and id != found.id]
    return [*(load_run(folder) for folder in folders if (folder / HEAD).is_file()), found], known.looks


def run_of(record: Record[Plan, Trial]) -> Run:
    """The run that a record holds. A reason that trials with other connections decide is told as they decide it."""
    head, ending = record.head, record.end
    assert ending is None or isinstance(ending, Ending), "the end of a run has the shape of one"
    done = done_of(record.entries)
    unneeded = frozenset(ending.unneeded if ending is not None else ())
    measured = [slot for slot in head.asked.slots if ending is None or slot.block <= ending.blocks]
    results = [trial for trial in record.entries if trial.control is None]
    return Run(
        schema=head.schema,
        id=record.id,
        folder=record.folder,
        started_unix_s=head.started_unix_s,
        plan=head.asked,
        machine=head.machine,
        versions=head.versions,
        database_settings=record.beside[DATABASE],
        stacks=head.stacks,
        workloads=record.beside[WORKLOADS],
        trials=levels.with_levels(results, thresholds.standard().reasons),
        limits=record.beside[LIMITS],
        finished=all(slot.number in done or slot.number in unneeded for slot in measured),
        controls=tuple(trial for trial in record.entries if trial.control is not None),
        qualification=record.beside[QUALIFICATION],
        ending=ending,
    )


def run_so_far(folder: Path, head: Head[Plan], entries: Iterable[Trial]) -> Run:
    """The run of a folder whose head and entries were read already, as when it is watched while it grows."""
    beside = {name: shapes.read(folder, RecordKind.RUN, name) for name in shapes.SHAPES[RecordKind.RUN].beside}
    return run_of(Record(folder, head, tuple(entries), shapes.read(folder, RecordKind.RUN, END), beside))


def trial_of(line: bytes) -> Trial:
    """A trial from its line of `entries.jsonl`."""
    found: Trial = shapes.adapter(RecordKind.RUN, ENTRIES).validate_json(line)
    return found


def left_of(known: Run) -> list[PlanSlot]:
    """The slots of a run that are not done."""
    done = done_of(known.everything)
    return [slot for slot in known.plan.slots if slot.number not in done]


def done_of(trials: Iterable[Trial]) -> frozenset[int]:
    """Numbers of the slots that need no further trial after these: one with a verdict other than void, or void too often."""
    return frozenset(trial.number for trial in trials if trial.verdict is not Verdict.VOID or trial.attempt >= ATTEMPTS)
