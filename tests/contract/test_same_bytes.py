"""Cases, probes and loads are written alike: no server can tell by its form what a request is for."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from dataclasses import replace

import pytest

from builders.contracts import SEEDS
from builders.paths import ENGINE
from builders.requests import asking
from fairground import contract
from fairground.generators import engine_plan
from fairground.generators.slots import Templates
from fairground.host import network
from fairground.inputs import workload_files
from fairground.measure.prober import render
from fairground.model import Load, LoadRequest, Workload
from fairground.model.wire import request_bytes

WORKLOADS = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}
CASES = contract.load(SEEDS)


def form(request: bytes) -> list[str]:
    """What the bytes of a request show besides its values: method, path, version, and its headers by name, in their order.

    A number in the path is a value.

    The values of `accept` and `content-type` are part of the form; those of `host` and `content-length` are not.
    """
    head = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    method, target, version = head[0].split(" ")
    shown = [f"{method} {re.sub(r'/[0-9]+', '/N', target.partition('?')[0])} {version}"]
    for line in head[1:]:
        name, _, value = line.partition(": ")
        shown.append(line if name.lower() in ("accept", "content-type", "connection") else name)
        assert value, line
    return shown


class Listener:
    """A server that keeps the first bytes of its first connection, and answers nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.received = b""
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def first(self) -> bytes:
        """The first request's bytes."""
        self._thread.join(20)
        self._socket.close()
        return self.received

    def _accept(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(10)
            while b"\r\n\r\n" not in self.received:
                self.received += connection.recv(65536)


def _loads(workload: Workload, keep_alive: bool = True) -> bytes:
    """The first request that the load engine sends of a workload."""
    there = Listener()
    load = Load(connections=1, window_s=0.1, timeout_ms=100, keep_alive=keep_alive)
    asked = asking(workload, expect=replace(workload.first.expect, body=None))
    plan = engine_plan.plan(asked, load, "127.0.0.1", there.port, 7, {})
    plan["load"] = {**plan["load"], "warmup_s": 0}  # type: ignore[dict-item]
    child = subprocess.Popen((ENGINE, "run", "--plan", "-"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(plan) + "\n")
        child.stdin.flush()
        return there.first()
    finally:
        child.kill()
        child.communicate()


@pytest.mark.live
@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_the_first_case_of_a_workload_has_the_form_of_its_load(name: str) -> None:
    """Method, path, version, names and order of headers are the same; what asks for nothing special looks like any request."""
    plain = [
        form(step.request.encode("127.0.0.1", 8080))
        for case in contract.select(CASES, name)
        for step in case.steps
        if step.request.raw is None
    ]
    assert plain, "a workload without a case would be measured unchecked"
    assert form(_loads(WORKLOADS[name])) in plain


@pytest.mark.live
@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(
    "headers", [(), (("content-type", "application/json"),), (("accept", "text/html"), ("x-own", "{int:1..9}"))]
)
def test_a_write_that_is_looked_for_has_the_form_of_its_load(keep_alive: bool, headers: tuple[tuple[str, str], ...]) -> None:
    """It has no header that the load has not, and none less: neither `accept` nor `connection`."""
    asked = LoadRequest("x", "POST", "/todos", headers, "[1]")
    workload = replace(WORKLOADS["tx"], requests=(asked,))
    templates = Templates.of(asked)
    probe = render("POST", templates, ["5"] * len(templates.slots), keep_alive)
    assert form(probe.encode("127.0.0.1", 8080)) == form(_loads(workload, keep_alive))


def test_probes_have_the_form_of_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a server is ready is asked as anything else is: no connection is asked to be closed."""
    monkeypatch.setattr(network, "STATUS_WITHIN_S", 0.1)
    there = Listener()
    assert network.wait_ready("127.0.0.1", there.port, "/ready", 200, 0.05, lambda: True) is not None
    assert form(there.first()) == ["GET /ready HTTP/1.1", "host", "accept: application/json"]


def test_a_length_is_told_where_there_could_be_a_body() -> None:
    """A POST says that its body has no bytes, a GET says nothing, and given headers are kept."""
    assert request_bytes(("POST", "/a"), "h:1", (), None) == b"POST /a HTTP/1.1\r\nhost: h:1\r\ncontent-length: 0\r\n\r\n"
    assert request_bytes(("GET", "/a"), "h:1", (), None) == b"GET /a HTTP/1.1\r\nhost: h:1\r\n\r\n"
    given = (("Host", "other"), ("Transfer-Encoding", "chunked"))
    expected = b"POST /a HTTP/1.1\r\nHost: other\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert request_bytes(("POST", "/a"), "h:1", given, b"0\r\n\r\n") == expected
