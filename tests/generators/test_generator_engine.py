"""The lab's side of docs/engine-protocol.md, held against the same files that the engine's own tests read."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.contracts import SEEDS
from builders.contracts import WORKLOADS as BY_ID
from builders.paths import ROOT, TESTS
from fairground import generators
from fairground.generators import engine
from fairground.inputs import workload_files
from fairground.measure import tables
from fairground.model import (
    BadAnswer,
    Cell,
    CellSettings,
    Fault,
    FaultKind,
    Gap,
    Handshakes,
    LabError,
    Latency,
    LedgerRow,
    Load,
    Outcomes,
    Second,
    Topology,
)
from fairground.model.wire import Tls
from fairground.postgres import Database

PROTOCOL = ROOT / "engine" / "tests" / "golden"
GOLDEN = TESTS / "golden"
COMMAND = ("fairload", "run", "--plan", "-")
WORKLOADS = {workload.id: workload for workload in workload_files.load_workloads(SEEDS)}
ROWS = {str(id): {"account_id": str(id), "balance_cents": id} for id in range(100_000_001, 100_010_001)}
WORKLOADS["lookup"] = replace(
    WORKLOADS["lookup"],
    expect=replace(WORKLOADS["lookup"].expect, body={"table": {"slot": "account_id", "rows": ROWS}}),
)
"""As it is once the database was asked for its rows, which are shorter here."""
BODIES = {"users": "[]", "lookup-known": "{}"}


def document(name: str = "result") -> dict[str, Any]:
    """One of the engine's golden results. In `result` every number differs, so that none can be mistaken for another; the one
    that must add up is put right here."""
    found: dict[str, Any] = json.loads((PROTOCOL / f"{name}.json").read_text())
    outcomes = found["window"]["outcomes"]
    found["window"]["sent"] = sum(count for kind, count in outcomes.items() if kind not in ("status", "unsent")) + sum(
        outcomes["status"].values()
    )
    return found


def latency(found: dict[str, Any]) -> Latency:
    """A histogram of the document, field by field."""
    return Latency(
        count=found["count"],
        min_us=found["min_us"],
        mean_us=found["mean_us"],
        max_us=found["max_us"],
        p50_us=found["p50_us"],
        p90_us=found["p90_us"],
        p99_us=found["p99_us"],
        p999_us=found["p999_us"],
        p75_us=found["p75_us"],
        p95_us=found["p95_us"],
        v2=found["v2"],
    )


def outcomes(found: dict[str, Any]) -> Outcomes:
    """Outcomes of the document, field by field."""
    return Outcomes(
        ok=found["ok"],
        shed=found["shed"],
        status={int(code): count for code, count in found["status"].items()},
        wrong_body=found["wrong_body"],
        timeout=found["timeout"],
        connect=found["connect"],
        reset=found["reset"],
        malformed=found["malformed"],
        unsent=found["unsent"],
        in_flight=found["in_flight"],
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


def test_nothing_goes_wrong_in_turns() -> None:
    """A load that takes turns has no fault, so that its ledger and its errors are read as ever."""
    held = engine.plan(WORKLOADS["ping"], LOADS["fault"], "127.0.0.1", 8080, 7, BODIES, begin="held")
    assert "fault" not in held["load"]  # type: ignore[operator]


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


# ---------------------------------------------------------------- plan

LOADS = {
    "closed": Load(connections=100, window_s=10.0, timeout_ms=9_000, threads=2),
    "close": Load(connections=3, keep_alive=False, window_s=1.5),
    "think": Load(connections=4, think_ms=5.0),
    "open": Load(connections=50, model="open", rate_per_s=5_000.0),
    "fault": Load(connections=4, window_s=5.0, fault=Fault(FaultKind.CONNECTIONS_CUT, 3.0)),
}


def plan(workload: str, load: str) -> dict[str, object]:
    """The plan of a workload of the project under one of these loads."""
    return engine.plan(WORKLOADS[workload], LOADS[load], "127.0.0.1", 8080, 7, BODIES)


@pytest.mark.parametrize(
    ("workload", "load"),
    [
        ("ping", "closed"),
        ("transfer", "closed"),
        ("lookup", "close"),
        ("time", "open"),
        ("users", "open"),
        ("ping", "think"),
        ("tx", "fault"),
    ],
)
def test_plan(workload: str, load: str, golden: Callable[[Path, str], None]) -> None:
    """The plan of a trial, word for word."""
    document = copy.deepcopy(plan(workload, load))
    record = document["requests"][0]["expect"]["body"].get("table", {"rows": {}})  # type: ignore[index]
    record["rows"] = dict(list(record["rows"].items())[:2])  # of ten thousand
    assert len(json.dumps(document)) < 20_000, "an edge has the accounts that it can name, and no others"
    golden(GOLDEN / "plan" / f"{workload}-{load}.json", json.dumps(document, indent=2) + "\n")


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
@pytest.mark.parametrize("load", sorted(LOADS))
def test_plan_has_the_keys_of_the_protocol(workload: str, load: str) -> None:
    """A plan of any workload has no key that the engine's golden plan lacks, at any depth."""
    known = json.loads((PROTOCOL / "plan.json").read_text())
    requests = known.pop("requests")
    made = copy.deepcopy(plan(workload, load))
    asked: Any = made.pop("requests")
    assert set(made) == set(known)
    assert set(made["load"]) <= set(known["load"]) and set(made["target"]) == set(known["target"])  # type: ignore[call-overload]
    assert len({request["kind"] for request in asked}) == len(asked) == 1 + len(WORKLOADS[workload].edges)
    for request in asked:
        assert set(request) == set(requests[0])
        assert set(request["expect"]) == set(requests[0]["expect"])
        assert all(set(entry) == {"name", "account", "add"} for entry in request["ledger"])


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_edges_differ_in_values_alone(workload: str) -> None:
    """An edge has its share and its values; method, path, headers and keys are the plain request's. What is refused books nothing."""
    plain, *edges = cast(list[dict[str, Any]], plan(workload, "closed")["requests"])
    total = sum(request["weight"] for request in (plain, *edges))

    def form(request: dict[str, Any]) -> tuple[Any, ...]:
        texts = [re.sub(r"\{[a-z][^}]*\}", "_", request[key] or "") for key in ("path", "body")]
        return request["method"], request["headers"], *texts

    for request, edge in zip(edges, WORKLOADS[workload].edges, strict=True):
        assert form(request) == form(plain) and (request["path"], request["body"]) != (plain["path"], plain["body"])
        assert all(value in f"{request['path']} {request['body']}" for value in edge.values.values())
        assert request["weight"] / total == pytest.approx(edge.share)
        statuses = request["expect"]["status"] if isinstance(request["expect"]["status"], list) else [request["expect"]["status"]]
        assert statuses == (list(edge.status) or [plain["expect"]["status"]])
        assert request["ledger"] == ([] if edge.status else plain["ledger"])


