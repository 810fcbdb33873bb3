"""What several engines counted of one load, as one: every count is in the sum, and no number is made up."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from builders.paths import ROOT
from fairground.generators import engine, joined
from fairground.generators.latency import of_counts
from fairground.inputs import manifest
from fairground.model import Load

GOLDEN = ROOT / "engine" / "tests" / "golden"
PING = next(one for one in manifest.load_workloads(ROOT / "workloads") if one.id == "ping")


def histogram(*values_us: int) -> dict[str, Any]:
    """A histogram of these values, as the engine tells one."""
    found = of_counts({value: values_us.count(value) for value in values_us})
    return {"mean_us": None, **vars(found)}


def told(name: str, **window: Any) -> dict[str, Any]:
    """A document with histograms that can be read, and with other values in its window."""
    found = json.loads((GOLDEN / name).read_text())
    return {**_readable(found), "window": {**_readable(found["window"]), **window}}


def _readable(found: Any) -> Any:
    """The golden documents' histograms hold made-up text; here each has a hundred answers of a millisecond."""
    if isinstance(found, dict):
        if "v2" in found:
            return histogram(*[1000] * 100)
        read = {name: _readable(value) for name, value in found.items()}
        return {**read, "ok": 100, "histogram": histogram(*[1000] * 100)["v2"]} if "histogram" in read else read
    return [_readable(one) for one in found] if isinstance(found, list) else found


def test_plans_share_requests_and_connections() -> None:
    """Every connection has an engine; the threads of all are as many, so that their parts of the requests do not meet."""
    plan = engine.plan(PING, Load(11, threads=4), "127.0.0.1", 9, 7, {})
    shared = joined.plans(plan, 3)
    loads = [one["load"] for one in shared]
    assert [load["connections"] for load in loads] == [4, 4, 3] and {load["threads"] for load in loads} == {3}
    assert [load["part"] for load in loads] == [{"number": number, "of": 3} for number in range(3)]
    assert {one["seed"] for one in shared} == {7} and all(one["requests"] == plan["requests"] for one in shared)


@pytest.mark.parametrize("name", ["result.json", "result-steps.json", "result-minimal.json"])
def test_counts_add_up(name: str) -> None:
    """Two documents of the same counts have twice as many of each, at twice the rate; what is no count stays."""
    one = told(name)
    both = joined.document([one, copy.deepcopy(one)])
    window, was = both["window"], one["window"]
    for count in (
        "sent",
        "completed",
        "completed_ok",
        "in_flight_start",
        "in_flight_end",
        "bytes_received",
        "connections_opened",
    ):
        assert window[count] == 2 * was[count], count
    assert window["outcomes"]["ok"] == 2 * was["outcomes"]["ok"] and window["duration_us"] == was["duration_us"]
    assert window["outcomes"]["status"] == {code: 2 * count for code, count in was["outcomes"]["status"].items()}
    assert both["life"]["sent"] == 2 * one["life"]["sent"] and both["self"]["threads"] == 2 * one["self"]["threads"]
    assert both["self"]["busiest_thread_busy_share"] == one["self"]["busiest_thread_busy_share"]
    for name, sides in one["ledger"].items():
        for account, row in sides["acknowledged"].items():
            assert both["ledger"][name]["acknowledged"][account] == {"count": 2 * row["count"], "sum": 2 * row["sum"]}
    assert set(both) == set(one) and set(window) == set(was)
    for step, before in zip(window["steps"] or (), was["steps"] or (), strict=True):
        assert (step["due"], step["rate_per_s"], step["duration_us"]) == (
            2 * before["due"],
            before["rate_per_s"],
            before["duration_us"],
        )
        assert step["achieved_per_s"] == (None if before["achieved_per_s"] is None else 2 * before["achieved_per_s"])


def test_histograms_are_added() -> None:
    """Percentiles are those of all answers, and neither of a mean of percentiles nor of the first engine's."""
    fast, slow = told("result.json"), told("result.json")
    fast["window"]["latency"]["ok"], slow["window"]["latency"]["ok"] = histogram(*[100] * 98), histogram(*[9000] * 2)
    found = joined.document([fast, slow])["window"]["latency"]["ok"]
    assert (found["count"], found["min_us"], found["max_us"], found["p50_us"]) == (100, 100, 9000, 100)
    assert found["p99_us"] == pytest.approx(9000, rel=0.002) and found["mean_us"] == pytest.approx(278)
    empty = {**histogram(), "count": 0}
    fast["window"]["latency"]["ok"] = empty
    assert joined.document([fast, slow])["window"]["latency"]["ok"]["count"] == 2


