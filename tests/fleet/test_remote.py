"""The load engine on another host: Dask's own worker in this process, and an engine that loads the null responder for real."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from builders.contracts import SEEDS
from builders.fleet import alive
from builders.paths import ENGINE
from fairground.fleet import alone, borrowed, remote
from fairground.fleet.borrowed import Distance
from fairground.fleet.remote import RemoteHost
from fairground.generators import engine, engine_plan
from fairground.host import Keeper, Moment, Streams, free_port, listens, machine
from fairground.inputs import workload_files
from fairground.model import LabError, Load, MachineError, RoleUse
from fleet.conftest import There
from fleet.made import host

PING = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "ping")
SHAPE = Load(4, window_s=1.0, warmup_min_s=0.5, warmup_max_s=0.5, timeout_ms=2000)


def test_the_quickest_question_tells_how_far_a_clock_is_off() -> None:
    """Half of its way there, half back."""
    found = Distance.of([(10.0, 15.5, 10.4), (20.0, 25.11, 20.2), (30.0, 35.9, 31.0)])
    assert found.round_trip_s == pytest.approx(0.2) and found.ahead_s == pytest.approx(5.01)


def test_a_window_is_told_by_the_labs_clock() -> None:
    """A document without a window, and what is no document, stay as they are."""
    told = json.dumps({"window": {"start_unix_us": 5_000_000}, "other": 1})
    assert json.loads(remote.by_our_clock(told, 1.5)) == {"window": {"start_unix_us": 3_500_000}, "other": 1}
    nothing = '{"window": {"start_unix_us": null}}'
    assert json.loads(remote.by_our_clock(nothing, 1.5)) == json.loads(nothing)
    assert remote.by_our_clock("", 1.5) == "" and remote.by_our_clock("[]", 1.5) == "[]"


@pytest.mark.parametrize("front", ["127.0.0.1", "::1"])
def test_a_host_may_reach_this_machine_over_either_family(front: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way back is tried at the address that the host sees."""
    there, asked = object.__new__(RemoteHost), list[object]()
    there.front = front
    monkeypatch.setattr(there, "ask", lambda *words, **_: asked.extend(words[:2]))
    there.require_a_way_back()
    assert asked == ["reaches", front]


@pytest.fixture
def responder() -> Iterator[tuple[str, int]]:
    """The null responder, on this machine."""
    with Keeper(os.environ) as keeper:
        port = free_port()
        stdin, ours = os.pipe2(os.O_CLOEXEC)
        words = [str(ENGINE), "null", "--host", keeper.address, "--port", str(port), "--threads", "1"]
        keeper.spawn(words, role="null", env={}, streams=Streams(stdin=stdin))
        while not listens(keeper.address, port):
            time.sleep(0.02)
        yield keeper.address, port
        os.close(ours)
        os.close(stdin)


def plan(at: tuple[str, int], **more: Any) -> dict[str, object]:
    """The null responder knows one body, and that is not ours."""
    made: dict[str, Any] = engine_plan.plan(PING, SHAPE, *at, 7, {}, **more)
    made["requests"][0]["expect"] |= {"body": None, "content_type": None}
    return made


@pytest.mark.live
def test_a_load_from_there(there: There, responder: tuple[str, int], tmp_path: Path) -> None:
    """Its events, its result and what it used are those of an engine here; who used it is told."""
    with remote.generator_on(there.client, there.member) as far:
        assert far.front == "127.0.0.1" and abs(far.distance.ahead_s) <= far.distance.round_trip_s
        session = engine.EngineSession(far.start(tmp_path), plan(responder))
        meter, said = session.meter(), []
        meter.start()
        before, began = meter.clock(), time.time()
        while (event := session.event()) is not None:
            said.append(event["event"])
            if said == ["start", "second"] or (len(said) == 1 and event["event"] == "second"):
                session.measure()
        found, use, instant = session.result(), meter.use(before, meter.clock()), far.moment()
        stopped = session.stop()
    assert {"window", "drain", "end"} <= set(said) and session.child is None
    assert found.completed_ok > 100 and found.window.ok == found.window.total
    assert found.started_unix_us is not None
    apart_s = far.distance.round_trip_s
    assert began - apart_s <= found.started_unix_us / 1e6 <= time.time() + apart_s
    assert use.host == "rack-2" and use.cpu_us is not None and use.cpu_us > 0 and isinstance(instant["rack-2"], Moment)
    assert stopped.exit_code == 0 and engine.parse(json.loads((tmp_path / "engine.json").read_text()), ()).completed_ok > 100


