"""k6: closed loop (in stages, too), open loop at an even rate, or a number of requests; our script makes every request.

What it counts: `http_reqs` are all requests that ended; the script counts those without the expected status apart, by status or
by k6's code of the error. What the open loop could not send for want of a free virtual user is `dropped_iterations`. Its latency
leaves out the time to connect and to wait for a connection. It needs several times the CPU of the other generators.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from fairground.generators.slots import javascript
from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, outcomes
from fairground.model import Latency

REPORT = "report.json"
ERRORS = {1050: "timeout", 1210: "connect", 1211: "connect", 1212: "connect", 1213: "connect", 1201: "reset", 1220: "reset"}
"""k6's codes of errors that have a kind of ours; its other codes hold several causes each."""
PERCENTILES = ("min", "avg", "max", "p(50)", "p(90)", "p(99)", "p(99.9)", "p(75)", "p(95)", "count")

SCRIPT = """
import http from 'k6/http';
import { sleep } from 'k6';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const SEED = %(seed)d, FIRST = %(first)d, EXPECTED = %(expected)d;
const failed = {};
for (let status = 100; status < 600; status++) failed[status] = new Counter('status_' + status);
for (const code of %(codes)s) failed[code] = new Counter('error_' + code);

http.setResponseCallback(http.expectedStatuses(EXPECTED));

export const options = %(options)s;

let state = 0;
function bits() {  // mulberry32, one stream for each virtual user
  if (state === 0) state = (SEED ^ Math.imul(exec.vu.idInTest, 0x9e3779b1)) | 1;
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}
function int(low, high) {
  const share = (bits() * 2097152 + (bits() >>> 11)) / 9007199254740992;
  return low + Math.floor(share * (high - low + 1));
}
function other_than(low, high, value) {
  if (value < low || value > high) return int(low, high);
  const drawn = int(low, high - 1);
  return drawn >= value ? drawn + 1 : drawn;
}
function pair(low, high) {
  const first = int(low, high), second = other_than(low, high, first);
  return [Math.min(first, second), Math.max(first, second)];
}
function choice(words) { return words[int(0, words.length - 1)]; }
function seq() { return FIRST + exec.scenario.iterationInTest; }
function text(value) { return String(value); }

const params = { headers: %(headers)s, timeout: '%(timeout_ms)dms', redirects: 0 };

export default function () {
  const v = [];
%(draws)s
  const answer = http.request('%(method)s', '%(origin)s' + %(path)s, %(body)s, params);
  if (answer.status !== EXPECTED) (failed[answer.status || answer.error_code] || failed[1000]).add(1);
%(pause)s}

export function handleSummary(data) {
  return { '%(report)s': JSON.stringify(data) };
}
"""


def _command(job: ToolJob) -> list[str]:
    draws, path, body = javascript(job.templates)
    script = SCRIPT % {
        "codes": [1000, *ERRORS], "seed": job.seed * 0x9E3779B1 % 2**31, "first": job.first,
        "expected": job.request.expect.status, "report": REPORT,
        "options": json.dumps(_options(job), indent=2), "headers": json.dumps(dict(job.request.headers)),
        "timeout_ms": job.load.timeout_ms, "method": job.request.method, "origin": job.origin, "path": path,
        "pause": f"  sleep({job.load.think_ms / 1000:g});\n" if job.load.think_ms else "",
        "body": body or "null", "draws": "\n".join(f"  {line};" for line in draws),
    }  # fmt: skip
    return ["run", "--quiet", "--no-color", "--no-usage-report", "--address", "", job.write("requests.js", script)]


def _options(job: ToolJob) -> dict[str, object]:
    load = job.load
    # All requests of the window shall have their answers: k6 waits for them so long.
    end = f"{math.ceil(load.timeout_ms / 1000) + 1}s"
    users, lasts = {"gracefulStop": end}, f"{job.seconds:g}s"
    shape: dict[str, object]
    if job.requests is not None:
        shape = {"executor": "shared-iterations", "vus": load.connections, "iterations": job.requests, "maxDuration": "15m"}
    elif load.rate_per_s is not None:
        rate = _rate(load.rate_per_s)
        shape = {"executor": "constant-arrival-rate", "duration": lasts, "preAllocatedVUs": load.connections, **rate}
    elif job.stages:
        stages = [{"duration": f"{seconds:g}s", "target": ends} for seconds, ends in job.stages]
        # A user who has to go waits for the answer to its request, as all of them do at the end of the window.
        shape = {"executor": "ramping-vus", "startVUs": load.connections, "stages": stages, "gracefulRampDown": end}
    else:
        shape = {"executor": "constant-vus", "vus": load.connections, "duration": lasts}
    return {
        "scenarios": {"load": shape | users},
        "discardResponseBodies": True,
        "noConnectionReuse": not load.keep_alive,
        "systemTags": ["expected_response"],
        "summaryTrendStats": list(PERCENTILES),
    }


def _rate(rate_per_s: float) -> dict[str, object]:
    """k6 takes whole numbers: this many requests in this many seconds."""
    if rate_per_s == int(rate_per_s):
        return {"rate": int(rate_per_s), "timeUnit": "1s"}
    return {"rate": round(rate_per_s * 1000), "timeUnit": "1000s"}


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    if not (text := output.file(REPORT)):
        raise output.nothing("k6")
    document: dict[str, Any] = json.loads(text)
    metrics: dict[str, dict[str, Any]] = {name: metric["values"] for name, metric in document["metrics"].items()}
    if "http_reqs" not in metrics:
        raise output.nothing("k6")
    sent = int(metrics["http_reqs"]["count"])
    statuses, kinds = {}, dict.fromkeys({*ERRORS.values(), "unclassified"}, 0)
    for name, values in metrics.items():
        what, _, code = name.partition("_")
        if what == "status" and code.isdigit():
            statuses[int(code)] = int(values["count"])
        elif what == "error" and code.isdigit():
            kinds[ERRORS.get(int(code), "unclassified")] += int(values["count"])
    statuses[job.request.expect.status] = sent - sum(statuses.values()) - sum(kinds.values())
    unsent = int(metrics.get("dropped_iterations", {}).get("count", 0))
    return ToolReport(
        duration_s=document["state"]["testRunDurationMs"] / 1000,
        outcomes=outcomes(job, statuses, unsent=unsent if job.load.model == "open" else 0, in_flight=0, **kinds),
        completed=sent,
        latency_ok=_latency(metrics.get("http_req_duration{expected_response:true}")),
        latency_all=_latency(metrics.get("http_req_duration")),
        bytes_received=int(metrics["data_received"]["count"]) if "data_received" in metrics else None,
        caveats=("k6 does not check bodies here, and its latencies leave out the time to connect and to wait for a connection",),
    )


def _latency(found: Mapping[str, float] | None) -> Latency | None:
    if not found:
        return None
    least, mean, most, p50, p90, p99, p999, p75, p95, count = (found.get(name) for name in PERCENTILES)
    us = [None if value is None else round(value * 1000) for value in (least, most, p50, p90, p99, p999, p75, p95)]
    mean_us = None if mean is None else mean * 1000
    return Latency(int(count or 0), us[0], mean_us, us[1], us[2], us[3], us[4], us[5], None, us[6], us[7])


TOOL = Tool(
    name="k6",
    command=_command,
    read=_read,
    version=("{program}", "version"),
    version_pattern=r"k6(?:\.exe)? v?(\S+)",
    install="env GOBIN={tools}/bin go install go.k6.io/k6@v1.4.2",
    open_loop=True,
    counts=True,
    random_path=True,
    random_body=True,
    sequence=True,
    pauses=True,
    ramps=True,
)
