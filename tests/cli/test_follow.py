"""Events of a use case as lines."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fairground.cli import follow, say
from fairground.lab.events import Checked, Checking, Event, Replicating


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


def test_several_replications_say_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each suite that begins has its place, and about what those after it take; the last has none after it."""
    lines = list[str]()
    monkeypatch.setattr(say, "note", lines.append)

    def events() -> Generator[Event]:
        yield Replicating("first", 1, 2, 1800.0)
        yield Replicating("last", 2, 2, 0.0)

    assert list(follow.follow(lambda _: events())) == []
    assert lines == ["replication 1/2: first; 1 more after it, about 30 min", "replication 2/2: last"]
