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

from builders.contracts import CONTRACTS, SEEDS, WORKLOADS
from builders.engine_documents import PROTOCOL
from builders.mix import DAY, day_at
from builders.paths import TESTS
from builders.requests import asking
from fairground import generators
from fairground.generators import engine, engine_plan
from fairground.inputs import workload_files
from fairground.measure import tables
from fairground.model import (
    Cell,
    CellSettings,
    Expectation,
    Fault,
    FaultKind,
    LabError,
    Load,
    Topology,
)
from fairground.model.wire import Tls
from fairground.postgres import Database

GOLDEN = TESTS / "golden"
PLANNED = {one.id: one for one in workload_files.load_workloads(SEEDS) if one.id not in SEEDS.optional}
PLANNED |= {one.id: one for one in workload_files.load_workloads(SEEDS) if one.audit.writes and not one.is_mix}
ROWS = {str(id): {"account_id": str(id), "balance_cents": id} for id in range(100_000_001, 100_010_001)}
PLANNED["lookup"] = asking(
    PLANNED["lookup"],
    expect=replace(PLANNED["lookup"].first.expect, body={"table": {"slot": "account_id", "rows": ROWS}}),
)
"""As it is once the database was asked for its rows, which are shorter here."""
BODIES = {"users": b"[]", "lookup-known": b"{}"}


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
    return engine_plan.plan(PLANNED[workload], LOADS[load], "127.0.0.1", 8080, 7, BODIES)


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


def test_headers_are_held_under_load() -> None:
    """Those of the contract's good answers, of which a date need only be there; refusals at an edge have none."""
    (held,) = (one for one in workload_files.load_workloads(CONTRACTS["techempower"]) if one.id.endswith("/json"))
    made: Any = engine_plan.plan(held, LOADS["closed"], "h", 1, 1, {})["requests"]
    assert [one["expect"]["headers"] for one in made] == [{"server": "text", "date": "text"}]
    edged: Any = plan("tx", "closed")["requests"]
    assert len(edged) > 1 and not any("headers" in one["expect"] for one in edged)


@pytest.mark.parametrize("workload", sorted(PLANNED))
@pytest.mark.parametrize("load", sorted(LOADS))
def test_plan_has_the_keys_of_the_protocol(workload: str, load: str) -> None:
    """A plan of any workload has no key that the engine's golden plan lacks, at any depth."""
    known = json.loads((PROTOCOL / "plan.json").read_text())
    requests = known.pop("requests")
    made = copy.deepcopy(plan(workload, load))
    asked: Any = made.pop("requests")
    assert set(made) == set(known)
    assert set(made["load"]) <= set(known["load"]) and set(made["target"]) == set(known["target"])  # type: ignore[call-overload]
    assert len({request["kind"] for request in asked}) == len(asked) == 1 + len(PLANNED[workload].first.edges)
    for request in asked:
        assert set(request) == set(requests[0])
        assert set(request["expect"]) == set(requests[0]["expect"])
        assert all(set(entry) == {"name", "account", "add"} for entry in request["ledger"])


@pytest.mark.parametrize("workload", sorted(PLANNED))
def test_edges_differ_in_values_alone(workload: str) -> None:
    """An edge has its share and its values; method, path, headers and keys are the plain request's. What is refused books nothing."""
    plain, *edges = cast(list[dict[str, Any]], plan(workload, "closed")["requests"])
    total = sum(request["weight"] for request in (plain, *edges))

    def form(request: dict[str, Any]) -> tuple[Any, ...]:
        texts = [re.sub(r"\{[a-z][^}]*\}", "_", request[key] or "") for key in ("path", "body")]
        return request["method"], request["headers"], *texts

    for request, edge in zip(edges, PLANNED[workload].first.edges, strict=True):
        assert form(request) == form(plain) and (request["path"], request["body"]) != (plain["path"], plain["body"])
        assert all(value in f"{request['path']} {request['body']}" for value in edge.values.values())
        assert request["weight"] / total == pytest.approx(edge.share)
        statuses = request["expect"]["status"] if isinstance(request["expect"]["status"], list) else [request["expect"]["status"]]
        assert statuses == (list(edge.status) or [plain["expect"]["status"]])
        assert request["ledger"] == ([] if edge.status else plain["ledger"])


