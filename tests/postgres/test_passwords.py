"""The password file of an embedded cluster: written whole, and a bad one is a sentence with what mends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairground import postgres
from fairground.host import Keeper
from fairground.model import Durability, LabError
from fairground.postgres import passwords
from fairground.postgres.passwords import PasswordFile


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    """One password, or two while it changes; for the owner alone, whatever stood there before."""
    file = PasswordFile(tmp_path / "passwords", "lab")
    (tmp_path / "passwords.partial").write_text("half of an earlier one")
    for words in (["one"], ["one", "two"], ["two"]):
        file.write(words)
        assert file.read() == tuple(words)
    assert (tmp_path / "passwords").stat().st_mode & 0o777 == 0o600 and len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_an_interrupted_writing_leaves_the_old_one(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a kill, between any two steps."""
    file = PasswordFile(tmp_path / "passwords", "lab")
    file.write(["one"])

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    if moment == "fsync":
        monkeypatch.setattr(passwords.os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        file.write(["two"])
    assert file.read() == ("one",)


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"lab", b"other one\n", b"lab one two\n", b"\xff\xfe\x00", "folder"])
def test_a_bad_one_is_a_sentence(content: bytes | str | None, tmp_path: Path) -> None:
    """Missing, empty, garbled, of another user, or a folder: what it is, where, and what to do."""
    path = tmp_path / "passwords"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(LabError, match="cannot be opened with") as raised:
        PasswordFile(path, "lab").read()
    assert raised.value.exit_code == 3 and "clean --databases" in (raised.value.hint or "") and str(path) in raised.value.message


@pytest.mark.live
def test_a_cluster_opens_with_one_of_two_and_refuses_a_wrong_one(keeper: Keeper, tmp_path: Path) -> None:
    """As after a kill between the server's change and the file's. A wrong password is told, and nothing runs on."""
    postgres.start(keeper, tmp_path, Durability.RELAXED).stop()
    path = tmp_path / "postgres" / "18-1" / "passwords"
    right = path.read_text().split()[1]
    path.write_text(f"fairground not-yet-set\nfairground {right}\n")
    found = postgres.start(keeper, tmp_path, Durability.RELAXED)
    assert found.admin.password == right
    found.stop()
    path.write_text("fairground wrong\n")
    with pytest.raises(LabError, match="does not take the password") as raised:
        postgres.start(keeper, tmp_path, Durability.RELAXED)
    assert raised.value.exit_code == 3 and not (path.parent / "data" / "postmaster.pid").exists()