@pytest.mark.live
def test_lookups_beyond_the_ends_are_refused(database: Database) -> None:
    """What is to be refused is in no row, and the ends are: an edge that mistook them would reject every honest server."""
    database.reset(SEEDS.data(1))
    resolved = tables.resolve(BY_ID["lookup"], database).expect.body
    known = cast(Any, resolved)["table"]["rows"]
    assert len(known) == 10_000
    for edge in WORKLOADS["lookup"].edges:
        drawn = edge.values["account_id"].strip("{}").partition(":")[2]
        ids = drawn.split("|") if "|" in drawn else drawn.split("..")
        assert all((id in known) is not bool(edge.status) for id in ids), edge
    ends = [edge.values["account_id"] for edge in WORKLOADS["lookup"].edges if not edge.status]
    assert ends == [f"{{int:{id}..{id}}}" for id in (min(known), max(known))]


def test_pipelined_requests_are_the_engines_closed_loop() -> None:
    """A workload says how many requests are sent at once; who waits for each answer, or keeps a rate, cannot send it."""
    many = replace(WORKLOADS["ping"], pipeline=16)
    load: Any = engine.plan(many, LOADS["closed"], "h", 1, 1, {})["load"]
    assert load["pipeline"] == 16 and "pipeline" not in cast(Any, plan("ping", "closed")["load"])

    def asked(load: Load) -> list[Cell]:
        return [Cell("a:b", "ping", Topology(), load, CellSettings())]

    generators.check(asked(LOADS["closed"]), {"ping": many})
    for other, said in ((LOADS["open"], "closed loop"), (LOADS["close"], "closed loop"), (Load(generator="wrk"), "before it")):
        with pytest.raises(LabError, match=said):
            generators.check(asked(other), {"ping": many})


def test_plan_compares_with_the_verified_body() -> None:
    """A body that a contract case found right is compared exactly; without one there is no plan, never a load that is not compared."""
    users = WORKLOADS["users"]
    verified = replace(users, expect=replace(users.expect, body={"verified": "case"}))

    def body(bodies: dict[str, str]) -> object:
        requests: Any = engine.plan(verified, LOADS["closed"], "h", 1, 1, bodies)["requests"]
        return requests[0]["expect"]["body"]

    assert body({"case": "[1]"}) == {"exact": "[1]"}
    with pytest.raises(LabError, match="no answer of the case `case` was found right"):
        body({"other": "[1]"})


# ---------------------------------------------------------------- steps


