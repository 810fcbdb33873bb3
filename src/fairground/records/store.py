"""One record: its folder is made, grows, ends, and is read again.

    results/2026-11-20-1128-compare/
        head.json       before the first measurement: versions, machine, thresholds, and what was asked
        entries.jsonl   one line for each finished unit, on the disk before the next begins
        end.json        where nothing is missing: why
        …               side files of its kind (`shapes`), raw data, pages

A number that is not finite is written as null, for JSON has no other word for it. Times of day are given by the caller.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairground.judge import thresholds
from fairground.model import SCHEMA_VERSION, LabError, Plan, secret
from fairground.model.changes import changes
from fairground.model.record import ComparisonAsked, Head, Record, RecordEnd, RecordKind, TryAsked
from fairground.model.resume import database_of, options_again_of
from fairground.records import journal, shapes
from fairground.records.shapes import END, ENTRIES, HEAD, MEND, SHAPES

MOST_COMMAND = 65_536
"""The characters of the longest command that is read: it is looked through for secrets whenever records are listed."""

# ---------------------------------------------------------------- writing


def create(results: Path, title: str, head: Head[Any], beside: Mapping[str, object] | None = None) -> Record[Any, Any]:
    """Make a record's folder with its head and side files; `id` becomes the folder's name, made of the start and `title`."""
    folder = journal.new_folder(results, head.started_unix_s, title)
    known, given = replace(head, id=folder.name), beside or {}
    lines = [name for name in SHAPES[head.kind].beside if name.endswith(".jsonl")]
    with journal.whole_or_none(folder):
        for name in (ENTRIES, *lines):
            journal.write(folder / name, b"")
        for name, value in {**given, HEAD: known}.items():  # the head last: a folder with a head is a whole record
            shapes.write(folder, head.kind, name, value)
        journal.sync_folder(folder)
    return Record(folder, known, beside={name: () if name in lines else given.get(name) for name in SHAPES[head.kind].beside})


def append(record: Record[Any, Any], entry: object) -> Record[Any, Any]:
    """Add a finished unit. When this returns, it survives a crash of the machine."""
    shapes.append(record.folder, record.head.kind, ENTRIES, entry)
    return replace(record, entries=(*record.entries, entry))


def end(record: Record[Any, Any], ending: RecordEnd) -> Record[Any, Any]:
    """Note that nothing is missing any more."""
    shapes.write(record.folder, record.head.kind, END, ending)
    return replace(record, end=ending)


def discard(record: Record[Any, Any]) -> None:
    """Remove the folder of a record in which nothing was measured."""
    if record.entries:
        raise ValueError(f"{record.id} holds measurements")
    shutil.rmtree(record.folder)


# ---------------------------------------------------------------- reading


def load(folder: Path) -> Record[Any, Any]:
    """Read a record of any kind, finished or not. LabError when the folder holds none, or is damaged."""
    head = read_head(folder)
    kind = head.kind
    beside = {name: shapes.read(folder, kind, name) for name in SHAPES[kind].beside}
    return Record(folder, head, shapes.read(folder, kind, ENTRIES), shapes.read(folder, kind, END), beside)


def read_head(folder: Path) -> Head[Any]:
    """Read what was known before the first measurement. LabError when the folder is no record, or its head is damaged."""
    kind = kind_of(folder)
    if kind is None:
        raise LabError(f"`{folder}` is not a record: it has no `{HEAD}`", "`./fairground list runs` shows what there is")
    head: Head[Any] = shapes.read(folder, kind, HEAD)
    asked = head.asked
    if len(head.command) > MOST_COMMAND or isinstance(asked, Plan) and len(asked.command) > MOST_COMMAND:
        raise LabError(f"`{HEAD}` of `{folder.name}` has a command of more than {MOST_COMMAND:,} characters", MEND)
    # Another version of the lab, or another person, may have left a secret in the command.
    if isinstance(asked, Plan):
        asked = replace(asked, command=secret.redact_command(asked.command))
    if isinstance(asked, TryAsked | ComparisonAsked):
        asked = asked.without_secrets()
    return replace(head, id=folder.name, command=secret.redact_command(head.command), asked=asked)


def kind_of(folder: Path) -> RecordKind | None:
    """The kind of a folder's record; None: it holds none. LabError for a head that is damaged, or of another version."""
    found = kind_and_start(folder)
    return None if found is None else found[0]


