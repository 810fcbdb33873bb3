"""Several engines that make one load together: real ones on this machine, against servers that keep a list of what they were asked."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.paths import ENGINE, ROOT
from fairground.generators import engine, several
from fairground.generators.running import Local, Running
from fairground.generators.several import SeveralEngines, SeveralHosts
from fairground.host import Clock, Keeper, Stopped
from fairground.model import LabError, Load, MachineError, RoleUse

REQUEST = {"kind": "number", "method": "GET", "path": "/n?n={seq}", "expect": {"status": 200}}
USE = RoleUse(10.0, 100, 2, "cgroup2", busiest_thread_share=0.5, host="a")


@contextmanager
def listing() -> Iterator[tuple[int, list[str]]]:
    """The engine's own server, its port, and once it has ended the requests that it was sent."""
    words = [str(ENGINE), "faulty", "--script", "", "--list"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = list[str]()
    try:
        yield json.loads(process.stderr.readline())["port"], lines
    finally:
        told, _ = process.communicate()
    lines += [row["line"] for row in json.loads(told)["list"]]


def plan(port: int, load: Load, **more: Any) -> dict[str, Any]:
    """Numbered requests, without a rule for what is answered."""
    made = engine.plan(cast(Any, SimpleNamespace(edges=(), id="n", method="GET", path="/", headers=(), body=None, ledger=(),
                       expect=SimpleNamespace(status=200, content_type=None, body=None, check_one_in=1))),
                       load, "127.0.0.1", port, 7, {}, **more)  # fmt: skip
    return {**made, "requests": [REQUEST]}


@contextmanager
def engines(folder: Path, of: int = 2) -> Iterator[SeveralEngines]:
    """So many engines of this machine, as those of so many hosts."""
    with Keeper(os.environ) as keeper:
        parts = list[Running]()
        for number in range(of):
            own = folder / f"host-{number}"
            own.mkdir()
            parts.append(Local(keeper, ENGINE, own))
        yield SeveralEngines(parts, folder)


def parts_of(folder: Path) -> list[Mapping[str, Any]]:
    """What each engine counted."""
    return [json.loads((one / "engine.json").read_text()) for one in sorted(folder.glob("host-*"))]


@pytest.mark.live
@pytest.mark.parametrize("rate_per_s", [None, 2000.0])
def test_counts_of_two_engines_add_up(rate_per_s: float | None, tmp_path: Path) -> None:
    """Exactly: each request was made once, by one of them, and is in the counts of both together. Closed loop and open."""
    shape = Load(5, threads=1, window_s=0.5, warmup_min_s=0.3, timeout_ms=2000)
    load = shape if rate_per_s is None else replace(shape, model="open", rate_per_s=rate_per_s)
    with listing() as (port, lines), engines(tmp_path) as both:
        session, said = engine.Session(both, plan(port, load)), list[str]()
        while (event := session.event()) is not None:
            said.append(event["event"])
            if said == ["start"]:
                time.sleep(0.3)
                session.measure()
        found = session.result()
        session.stop()
    one, other = parts_of(tmp_path)
    assert said.count("window") == said.count("drain") == said.count("start") == said.count("end") == 1
    assert found.completed_ok == one["window"]["completed_ok"] + other["window"]["completed_ok"] > 100
    assert min(one["window"]["completed_ok"], other["window"]["completed_ok"]) > 20
    assert found.life.total - found.life.unsent == found.life.ok == len(lines) == one["life"]["sent"] + other["life"]["sent"]
    assert found.life.unsent == one["life"]["outcomes"]["unsent"] + other["life"]["outcomes"]["unsent"]
    assert found.life.unsent <= (0 if rate_per_s is None else 0.1 * len(lines)), (
        "a rate that a busy machine cannot keep leaves few of its requests unsent"
    )
    assert len(set(lines)) == len(lines), "a number was sent twice"
    assert found.latency_ok is not None and found.latency_ok.count == found.window.ok
    assert json.loads((tmp_path / "engine.json").read_text())["window"]["completed_ok"] == found.completed_ok
    if rate_per_s is not None:
        assert len(lines) == pytest.approx(0.8 * rate_per_s, rel=0.5)


@pytest.mark.live
def test_two_engines_take_turns_as_one(tmp_path: Path) -> None:
    """Both stand still until they are told to go, and a turn's answers are those of both."""
    counted = list[int]()
    with listing() as (port, lines), engines(tmp_path) as both:
        session = engine.Session(both, plan(port, Load(4, window_s=60.0, timeout_ms=2000), begin="held"))
        for _ in range(4):
            while (event := session.event()) is not None and event["event"] != "held":
                pass
            assert event is not None
            counted.append(engine.turn(event).outcomes.ok)
            session.go()
            time.sleep(0.05)
            session.hold()
        while (event := session.event()) is not None and event["event"] != "held":
            pass
        assert event is not None
        counted.append(engine.turn(event).outcomes.ok)
        session.stop()
    assert counted[0] == 0 and min(counted[1:]) > 10 and sum(counted) == event["ok"] == len(lines)


@pytest.mark.live
def test_one_that_ends_early_does_not_hold_the_others(tmp_path: Path) -> None:
    """Its words are passed on, and what the others say is no longer held back for it."""
    with listing() as (port, _), engines(tmp_path) as both:
        first, _ = cast(Any, both)._parts
        session = engine.Session(both, plan(port, Load(4, window_s=0.5, timeout_ms=2000)))
        assert session.event() is not None
        first.child.stop()
        said = []
        session.measure()
        while (event := session.event()) is not None:
            said.append(event["event"])
        session.stop()
    assert "second" in said and said[-1] == "end"


@pytest.mark.parametrize(("codes", "told"), [((0, 3), None), ((3, 0), None), ((3, 3), 3), ((0, None), None)])
def test_a_host_that_cannot_connect_is_no_fault_of_the_server(
    codes: tuple[int | None, ...], told: int | None, tmp_path: Path
) -> None:
    """Where another one can. Where none can, that is the result, as it is of one engine; one that still runs has none."""
    nothing = (ROOT / "engine" / "tests" / "golden" / "result-minimal.json").read_text()
    parts = [
        SimpleNamespace(document=lambda _, code=code: (code, nothing), read=lambda _: b"", stop=lambda: None) for code in codes
    ]
    both = SeveralEngines(cast(Any, parts), tmp_path)
    if {0, 3} <= set(codes):
        with pytest.raises(LabError, match="could open no connection, and another one could"):
            both.document(1.0)
    else:
        assert both.document(1.0)[0] == told
    both.stop()


class Silent:
    """An engine whose host is gone."""

    child = None

    def read(self, within_s: float) -> bytes | None:
        """Nothing."""
        raise MachineError("host `b`, on which the generator runs, does not answer: gone")

    def stop(self) -> Stopped:
        """It has."""
        return Stopped(None, None, ())


def test_a_host_that_is_gone_is_said(tmp_path: Path) -> None:
    """By the reader, in the host's words."""
    both = SeveralEngines([cast(Any, Silent()), cast(Any, Silent())], tmp_path)
    with pytest.raises(MachineError, match="host `b`, on which the generator runs, does not answer"):
        both.read(5.0)
    both.stop()


def test_what_is_used_adds_up() -> None:
    """CPU, memory and threads do. Of what is told of one thread the busiest one counts, and each host's own stays known."""
    found = several.together([USE, replace(USE, cpu_us=30.0, busiest_thread_share=0.9, host="b")])
    assert (found.cpu_us, found.memory_peak_bytes, found.threads_peak) == (40.0, 200, 4)
    assert (found.busiest_thread_share, found.host) == (0.9, "a+b")
    assert found.cpu_us_by_host == {"a": 10.0, "b": 30.0}
    here = several.together([replace(USE, host=None)] * 2)
    assert (here.host, here.cpu_us_by_host) == (None, {})
    assert several.together([USE, replace(USE, cpu_us=None)]).cpu_us is None


class Counting:
    """A meter of an engine that uses a second of CPU between two looks."""

    memory_bytes = 7

    def __init__(self) -> None:
        self.at = 0

    def sample(self) -> None:
        """Nothing is kept."""

    def start(self) -> None:
        """Nothing is forgotten."""

    def cpu_ns(self) -> int:
        """A second more."""
        self.at += 10**9
        return self.at

    def clock(self) -> Clock:
        """CPU alone."""
        return Clock(self.cpu_ns())

    def use(self, before: Clock, after: Clock) -> RoleUse:
        """CPU alone."""
        return RoleUse((after.cpu_ns - before.cpu_ns) / 1000, None, None, "made up")


def test_meters_add_up() -> None:
    """Each engine is held against its own clocks."""
    meter = several.SeveralMeters([cast(Any, Counting()), cast(Any, Counting())])
    before = meter.clock()
    assert meter.memory_bytes is None
    meter.sample()
    assert (meter.memory_bytes, meter.use(before, meter.clock()).cpu_us) == (14, 2e6)


def test_several_hosts_are_one() -> None:
    """Their name, what is said of them, and the clocks of each; the first that does not qualify is told."""
    made: list[Any] = [
        SimpleNamespace(name=name, front="10.0.0.1", here=[ord(name)], moment=lambda name=name: {name: 1}, remarks=[f"{name} is far"],
                        described=f"{name}, CPU", qualify=lambda _, can=can: json.dumps({"can_measure": can, "checks": []}))
        for name, can in (("a", True), ("b", False), ("c", True))
    ]  # fmt: skip
    both = SeveralHosts(made)
    assert (both.name, both.front, both.described) == ("a+b+c", "10.0.0.1", "a, CPU; b, CPU; c, CPU")
    assert list(both.here) == [ord(name) for name in "abc"]
    assert set(both.moment()) == {"a", "b", "c"} and list(both.remarks)[1:] == ["a is far", "b is far", "c is far"]
    assert json.loads(both.qualify(1.0))["can_measure"] is False
    assert json.loads(SeveralHosts(made[::2]).qualify(1.0))["can_measure"] is True
