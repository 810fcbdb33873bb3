"""A counted start on a host and an engine that are none: its load is fixed work, and what is not counted is found."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from builders.fakes import GOOD, LOAD, Server, World
from fairground.host import counters
from fairground.measure import counted
from fairground.measure.arm import ArmWindow, CountedArm
from fairground.measure.counting import ENOUGH, MOST, PILOT, SLOWER, WorkedOff, one_start, patient, size_near, windows_of
from fairground.model import Severity
from fairground.model.count import UNCOUNTED, CountedStart, WorkCount
from fairground.stats import counts


class FakeReader:
    """Each reading is a thousand instructions for each good answer further on, and `calls` of one kind."""

    natives: tuple[str, ...] = ()
    calls = ("read",)

    def __init__(self, folder: Path, *_: object) -> None:
        self._readings = 0
        assert folder.is_dir()

    def read(self) -> WorkCount:
        """Begin and end of each window, by turns."""
        self._readings += 1
        answered = self._readings // 2 * GOOD
        return WorkCount(answered * 1000, {name: answered for name in self.calls})

    def forget(self) -> None:
        """There are none."""

    def outside(self, _: object) -> tuple[str, ...]:
        """Who runs natively."""
        return self.natives


def counted_start(
    server: Server,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    emulated: bool = True,
    requests: int = 6400,
    **reader: object,
) -> tuple[CountedStart, World]:
    """One start of a counted arm, and what was done to it."""
    world = World({"a": server}).moved_into(monkeypatch)
    monkeypatch.setattr(counted, "CountReader", type("Reader", (FakeReader,), reader))
    (plain,) = world.arms()
    emulator: Any = type("NoEmulator", (), {"calls": {}, "program": "qemu"})() if emulated else None
    arm = CountedArm(**{one.name: getattr(plain, one.name) for one in fields(plain)}, emulator=emulator)
    arm = replace(arm, cell=replace(arm.cell, load=replace(LOAD, warmup_max_s=30.0)))
    return one_start(world.bench(), arm, requests, 0.005, folder, 1), world


def test_a_start_is_verified_loaded_with_fixed_work_and_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up of some windows, then the same requests as at every start; what another session has, it has too."""
    found, world = counted_start(Server(), tmp_path / "one", monkeypatch)
    assert (found.settled, found.rejected, found.void, found.requests) == (True, None, None, 6400)
    assert world.log[:4] == ["a reset", "a start", "a verify", "a count"] and world.log[-1] == "a count"
    assert world.log.count(f"a turn of {6400 // 32}") == 8 + 32  # the first eight are of the warm-up
    assert all(one.work == WorkCount(GOOD * 1000, {"read": GOOD}) and one.answers == GOOD for one in found.counted)
    assert len(found.counted) == 32 and len(found.windows) > 32


