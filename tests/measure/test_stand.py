"""The clocks of two machines: what each role used is held against its own machine, and what disturbs the other one is found."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen, check_output
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.fakes import LOAD, WORKLOAD, Server, World
from fairground.host import HostReading, Moment
from fairground.host.cgroup import Groups
from fairground.measure import loaded, session
from fairground.measure.arm import ServiceArm
from fairground.measure.bench import HOST, Bench
from fairground.measure.schedule import Turns, Whole
from fairground.measure.session import ArmSession
from fairground.measure.stand import Stand, machines_between
from fairground.measure.watch import WatchedArm
from fairground.model import Cell, CellSettings, Durability, HostUse, Load, RoleUse, Severity, Topology, Verdict

USE = RoleUse(1e6, None, None, "cgroup2")
ELSEWHERE = replace(USE, host="rack-2")
CALM = HostUse(0.0, 0.5, None, 0.0, {})


def moment(at_s: float, busy_s: float, own_s: float = 0.0) -> Moment:
    """A machine of two processors that was busy for so long by then."""
    made = Moment(None)
    spent = dict.fromkeys(("nice", "system", "iowait", "irq", "softirq", "steal"), 0)
    made.own_ns = round(own_s * 1e9)
    made.host = HostReading(at_s, {**spent, "user": round(busy_s * 1e9), "idle": round((2 * at_s - busy_s) * 1e9)}, None, {})
    return made


def test_one_machine() -> None:
    """All that roles and lab did not use there is somebody else's."""
    lab, here, there = machines_between(Stand(moment(0, 0)), Stand(moment(10, 3.5, 0.5)), [USE, USE], True)
    assert (lab.cpu_us, here.foreign_cpu_us, there) == (0.5e6, 1e6, {})


def test_a_role_elsewhere_counts_there() -> None:
    """What it used is not taken off this machine, and what strangers use over there is seen."""
    before = Stand(moment(0, 0), {"rack-2": moment(50, 1)})
    after = Stand(moment(10, 2.0), {"rack-2": moment(60, 5.5, 0.5)})
    _, here, there = machines_between(before, after, [USE, ELSEWHERE], True)
    assert here.foreign_cpu_us == pytest.approx(1e6)
    assert there["rack-2"].foreign_cpu_us == pytest.approx(3e6)


def test_what_disturbs_the_other_machine_is_named() -> None:
    """With the host; what is said of this one stays as it is."""
    before, after = Stand(moment(0, 0), {"rack-2": moment(0, 0)}), Stand(moment(10, 1.0), {"rack-2": moment(10, 6)})
    _, here, there = machines_between(before, after, [USE, ELSEWHERE], True)
    bench = Bench(cast(Any, None), None, Path(), (), 2, elsewhere=cast(Any, type("There", (), {"name": "rack-2"})()))
    (found,) = bench.disturbances(10.0, here, there, None)
    assert found.sentence.startswith("on host rack-2: other processes used 50% of a core during the window")
    assert (found.id, found.severity, found.evidence[HOST]) == ("foreign-cpu", Severity.VOID, "rack-2")
    assert bench.disturbances(10.0, here, {}, None) == ()


def test_what_a_cell_asks_for_disturbs_no_window() -> None:
    """Commits that wait for the disk of the database's host, and a server that ends at its limit; of a service nobody knows.

    Nor of a given server on this machine, which waits as it likes; one elsewhere has a disk of its own.
    """
    calm = HostUse(0.0, 0.5, None, 0.0, {})
    waiting, killed = replace(calm, pressure_io_full_share=0.5), replace(calm, memory_kills=1)
    plain = Cell("a", "write", Topology(), Load(), CellSettings())
    durable, limited = (
        replace(plain, settings=CellSettings(durability=Durability.DURABLE)),
        replace(plain, settings=CellSettings(memory_mb=64)),
    )
    one = Bench(cast(Any, None), None, Path(), (), 2)
    two = replace(one, its_host=cast(Any, SimpleNamespace(name="rack-3")))

    def found(here: HostUse, there: Mapping[str, HostUse], cell: Cell, bench: Bench = two) -> list[str]:
        return [one.id for one in bench.disturbances(10.0, here, there, cell)]

    assert (found(waiting, {}, durable, one), found(waiting, {}, plain, one)) == ([], ["io-pressure"])
    assert found(waiting, {}, durable) == ["io-pressure"]
    assert (found(killed, {}, limited), found(killed, {}, plain)) == ([], ["memory-kills"])
    assert (found(calm, {"rack-3": waiting}, durable), found(calm, {"rack-2": waiting}, durable)) == ([], ["io-pressure"])
    near, far = (
        replace(one, database=cast(Any, SimpleNamespace(owner=None, admin=SimpleNamespace(host=host))))
        for host in ("127.0.0.1", "rack-4")
    )
    assert (found(waiting, {}, plain, near), found(waiting, {}, durable, far)) == ([], ["io-pressure"])
    service = ServiceArm("a", plain, WORKLOAD, 1, "127.0.0.1", 80)
    assert found(waiting, {}, service.machine_cell, one) == []


