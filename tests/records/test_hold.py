"""Who measures into a record: one process at a time, for as long as it lives."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from builders.stored import new, slot
from fairground import records
from fairground.lab import preparation
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import GoneError, LabError
from fairground.records import hold

HOLDS = """
import sys, time
from pathlib import Path
from fairground import records
with records.hold_record(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.live
def test_a_record_is_held_until_its_process_was_killed(tmp_path: Path) -> None:
    """By nobody after that; its copy never was."""
    folder = new(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    other = subprocess.Popen((sys.executable, "-c", HOLDS, str(folder)), stdout=subprocess.PIPE, text=True, env=environment)
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    shutil.copytree(folder, tmp_path / "copy")
    assert records.is_held(folder) and not records.is_held(tmp_path / "copy")
    with pytest.raises(LabError, match="another process"), records.hold_record(folder):
        pass
    other.send_signal(signal.SIGKILL)
    other.wait(20)
    other.stdout.close()
    assert not records.is_held(folder)
    with records.hold_record(folder):
        assert records.is_held(folder)


def test_what_is_measured_into_goes_on_nowhere_else(tmp_path: Path) -> None:
    """It is refused before the keeper starts: builds and a database would run beside what is measured."""
    folder = new(tmp_path)
    inputs = Inputs(Places(), record=records.load(folder))
    with records.hold_record(folder), pytest.raises(LabError, match="is measured into by another process"):
        preparation.prepare(inputs, (), (), cast(Any, None)).__enter__()


def test_who_looks_keeps_nobody_from_measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look holds it for a moment, and is waited for."""
    folder, looks = new(tmp_path), [0]
    place = os.open(folder / "head.json", os.O_RDONLY)
    assert hold._locked(place, hold.fcntl.LOCK_SH)

    def pause(_seconds: float) -> None:
        looks[0] += 1
        os.close(place)

    monkeypatch.setattr(hold.time, "sleep", pause)
    with records.hold_record(folder):
        assert looks == [1]


def test_a_lock_of_another_user_keeps_nobody_from_measuring(tmp_path: Path) -> None:
    """Anybody can lock what he may open: a record's folder, in which pages lie that may be shown. Its head is nobody else's."""
    folder = new(tmp_path)
    others = [path for path in (folder, *folder.iterdir()) if path.stat().st_mode & 0o044]
    assert folder in others and folder / "head.json" not in others
    places = [os.open(path, os.O_RDONLY) for path in others]
    try:
        assert all(hold._locked(place, hold.fcntl.LOCK_EX) for place in places)
        assert not records.is_held(folder)
        with records.hold_record(folder):
            assert records.is_held(folder)
    finally:
        for place in places:
            os.close(place)


@pytest.mark.parametrize("odd", ["link", "pipe"])
def test_a_head_that_is_no_file_is_held_by_nobody(odd: str, tmp_path: Path) -> None:
    """Nobody waits for it, and what a link leads to is not locked."""
    folder, other = new(tmp_path), new(tmp_path)
    (folder / "head.json").unlink()
    if odd == "link":
        (folder / "head.json").symlink_to(other / "head.json")
    else:
        os.mkfifo(folder / "head.json")
    with records.hold_record(other):
        assert records.is_held(other) and not records.is_held(folder)


@pytest.mark.parametrize(
    "name", ["trials", "limits", "raw/one tx 1", "01", "trials/0001-b1-one-plain-db-ping/server.log", "end.json"]
)
def test_a_record_with_a_link_in_it_is_not_measured_into(name: str, tmp_path: Path) -> None:
    """A record may come from anywhere, to be gone on with: nothing is written to where the link leads, and nothing removed."""
    folder, other = new(tmp_path / "results"), tmp_path / "other"
    (other / "0001-b1-one-plain-db-ping").mkdir(parents=True)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(other)
    with pytest.raises(LabError, match="is a link"), records.hold_record(folder):
        records.trial_folder(folder, slot(1), 1)
    assert [path.name for path in other.rglob("*")] == ["0001-b1-one-plain-db-ping"]
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(LabError, match="is no file"), records.hold_record(folder):
        pass


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    """One that was removed meanwhile; nobody measures into it."""
    assert not records.is_held(tmp_path / "gone")
    with pytest.raises(GoneError), records.hold_record(tmp_path / "gone"):
        pass
