"""Two servers in turns: what is decided from pairs, what the burner burns, and a live fight with a known winner."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy
import psutil
import pytest

from fairground import contract, duel, manifest
from fairground.differences import Word
from fairground.duel import Arm, Bench, Pair, Window
from fairground.generators.engine import Session
from fairground.model import LabError, Load, Settings, Stack
from fairground.postgres import Database
from fairground.process import Child, Keeper, burner

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "engine/target/release/fairload"


def pairs(
    rate: float, cost: float, rounds: int = 8, each: int = 5, start_sd: float = 0.01, pair_sd: float = 0.04, seed: int = 1
) -> list[Pair]:
    """Simulated pairs: B gives `rate` times A's answers at `cost` times its CPU; starts and windows differ by chance."""
    draw = numpy.random.default_rng(seed)
    found = []
    for number in range(1, rounds + 1):
        start = draw.normal(0, start_sd)
        for place in range(1, each + 1):
            phase, noise = math.exp(draw.normal(0, 0.3)), math.exp(start + draw.normal(0, pair_sd))
            a, b = 10_000 * phase, 10_000 * phase * rate * noise
            cpu_a, cpu_b = 1e6 / phase / 10, 1e6 / phase / 10 * cost / noise
            one = Window(round(a), 0, 1.0, cpu_a * a / 1e5)
            other = Window(round(b), 0, 1.0, cpu_b * b / 1e5)
            found.append(Pair(number, place, "a", one, other))
    return found


def test_a_slower_arm_is_called_on_both_quantities() -> None:
    """5 % more CPU and 5 % fewer answers are seen through phases of 30 %."""
    decision = duel.decide(pairs(0.95, 1.05))
    assert (decision.rate.word, decision.cost.word) == (Word.SLOWER, Word.SLOWER)
    assert decision.rate.ratio is not None and decision.rate.ratio.middle == pytest.approx(0.95, abs=0.03)
    assert (decision.rounds, decision.pairs, decision.void_pairs) == (8, 40, 0)


def test_equal_arms_are_seldom_called() -> None:
    """Over 200 simulated duels of equals, starts that differ included, faster and slower are rare."""
    words = [duel.decide(pairs(1.0, 1.0, seed=seed)).cost.word for seed in range(200)]
    assert sum(word in (Word.FASTER, Word.SLOWER) for word in words) <= 0.08 * 200


def test_starts_are_the_unit_of_evidence() -> None:
    """When starts differ much, many windows inside few starts make no narrow interval."""
    few = duel.decide(pairs(1.0, 1.0, rounds=6, each=40, start_sd=0.10, pair_sd=0.001))
    assert few.half_width is not None and few.half_width > 0.04


def test_few_starts_call_nothing() -> None:
    """Below five starts every word is inconclusive, whatever the numbers."""
    decision = duel.decide(pairs(0.5, 2.0, rounds=4))
    assert (decision.rate.word, decision.cost.word) == (Word.INCONCLUSIVE, Word.INCONCLUSIVE)


def test_void_pairs_count_for_nothing() -> None:
    """Pairs that the machine spoiled are kept, counted, and not used."""
    spoiled = [replace(pair, void="somebody else computed", b=replace(pair.b, ok=1)) for pair in pairs(1.0, 1.0)]
    decision = duel.decide([*pairs(0.9, 1.1), *spoiled])
    assert decision.void_pairs == 40
    assert decision.rate.ratio is not None and decision.rate.ratio.middle == pytest.approx(0.9, abs=0.03)


def test_without_cpu_only_the_rate_is_decided() -> None:
    """A machine that shows no CPU leaves the cost unknown, not zero."""
    blind = [replace(pair, a=replace(pair.a, cpu_us=None)) for pair in pairs(0.9, 1.0)]
    decision = duel.decide(blind)
    assert decision.cost.ratio is None and decision.rate.word is Word.SLOWER
    assert decision.half_width is not None


def test_requests_without_a_good_answer_are_told() -> None:
    """The share is each arm's own, over its sound pairs; a spoiled pair's errors are the machine's."""
    seen = [replace(pair, b=replace(pair.b, ok=900, not_ok=100)) for pair in pairs(1.0, 1.0)]
    spoiled = replace(seen[0], void="somebody else computed", a=replace(seen[0].a, not_ok=7))
    assert duel.decide([*seen, spoiled]).failed == (0.0, 0.1)
    assert duel.decide([]).failed == (None, None)


