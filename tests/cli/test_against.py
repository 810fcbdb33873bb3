"""What `try --against` says before and after a load that may write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.cli import against, attempt, verbs
from fairground.inputs.options import Given
from fairground.lab.against import comparison_asked
from fairground.model import Load
from fairground.model.pair import Round, WindowPair
from fairground.model.record import ComparisonAsked, TryAsked
from fairground.model.window import WindowTally


def asked_with(method: str) -> ComparisonAsked:
    """Two services that are asked by a method, for a minute."""
    a = TryAsked("http://127.0.0.1:3000/x", method, (), None, "p99<50ms", 2, 5000, True, False, None)
    return comparison_asked(a, replace(a, url="http://127.0.0.1:3001/x"), Load(10), 60.0)


def test_a_load_that_writes_is_announced_and_counted() -> None:
    """Both services are written to: how long is said before, and how often after."""
    asked = asked_with("GET, POST")
    assert "GET, POST may write" in (said := against.describe_writes(asked) or "") and "in some 60 s" in said
    pair = WindowPair(1, 1, "A", WindowTally(700, 1, 1.0, None), WindowTally(800, 0, 1.0, None))
    rounds = [Round(1, (pair, pair), 9.0), Round(2, (pair,), 9.0)]
    told = against.describe_written(asked, rounds)
    assert told is not None and told.startswith("GET, POST: 2,100 requests to A and 2,400 to B were acknowledged in the windows")


@pytest.mark.parametrize(("words", "most"), [(("--connections", "2"), 2), ((), 1000)])
def test_a_services_capacity_opens_no_more_than_is_said(
    words: tuple[str, ...], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option is of a service as it is of a stack: as `try` has it."""
    tried = list[Given]()
    monkeypatch.setattr(attempt, "run", lambda given, *_: tried.append(given))
    verbs.app(["capacity", "http://127.0.0.1:3000/", *words], standalone_mode=False)
    assert [attempt._asked(given).connections for given in tried] == [most]


def test_what_a_record_does_not_keep_cannot_be_gone_on_with() -> None:
    """Requests of a file and secrets are not kept; a URL and headers are."""
    whole = asked_with("GET")
    assert whole.services is not None and against.is_kept(whole)
    a, b = whole.services
    lacking = (replace(a, requests="mix.toml"), replace(a, url="http://me:secret@127.0.0.1:3000/x"))
    lacking += (replace(a, headers=(("authorization", "Bearer secret"),)),)
    assert not any(against.is_kept(replace(whole, services=(one, b))) for one in lacking)


@pytest.mark.parametrize("method", ["GET", "HEAD", "GET, OPTIONS"])
def test_of_what_only_reads_nothing_is_said(method: str) -> None:
    """A load that writes nothing needs no warning."""
    asked = asked_with(method)
    assert against.describe_writes(asked) is None and against.describe_written(asked, [Round(1, (), 9.0)]) is None