def test_seconds_are_told_together() -> None:
    """By their number; the last one may be one engine's alone."""
    one, other = told("result.json"), told("result.json")
    extra = {**other["seconds"][-1], "second": 99, "ok": 100, "in_flight": 5}
    other["seconds"] = [*other["seconds"], extra]
    found = joined.document([one, other])["seconds"]
    assert [row["ok"] for row in found] == [200] * len(one["seconds"]) + [100]
    assert found[-1]["in_flight"] == 5 and found[0]["p50_us"] == pytest.approx(1000, rel=0.002)


def gaps(*rows: tuple[int, int, int]) -> dict[str, Any]:
    """Gaps of an engine: start, length, and what of it is its own."""
    found = [dict(zip(("start_us", "duration_us", "own_us"), row, strict=True)) for row in rows]
    return {"least_us": 20_000, "count": len(rows), "longest": found}


def test_a_gap_is_one_of_all_engines() -> None:
    """An answer to any of them ends it. The second window began 10 ms later, by the lab's clock."""
    first = told("result.json", start_unix_us=1_000_000, gaps=gaps((100_000, 200_000, 5), (900_000, 50_000, 0)))
    second = told("result.json", start_unix_us=1_010_000, gaps=gaps((100_000, 100_000, 7), (300_000, 400_000, 0)))
    found = joined.document([first, second])["window"]["gaps"]
    assert found == {"least_us": 20_000, "count": 1, "longest": [{"start_us": 110_000, "duration_us": 100_000, "own_us": 7}]}


def test_what_one_engine_could_not_measure() -> None:
    """Without the window of one there is none; what a machine does not tell is not half told."""
    one, other = told("result.json"), told("result-minimal.json")
    for name in ("kinds", "latency"):
        other["window"][name] = copy.deepcopy(one["window"][name])
    assert other["window"]["duration_us"] == 0
    found = joined.document([one, {**other, "self": {**other["self"], "cpu_user_us": None}}])
    one["self"]["receive_lag"], other["self"]["receive_lag"] = histogram(5), None
    assert joined.document([one, other])["self"]["receive_lag"] is None
    assert (found["window"]["start_unix_us"], found["window"]["duration_us"], found["self"]["cpu_user_us"]) == (None, 0, None)


def test_three_samples_of_each_bad_outcome() -> None:
    """As one engine tells, whoever met them."""
    one = told("result.json")
    one["samples"] = [{"outcome": "reset", "status": None, "number": number} for number in range(2)]
    two = {**one, "samples": [{"outcome": "reset", "status": None, "number": 7}] * 2 + [{"outcome": "timeout", "status": None}]}
    found = joined.document([one, two])["samples"]
    assert [row.get("number") for row in found] == [0, 1, 7, None]


def turn(ok: int, active_us: int, settled: tuple[int, int]) -> dict[str, Any]:
    """What an engine says when it stands still."""
    outcomes = {"ok": ok, "shed": 0, "status": {}, "timeout": 1}
    parts = {name: {"count": 3, "latency_ok": None} for name in ("burst", "drain")}
    held = {"number": 4, "active_us": active_us, "cpu_us": 10, "outcomes": outcomes, "latency_ok": None, **parts}
    held["settled"] = {"ok": settled[0], "not_ok": 0, "active_us": settled[1]}
    return {"event": "held", "ok": ok, "not_ok": 1, "active_us": active_us, "turn": held}


def test_turns_are_told_together() -> None:
    """Answers add up; a turn lasts until the last of all answers, and its settled part as long as those of engines on average."""
    found = joined.event([turn(40, 30_000, (20, 20_000)), turn(60, 34_000, (30, 24_000))])
    assert (found["ok"], found["not_ok"], found["active_us"], found["turn"]["cpu_us"]) == (100, 2, 34_000, 20)
    assert found["turn"]["settled"] == {"ok": 50, "not_ok": 0, "active_us": 22_000}
    assert found["turn"]["outcomes"] == {"ok": 100, "shed": 0, "timeout": 2, "status": {}}
    short = joined.event([turn(40, 30_000, (20, 20_000)), turn(60, 34_000, (0, 0))])
    assert short["turn"]["settled"] == {"ok": 0, "not_ok": 0, "active_us": 0}


def test_seconds_of_a_run_are_told_together() -> None:
    """Answers add up; of latencies the slowest engine's are told."""
    second = {
        "event": "second",
        "phase": "warmup",
        "second": 2,
        "ok": 5,
        "not_ok": 1,
        "p50_us": 3,
        "p99_us": 9,
        "max_us": 9,
        "in_flight": 4,
    }
    found = joined.event([second, {**second, "ok": 7, "p50_us": None, "p99_us": 20, "max_us": 30}])
    assert found == {**second, "ok": 12, "not_ok": 2, "p99_us": 20, "max_us": 30, "in_flight": 8}
