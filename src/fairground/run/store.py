"""Run folders: written as a run goes on, never changed afterwards, read for ever.

    results/2026-11-20-1128-demo/
        plan.json       schema, start, and the plan as it was frozen before the first trial
        machine.json  versions.json  stacks.json  workloads.json
        thresholds.json by what the run's trials are judged, written before the first of them (older runs have none)
        limits.jsonl    one line per limit, as it is measured
        qualification.json  ending.json    where there are any: what the engine found of known numbers; why the run ended early
        trials.jsonl    one line per finished trial, on the disk before the next trial starts
        trials/0001-b1-<stack>-<workload>[-retry]/    raw files of that trial
        summary.csv     written at the end

A number that is not finite is written as null, for JSON has no other word for it. Times of day are given by the caller. pydantic
turns text into values of `model` and is imported only then. `run/records.py` keeps what is no run, and reads all kinds.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairground.judge import levels
from fairground.judge.thresholds import standard
from fairground.model import (
    SCHEMA_VERSION,
    Ending,
    LabError,
    Limit,
    Machine,
    Plan,
    Qualification,
    Run,
    Slot,
    StackInfo,
    Trial,
    Verdict,
    storing,
)
from fairground.run import journal

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ATTEMPTS = 3
"""A slot whose trial was void is measured again, at most so often in all."""

Document = dict[str, Any]
"""A run as it was read: the name of each file without its ending → what is in it, a list for `.jsonl`."""

MIGRATIONS: dict[int, Callable[[Document], Document]] = {}
"""Schema version → what turns a document of that version into one of the next."""


@dataclass(frozen=True)
class PlanFile:
    """`plan.json`."""

    schema: int
    started_unix_s: float
    plan: Plan


@dataclass(frozen=True)
class VersionsFile:
    """`versions.json`."""

    versions: Mapping[str, str]
    database_settings: Mapping[str, str]


SHAPES: Mapping[str, Any] = {
    "plan.json": PlanFile,
    "machine.json": Machine,
    "versions.json": VersionsFile,
    "stacks.json": Mapping[str, StackInfo],
    "workloads.json": Mapping[str, Mapping[str, str]],
    "limits.jsonl": Limit,
    "trials.jsonl": Trial,
    "qualification.json": Qualification,
    "ending.json": Ending,
}
"""File → its shape (for `.jsonl`: that of each line)."""

OPTIONAL = ("qualification.json", "ending.json")
"""Files that not every run has."""


# ---------------------------------------------------------------- writing


def create(
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
    """Make a run's folder with all that is known before the first trial. Its name has the start in UTC."""
    folder = journal.new_folder(results, started_unix_s, plan.title)
    files: Mapping[str, object] = {
        "machine.json": machine,
        "versions.json": VersionsFile(versions, database_settings),
        "stacks.json": stacks,
        "workloads.json": workloads,
        "plan.json": PlanFile(SCHEMA_VERSION, started_unix_s, plan),  # last: a folder with a plan is a whole run
    }
    with journal.whole_or_none(folder):
        for name in ("trials.jsonl", "limits.jsonl"):
            journal.write(folder / name, b"")
        for name, value in files.items():
            journal.write(folder / name, _adapter(name).dump_json(value, indent=2, warnings="error") + b"\n")
        journal.sync_folder(folder)
    return folder


def append(folder: Path, trial: Trial) -> None:
    """Add a finished trial. When this returns, the trial survives a crash of the machine."""
    _append_line(folder, "trials.jsonl", trial)


def append_limit(folder: Path, limit: Limit) -> None:
    """Add a measured limit, as lasting as a trial."""
    _append_line(folder, "limits.jsonl", limit)


def qualify(folder: Path, found: Qualification) -> None:
    """Keep what the engine found of known numbers."""
    _replace(folder, "qualification.json", found)


def end(folder: Path, ending: Ending) -> None:
    """Note why the run ends before its last planned block; a later note, of a run that went on, replaces it."""
    _replace(folder, "ending.json", ending)


def reopen(folder: Path) -> None:
    """Forget why the run ended early: it goes on."""
    (folder / "ending.json").unlink(missing_ok=True)


def trial_folder(folder: Path, slot: Slot, attempt: int) -> Path:
    """Make the empty folder for the raw files of a trial. What an attempt that was cut short left there is removed."""
    retry = "" if attempt == 1 else "-retry" if attempt == 2 else f"-retry{attempt - 1}"
    name = f"{slot.number:04}-b{slot.block}-{journal.slug(slot.cell.stack)}-{journal.slug(slot.cell.workload)}{retry}"
    made = folder / "trials" / name
    with storing(made):
        if made.exists():
            shutil.rmtree(made)
        made.mkdir(parents=True)
    return made


def write_thresholds(folder: Path, values: Mapping[str, Any]) -> None:
    """Write down by what the run's trials are judged."""
    journal.write(folder / "thresholds.json", json.dumps(values, indent=1).encode() + b"\n")


