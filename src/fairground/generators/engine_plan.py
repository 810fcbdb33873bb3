"""The plan of a load, as docs/engine-protocol.md has it: what the lab's own engine is told to send, and what is right."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from fairground.model import Edge, Expectation, LabError, Load, LoadRequest, Workload
from fairground.model.slot import place_edge, slots_of
from fairground.model.wire import Tls
from fairground.model.workload import SHARES

PROTOCOL = 1


def plan(
    workload: Workload,
    load: Load,
    host: str,
    port: int,
    seed: int,
    bodies: Mapping[str, bytes],
    steps: Sequence[tuple[float, float]] = (),
    begin: Literal["running", "held"] = "running",
) -> dict[str, object]:
    """The engine's plan for one trial. `bodies` are answers that contract cases found right on this server, by case id.

    `steps` are rates and how many seconds each is offered; they replace the load's own rate and window.
    `begin`: whether the load begins at once or with the first `go`.
    """
    shape: dict[str, object] = {
        "model": load.model,
        "connections": load.connections,
        "threads": load.threads,
        "keep_alive": load.keep_alive,
        "warmup_s": None,
        "window_s": load.window_s,
        "timeout_ms": load.timeout_ms,
    }
    if load.think_ms:
        shape["think_ms"] = load.think_ms
    if steps:
        del shape["window_s"]
        shape |= {"steps": [{"rate_per_s": rate, "duration_s": seconds} for rate, seconds in steps], "arrivals": load.arrivals}
    elif load.rate_per_s is not None:
        shape |= {"rate_per_s": load.rate_per_s, "arrivals": load.arrivals}
    if workload.pipeline > 1:
        shape["pipeline"] = workload.pipeline
    if begin != "running":
        shape["begin"] = begin
    elif load.fault is not None:  # nothing goes wrong in turns
        shape["fault"] = True
    found: dict[str, object] = {"protocol": PROTOCOL, "seed": seed, "target": {"host": host, "port": port}, "load": shape}
    if workload.rows:
        found["data"] = {name: dataclasses.asdict(rows) for name, rows in workload.rows.items()}
    return {**found, "requests": _requests(workload, bodies)}


def by_tls(plan: Mapping[str, object], tls: Tls | None) -> Mapping[str, object]:
    """The plan with a target that is spoken to by TLS. None: as it is, in plain HTTP."""
    if tls is None:
        return plan
    return {**plan, "target": {**cast(Any, plan["target"]), "tls": dataclasses.asdict(tls)}}


def _requests(workload: Workload, bodies: Mapping[str, bytes]) -> list[dict[str, object]]:
    """The workload's requests and their edges, each as often as its weight and its share say."""
    some_have_edges = any(one.edges for one in workload.requests)
    found = []
    for one in workload.requests:
        edges = [(edge, one.weight * round(edge.share * SHARES)) for edge in one.edges]
        all_of_them = one.weight * SHARES if some_have_edges else one.weight
        plain = all_of_them - sum(weight for _, weight in edges)
        found += [
            _request(workload, one, plain, bodies),
            *(_at_edge(workload, one, edge, weight, bodies) for edge, weight in edges),
        ]
    return found


def _request(workload: Workload, one: LoadRequest, weight: int, bodies: Mapping[str, bytes]) -> dict[str, object]:
    expect = one.expect
    return {
        "kind": one.name,
        "weight": weight,
        "method": one.method,
        "path": one.path,
        "headers": [list(header) for header in one.headers],
        "body": one.body,
        "expect": {
            "status": expect.status,
            "content_type": expect.content_type,
            "length": None,
            "body": _expected_body(one, bodies),
            "check_one_in": expect.check_one_in,
            **({"headers": dict(expect.headers)} if expect.headers else {}),
        },
        "ledger": [dataclasses.asdict(entry) for entry in one.ledger],
        "log": _logged(workload, one),
        **({"keep": dict(one.keep)} if one.keep else {}),
    }


def _logged(workload: Workload, one: LoadRequest) -> list[str] | None:
    """The slots that the log of answers names, by which the database's rows are found; none where no row is kept of each write.

    None where a request writes nothing.
    """
    history = workload.audit.history
    if not workload.audit.writes or not one.writes:
        return None
    return list(history.slots) if history is not None and history.of in ("", one.name) else []


def _at_edge(workload: Workload, one: LoadRequest, edge: Edge, weight: int, bodies: Mapping[str, bytes]) -> dict[str, object]:
    """The request with the edge's values in its slots and headers.

    What must be refused is in no ledger: it writes nothing. Nor is its answer kept.
    """
    there = dataclasses.replace(place_edge(one, edge), keep={})
    if edge.status:
        errors = workload.contract.errors
        types = errors.content_type if len(errors.content_type) > 1 else next(iter(errors.content_type), None)
        body = None if one.method == "HEAD" else errors.body
        refusal = Expectation(edge.status[0], types, body, one.expect.check_one_in)
        there = dataclasses.replace(there, expect=refusal, ledger=(), needs=None)
    request = _request(workload, there, weight, bodies)
    if len(edge.status) > 1:
        request["expect"] = {**cast(Any, request["expect"]), "status": list(edge.status)}
    return {**request, "kind": f"{one.name}/{edge.name}"}


def _expected_body(one: LoadRequest, bodies: Mapping[str, bytes]) -> Mapping[str, object] | None:
    rule = one.expect.body
    if rule is not None and "table" in rule:
        return {"table": _rows(one, cast(Any, rule["table"]))}
    if rule is None or "verified" not in rule:
        return rule
    case = str(rule["verified"])
    if case not in bodies:
        raise LabError(
            f"no answer of the case `{case}` was found right before the load, so bodies could not be compared", exit_code=3
        )
    try:
        return {"exact": bodies[case].decode()}
    except UnicodeDecodeError:
        return {"bytes": {"base64": base64.b64encode(bodies[case]).decode(), "coding": None}}


def _rows(one: LoadRequest, known: Mapping[str, Any]) -> Mapping[str, object]:
    """The rows that the slot's range can name, of all that there are: an edge names few of them."""
    filling = next((slot.filling for slot in slots_of(one) if slot.name == known["slot"]), "")
    numbers = re.fullmatch(r"int:(\d+)\.\.(\d+)", filling)
    if numbers is None:
        return known
    low, high = int(numbers[1]), int(numbers[2])
    return {**known, "rows": {key: row for key, row in known["rows"].items() if key.isdecimal() and low <= int(key) <= high}}
