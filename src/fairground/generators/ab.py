"""ab: closed loop, one thread, one and the same HTTP/1.0 request.

What it counts: `Complete requests` are those that ended, failed ones included; `Failed requests` and `Non-2xx responses` overlap.
Where connections are reset it loses count of requests, good ones too. At its first timeout it gives up without a report.
"""

from __future__ import annotations

import re

from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, decimal, number
from fairground.model import LabError, Latency, Load, Outcomes, Workload

MOST_PER_S = 400_000
"""ab keeps a record of each request that it may send, so `-n` is the most that it can reach."""
PERCENTILES = "percentiles.csv"
BODY = "body"


def _command(job: ToolJob) -> list[str]:
    load, request = job.load, job.request
    argv = ["-q", "-r", "-l", "-c", str(load.connections), "-s", str(load.timeout_ms // 1000)]
    if job.requests is not None:
        argv += ["-n", str(job.requests)]
    else:  # `-t` sets `-n` to 50,000, so `-n` stands after it
        seconds = max(1, round(job.seconds))
        argv += ["-t", str(seconds), "-n", str(seconds * MOST_PER_S)]
    argv += ["-k"] if load.keep_alive else []
    content_type = "text/plain"
    for name, value in request.headers:
        if name.lower() == "content-type":
            content_type = value
        else:
            argv += ["-H", f"{name}: {value}"]
    if job.body is not None:
        argv += ["-p", job.write(BODY, job.body), "-T", content_type]
    if request.method == "HEAD":
        argv += ["-i"]  # with `-m` it would wait for a body
    elif request.method != ("GET" if job.body is None else "POST"):
        argv += ["-m", request.method]
    return [*argv, "-e", PERCENTILES, job.url]


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    text = output.stdout
    complete, seconds = number(r"Complete requests:\s+(\d+)", text), decimal(r"Time taken for tests:\s+([\d.]+)", text)
    if complete is None or seconds is None:
        gave_up = re.search(r"^apr_.*", text + "\n" + output.stderr, re.MULTILINE)
        if gave_up:
            raise LabError(f"`ab` gave up at its first such error and reported nothing: {gave_up[0]}", exit_code=3)
        raise output.nothing("ab")
    failed, other = number(r"Failed requests:\s+(\d+)", text) or 0, number(r"Non-2xx responses:\s+(\d+)", text) or 0
    connect = number(r"\(Connect: (\d+)", text) or 0
    bad = min(complete, max(failed, other))
    kept = number(r"Keep-Alive requests:\s+(\d+)", text) or 0
    caveats = ["ab speaks HTTP/1.0, does not check bodies, and counts some failures twice, so that they are told as one number"]
    if job.load.keep_alive and kept < complete / 2:
        caveats.append(
            f"the server kept its connection to ab, which speaks HTTP/1.0, after {kept:,} of {complete:,} requests only"
        )
    spread = _latency(output.file(PERCENTILES), complete)
    return ToolReport(
        duration_s=seconds,
        outcomes=Outcomes(
            ok=complete - bad,
            shed=None,
            status={},
            wrong_body=None,
            timeout=None,
            connect=min(connect, bad),
            reset=None,
            malformed=None,
            unsent=None,
            in_flight=None,
            unclassified=bad - min(connect, bad),
        ),
        completed=complete,
        latency_ok=None if bad else spread,
        latency_all=None if failed else spread,
        bytes_received=number(r"Total transferred:\s+(\d+)", text),
        caveats=tuple(caveats),
        lossy=bad > 0,
    )


def _latency(table: str, complete: int) -> Latency | None:
    """Read the table of whole percentiles in ms with three decimals: the only output of ab that is finer than a millisecond."""
    rows = {int(percent): round(float(ms) * 1000) for percent, ms in re.findall(r"^(\d+),([\d.]+)$", table, re.MULTILINE)}
    if not rows or not complete:
        return None
    least, most, p50, p75, p90, p95, p99 = (rows.get(percent) for percent in (0, 100, 50, 75, 90, 95, 99))
    return Latency(complete, least, None, most, p50, p90, p99, None, None, p75, p95)


def _refuse(load: Load, workload: Workload) -> str | None:
    if load.requests is not None and load.requests < load.connections:
        return f"needs at least as many requests as connections ({load.connections})"
    if (status := workload.first.expect.status) not in range(200, 300):
        return f"takes only 2xx for good, and `{workload.id}` expects {status}"
    return None


TOOL = Tool(
    name="ab",
    command=_command,
    read=_read,
    version=("{program}", "-V"),
    version_pattern=r"Version (\S+)",
    install="apt-get install -y apache2-utils",
    counts=True,
    whole_seconds=True,
    one_thread=True,
    refuse=_refuse,
    request_shown=True,
)