@pytest.mark.live
@pytest.mark.parametrize(("share", "apart"), [(0.25, 0.06), (0.002, 0.001)])
def test_burner_keeps_its_share(keeper: Keeper, share: float, apart: float) -> None:
    """Beside a program that computes all the time, the burner uses its share of that, and no more for looking how much it is."""
    if keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    busy = keeper.spawn([sys.executable, "-c", "while True: pass"], role="busy", env={})
    burning = burner.plant(keeper, ENGINE, busy, share)
    try:
        busy_s, burning_s = [], []
        for enough_s in (1.0, 4.0):  # what it took to start is left out
            until = time.monotonic() + 60
            while ran_s(busy) < enough_s and time.monotonic() < until:
                time.sleep(0.05)
            busy_s.append(ran_s(busy))
            burning_s.append(ran_s(burning))
        assert (burning_s[1] - burning_s[0]) / (busy_s[1] - busy_s[0]) == pytest.approx(share, abs=apart)
    finally:
        burning.stop(0.0)
        busy.stop()


def ran_s(child: Child) -> float:
    """How long a process of one thread has had a processor, to the nanosecond."""
    return int(Path(f"/proc/{child.pid}/schedstat").read_text().split()[0]) / 1e9


@pytest.fixture
def bench(keeper: Keeper, database: Database, tmp_path: Path) -> Bench:
    """A bench for two healthy animals."""
    workload = next(one for one in manifest.load_workloads(ROOT / "workloads") if one.id == "tx")
    return Bench(
        keeper,
        database,
        ENGINE,
        contract.load(ROOT / "contract" / "cases"),
        manifest.render(workload, 1),
        Load(connections=4, window_s=0.5, warmup_min_s=1.0, warmup_max_s=1.0, timeout_ms=3000),
        Settings(workers=1, pool_size=4, scale=1),
        tmp_path,
    )


def animal(name: str) -> Stack:
    """A stack of the zoo."""
    return manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo"), name)[0]