@pytest.mark.parametrize(("asked", "size"), [(50, 6), (3, 1), (1099, 109)])
def test_the_requests_told_are_those_that_were_asked(
    asked: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows are of one size, so that what is left over is not asked. Another start by that number has the same."""
    found, world = counted_start(Server(), tmp_path / "one", monkeypatch, requests=asked)
    assert found.requests == len(found.counted) * size == windows_of(asked) * size
    assert f"a turn of {size}" in world.log and windows_of(asked) == windows_of(found.requests)


def test_lost_rows_reject_a_counted_arm_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit holds its answers against the database, and there is no number."""
    found, _ = counted_start(Server(keeps=0.9), tmp_path / "one", monkeypatch)
    assert found.rejected is not None and found.counted == ()


def test_a_process_outside_of_the_emulation_leaves_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told with its command, before anything is loaded."""
    found, world = counted_start(Server(), tmp_path / "one", monkeypatch, requests=0, natives=("node worker.js",))
    (said,) = [one for one in found.findings if one.id == UNCOUNTED]
    assert said.severity is Severity.VOID and said.sentence.startswith("`node worker.js` of the server is not counted")
    assert found.void == said.sentence and found.requests == 0 and not [line for line in world.log if "turn" in line]


def test_a_program_that_is_started_while_it_is_counted_leaves_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However soon it ends: the system call is counted."""
    found, _ = counted_start(Server(), tmp_path / "one", monkeypatch, calls=("execve",))
    assert found.void is not None and found.void.startswith(f"the server started {GOOD} programs while it was counted")


class FakeCounters:
    """A processor that counts 500 instructions for each good answer, as long as it is `open`."""

    def __init__(self, _: object, is_open: bool = True) -> None:
        self.counts, self.is_open = FakeReader(Path()), is_open

    def read(self) -> tuple[int, int, int]:
        """What it shows at each reading."""
        return (self.counts.read().instructions // 2, 100, 100 if self.is_open else 0)


@pytest.mark.parametrize("is_open", [True, False])
def test_counters_of_the_processor_are_the_same_quantity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool) -> None:
    """Without an emulation, and without system calls; a processor that has too few counters gives no number."""
    shown = FakeCounters(None, is_open)
    kernel = type("Kernel", (), {"open": lambda *_: 7, "read": lambda *_: shown.read(), "close": lambda *_: None})
    monkeypatch.setattr(counters, "Linux", kernel)
    monkeypatch.setattr(counted.CountedStack, "_threads", lambda _: [1])
    found, _ = counted_start(Server(), tmp_path / "one", monkeypatch, emulated=False)
    if is_open:
        assert (counts.instructions(found), counts.calls(found)) == (pytest.approx(500), None) and found.void is None
    else:
        assert found.void is not None and found.void.startswith("the processor's counters could not be read all along")


def test_a_silent_server_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer in a whole window is no count of 0."""
    found, _ = counted_start(Server(silent=True), tmp_path / "one", monkeypatch)
    assert found.rejected is not None and found.windows == ()


@dataclass(frozen=True)
class Deadline:
    """All of a case that matters here."""

    timeout_s: float


def test_a_translated_server_has_more_time_for_its_cases() -> None:
    """Its first logins at the database alone take seconds, and the machine's slowness is no fault of the server."""
    case: Any = Deadline(2.0)
    made = patient(replace(World({"a": Server()}).bench(), cases=[case]))
    assert [one.timeout_s for one in made.cases] == [SLOWER * 2.0]


def window(ok: int, window_s: float, instructions: int = 1000, warm_up: bool = True) -> ArmWindow:
    """A window in which each answer needed so much."""
    return ArmWindow(
        "a", 1, LOAD, ok, 0, window_s, {}, None, (), warm_up=warm_up, work=WorkCount(ok * instructions)
    )  # fmt: skip


def test_the_pace_says_how_much_work_is_fixed() -> None:
    """About a second and a half of it, as many as hold some collections of garbage if it is slow, and no end of it never."""
    schedule = WorkedOff("a", LOAD, None, 0.005)
    assert schedule.requests_after([window(5000, 1.0)]) == 6_400
    assert schedule.requests_after([window(2000, 1.0)]) == ENOUGH
    assert schedule.requests_after([window(100, 1.0)]) == 400
    assert schedule.requests_after([window(10**7, 1.0)]) == MOST
    assert replace(schedule, requests=77).requests_after([window(5000, 1.0)]) == 77


def test_a_warm_up_ends_when_counts_settle_or_its_time_is_up() -> None:
    """Windows as the counted ones, the first of a few requests. What has not settled is counted all the same."""
    schedule = WorkedOff("a", replace(LOAD, warmup_max_s=30.0), 640, 0.005)
    first = schedule.next([], ())
    assert first is not None and (first.requests, first.warm_up) == (PILOT * LOAD.connections, True)
    falling = [window(1000, 1.0, 2000 - 50 * place) for place in range(12)]
    unknown = replace(schedule, requests=None).next(falling, ())
    assert unknown is not None and unknown.requests == 100
    fast = replace(schedule, requests=None).next([window(8_000, 1.0)], ())
    assert fast is not None and fast.requests == 400  # as a counted one at this pace
    more = schedule.next(falling, ())
    assert more is not None and (more.requests, more.warm_up) == (100, True) and not schedule.has_settled(falling)
    late = schedule.next([*falling, window(1000, 50.0, 10**7)], ())
    assert late is not None and (late.requests, late.warm_up) == (640 // 8, False)
    steady = [window(1000, 1.0)] * 9
    assert schedule.has_settled(steady) and not cast(Any, schedule.next(steady, ())).warm_up
    assert schedule.next([*steady, *[window(80, 0.1, warm_up=False)] * 8], ()) is None
    assert schedule.next(steady, ("a",)) is None


def test_windows_that_still_fall_belong_to_the_warm_up() -> None:
    """A compiler that begins after the warm-up has settled is waited for; what is counted are the last windows."""
    schedule = WorkedOff("a", replace(LOAD, warmup_max_s=30.0), 800, 0.005)
    cold, hot = ([window(100, 0.1, cost, warm_up=False) for cost in costs] for costs in ([1300] * 3 + [700] * 2, [190] * 8))
    fell = [*[window(100, 0.1, 1300)] * 9, *cold, *hot[:3]]
    more = schedule.next(fell, ())
    assert more is not None and (more.requests, more.warm_up) == (100, False) and not schedule.has_settled(fell)
    assert schedule.next([*fell, *hot[3:]], ()) is None and schedule.has_settled([*fell, *hot[3:]])
    late = replace(window(100, 300.0, 10**7), warm_up=True)
    assert schedule.next([late, *fell], ()) is None


@pytest.mark.parametrize(("requests", "windows"), [(320, 8), (640, 8), (1250, 12), (3200, 32), (204_800, 32)])
def test_few_requests_are_asked_in_few_windows(requests: int, windows: int) -> None:
    """At both ends of a window connections idle, which would be much of one of twenty requests."""
    assert windows_of(requests) == windows


@pytest.mark.parametrize(
    ("requests", "size"),
    [(40, 50), (70, 50), (71, 100), (104, 100), (141, 100), (142, 200), (312, 400), (6_250, 6_400), (0.5, 1)],
)
def test_windows_have_few_sizes(requests: float, size: int) -> None:
    """A hundred requests, doubled or halved: paces that differ a little make the same windows."""
    assert size_near(requests) == size


def test_a_server_that_waits_for_its_core_is_warmed_for_longer() -> None:
    """Half a minute of its own time, or five times as long where it did little."""
    schedule = WorkedOff("a", replace(LOAD, warmup_max_s=30.0), 640, 0.005)

    def warmed(windows: int, instructions: int) -> bool:
        """Whether its warm-up is over after so many windows of 16 s, in each of which it did less."""
        made = [window(1000, 16.0, instructions * (20 - place) // 20) for place in range(windows)]
        return not cast(Any, schedule.next(made, ())).warm_up

    assert (warmed(1, 2_000_000), warmed(2, 2_000_000)) == (False, True)
    assert (warmed(9, 2_000), warmed(10, 2_000)) == (False, True)
