"""A service that is started for a try answers badly at first: it is waited for at each start, and loaded when it answers well."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.odd import answer, odd
from fairground.capacity.service import behaviour
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import Conduct
from fairground.host import Child
from fairground.inputs.request_files import read_requests
from fairground.lab import against, service
from fairground.measure.arm import ServiceArm
from fairground.measure.rounds import RoundsEffort
from fairground.model import CellSettings, Load
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
