"""The table of how fast a page is, and that its keys are read from a real page."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.bench import bench
from fairground.report.run import page
from report import fixture
from report.browser import Browser, chromium

PAGE = bench("page")


def test_a_row() -> None:
    """Medians and the most stand beside each other, and keys within a frame are counted."""
    seen = PAGE.Seen(1_150_000, [300.0, 200.0, 1_400.0], [3.0, 16.0, 16.1, 40.0])
    assert PAGE.row("31 × 9", seen) == "| 31 × 9 | 1.15 MB | 300.0 ms | 1,400.0 ms | 16.1 ms | 40.0 ms | 2 of 4 |\n"


@pytest.mark.live
@pytest.mark.skipif(chromium() is None, reason="no chromium on this machine: apt-get install chromium")
def test_a_page_is_looked_at(tmp_path: Path) -> None:
    """Each opening has a first paint, and each key of the name a time, there and back; what is typed hides rows."""
    program, file = chromium(), tmp_path / "report.html"
    assert program is not None
    file.write_text(page.html(fixture.big_run(stacks=4, workloads=2, blocks=2)), encoding="utf-8")
    with Browser(program) as browser:
        seen = PAGE.looked(browser, file, 2)
        browser.evaluate(PAGE.KEYS.format(texts=["server01"]))
        found = browser.evaluate("document.getElementById('found').textContent")
    assert seen.size_bytes == file.stat().st_size
    assert len(seen.paints_ms) == 2 and all(took > 0 for took in seen.paints_ms)
    assert len(seen.keys_ms) == 2 * 2 * len(PAGE.TYPED) and found == "2 of 8 rows"
