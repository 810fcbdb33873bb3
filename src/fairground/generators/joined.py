"""One load that several engines make together: a plan for each, and what they count as if one engine had counted it. Pure.

Counts add up and histograms are added, as those of an engine's threads are. Rates are sums over the mean of the engines' times.
The first engine's borders are those of the window; the others' windows are as long, and begin some milliseconds beside it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairground.generators.latency import HIGHEST_US

Found = Mapping[str, Any]
"""A part of the engine's JSON."""

MOST_GAPS, MOST_SAMPLES = 500, 3
"""As many as an engine tells: of gaps, and of samples of one bad outcome."""
PERCENTILES = {"p50_us": 50, "p75_us": 75, "p90_us": 90, "p95_us": 95, "p99_us": 99, "p999_us": 99.9}


def plans(plan: Found, of: int) -> list[dict[str, Any]]:
    """The plan of each of so many engines: its part of the requests and of the connections, of which each needs one."""
    connections = int(plan["load"]["connections"])
    threads = min(int(plan["load"].get("threads", 1)), connections // of)
    found = []
    for number in range(of):
        part = {"connections": connections // of + (number < connections % of), "part": {"number": number, "of": of}}
        found.append({**plan, "load": {**plan["load"], **part, "threads": threads}})
    return found


def event(told: Sequence[Found]) -> dict[str, Any]:
    """What several engines say of the same second, or of the same turn. Of anything else the first one's words stand."""
    first = told[0]
    match first["event"]:
        case "second":
            # their histograms are not told: the slowest engine's percentiles are
            slowest = {name: _most(told, name) for name in ("p50_us", "p99_us", "max_us")}
            return {**first, **_sums(told, ("ok", "not_ok", "in_flight")), **slowest}
        case "held":
            return {
                **first,
                **_sums(told, ("ok", "not_ok")),
                "active_us": _most(told, "active_us"),
                "turn": _turn(_all(told, "turn")),
            }
    return dict(first)


def _turn(told: Sequence[Found]) -> dict[str, Any]:
    found = {"number": told[0]["number"], "active_us": _most(told, "active_us"), "cpu_us": _sum(told, "cpu_us")}
    found |= {"outcomes": _outcomes(_all(told, "outcomes")), "latency_ok": _histogram(_all(told, "latency_ok"))}
    for name in ("burst", "drain"):
        parts = _all(told, name)
        found[name] = {"count": _sum(parts, "count"), "latency_ok": _histogram(_all(parts, "latency_ok"))}
    settled = _all(told, "settled")
    if all(part["active_us"] for part in settled):
        found["settled"] = {**_sums(settled, ("ok", "not_ok")), "active_us": _mean(settled, "active_us")}
    else:  # the others' answers would flatter the time, as among threads
        found["settled"] = {"ok": 0, "not_ok": 0, "active_us": 0}
    return found


def document(told: Sequence[Found]) -> dict[str, Any]:
    """What several engines counted, as one engine's document."""
    first = told[0]
    own = _all(told, "self")
    lags = _all(own, "receive_lag")
    busiest = max(own, key=lambda one: one["busiest_thread_busy_share"] or 0.0)
    life = _all(told, "life")
    return {
        **first,
        "life": {
            "sent": _sum(life, "sent"),
            "outcomes": _outcomes(_all(life, "outcomes")),
            "refused": sum(one.get("refused", 0) for one in life),
            "bodies_checked": _sum(life, "bodies_checked"),
        },
        "window": _window(_all(told, "window")),
        "tls": _tls(_all(told, "tls")),
        "seconds": _seconds(told),
        "ledger": _ledger(_all(told, "ledger")),
        "samples": _samples(told),
        "self": {
            **busiest,
            **_sums(own, ("cpu_user_us", "cpu_system_us", "threads")),
            "generator_limited": any(one["generator_limited"] for one in own),
            "receive_lag": None if None in lags else _histogram(lags),
        },
    }


def _window(told: Sequence[Found]) -> dict[str, Any]:
    """The windows as one. There is none where one of the engines had none."""
    first = told[0]
    whole = all(one["duration_us"] for one in told)
    histograms = {name: _histogram(_all(told, name)) for name in ("service", "send_lag", "connect", "handshake")}
    counted = ("sent", "completed", "completed_ok", "in_flight_start", "in_flight_end", "bytes_sent", "bytes_received")
    return {
        **first,
        "start_unix_us": first["start_unix_us"] if whole else None,
        "duration_us": _mean(told, "duration_us") if whole else 0,
        **_sums(told, (*counted, "bodies_checked", "connections_opened")),
        **histograms,
        "outcomes": _outcomes(_all(told, "outcomes")),
        "latency": _latency(_all(told, "latency")),
        "kinds": _kinds(_all(told, "kinds")),
        "steps": _steps(_all(told, "steps")),
        "gaps": _gaps(told),
        "tenths": _tenths(_all(told, "tenths")),
    }


def _latency(told: Sequence[Found]) -> dict[str, Any]:
    return {name: _histogram(_all(told, name)) for name in ("ok", "all")}


def _kinds(told: Sequence[Sequence[Found]]) -> list[dict[str, Any]]:
    """Each kind of request, as the plan has them; all engines have all of them."""
    return [
        {**rows[0], "outcomes": _outcomes(_all(rows, "outcomes")), "latency_ok": _histogram(_all(rows, "latency_ok"))}
        for rows in zip(*told, strict=True)
    ]


def _steps(told: Sequence[Sequence[Found] | None]) -> list[dict[str, Any]] | None:
    """Each step of a load curve. Its rate is that of the whole load in all plans; offered and achieved ones are of the parts."""
    if any(one is None for one in told):
        return None
    found = []
    for rows in zip(*(one for one in told if one is not None), strict=True):
        sums = ("due", "sent", "completed", "completed_ok")
        row = {**rows[0], **_sums(rows, sums), "duration_us": _mean(rows, "duration_us")}
        row |= {"latency": _latency(_all(rows, "latency"))}
        row |= {name: _histogram(_all(rows, name)) for name in ("service", "send_lag")}
        row |= {name: _sum(rows, name) for name in ("offered_per_s", "achieved_per_s")}
        found.append({**row, "outcomes": _outcomes(_all(rows, "outcomes"))})
    return found


def _gaps(told: Sequence[Found]) -> dict[str, Any] | None:
    """The stretches in which none of the engines had an answer, by the first one's window. An engine tells its longest alone."""
    if any(one.get("gaps") is None or one["start_unix_us"] is None for one in told):
        return None
    least_us, began_us = told[0]["gaps"]["least_us"], told[0]["start_unix_us"]
    common: list[tuple[float, float, float]] = [(-math.inf, math.inf, 0.0)]
    for one in told:
        rows = [_stretch(row, one["start_unix_us"] - began_us) for row in one["gaps"]["longest"]]
        both = [(max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2])) for a in common for b in rows]
        common = [row for row in both if row[1] - row[0] >= least_us]
    longest = sorted(sorted(common, key=lambda row: row[0] - row[1])[:MOST_GAPS])
    rows_us = [{"start_us": round(a), "duration_us": round(b - a), "own_us": round(min(own, b - a))} for a, b, own in longest]
    return {"least_us": least_us, "count": len(common), "longest": rows_us}