@pytest.mark.live
def test_fight_takes_turns_and_leaves_nothing(bench: Bench) -> None:
    """Two rounds of two pairs: both arms answer, who begins takes turns, what both wrote is audited, nothing runs on.

    A label may be a revision's name with a slash; each arm's log and document lie in a folder of its own.
    """
    arms = (Arm("a", animal("healthy")), Arm("healthy@origin/main", animal("healthy")))
    found = list(duel.fight(bench, *arms, 2, lambda pairs: pairs[-1].round < 2))
    assert [(pair.round, pair.number) for pair in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [pair.first == "a" for pair in found] == [False, True, True, False]
    assert {file.relative_to(bench.folder).as_posix() for file in bench.folder.rglob("*.*")} >= {
        "a/server.log",
        "a/engine.json",
        "healthy@origin-main/server.log",
        "healthy@origin-main/engine.json",
    }
    assert all(window.ok > 0 and window.not_ok == 0 for pair in found for window in (pair.a, pair.b))
    assert not bench.keeper.orphans()


@pytest.mark.live
def test_planted_slowdown_is_in_the_servers_cpu(bench: Bench) -> None:
    """Half as much again, planted in B's own group, shows as about that much more CPU per answer."""
    if bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    arms = (Arm("a", animal("healthy")), Arm("b", animal("healthy"), planted=0.5))
    found = list(duel.fight(bench, *arms, 4, lambda pairs: False))
    ratios = [
        pair.b.cpu_us_per_answer / pair.a.cpu_us_per_answer
        for pair in found
        if pair.a.cpu_us_per_answer and pair.b.cpu_us_per_answer
    ]
    assert 1.2 < math.exp(sum(map(math.log, ratios)) / len(ratios)) < 2.0
    assert not bench.keeper.orphans()


@pytest.mark.live
def test_roles_keep_to_the_cores_that_they_are_pinned_to(bench: Bench) -> None:
    """Servers and what is planted in them run on the server's cores, engines on the generator's."""
    if bench.keeper.groups.version is None:
        pytest.skip("no cgroup can be made here: a slowdown cannot be planted")
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    pinned = replace(bench, settings=replace(bench.settings, pin=(("server", (first,)), ("generator", (last,)))))
    seen = dict[str, set[tuple[int, ...]]]()

    def look(words: str) -> None:
        for process in psutil.Process().children(recursive=True) if "pair" in words else ():
            for role, sign in (("server", "serve.py"), ("burner", "burn"), ("generator", "run")):
                if sign in process.cmdline():
                    seen.setdefault(role, set()).add(tuple(process.cpu_affinity()))

    list(duel.fight(replace(pinned, say=look), Arm("a", animal("healthy")), Arm("b", animal("healthy"), 0.2), 1, lambda _: False))
    assert seen == {"server": {(first,)}, "burner": {(first,)}, "generator": {(last,)}}


@pytest.mark.live
def test_slow_answers_lengthen_turns(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn is many answers long, but no longer than a window: 30 ms each make 600, of which a window of 500 is left."""
    lasting, turn = dict[str, list[float]](), duel._Loader.turn

    def noted(loader: duel._Loader, seconds: float) -> None:
        lasting.setdefault(loader.side.arm.label, []).append(seconds)
        turn(loader, seconds)

    monkeypatch.setattr(duel._Loader, "turn", noted)
    workload = next(one for one in manifest.load_workloads(ROOT / "workloads") if one.id == "ping")
    ping = replace(bench, workload=manifest.render(workload, 1))
    list(duel.fight(ping, Arm("a", animal("healthy")), Arm("b", animal("dreamer")), 1, lambda pairs: False))
    assert lasting["a"] == lasting["b"]
    assert lasting["a"][0] == duel.TURN_S and lasting["a"][-1] == bench.load.window_s


@pytest.mark.live
def test_a_window_without_a_good_answer_ends_the_fight(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out of the ratios, it would flatter its arm."""
    monkeypatch.setattr(duel, "_window", lambda before, after: Window(0, 7, 0.5, None))
    with pytest.raises(LabError, match="no good answer in a whole window \\(7 others\\)") as caught:
        list(duel.fight(bench, Arm("a", animal("healthy")), Arm("b", animal("healthy")), 1, lambda pairs: False))
    assert caught.value.exit_code == 1
    assert not bench.keeper.orphans()


def test_an_engine_that_ends_by_itself_could_not_reach_its_server() -> None:
    """The sentence names the arm; where the server has ended too, that is the reason."""

    @dataclass
    class Ended:
        """An engine's session that is over, and a server that ended with a code or still runs."""

        code: int | None

        def event(self, timeout_s: float) -> None:
            return None

        def exit_code(self) -> int | None:
            return self.code

    for code, words in ((None, "`b` could not be reached"), (3, "`b` ended by itself with exit code 3")):
        side = duel._Side(Arm("b", animal("healthy")), cast(Child, Ended(code)), 1)
        with pytest.raises(LabError, match=words) as caught:
            duel._Loader(side, cast(Session, Ended(code))).event()
        assert caught.value.exit_code == 1


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "words", "each"),
    [
        ("lost-tx", "audit", 2),
        ("wrong-json", "contract", 2),
        ("never-ready", "become ready", 2),
        ("dies-midway", "`b` ended by itself with exit code 3", 100),
    ],
)
def test_a_wrong_arm_ends_the_fight_with_its_reason(bench: Bench, name: str, words: str, each: int) -> None:
    """What is not right is not compared: the sentence says which arm, and nothing runs on."""
    (workload,) = (
        one for one in manifest.load_workloads(ROOT / "workloads") if one.id == ("ping" if name == "wrong-json" else "tx")
    )
    load = replace(bench.load, connections=16)  # some animals misbehave under load only
    here = replace(bench, workload=manifest.render(workload, 1), load=load)
    with pytest.raises(LabError, match=words) as caught:
        list(duel.fight(here, Arm("a", animal("healthy")), Arm("b", animal(name)), each, lambda pairs: False))
    assert caught.value.exit_code == 1
    assert not bench.keeper.orphans()
