"""Logs of roles: the end of one is shown, and of a long one the middle is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairground.measure import logs


@pytest.mark.parametrize("size", [0, 1, 2_000_000])
def test_a_short_log_is_kept(size: int, tmp_path: Path) -> None:
    """Not a byte of it is changed, and one that nobody wrote is no fault."""
    log = tmp_path / "server.log"
    assert logs.shorten(log) == 0 and logs.tail_of(log) == ""
    log.write_bytes(b"x" * size)
    assert logs.shorten(log) == 0 and log.read_bytes() == b"x" * size


def test_a_long_log_keeps_both_ends(tmp_path: Path) -> None:
    """What is left out is counted in the log itself, in all where it went on after it was shortened."""
    log = tmp_path / "server.log"
    log.write_bytes(b"begin" + b"x" * 5_000_000 + b"end")
    assert logs.shorten(log) == 3_000_008
    kept = log.read_bytes()
    assert (
        kept.startswith(b"beginxx")
        and kept.endswith(b"xxend")
        and b"[\xe2\x80\xa6 3,000,008 bytes are left out \xe2\x80\xa6]" in kept
    )
    assert len(kept) < 2_000_100
    assert logs.tail_of(log).endswith("xxend")
    assert logs.shorten(log) == 3_000_008 and log.read_bytes() == kept
    with open(log, "ab") as more:
        more.write(b"y" * 1_000)
    assert logs.shorten(log) == 3_001_008 and b" 3,001,008 bytes are left out " in log.read_bytes()
