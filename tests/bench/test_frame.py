"""The frame of the programs in bench/: the lab that they serve."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from builders.bench import bench

FRAME = bench("frame")


def lab(folder: Path, does: str) -> str:
    """A lab that does this instead of what it is told."""
    path = folder / "lab"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return str(path)


def test_a_served_lab_tells_its_address_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address may stand on several lines; its process ends with the block."""
    monkeypatch.setattr(FRAME, "LAB", lab(tmp_path, """printf '{\\n"address": "%s"\\n}\\n' "$*"; exec sleep 60"""))
    with FRAME.serving(tmp_path) as (pid, address):
        assert address == f"serve --port 0 --json --results {tmp_path}" and psutil.Process(pid).ppid() == os.getpid()
    assert not psutil.pid_exists(pid)


def test_a_part_is_printed_and_put_into_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Between its marks, in a page with a title; without a page it is only printed."""
    FRAME.put_part("one\n", None, "mark", "Title")
    FRAME.put_part("two\n", tmp_path / "page.md", "mark", "Title")
    assert capsys.readouterr().out == "one\ntwo\n"
    assert (tmp_path / "page.md").read_text() == "# Title\n\n<!-- mark -->\ntwo\n<!-- /mark -->\n"


def test_a_lab_that_cannot_be_served_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends without an address."""
    monkeypatch.setattr(FRAME, "LAB", lab(tmp_path, "exit 1"))
    with pytest.raises(SystemExit, match="has ended before it told"), FRAME.serving(tmp_path):
        pass
