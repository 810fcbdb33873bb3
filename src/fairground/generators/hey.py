"""hey: closed loop, one and the same request.

What it counts: answers by status, and errors by their text; its `Requests/sec` and its average hold both, so neither is taken.
Percentiles are those of the answers, in steps of 100 µs, of the first million of them.
"""

from __future__ import annotations

import re

from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, decimal, number, outcomes
from fairground.model import Latency, Load, Workload

KINDS = (
    ("timeout", r"Client\.Timeout|deadline exceeded|i/o timeout"),
    ("connect", r"dial tcp"),
    ("malformed", r"malformed HTTP"),
    ("reset", r"EOF|connection reset|broken pipe|server closed"),
)
"""What Go's client says of a request that failed; the first that fits decides."""
BODY = "body"


def _command(job: ToolJob) -> list[str]:
    load, request = job.load, job.request
    argv = ["-c", str(load.connections), "-t", str(load.timeout_ms // 1000), "-m", request.method]
    argv += ["-z", f"{job.seconds:g}s"] if job.requests is None else ["-n", str(job.requests)]
    argv += ["-disable-redirects", *([] if load.keep_alive else ["-disable-keepalive"])]
    for name, value in request.headers:
        argv += ["-T", value] if name.lower() == "content-type" else ["-H", f"{name}: {value}"]
    argv += ["-D", job.write(BODY, job.body)] if job.body is not None else []
    return [*argv, job.url]


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    text = output.stdout
    seconds = decimal(r"Total:\s+([\d.]+) secs", text)
    head, _, tail = text.partition("Error distribution:")
    statuses = {int(code): int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) responses", head)}
    kinds = errors(tail)
    if seconds is None or not (statuses or any(kinds.values())):
        raise output.nothing("hey")
    spread = _latency(head, sum(statuses.values()))
    found = outcomes(job, statuses, in_flight=0, **kinds)
    answered = sum(statuses.values())
    return ToolReport(
        duration_s=seconds,
        outcomes=found,
        completed=answered + sum(kinds.values()),
        latency_ok=spread if found.ok == answered else None,
        latency_all=spread if not sum(kinds.values()) else None,
        bytes_received=number(r"Total data:\s+(\d+) bytes", text),
        caveats=("hey does not check bodies, and its latencies are told in steps of 100 µs, of the first million answers",),
    )


def errors(text: str) -> dict[str, int]:
    """Failures by kind, from lines of `[count] text`."""
    found = {kind: 0 for kind, _ in KINDS} | {"unclassified": 0}
    for count, words in re.findall(r"\[(\d+)\]\s+(\S.*)", text):
        found[next((kind for kind, pattern in KINDS if re.search(pattern, words)), "unclassified")] += int(count)
    return found


def _latency(text: str, answered: int) -> Latency | None:
    rows = {int(percent): round(float(s) * 1e6) for percent, s in re.findall(r"(\d+)%%? in ([\d.]+) secs", text) if int(percent)}
    fastest, slowest = decimal(r"Fastest:\s+([\d.]+) secs", text), decimal(r"Slowest:\s+([\d.]+) secs", text)
    if not answered or fastest is None or slowest is None:
        return None
    return Latency(
        answered, round(fastest * 1e6), None, round(slowest * 1e6), rows.get(50), rows.get(90), rows.get(99), None, None,
        rows.get(75), rows.get(95),
    )  # fmt: skip


def _refuse(load: Load, workload: Workload) -> str | None:
    if load.requests is not None and load.requests % load.connections:
        return f"sends the same number on each connection, and {load.requests} requests do not divide by {load.connections}"
    if load.timeout_ms % 1000:
        return "waits whole seconds for an answer"
    return None


TOOL = Tool(
    name="hey",
    command=_command,
    read=_read,
    version=("go", "version", "-m", "{program}"),
    version_pattern=r"mod\s+\S+/hey\s+(\S+)",
    install="env GOBIN={tools}/bin go install github.com/rakyll/hey@v0.1.5",
    counts=True,
    refuse=_refuse,
    request_shown=True,
)