@pytest.mark.parametrize(("durability", "voids"), [(Durability.DURABLE, False), (Durability.RELAXED, True)])
def test_windows_are_judged_by_the_cell_of_their_arm(
    durability: Durability, voids: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole windows and those in turns: a durable database may wait for the disk in both."""
    waiting = HostUse(0.0, 0.5, None, 0.0, {}, pressure_io_full_share=0.5)
    for module in (loaded, session):
        monkeypatch.setattr(module, "machines_between", lambda *_: (USE, waiting, {}))
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    arms = [replace(arm, cell=replace(arm.cell, settings=CellSettings(durability=durability))) for arm in world.arms()]
    with ArmSession(world.bench(), arms, tmp_path) as session_of_both:
        windows = [*session_of_both.load(Whole("a", LOAD, 7)), *session_of_both.load(Turns(("a", "b"), LOAD, 1.0, 1.0))]
    assert [window.void is not None for window in windows] == [voids] * 3


def test_a_trial_is_void_by_what_disturbs_the_generators_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is another machine; on a quiet one it is valid."""
    calm = HostUse(0.0, 0.5, None, 0.0, {})
    busy = replace(calm, foreign_cpu_us=2e9)
    elsewhere = cast(Any, SimpleNamespace(name="rack-2", require=lambda: None, moment=lambda: {}, here=()))
    for there, verdict in ((busy, Verdict.VOID), (calm, Verdict.VALID)):
        monkeypatch.setattr(loaded, "machines_between", lambda *_, there=there: (USE, calm, {"rack-2": there}))
        world = World({"a": Server()}).moved_into(monkeypatch)
        with ArmSession(replace(world.bench(), elsewhere=elsewhere), world.arms(), tmp_path / str(verdict)) as session:
            session.load(Whole("a", LOAD, 7, trial=True))
        ended = session.ended["a"]
        told = [one.sentence for one in ended.findings if one.evidence.get(HOST) == "rack-2"]
        assert ended.verdict is verdict and [one[:16] for one in told] == (["on host rack-2: "] if there is busy else [])


def test_what_a_host_on_this_machine_starts_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab's clocks are read with the processes of the generator's hosts that are here."""
    seen = list[object]()
    monkeypatch.setattr("fairground.measure.bench.Moment", lambda spun_ns, also: seen.append(tuple(also)))
    keeper = cast(Any, SimpleNamespace(spun_ns=lambda: None, groups=Groups(None, ())))
    far = cast(Any, SimpleNamespace(name="rack-2", moment=lambda: {}, here=(77,)))
    for elsewhere in (None, far):
        Bench(keeper, None, Path(), (), 2, elsewhere=elsewhere).stand()
    assert seen == [(), (77,)]


STANDS = """
import sys
from pathlib import Path
from types import SimpleNamespace
from fairground.host import RoleMeter, listener
from fairground.host.cgroup import Groups
from fairground.measure.bench import Bench
service = listener(int(sys.argv[1]))
keeper = SimpleNamespace(spun_ns=lambda: None, groups=Groups(None, ()))
for meters in ((), (RoleMeter(service),)):
    strangers = Bench(keeper, None, Path(), (), 2).stand(meters).here.host.strangers
    print([pid for pid, _ in strangers.cpu_ns if pid in service.pids] == list(service.pids))
"""
"""Asks, as a lab that did not start what listens at a port, whether that is a stranger: unmetered, then metered."""


@pytest.mark.live
def test_a_metered_service_that_somebody_else_started_is_no_stranger() -> None:
    """Its work disturbs no window. Of one that nobody meters it does."""
    serves = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    with Popen([sys.executable, "-c", serves], stdin=PIPE, stdout=PIPE, text=True) as service:
        assert service.stdout is not None
        try:
            told = check_output([sys.executable, "-c", STANDS, service.stdout.readline()], text=True)
        finally:
            service.kill()
    assert told.split() == ["True", "False"]


@pytest.mark.parametrize("lacking", [None, "database"])
def test_what_strangers_used_is_unknown_beside_roles_that_nobody_meters(
    lacking: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A given database whose process is not seen would be taken for strangers; nobody meters a service beside pgbench."""
    seen = list[object]()
    for module in (loaded, session):
        monkeypatch.setattr(module, "machines_between", lambda *words: (seen.append(words[-1]), (USE, CALM, {}))[1])
    watched = [WatchedArm(None), WatchedArm(None)]
    left = iter(watched)
    monkeypatch.setattr(session, "WatchedArm", lambda _: next(left))
    world = World({"a": Server(), "b": Server()}).moved_into(monkeypatch)
    with ArmSession(world.bench(), world.arms(), tmp_path) as session_of_both:
        for one in watched:
            one.meters["database"] = one.meters["server"]
        if lacking is not None:
            del watched[1].meters[lacking]
        for label in ("a", "b"):
            session_of_both.load(Whole(label, LOAD, 7))
        session_of_both.load(Turns(("a", "b"), LOAD, 1.0, 1.0))
    known = lacking is None
    assert seen == [True, known, known, known]
    service = ServiceArm("a", Cell("a", "w", Topology(), LOAD, CellSettings()), WORKLOAD, 1, "127.0.0.1", 80)
    roles = (("server", "database"), ("server",), ("database",))
    assert [service.is_metered(some) for some in roles] == [True, False, False]
    assert [world.arms()[0].is_metered(some) for some in roles] == [True, False, True]


KILLED = """
import os, signal, sys
from pathlib import Path
from fairground.host import Keeper
from fairground.measure.bench import Bench
from fairground.model.error import ENDING
with Keeper(os.environ) as keeper:
    if sys.argv[1] == "killed":
        os.kill(keeper.pid, signal.SIGKILL)
        os.waitid(os.P_PID, keeper.pid, os.WEXITED | os.WNOWAIT)
    try:
        Bench(keeper, None, Path(sys.executable), (), 2).require()
    except ENDING as error:
        print(error.message)
"""


@pytest.mark.live
@pytest.mark.parametrize(("keeper", "told"), [("killed", "the keeper process was killed; "), ("alive", "")])
def test_without_its_keeper_nothing_more_is_measured(keeper: str, told: str) -> None:
    """That is no fault of the server whose start meets it first."""
    assert check_output([sys.executable, "-c", KILLED, keeper], text=True)[:31] == told
