"""oha: closed loop, open loop at an even rate over its connections, or a number of requests; draws addresses from a list.

What it counts: answers by status, whatever it is, and errors by their text; its rate and its success rate mix them, so neither is
taken. Its latencies are those of all answers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, outcomes
from fairground.model import Latency, Load, Workload
from fairground.model.slot import find_slots

DIFFERENT_AT_MOST = 20_000
"""How long the list is from which oha draws."""
KINDS = (
    ("timeout", r"^timeout|request timed out"),
    ("connect", r"[Cc]onnection refused|address not available|^connection timeout|\(os error 99\)"),
    ("in_flight", r"aborted due to deadline"),
    ("malformed", r"invalid HTTP|invalid content-length|parsed"),
    (
        "reset",
        r"reset by peer|closed before|broken pipe|connection error|error (?:reading|writing) a body|operation was canceled",
    ),
)
"""What oha says of a request that failed; the first that fits decides."""
BODY = "body"


def _command(job: ToolJob) -> list[str]:
    load, request, templates = job.load, job.request, job.templates
    argv = ["--no-tui", "--output-format", "json", "--worker-threads", str(load.threads), "-c", str(load.connections)]
    argv += ["-z", f"{job.seconds:g}s", "-w"] if job.requests is None else ["-n", str(job.requests)]
    argv += ["-t", f"{load.timeout_ms}ms", "-m", request.method, "--redirect", "0"]
    argv += [] if load.rate_per_s is None else ["-q", f"{load.rate_per_s:g}", "--latency-correction"]
    argv += [] if load.keep_alive else ["--disable-keepalive"]
    for name, value in request.headers:
        argv += ["-T", value] if name.lower() == "content-type" else ["-H", f"{name}: {value}"]
    different = [] if templates.fixed else list(templates.requests(job.seed, DIFFERENT_AT_MOST))
    if templates.in_body:
        argv += ["-Z", job.write("bodies", "".join(f"{body}\n" for _, body in different))]
        return [*argv, job.url]
    argv += ["-D", job.write(BODY, job.body)] if job.body is not None else []
    if templates.fixed:
        return [*argv, job.url]
    return [*argv, "--urls-from-file", job.write("addresses", "".join(f"{job.origin}{path}\n" for path, _ in different))]


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    try:
        document: dict[str, Any] = json.loads(output.stdout)
    except ValueError:
        raise output.nothing("oha") from None
    statuses = {int(code): int(count) for code, count in document["statusCodeDistribution"].items()}
    kinds = {kind: 0 for kind, _ in KINDS} | {"unclassified": 0}
    for words, count in document["errorDistribution"].items():
        kinds[next((kind for kind, pattern in KINDS if re.search(pattern, words)), "unclassified")] += int(count)
    found = outcomes(job, statuses, unsent=None if job.load.model == "open" else 0, **kinds)
    answered = sum(statuses.values())
    spread = _latency(document, answered)
    return ToolReport(
        duration_s=document["summary"]["total"],
        outcomes=found,
        completed=found.total - kinds["in_flight"],
        latency_ok=spread if found.ok == answered else None,
        latency_all=spread if found.total == answered else None,
        bytes_received=document["summary"]["totalData"],
        caveats=tuple(_caveats(job)),
    )


def _caveats(job: ToolJob) -> list[str]:
    said = ["oha does not check bodies"]
    if not job.templates.fixed:
        said.append(f"oha drew from {DIFFERENT_AT_MOST:,} different requests, in an order of its own")
    if job.load.model == "open":
        said.append("oha keeps its rate only as long as one of its connections is free")
    return said


def _latency(document: dict[str, Any], answered: int) -> Latency | None:
    summary, ranks = document["summary"], document["latencyPercentiles"]
    if not answered or summary["average"] is None:
        return None
    found = (summary["fastest"], summary["slowest"], *(ranks.get(name) for name in ("p50", "p90", "p99", "p99.9", "p75", "p95")))
    us = [None if value is None else round(value * 1e6) for value in found]
    return Latency(answered, us[0], summary["average"] * 1e6, us[1], us[2], us[3], us[4], us[5], None, us[6], us[7])


def _refuse(load: Load, workload: Workload) -> str | None:
    request = workload.first
    if any(find_slots(request.path)) and any(find_slots(request.body or "")):
        return "draws addresses and bodies apart, so that values in both cannot be put in one request"
    if load.threads > load.connections:
        return f"cannot share {load.connections} connections among {load.threads} threads"
    return None


TOOL = Tool(
    name="oha",
    command=_command,
    read=_read,
    version=("{program}", "--version"),
    version_pattern=r"oha (\S+)",
    install="cargo install --locked --root {tools} oha@1.16.0",
    open_loop=True,
    counts=True,
    threads=True,
    random_path=True,
    random_body=True,
    refuse=_refuse,
    request_shown=True,
)