def kind_and_start(folder: Path) -> tuple[RecordKind, float] | None:
    """The kind of a folder's record, as `kind_of`, and its start in seconds of Unix. The rest of the head is not checked."""
    if not os.path.isfile(folder / HEAD):  # false for a folder that may not be read, too, and for a name that is too long
        return None
    head = journal.whole(folder / HEAD)
    schema, kind = (head.get("schema"), head.get("kind")) if isinstance(head, dict) else (None, None)
    if not isinstance(schema, int) or not isinstance(kind, str) or kind not in set(RecordKind):
        raise LabError(f"`{HEAD}` of `{folder.name}` does not say its schema and kind", MEND)
    if schema != SCHEMA_VERSION:
        message = f"`{folder.name}` has schema {schema}, and this lab reads {SCHEMA_VERSION}"
        raise LabError(message, "read it with the version of the lab that wrote it")
    started = head.get("started_unix_s")
    if not isinstance(started, int | float):
        return RecordKind(kind), 0.0
    try:
        datetime.fromtimestamp(started, UTC)
    except (ValueError, OverflowError, OSError):
        raise LabError(f"`{HEAD}` of `{folder.name}` does not say when it began: {str(started)[:40]}", MEND) from None
    return RecordKind(kind), float(started)


# ---------------------------------------------------------------- going on


def require_database(before: Head[Any], url: str | None) -> None:
    """Raise LabError if a record of a given database would go on on the lab's own, or the reverse.

    Whether two given ones are the same server is not checked.
    """
    begun = database_of(before.command)
    if begun and url is None:
        sentence = f"`{before.id}` was begun with `--database`, and does not go on with the lab's own server"
        raise LabError(sentence, f"name it again:{options_again_of(before.command)}")
    if url is not None and not begun:
        sentence = f"`{before.id}` was begun without `--database`, and goes on with the lab's own server"
        raise LabError(sentence, "leave it out, or begin anew")


def require_unchanged(record: Record[Any, Any]) -> None:
    """Raise LabError if somebody measured into a record since it was read: what is missing of it is something else now."""
    entries, end = (shapes.read(record.folder, record.head.kind, name) for name in (ENTRIES, END))
    if len(entries) > len(record.entries) or (end is not None and record.end is None):
        sentence = f"another process has measured into `{record.id}` since it was read"
        raise LabError(sentence, "give the same command again: it goes on with what is missing now")


def require_same(before: Head[Any], now: Head[Any]) -> None:
    """Raise LabError if a record would go on under other conditions than `before`.

    Conditions are the machine, the versions, the set of thresholds, and the state of each server.
    """
    pairs = (
        ("on another machine", asdict(before.machine), asdict(now.machine)),
        ("with other versions", before.versions, now.versions),
    )
    for words, was, is_now in pairs:
        if found := changes(was, is_now):
            one = "a record is of one machine, and one version of each program and contract"
            hint = f"begin anew, or restore what was there: {one}"
            raise LabError(f"`{before.id}` was begun {words}: {', '.join(found)}", hint)
    if names := thresholds.changes_of(before.thresholds, now.thresholds):
        raise LabError(
            f"the thresholds have changed since `{before.id}` began ({', '.join(names)}), and a record has one set of them",
            "begin anew, or go on with the version of the lab that began this one",
        )
    for label, info in before.stacks.items():
        there = now.stacks.get(label)
        if info.content_hash is not None and there is not None and there.content_hash != info.content_hash:
            raise LabError(
                f"`{info.id}` has changed since `{before.id}` began, and a record holds one version of each server",
                "begin anew, or restore the server's folder",
            )