def test_an_edge_has_its_values_in_headers_too(tmp_path: Path) -> None:
    """A slot of a header goes by its own name or by the header's, and what stands in its place may be drawn as well."""
    text = DAY.replace('{sessions.token}" }', '{sessions.token}", accept = "{choice:a|b}" }', 1)
    told = 'values = { "sessions.token" = "nobody", accept = "{choice:x|y}" }'
    day = day_at(tmp_path, text.replace('headers = { authorization = "Bearer nobody" }', told))
    plain, edge, *_ = cast(list[dict[str, Any]], engine_plan.plan(day, LOADS["closed"], "h", 80, 7, {})["requests"])
    assert plain["headers"] == [["authorization", "Bearer {sessions.token}"], ["accept", "{choice:a|b}"]]
    assert edge["headers"] == [["authorization", "Bearer nobody"], ["accept", "{choice:x|y}"]]


@pytest.mark.live
def test_lookups_beyond_the_ends_are_refused(database: Database) -> None:
    """What is to be refused is in no row, and the ends are: an edge that mistook them would reject every honest server."""
    database.reset(SEEDS.data(1))
    resolved = tables.resolve(WORKLOADS["lookup"], database).first.expect.body
    known = cast(Any, resolved)["table"]["rows"]
    assert len(known) == 10_000
    for edge in PLANNED["lookup"].first.edges:
        drawn = edge.values["account_id"].strip("{}").partition(":")[2]
        ids = drawn.split("|") if "|" in drawn else drawn.split("..")
        assert all((id in known) is not bool(edge.status) for id in ids), edge
    ends = [edge.values["account_id"] for edge in PLANNED["lookup"].first.edges if not edge.status]
    assert ends == [f"{{int:{id}..{id}}}" for id in (min(known), max(known))]


def test_pipelined_requests_are_the_engines_closed_loop() -> None:
    """A workload says how many requests are sent at once; who waits for each answer, or keeps a rate, cannot send it."""
    many = replace(PLANNED["ping"], pipeline=16)
    load: Any = engine_plan.plan(many, LOADS["closed"], "h", 1, 1, {})["load"]
    assert load["pipeline"] == 16 and "pipeline" not in cast(Any, plan("ping", "closed")["load"])

    def asked(load: Load) -> list[Cell]:
        return [Cell("a:b", "ping", Topology(), load, CellSettings())]

    generators.check(asked(LOADS["closed"]), {"ping": many})
    for other, said in ((LOADS["open"], "closed loop"), (LOADS["close"], "closed loop"), (Load(generator="wrk"), "before it")):
        with pytest.raises(LabError, match=said):
            generators.check(asked(other), {"ping": many})


def test_plan_compares_with_the_verified_body() -> None:
    """A body that a contract case found right is compared exactly; without one there is no plan, never a load that is not compared."""
    users = PLANNED["users"]
    verified = asking(users, expect=replace(users.first.expect, body={"verified": "case"}))

    def body(bodies: dict[str, bytes]) -> object:
        requests: Any = engine_plan.plan(verified, LOADS["closed"], "h", 1, 1, bodies)["requests"]
        return requests[0]["expect"]["body"]

    assert body({"case": b"[1]"}) == {"exact": "[1]"} and body({"case": b""}) == {"exact": ""}
    assert body({"case": b"\x89PNG\xff"}) == {"bytes": {"base64": "iVBOR/8=", "coding": None}}
    with pytest.raises(LabError, match="no answer of the case `case` was found right"):
        body({"other": b"[1]"})
    assert verified.without_comparisons({"other"}) == verified
    assert verified.without_comparisons({"case"}).first.expect.body is None