def _stretch(row: Found, shift_us: float) -> tuple[float, float, float]:
    """A gap's beginning and end in µs, its window moved by so much, and what of it was the engine's own."""
    begins_us = row["start_us"] + shift_us
    return begins_us, begins_us + row["duration_us"], row["own_us"]


def _tenths(told: Sequence[Found | None]) -> dict[str, list[int]] | None:
    rows = [one for one in told if one is not None]
    if len(rows) < len(told):
        return None
    return {name: [sum(some) for some in _side_by_side([row[name] for row in rows])] for name in ("ok", "not_ok")}


def _side_by_side(rows: Sequence[Sequence[int]]) -> Iterable[Sequence[int]]:
    """Places of lists of unequal length, those that are missing as 0."""
    return ([row[place] if place < len(row) else 0 for row in rows] for place in range(max(map(len, rows))))


def _tls(told: Sequence[Found | None]) -> dict[str, Any] | None:
    some = [one for one in told if one is not None]
    if not some:
        return None
    return {**some[0], "failed": _sum(some, "failed"), "handshake": _histogram(_all(some, "handshake"))}


def _seconds(told: Sequence[Found]) -> list[dict[str, Any]]:
    """Seconds of the window by their number. The last one may be another for some engines: what is missing is nothing."""
    by_number: dict[int, list[Found]] = defaultdict(list)
    for one in told:
        for row in one["seconds"]:
            by_number[row["second"]].append(row)
    found = []
    for _, rows in sorted(by_number.items()):
        merged = _histogram([{"count": row["ok"], "v2": row["histogram"]} for row in rows]) or {}
        known = {name: merged.get(name) for name in ("p50_us", "p99_us")}
        sums = _sums(rows, ("ok", "not_ok", "in_flight"))
        found.append({**rows[0], **sums, **known, "max_us": _most(rows, "max_us"), "histogram": merged.get("v2")})
    return found


