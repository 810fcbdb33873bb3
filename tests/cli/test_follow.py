"""Events of a use case as lines."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fairground.cli import follow, say
from fairground.lab.events import Checked, Checking, Event


def test_a_check_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each stack that is tried, with its place and the time left where that is known; results are the caller's."""
    lines = list[str]()
    monkeypatch.setattr(say, "note", lines.append)
    end = Checked("alder:plain", (), None, None)

    def events() -> Generator[Event]:
        yield Checking("alder:plain", 1, 40, None)
        yield end
        yield Checking("birch:plain", 2, 40, 780.0)

    assert list(follow.follow(lambda _: events())) == [end]
    assert lines == ["checking 1/40: alder:plain", "checking 2/40: birch:plain, about 13 min left"]
