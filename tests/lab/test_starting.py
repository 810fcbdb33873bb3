"""A service that is started for a try answers badly at first: it is waited for at each start, and loaded when it answers well."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.odd import answer, odd
from fairground.capacity.service import behaviour
from fairground.capacity.service.parts import ServicePart
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import Conduct
from fairground.host import Child
from fairground.inputs.request_files import read_requests
from fairground.lab import against, service
from fairground.measure.arm import ServiceArm
from fairground.measure.rounds import RoundsEffort
from fairground.model import CellSettings, Finding, Load, Severity
from fairground.model.record import TryAsked

BAD = 3
"""So many of the first requests after each start get a 503."""


class Started:
    """A process that runs, and counts what it is asked from its start on."""

    pid, asked = 1, 0

    def exit_code(self) -> int | None:
        return None

    def stop(self) -> None:
        """Nothing is left."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for seconds."""
    monkeypatch.setattr(behaviour, "SETTLE_PAUSE_S", 0.01)


def request_to(port: int, file: Path | None = None) -> Asked:
    """The request to a service at this port, or those of a file."""
    mix = None if file is None else read_requests(file, f"http://127.0.0.1:{port}/")
    return Asked("127.0.0.1", port, f"127.0.0.1:{port}", "GET", "/", mix=mix)


@pytest.mark.parametrize("of_file", [False, True], ids=["a URL", "a file"])
def test_each_start_is_waited_for(of_file: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second round of a comparison, too, though the answer was learned in the first one; a file's requests are asked after that."""
    (tmp_path / "calls.sh").write_text("curl /orders\n")
    child, statuses = Started(), list[int]()

    def answers(_: int, head: bytes) -> bytes:
        child.asked += 1
        status = 404 if of_file and b" /orders " not in head else 503 if child.asked <= BAD else 200
        statuses.append(status)
        return answer(status)

    def start(*_: object) -> Started:
        child.asked = 0
        return child

    monkeypatch.setattr(service, "start", start)
    bench = SimpleNamespace(keeper=SimpleNamespace(guard=lambda *_: None))
    inputs = SimpleNamespace(places=SimpleNamespace(environ={}))
    effort = RoundsEffort(against.UNKNOWN, Load(1), CellSettings(), 1, 1.0, 1)
    with odd(answers) as port:
        asked = TryAsked(f"http://127.0.0.1:{port}/", "GET", (), None, "", 1, 1, True, False, ("serve",))
        side = against._Service(
            cast(Any, bench),
            "a",
            asked,
            request_to(port, tmp_path / "calls.sh" if of_file else None),
            cast(Any, inputs),
            tmp_path,
        )
        side.conduct = Conduct(200, None, b"hello", 5, True, ())
        for number in (1, 2):
            statuses.clear()
            with ExitStack() as held:
                arm = side.up(held, effort, number)
            assert isinstance(arm, ServiceArm) and statuses[:BAD] == [503] * BAD and set(statuses[BAD:]) == {200}


FAULT = Finding("ready", Severity.REJECT, "it does not listen")


def fill(log: Path) -> None:
    """Write what a service that logs each request does."""
    with log.open("ab") as file:
        file.write(b"GET / 200\n" * 500_000)


def test_a_log_of_each_request_does_not_fill_the_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 5 MB that a service writes its beginning and its end are kept, once it has ended."""
    monkeypatch.setattr(service, "start", lambda *words: (fill(words[-1]), Started())[1])
    monkeypatch.setattr(service, "await_ready", lambda *_: FAULT)
    asked = TryAsked("http://127.0.0.1:1/", "GET", (), None, "", 1, 1, True, False, ("serve",))
    subject = service.Subject({}, cast(Any, None), asked, request_to(1), tmp_path)
    assert [one.findings for one in service.measure_parts(subject, ()) if isinstance(one, ServicePart)] == [(FAULT,)]
    assert 2_000_000 < (tmp_path / service.LOG).stat().st_size < 2_001_000


def test_a_log_of_two_services_is_short_once_both_have_ended(tmp_path: Path) -> None:
    """Both write to one file: what they write at their end is in it."""
    log = tmp_path / service.LOG

    def up(held: ExitStack, *_: object) -> Finding:
        fill(log)
        held.callback(lambda: log.write_bytes(log.read_bytes() + b"bye\n"))
        return FAULT

    side = SimpleNamespace(label="a", up=up)
    effort = RoundsEffort(against.UNKNOWN, Load(1), CellSettings(), 1, 1.0, 1)
    made = against._round(cast(Any, None), cast(Any, (side, side)), effort, tmp_path, 1)
    assert made.findings == {"a": (FAULT,)}
    content = log.read_bytes()
    assert 2_000_000 < len(content) < 2_001_000 and content.endswith(b"bye\n")


def test_one_that_never_answers_well_is_told_by_its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait has an end, and what is expected, or no error of the service's own, is not waited for."""
    monkeypatch.setattr(service, "READY_S", 0.1)
    child = cast(Child, Started())
    for status, expects, most in ((503, None, 100), (503, 503, 1), (404, None, 1)):
        asked = list[bytes]()
        with odd(lambda _, head, status=status, asked=asked: (asked.append(head), answer(status))[1]) as port:
            request = Asked(**{**vars(request_to(port)), "expects": expects})
            assert service.await_ready(child, "serve", request) == request
        assert 1 <= len(asked) <= most and (most == 1 or len(asked) > 1)