def _ledger(told: Sequence[Found]) -> dict[str, Any]:
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for one in told:
        for name, sides in one.items():
            for side in ("acknowledged", "unknown"):
                rows = found.setdefault(name, {"acknowledged": {}, "unknown": {}})[side]
                for account, row in sides[side].items():
                    before = rows.get(account, {"count": 0, "sum": 0})
                    rows[account] = {"count": before["count"] + row["count"], "sum": before["sum"] + row["sum"]}
    return found


def _samples(told: Sequence[Found]) -> list[Found]:
    """The first of each bad outcome, of all engines in turn."""
    found, had = list[Found](), dict[tuple[str, Any], int]()
    for row in (row for one in told for row in one["samples"]):
        kind = row["outcome"], row.get("status")
        had[kind] = had.get(kind, 0) + 1
        if had[kind] <= MOST_SAMPLES:
            found.append(row)
    return found


def _outcomes(told: Sequence[Found]) -> dict[str, Any]:
    status: dict[str, int] = defaultdict(int)
    for one in told:
        for code, count in one["status"].items():
            status[code] += count
    return {**{name: _sum(told, name) for name in told[0] if name != "status"}, "status": dict(sorted(status.items()))}


def _histogram(told: Sequence[Found | None]) -> dict[str, Any] | None:
    """Histograms of the engine added up; None where there is none."""
    from hdrh.histogram import HdrHistogram

    some = [one for one in told if one is not None]
    if not some:
        return None
    count = _sum(some, "count")
    if not count:
        return dict(some[0])
    full = [one for one in some if one["count"]]
    merged = HdrHistogram(1, HIGHEST_US, 3)
    for one in full:
        merged.decode_and_add(one["v2"])
    known = {name: int(merged.get_value_at_percentile(share)) for name, share in PERCENTILES.items()}
    mean = [one["mean_us"] * one["count"] for one in full if one.get("mean_us") is not None]
    return {
        "count": count,
        "min_us": min((one["min_us"] for one in full if one.get("min_us") is not None), default=None),
        "mean_us": math.fsum(mean) / count if mean else None,
        "max_us": _most(full, "max_us"),
        **known,
        "v2": merged.encode().decode(),
    }


def _all(told: Sequence[Found], name: str) -> list[Any]:
    return [one[name] for one in told]


def _sum(told: Sequence[Found], name: str) -> Any:
    """The sum; None where a part of it was not measured."""
    found = [one[name] for one in told]
    return None if None in found else sum(found)


def _sums(told: Sequence[Found], names: Iterable[str]) -> dict[str, Any]:
    return {name: _sum(told, name) for name in names}


def _mean(told: Sequence[Found], name: str) -> int:
    return round(float(_sum(told, name)) / len(told))


def _most(told: Sequence[Found], name: str) -> Any:
    """The largest; None where none is known."""
    return max((one[name] for one in told if one.get(name) is not None), default=None)
