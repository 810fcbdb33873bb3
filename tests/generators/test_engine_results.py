"""What the load engine tells, read field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders.engine_documents import COMMAND, PROTOCOL, document, latency, outcomes
from fairground.generators import engine
from fairground.model import (
    BadAnswer,
    Gap,
    Handshakes,
    LabError,
    LedgerRow,
    Load,
    Second,
)


def test_every_field_lands_in_the_field_of_its_name() -> None:
    """Counts, latencies, seconds, ledgers and samples of the golden result are read as what they are called."""
    found = document()
    window, result = found["window"], engine.parse(found, COMMAND)
    assert (result.generator, result.command) == (found["engine"], COMMAND)
    assert result.window_s == window["duration_us"] / 1e6
    assert result.window == outcomes(window["outcomes"])
    assert result.life == outcomes(found["life"]["outcomes"])
    for name in ("completed", "completed_ok", "in_flight_start", "in_flight_end", "bytes_received", "bodies_checked"):
        assert getattr(result, name) == window[name], name
    assert result.latency_ok == latency(window["latency"]["ok"])
    assert result.latency_all == latency(window["latency"]["all"])
    assert result.connect == latency(window["connect"])
    assert result.refused == found["life"]["refused"] > 0
    assert result.cpu_us == found["self"]["cpu_user_us"] + found["self"]["cpu_system_us"]
    assert result.busiest_thread_share == found["self"]["busiest_thread_busy_share"]


def test_seconds_and_samples() -> None:
    """Every second and every sample is kept, in order."""
    found = document()
    result = engine.parse(found, COMMAND)
    assert result.seconds == tuple(
        Second(row["second"], row["ok"], row["not_ok"], row["p50_us"], row["p99_us"], row["max_us"], row["in_flight"])
        for row in found["seconds"]
    )
    assert result.samples == tuple(
        BadAnswer(row["outcome"], row["status"], row["reason"], row["request"], row["body"]) for row in found["samples"]
    )
    assert len(result.seconds) > 1 and len(result.samples) > 1


def test_gaps_are_read_and_may_be_missing() -> None:
    """Each gap is kept with its engine's own part; an engine that tells none, and a window that never began, have None."""
    found = document()
    rows = found["window"]["gaps"]["longest"]
    told = tuple(Gap(row["start_us"], row["duration_us"], row["own_us"]) for row in rows)
    result = engine.parse(found, COMMAND)
    assert result.gaps == told and len(told) > 1
    assert result.started_unix_us == found["window"]["start_unix_us"]
    assert engine.parse(document("result-minimal"), COMMAND).gaps is None
    del found["window"]["gaps"]
    assert engine.parse(found, COMMAND).gaps is None


def test_tenths_are_read_where_they_are_told() -> None:
    """Good answers and others by tenth; an engine that tells none is too old for a fault."""
    found = document()
    assert engine.tenths(found) == ((2, 0, 0), (0, 1, 0))
    found["window"]["tenths"] = None
    with pytest.raises(LabError, match="tells no tenths of a second"):
        engine.tenths(found)


def test_ledgers_keep_acknowledged_and_unknown_apart() -> None:
    """An account that only one side names has nothing on the other."""
    found = document()
    acknowledged = {"1": {"count": 2, "sum": -7}, "2": {"count": 3, "sum": 11}}
    sides = {"acknowledged": acknowledged, "unknown": {"2": {"count": 1, "sum": 5}, "3": {"count": 4, "sum": -13}}}
    found["ledger"] = {"credits": sides, "empty": {"acknowledged": {}, "unknown": {}}}
    assert engine.parse(found, COMMAND).ledgers == {
        "credits": {"1": LedgerRow(2, -7, 0, 0), "2": LedgerRow(3, 11, 1, 5), "3": LedgerRow(0, 0, 4, -13)},
        "empty": {},
    }


def test_a_window_that_never_began() -> None:
    """What was not measured is None: a run that ended in its warm-up has no latency, no CPU and no share."""
    result = engine.parse(document("result-minimal"), COMMAND)
    assert (result.cpu_us, result.busiest_thread_share, result.connect) == (None, None, None)
    assert (result.window_s, result.completed_ok, result.seconds) == (0.0, 0, ())
    assert result.latency_ok is not None and result.latency_ok.p50_us is None


def test_a_window_with_steps_is_read_as_a_whole() -> None:
    """A load curve's document has the sums of its window where every other has them; its steps are more, not other fields."""
    found = document("result-steps")
    plain = document("result-minimal")
    assert set(found) == set(plain) and set(found["window"]) == set(plain["window"])
    assert len(found["window"]["steps"]) == 3 and plain["window"]["steps"] is None
    assert engine.parse(found, COMMAND).window_s == found["window"]["duration_us"] / 1e6


def test_another_protocol_is_refused() -> None:
    """An engine of another protocol is the instrument's fault, and `make setup` mends it."""
    with pytest.raises(LabError) as caught:
        engine.parse(document() | {"protocol": 2}, COMMAND)
    assert caught.value.message == "the load engine speaks protocol 2, and this lab speaks 1"
    assert (caught.value.hint, caught.value.exit_code) == ("make setup", 3)