def thresholds(folder: Path) -> dict[str, Any] | None:
    """By what a run's trials were judged; None for one that is too old to say."""
    path = folder / "thresholds.json"
    found: dict[str, Any] | None = journal.whole(path) if path.is_file() else None
    return found


def write_summary(folder: Path, text: str) -> Path:
    """Write `summary.csv`, in place of an earlier one."""
    return journal.replace(folder / "summary.csv", text.encode())


# ---------------------------------------------------------------- reading


def load(folder: Path) -> Run:
    """Read a finished or interrupted run of this or an older schema."""
    from pydantic import ValidationError

    document = _migrated(folder, _read(folder))
    values: Document = {}
    for name in SHAPES:
        try:
            values[name] = _parsed(name, document.get(name.split(".")[0]))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            message = f"`{name}` of run `{folder.name}` is damaged at `{place}`: {first['msg'].lower()}"
            raise LabError(message, "restore the folder from where it was copied, or remove it") from error
    head, versions, trials = values["plan.json"], values["versions.json"], values["trials.jsonl"]
    done, ending = done_of(trials), values["ending.json"]
    unneeded = frozenset(ending.unneeded if ending is not None else ())
    measured = [slot for slot in head.plan.slots if ending is None or slot.block <= ending.blocks]
    return Run(
        schema=head.schema,
        id=folder.name,
        folder=folder,
        started_unix_s=head.started_unix_s,
        plan=head.plan,
        machine=values["machine.json"],
        versions=versions.versions,
        database_settings=versions.database_settings,
        stacks=values["stacks.json"],
        workloads=values["workloads.json"],
        trials=levels.told([trial for trial in trials if trial.control is None], standard().reasons),
        limits=values["limits.jsonl"],
        finished=all(slot.number in done or slot.number in unneeded for slot in measured),
        controls=tuple(trial for trial in trials if trial.control is not None),
        qualification=values["qualification.json"],
        ending=ending,
    )


def find(results: Path, text: str) -> Path:
    """The folder of a run, by path, id, beginning of an id, or `latest`."""
    if (Path(text) / "plan.json").is_file():
        return Path(text)
    return journal.pick({path.parent.name: (_started(path.parent), path.parent) for path in sorted(results.glob("*/plan.json"))},
                        text, results)  # fmt: skip


def done_slots(run: Run) -> frozenset[int]:
    """Numbers of the slots that need no further trial: one with a verdict other than void, or void too often."""
    return done_of(run.everything)


def trial_of(line: bytes) -> Trial:
    """A trial from its line of `trials.jsonl`, as this lab writes them."""
    found: Trial = _adapter("trials.jsonl").validate_json(line)
    return found


def done_of(trials: Iterable[Trial]) -> frozenset[int]:
    """As `done_slots`, of these trials."""
    return frozenset(trial.number for trial in trials if trial.verdict is not Verdict.VOID or trial.attempt >= ATTEMPTS)


def size(folder: Path) -> int:
    """Bytes of all files of a run."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- helpers


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(SHAPES[name])


def _parsed(name: str, value: Any) -> Any:
    if value is None and name in OPTIONAL:
        return None
    adapter = _adapter(name)
    return tuple(adapter.validate_python(line) for line in value) if name.endswith(".jsonl") else adapter.validate_python(value)


def _read(folder: Path) -> Document:
    if not (folder / "plan.json").is_file():
        raise LabError(f"`{folder}` is not a run: it has no `plan.json`", "`./fairground list` shows the runs there are")
    return {
        name.split(".")[0]: (journal.lines if name.endswith(".jsonl") else journal.whole)(folder / name)
        for name in SHAPES
        if name not in OPTIONAL or (folder / name).exists()
    }


def _migrated(folder: Path, document: Document) -> Document:
    version = document["plan"].get("schema") if isinstance(document["plan"], dict) else None
    if not isinstance(version, int):
        raise LabError(f"`plan.json` of run `{folder.name}` does not say its schema", "restore the folder, or remove it")
    if version > SCHEMA_VERSION:
        message = f"run `{folder.name}` has schema {version}, and this lab reads up to {SCHEMA_VERSION}"
        raise LabError(message, "read it with the newer version of the lab that wrote it")
    for older in range(version, SCHEMA_VERSION):
        document = MIGRATIONS[older](document)
    return document


def _started(folder: Path) -> float:
    head = journal.whole(folder / "plan.json")
    started = head.get("started_unix_s") if isinstance(head, dict) else None
    return started if isinstance(started, int | float) else 0.0


def _append_line(folder: Path, name: str, value: object) -> None:
    journal.append(folder / name, _adapter(name).dump_json(value, warnings="error") + b"\n")


def _replace(folder: Path, name: str, value: object) -> None:
    journal.replace(folder / name, _adapter(name).dump_json(value, indent=2, warnings="error") + b"\n")
