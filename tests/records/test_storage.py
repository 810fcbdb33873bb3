"""Results that cannot be written: one sentence, nothing finished is lost, and what is half made goes."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import stored
from fairground import records
from fairground.host import disk
from fairground.model import DatabaseEnded, GoneError, LabError, MachineError, StorageError, of_machine
from fairground.model.error import RECORD_HEAD, resumable
from fairground.records import journal

Disk = Callable[..., Path]


def fill(folder: Path) -> Path:
    """A file that takes all the space that is left on a disk."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
    return filler


def test_a_full_disk_keeps_what_is_finished(small_disk: Disk) -> None:
    """The trial that has no room is told in a sentence, the others are read, and with space the next one is stored."""
    results = small_disk("results", 1)
    folder = stored.new(results, stored.small_plan(60))
    records.append_trial(folder, stored.trial(1))
    filler = fill(results)
    with pytest.raises(StorageError) as refused:
        for number in range(2, 60):
            records.append_trial(folder, stored.trial(number))
    assert refused.value.message == f"`{folder / 'entries.jsonl'}` cannot be written: no space is left on its file system"
    assert refused.value.exit_code == 3 and refused.value.hint is not None and "make space" in refused.value.hint
    before = [one.number for one in records.load_run(folder).trials]
    assert before[0] == 1
    filler.unlink()
    records.append_trial(folder, stored.trial(before[-1] + 1))
    assert [one.number for one in records.load_run(folder).trials] == [*before, before[-1] + 1]


def test_on_a_full_disk_nothing_is_half_made(small_disk: Disk) -> None:
    """A run that finds no room leaves no folder, and a page in place of an earlier one leaves the earlier one whole."""
    results = small_disk("results", 1)
    page = journal.replace(results / "report.html", b"earlier")
    fill(results)
    with pytest.raises(StorageError):
        stored.new(results)
    with pytest.raises(StorageError):
        journal.replace(page, b"x" * 100_000)
    assert page.read_bytes() == b"earlier"
    assert sorted(path.name for path in results.iterdir()) == ["filler", "report.html"]


def test_a_read_only_disk(small_disk: Disk) -> None:
    """A disk that is read-only is named as such, for a new run and for one that goes on."""
    results = small_disk("results", 2)
    folder = stored.new(results)
    subprocess.run(["mount", "-o", "remount,ro", str(results)], check=True)
    for write in (
        lambda: records.append_trial(folder, stored.trial(1)),
        lambda: stored.new(results),
        lambda: records.trial_folder(folder, stored.slot(1), 1),
    ):
        with pytest.raises(StorageError, match="its file system is read-only"):
            write()


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    """Results that are a file, or below one, are said to be so."""
    (tmp_path / "results").write_text("mine")
    for results in (tmp_path / "results", tmp_path / "results" / "deeper"):
        with pytest.raises(StorageError, match="a file stands where a folder should be") as refused:
            stored.new(results)
        assert refused.value.exit_code == 3
    assert (tmp_path / "results").read_text() == "mine"


def test_two_writers_of_one_page_are_not_in_each_others_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report` twice at once, or beside a run: the later one's page stays, whole, and nothing of either is left beside it."""
    page, sync = tmp_path / "report.html", os.fsync

    def beside(place: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        journal.replace(page, b"the other's", journal.SHARED)
        assert page.read_bytes() == b"the other's"
        sync(place)

    monkeypatch.setattr(os, "fsync", beside)
    journal.replace(page, b"one's own, which is longer", journal.SHARED)
    assert page.read_bytes() == b"one's own, which is longer" and list(tmp_path.iterdir()) == [page]


def test_what_ends_a_writer_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle leaves the old text alone."""
    page = journal.replace(tmp_path / "report.html", b"old")

    def ends(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", ends)
    with pytest.raises(KeyboardInterrupt):
        journal.replace(page, b"new")
    assert page.read_bytes() == b"old" and list(tmp_path.iterdir()) == [page]


def test_room_is_required(small_disk: Disk) -> None:
    """Before and after a session room is looked at, also of a folder that is not made yet."""
    results = small_disk("results", 2)
    disk.require_room([results / "not" / "yet"], 1_000_000)
    with pytest.raises(StorageError, match="the disk of .* is full"):
        disk.require_room([results], 32_000_000)


@pytest.mark.parametrize(
    "number", [errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO]
)
def test_what_the_machine_refuses_has_a_sentence(number: int) -> None:
    """Each has what, and what to do; none is an input's fault."""
    found = of_machine(OSError(number, os.strerror(number), "place"))
    assert isinstance(found, MachineError) and found.exit_code == 3 and found.hint


def test_an_error_of_our_own_stays_one() -> None:
    """What says nothing of the machine is no MachineError."""
    assert of_machine(OSError(errno.EBADF, "bad")) is None
    assert of_machine(OSError(errno.EPERM, "kill")) is None, "no file was written"


def test_what_goes_on_is_said(tmp_path: Path) -> None:
    """An error in the middle of a run names the command that goes on; wrong input does not."""
    (tmp_path / RECORD_HEAD).touch()
    with pytest.raises(StorageError) as refused, resumable(tmp_path, "./fairground run --resume x"):
        raise OSError(errno.ENOSPC, "full")
    assert refused.value.hint is not None and refused.value.hint.endswith(
        "what is finished is kept, and this goes on with it: ./fairground run --resume x"
    )
    with pytest.raises(DatabaseEnded) as bare, resumable(tmp_path, "again"):
        raise DatabaseEnded("it ended")
    assert bare.value.hint == "what is finished is kept, and this goes on with it: again"
    with pytest.raises(LabError) as other, resumable(tmp_path, "again"):
        raise LabError("wrong", "do this")
    assert other.value.hint == "do this"


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "gone", "entries.jsonl"), DatabaseEnded("it ended")])
def test_of_a_record_that_was_removed_nothing_is_kept(error: Exception, tmp_path: Path) -> None:
    """It is not promised that one can go on with it. A file that is missing beside a whole record is a fault of our own."""
    with pytest.raises(GoneError, match="was removed while it was measured into") as refused, resumable(tmp_path, "again"):
        raise error
    assert refused.value.exit_code == 3 and "again" not in str(refused.value.hint)
    (tmp_path / RECORD_HEAD).touch()
    with pytest.raises(type(error)), resumable(tmp_path, "again"):
        raise error


def test_a_run_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    """Its next trial has no folder to go to."""
    folder = stored.new(tmp_path)
    shutil.rmtree(folder)
    with pytest.raises(GoneError):
        records.trial_folder(folder, stored.slot(1), 1)
    assert not folder.exists()


def test_a_folder_that_no_disk_holds_is_a_sentence() -> None:
    """What is no disk knows no new folders, and says that there is none: that is no fault of the lab itself."""
    with pytest.raises(StorageError, match="`/proc/nowhere` cannot be made") as caught:
        journal.put(Path("/proc/nowhere"), "a.txt", "text")
    assert caught.value.exit_code == 3