@pytest.mark.parametrize("kind", ["ok", "shed", "wrong_body", "timeout", "connect", "reset", "malformed", "in_flight"])
def test_counts_must_add_up(kind: str) -> None:
    """One request more or fewer than was sent, of whatever outcome, is refused."""
    for off in (1, -1):
        found = document()
        sent = found["window"]["sent"]
        found["window"]["outcomes"][kind] += off
        with pytest.raises(LabError, match=f"^the load engine's counts do not add up: {sent} sent, "):
            engine.parse(found, COMMAND)


def test_unsent_requests_were_not_sent() -> None:
    """What was due and never sent is no part of what was sent."""
    found = document()
    found["window"]["outcomes"]["unsent"] += 1000
    result = engine.parse(found, COMMAND)
    assert result.window.total == found["window"]["sent"] + found["window"]["outcomes"]["unsent"]


def test_steps_of_a_result() -> None:
    """Each step of the golden result that was begun arrives field by field, with the requests under way at its ends."""
    found = document("result-steps")
    rows, load = [row for row in found["window"]["steps"] if row["duration_us"]], Load(connections=77, model="open")
    steps = engine.curve(found, load)
    assert len(steps) == len(rows) == len(found["window"]["steps"]) - 1 >= 2
    for step, row in zip(steps, rows, strict=True):
        assert (step.rate_per_s, step.duration_s, step.due) == (row["rate_per_s"], row["duration_us"] / 1e6, row["due"])
        assert (step.outcomes, step.completed_ok) == (outcomes(row["outcomes"]), row["completed_ok"])
        assert (step.latency_ok, step.latency_all) == (latency(row["latency"]["ok"]), latency(row["latency"]["all"]))
        assert (step.service, step.send_lag) == (latency(row["service"]), latency(row["send_lag"]))
        assert (step.connections, step.busiest_thread_share) == (77, found["self"]["busiest_thread_busy_share"])
    assert steps[0].in_flight[0] == found["window"]["in_flight_start"]
    assert steps[-1].in_flight[-1] == found["window"]["in_flight_end"]


def test_an_open_loop_of_one_rate_is_one_step() -> None:
    """Without steps the whole window is one; without a window there is none."""
    found = document("result-steps")
    found["window"]["steps"] = None
    (step,) = engine.curve(found, Load(model="open", rate_per_s=1234.5))
    assert step.rate_per_s == 1234.5 and step.duration_s == found["window"]["duration_us"] / 1e6
    assert step.due == found["window"]["sent"] + found["window"]["outcomes"]["unsent"]
    assert step.latency_ok == latency(found["window"]["latency"]["ok"])
    found["window"]["duration_us"] = 0
    assert engine.curve(found, Load(model="open", rate_per_s=1.0)) == ()


def held() -> dict[str, Any]:
    """The golden event `held`."""
    events = [json.loads(line) for line in (PROTOCOL / "events.json").read_text().splitlines()]
    return next(event for event in events if event["event"] == "held")


def test_a_settled_part_lands_in_the_fields_of_its_names() -> None:
    """The answers and the time of the golden event are read as what they are called."""
    found = held()["settled"]
    assert found["ok"] > 0 and found["active_us"] > 0
    assert engine.settled_part(held()) == engine.SettledPart(ok=found["ok"], active_s=found["active_us"] / 1e6)


def test_an_engine_that_tells_no_turns_is_refused() -> None:
    """An event of an older engine is the instrument's fault, and `make setup` mends it."""
    event = held()
    del event["settled"]
    with pytest.raises(LabError, match="^the load engine says nothing of its turns") as caught:
        engine.settled_part(event)
    assert (caught.value.hint, caught.value.exit_code) == ("make setup", 3)


def test_handshakes_of_a_load() -> None:
    """Handshakes are read field by field, and a load in plain HTTP has none."""
    found = document()
    took = found["tls"]["handshake"]
    assert engine.handshakes(found) == Handshakes(
        count=took["count"],
        p50_us=took["p50_us"],
        p99_us=took["p99_us"],
        failed=found["tls"]["failed"],
        version="TLS 1.3",
        cipher="TLS_AES_128_GCM_SHA256",
    )
    assert engine.handshakes(document("result-minimal")) is None


def test_an_open_loop_in_turns_reads_as_any_other() -> None:
    """Its steps are longer than the plan's by the drains of their turns, and together as long as the window."""
    found = document("result-turns")
    load = json.loads((PROTOCOL / "plan-held.json").read_text())["load"]
    planned = [step["duration_s"] for step in load["steps"]]
    steps = engine.curve(found, Load(connections=load["connections"], model="open"))
    assert [step.duration_s > seconds for step, seconds in zip(steps, planned, strict=True)] == [True, True]
    assert sum(step.duration_s for step in steps) == pytest.approx(engine.parse(found, COMMAND).window_s)