@pytest.mark.live
def test_turns_from_there(there: There, responder: tuple[str, int], tmp_path: Path) -> None:
    """It stands still until it is told to go, and tells what it counted."""
    with remote.generator_on(there.client, there.member) as far:
        session = engine.EngineSession(far.start(tmp_path), plan(responder, begin="held"))
        counted = []
        for _ in range(3):
            while (event := session.event()) is not None and event["event"] != "held":
                pass
            assert event is not None
            counted.append(event["ok"])
            session.go()
            while (event := session.event()) is not None and event["event"] != "second":
                pass
            session.hold()
        session.stop()
    assert counted[0] == 0 and counted[1] > 10 and counted[2] > counted[1] + 10


@pytest.mark.live
def test_nothing_stays_when_the_lab_lets_go(there: There, responder: tuple[str, int], tmp_path: Path) -> None:
    """The engine ends, and so does what keeps it; another lab can have the host then."""
    for _ in range(2):
        with remote.generator_on(there.client, there.member) as far:
            engine.EngineSession(far.start(tmp_path), plan(responder, begin="held"))
            theirs = [one for one in alive(psutil.Process().children(recursive=True)) if "--plan" in one.cmdline()]
            assert len(theirs) == 1
        deadline = time.monotonic() + 20
        while alive(theirs):
            assert time.monotonic() < deadline, theirs
            time.sleep(0.05)


@pytest.mark.live
def test_a_host_that_is_gone_is_the_machines_fault(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, with what to do; it is no server's fault."""
    with remote.generator_on(there.client, there.member) as far:
        monkeypatch.setattr(borrowed, "ANSWER_S", 1.0)
        there.lose()
        with pytest.raises(MachineError, match="host `rack-2`, on which the generator runs, does not answer") as caught:
            far.require()
    assert caught.value.hint == "join it again, or place the generator on another one"


@pytest.mark.live
def test_a_host_that_measures_already(there: There) -> None:
    """It makes no load beside that, and says so in a sentence of its own."""
    held = alone.take_machine()
    assert held is not None and alone.take_machine() is None
    with (
        held,
        pytest.raises(LabError, match="host `rack-2` measures for somebody else"),
        remote.generator_on(there.client, there.member),
    ):
        pass


def test_a_host_that_breaks_is_told_with_its_words() -> None:
    """Also before it has lent anything: what Dask raises is no sentence for a person."""

    class Broken:
        def result(self, timeout: float) -> None:
            raise TimeoutError

    with pytest.raises(MachineError, match="host `rack-2`, on which the generator runs, does not answer: TimeoutError"):
        RemoteHost(host("rack-2"), "127.0.0.1", cast(Any, Broken()))


class NoWay(RemoteHost):
    """A host from which this machine cannot be reached."""

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        return {"clock_s": time.time(), "reaches": "no route to host"}[method]


def test_a_machine_that_cannot_be_reached() -> None:
    """It is told before anything starts."""
    with pytest.raises(LabError, match="host `rack-2` cannot reach this machine at `127.0.0.1`: no route to host"):
        NoWay(host("rack-2"), "127.0.0.1", None).require_a_way_back()


def test_a_host_on_the_labs_own_machine() -> None:
    """Its roles meet the others there, and that is told. There is no other machine to look at."""
    here = host("rack-2", machine=machine.fingerprint())
    far = Near(here, "127.0.0.1", None)
    assert far.is_here and far.moment() == {} and list(far.here) == [77]
    assert list(far.remarks)[1:] == ["host rack-2 is on this very machine: the generator meets the other roles there"]
    use = RoleUse(1.0, None, None, "cgroup2")
    assert remote.RemoteMeter(far, 0).use(cast(Any, use), cast(Any, None)).host is None


class Near(RemoteHost):
    """A host that answers what it is told to."""

    def ask(self, method: str, *words: object, within_s: float = 0.0) -> Any:
        return {"clock_s": time.time(), "process": 77, "remark": "", "use": words[1] if len(words) > 1 else None}[method]