# ---------------------------------------------------------------- steps


def test_steps_replace_rate_and_window() -> None:
    """A plan of steps has the shape of the golden one: neither a rate nor a window beside them."""
    golden_load = json.loads((PROTOCOL / "plan-steps.json").read_text())["load"]
    steps = [(one["rate_per_s"], one["duration_s"]) for one in golden_load["steps"]]
    load = Load(connections=golden_load["connections"], model="open")
    made: Any = engine_plan.plan(PLANNED["ping"], load, "127.0.0.1", 1, 1, {}, steps)["load"]
    assert made["steps"] == golden_load["steps"]
    assert "window_s" not in made and "rate_per_s" not in made and made["model"] == "open"


# ---------------------------------------------------------------- turns


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


def test_a_panic_is_told_by_its_reason() -> None:
    """Of its lines the last is advice about backtraces, which says nothing of what was wrong."""
    panic = [
        b"\n",
        b"thread 'main' (7) panicked at src/load/run.rs:40:5:\n",
        b"a worker is gone\n",
        b"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
        b"",
    ]
    running: Any = SimpleNamespace(write=len, read=lambda within_s: panic.pop(0), document=lambda within_s: (101, ""))
    session = engine.EngineSession(running, {"load": {"timeout_ms": 1000}})
    while session.event() is not None:
        pass
    with pytest.raises(LabError, match="no result: thread 'main' .7. panicked at src/load/run.rs:40:5: a worker is gone$"):
        session.result()


def test_what_writes_is_logged() -> None:
    """The log names the slots by which the database's rows are found; what is refused, or only reads, has none."""
    logs = {one["kind"]: one["log"] for name in ("tx", "transfer", "ping") for one in cast(Any, plan(name, "closed")["requests"])}
    assert logs["tx"] == logs["tx/first"] == ["aid", "tid", "bid", "delta"]
    assert logs["transfer"] == []
    crud = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "crud")
    mix: Any = engine_plan.plan(asking(crud, expect=Expectation(200)), LOADS["closed"], "h", 1, 1, {})
    asked = {one["kind"]: one["log"] for one in mix["requests"]}
    assert (asked["create"], asked["update"], asked["read"]) == (["price_cents", "stock"], [], None)
    assert logs["tx/refused"] is logs["transfer/unknown-to"] is logs["ping"] is None


def test_plan_by_tls() -> None:
    """How a target is spoken to by TLS stands where the golden plan has it, and is left out in plain HTTP."""
    golden_target = json.loads((PROTOCOL / "plan-tls.json").read_text())["target"]
    tls = Tls("shop.example", "authority.pem")
    made = engine_plan.plan(PLANNED["ping"], LOADS["closed"], "127.0.0.1", 8085, 1, {})
    assert engine_plan.by_tls(made, tls)["target"] == golden_target
    assert engine_plan.by_tls(made, None) == made and "tls" not in made["target"]  # type: ignore[operator]


def test_plan_that_begins_held() -> None:
    """`begin` stands where the golden plan has it, and is left out where the load begins at once."""
    golden_load = json.loads((PROTOCOL / "plan-held.json").read_text())["load"]
    load = Load(connections=golden_load["connections"], model="open")
    steps = [(one["rate_per_s"], one["duration_s"]) for one in golden_load["steps"]]
    made: Any = engine_plan.plan(PLANNED["ping"], load, "h", 1, 1, {}, steps, "held")["load"]
    assert (made["begin"], made["steps"]) == (golden_load["begin"], golden_load["steps"])
    assert "begin" not in plan("ping", "closed")["load"]  # type: ignore[operator]


def test_nothing_goes_wrong_in_turns() -> None:
    """A load that takes turns has no fault, so that its ledger and its errors are read as ever."""
    held = engine_plan.plan(PLANNED["ping"], LOADS["fault"], "127.0.0.1", 8080, 7, BODIES, begin="held")
    assert "fault" not in held["load"]  # type: ignore[operator]
