"""vegeta: open loop at an even rate, or closed loop with as many workers as connections; asks what a list of targets says.

What it counts: one row for each request, with its time, its status (0: no answer) and its latency, so everything here is counted
and added up by us. Latency runs from the moment in which a worker takes the request, connecting and the body included, and
in the open loop not from the moment in which it was due.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from collections.abc import Iterable

from fairground.generators import latency
from fairground.generators.hey import errors
from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, outcomes
from fairground.model import Second

TARGETS_AT_MOST = 20_000
"""vegeta asks its targets in turn, and begins anew at their end."""
ROW = ("timestamp_ns", "code", "latency_ns", "bytes_out", "bytes_in", "error")


def _command(job: ToolJob) -> list[str]:
    load = job.load
    name = job.write("targets.jsonl", "".join(f"{json.dumps(target)}\n" for target in _targets(job)))
    rate = "0" if load.rate_per_s is None else _rate(load.rate_per_s)
    argv = ["attack", "-format=json", f"-targets={name}", f"-rate={rate}", f"-duration={job.seconds:g}s"]
    argv += [f"-workers={load.connections}", f"-max-workers={load.connections}", f"-connections={load.connections}"]
    argv += [f"-timeout={load.timeout_ms}ms", "-max-body=0", "-http2=false", "-redirects=-1"]
    argv += [] if load.keep_alive else ["-keepalive=false"]
    return [*argv, "-output=results.bin"]


def _targets(job: ToolJob) -> Iterable[dict[str, object]]:
    headers = {name: [value] for name, value in job.request.headers}
    for path, body in job.templates.requests(job.seed, 1 if job.templates.fixed else TARGETS_AT_MOST):
        target: dict[str, object] = {"method": job.request.method, "url": job.origin + path, "header": headers}
        yield target if body is None else target | {"body": base64.b64encode(body.encode()).decode()}


def _rate(rate_per_s: float) -> str:
    """vegeta takes whole numbers: this many requests in this long."""
    return f"{int(rate_per_s)}/1s" if rate_per_s == int(rate_per_s) else f"{round(rate_per_s * 1000)}/1000s"


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    rows = [dict(zip(ROW, row, strict=False)) for row in csv.reader(io.StringIO(output.file("converted")))]
    if not rows:
        raise output.nothing("vegeta")
    wanted = job.request.expect.status
    statuses = Counter(int(row["code"]) for row in rows)
    silent = Counter(" ".join(row["error"].split()) for row in rows if row["code"] == "0")
    del statuses[0]
    kinds = errors("\n".join(f"[{count}] {text or 'no reason'}" for text, count in silent.items()))
    good = Counter(int(row["latency_ns"]) // 1000 for row in rows if int(row["code"]) == wanted)
    every = Counter(int(row["latency_ns"]) // 1000 for row in rows)
    ends = [(int(row["timestamp_ns"]) + int(row["latency_ns"]), int(row["code"]) == wanted) for row in rows]
    began = min(int(row["timestamp_ns"]) for row in rows)
    duration_s = (max(end for end, _ in ends) - began) / 1e9
    return ToolReport(
        duration_s=duration_s,
        outcomes=outcomes(job, statuses, unsent=None if job.load.model == "open" else 0, in_flight=0, **kinds),
        completed=len(rows),
        latency_ok=latency.of_counts(good),
        latency_all=latency.of_counts(every),
        bytes_received=None,
        seconds=_seconds(began, ends, duration_s),
        caveats=tuple(_caveats(job)),
    )


def _caveats(job: ToolJob) -> Iterable[str]:
    yield "vegeta does not check bodies here, and its latencies run from when a worker takes a request, not from when it was due"
    if not job.templates.fixed:
        yield f"vegeta sent {TARGETS_AT_MOST:,} different requests in turn, again and again"


def _seconds(began: int, ends: Iterable[tuple[int, bool]], duration_s: float) -> tuple[Second, ...]:
    """Answers by the second in which they came."""
    good, bad = Counter[int](), Counter[int]()
    for end, ok in ends:
        (good if ok else bad)[(end - began) // 1_000_000_000] += 1
    return tuple(Second(at, good[at], bad[at], None, None, None, None) for at in range(int(duration_s)))


TOOL = Tool(
    name="vegeta",
    command=_command,
    read=_read,
    version=("{program}", "-version"),
    version_pattern=r"Version:[ \t]*v?(\S+)",
    install="env GOBIN={tools}/bin go install -ldflags=-X=main.Version=v12.13.0 github.com/tsenart/vegeta/v12@v12.13.0",
    convert=("encode", "--to=csv", "results.bin"),
    open_loop=True,
    random_path=True,
    random_body=True,
)