def test_steps_replace_rate_and_window() -> None:
    """A plan of steps has the shape of the golden one: neither a rate nor a window beside them."""
    golden_load = json.loads((PROTOCOL / "plan-steps.json").read_text())["load"]
    steps = [(one["rate_per_s"], one["duration_s"]) for one in golden_load["steps"]]
    load = Load(connections=golden_load["connections"], model="open")
    made: Any = engine.plan(WORKLOADS["ping"], load, "127.0.0.1", 1, 1, {}, steps)["load"]
    assert made["steps"] == golden_load["steps"]
    assert "window_s" not in made and "rate_per_s" not in made and made["model"] == "open"


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


# ---------------------------------------------------------------- turns


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


def test_commands() -> None:
    """What a session writes are the golden commands, one a line."""
    written = list[bytes]()
    running: Any = SimpleNamespace(write=written.append)
    session = engine.EngineSession(running, {"load": {"timeout_ms": 1000}})
    session.measure()
    session.measure(16.0)
    session.hold()
    session.go()
    session.go(2000)
    session.halt()
    golden = [json.loads(line) for line in (PROTOCOL / "commands.json").read_text().splitlines()]
    assert [json.loads(line) for line in written[1:]] == golden


def test_the_log_of_answers_is_no_event() -> None:
    """What the engine tells of its good answers is kept by what they held, and whoever reads events sees the others alone."""
    part = {
        "event": "answers",
        "kind": "tx",
        "one_in": 2,
        "clock_moved_us": -7,
        "rows": [[1000, 5, 3], [900, 5, 3], [1200, 6, 3]],
    }
    events = [{"event": "drain", "unix_us": 1}, part, {**part, "rows": [[1500, 6, 3]]}, {"event": "end", "unix_us": 2}]
    said = [b"".join(json.dumps(one).encode() + b"\n" for one in events), b""]
    running: Any = SimpleNamespace(child=object(), write=lambda text: None, read=lambda within_s: said.pop(0))
    session = engine.EngineSession(running, {"load": {"timeout_ms": 1000}})
    assert [(session.event() or {}).get("event") for _ in range(3)] == ["drain", "end", None]
    assert session.log.moments_us == {(5, 3): [1000, 900], (6, 3): [1200, 1500]}
    assert (session.log.one_in, session.log.clock_moved_us) == (2, 7)


def test_what_writes_is_logged() -> None:
    """The log names the slots by which the database's rows are found; what is refused, or only reads, has none."""
    logs = {one["kind"]: one["log"] for name in ("tx", "transfer", "ping") for one in cast(Any, plan(name, "closed")["requests"])}
    assert logs["tx"] == logs["tx/first"] == ["aid", "tid", "bid", "delta"]
    assert logs["transfer"] == []
    assert logs["tx/refused"] is logs["transfer/unknown-to"] is logs["ping"] is None


def test_plan_by_tls() -> None:
    """How a target is spoken to by TLS stands where the golden plan has it, and is left out in plain HTTP."""
    golden_target = json.loads((PROTOCOL / "plan-tls.json").read_text())["target"]
    tls = Tls("shop.example", "authority.pem")
    made = engine.plan(WORKLOADS["ping"], LOADS["closed"], "127.0.0.1", 8085, 1, {})
    assert engine.by_tls(made, tls)["target"] == golden_target
    assert engine.by_tls(made, None) == made and "tls" not in made["target"]  # type: ignore[operator]


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


def test_plan_that_begins_held() -> None:
    """`begin` stands where the golden plan has it, and is left out where the load begins at once."""
    golden_load = json.loads((PROTOCOL / "plan-held.json").read_text())["load"]
    load = Load(connections=golden_load["connections"], model="open")
    steps = [(one["rate_per_s"], one["duration_s"]) for one in golden_load["steps"]]
    made: Any = engine.plan(WORKLOADS["ping"], load, "h", 1, 1, {}, steps, "held")["load"]
    assert (made["begin"], made["steps"]) == (golden_load["begin"], golden_load["steps"])
    assert "begin" not in plan("ping", "closed")["load"]  # type: ignore[operator]


def test_an_open_loop_in_turns_reads_as_any_other() -> None:
    """Its steps are longer than the plan's by the drains of their turns, and together as long as the window."""
    found = document("result-turns")
    load = json.loads((PROTOCOL / "plan-held.json").read_text())["load"]
    planned = [step["duration_s"] for step in load["steps"]]
    steps = engine.curve(found, Load(connections=load["connections"], model="open"))
    assert [step.duration_s > seconds for step, seconds in zip(steps, planned, strict=True)] == [True, True]
    assert sum(step.duration_s for step in steps) == pytest.approx(engine.parse(found, COMMAND).window_s)
