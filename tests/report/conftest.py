"""What the tests of pages share: one browser for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from report.browser import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    assert program is not None
    with Browser(program) as opened:
        yield opened
