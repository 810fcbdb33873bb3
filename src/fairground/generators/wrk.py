"""wrk: closed loop; its report is written by a Lua script of ours, since what it prints is rounded.

What it counts: `requests` are the answers that were read, whatever their status; `status` those above 399; `timeout` answers that
came too late; `connect`, `read` and `write` are events of sockets. A request that never got an answer is in no count. Before it
reports, wrk adds latencies that it never measured; the script hands over the histogram so that they can be taken away again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairground.generators import latency
from fairground.generators.slots import lua, lua_text
from fairground.generators.tool import Tool, ToolJob, ToolOutput, ToolReport, holds_secret
from fairground.model import Load, Outcomes, Workload

REPORT = "report.json"
STEPS_AT_MOST = 20_000_000_000
"""Reading one value of wrk's histogram scans it from its start: beyond this many steps in all (values × span; some seconds, after
the window) its report gives no histogram. A hundred connections to a busy server need 8,000 million."""

REPORTING = """
function done(summary, latency, requests)
   local counts, values = {}, #latency
   if values * (latency.max - latency.min) < %d then
      for i = 1, values do
         local value, count = latency(i)
         counts[i] = string.format("[%%.0f,%%.0f]", value, count)
      end
   end
   local errors = summary.errors
   local file = io.open("%s", "w")
   file:write(string.format(
      '{"duration_us":%%.0f,"requests":%%.0f,"bytes":%%.0f,"connect":%%.0f,"read":%%.0f,"write":%%.0f,"status":%%.0f,"timeout":%%.0f,',
      summary.duration, summary.requests, summary.bytes,
      errors.connect, errors.read, errors.write, errors.status, errors.timeout))
   file:write(string.format('"values":%%.0f,"counts":[%%s]}', values, table.concat(counts, ",")))
   file:close()
end
"""
DRAWING = """
local threads = 0
function setup(thread)
   thread:set("id", threads)
   threads = threads + 1
   thread:set("threads", %(threads)d)
end

local v, sent = {}, 0
local function text(value)
   return type(value) == "number" and string.format("%%.0f", value) or value
end
local int = math.random
local function other_than(low, high, value)
   if value < low or value > high then return int(low, high) end
   local drawn = int(low, high - 1)
   return drawn >= value and drawn + 1 or drawn
end
local function pair(low, high)
   local first = int(low, high)
   local second = other_than(low, high, first)
   return math.min(first, second), math.max(first, second)
end
local function choice(words) return words[int(1, #words)] end
local function seq()
   sent = sent + 1
   return %(first)d + (sent - 1) * threads + id
end

function init(args)
   math.randomseed(%(seed)d + 7919 * id)
end

function request()
%(draws)s
   return wrk.format(nil, %(path)s, nil, %(body)s)
end
"""


def _command(job: ToolJob) -> list[str]:
    load = job.load
    argv = ["-t", str(load.threads), "-c", str(load.connections), "-d", f"{max(1, round(job.seconds))}s"]
    argv += ["--timeout", f"{load.timeout_ms // 1000}s", "-s", job.write("requests.lua", _script(job))]
    hidden = holds_secret(job.request)  # words are in the process list, and the script is in a folder of the lab's
    for name, value in () if hidden else job.request.headers:
        argv += ["-H", f"{name}: {value}"]
    argv += [] if load.keep_alive else ["-H", "Connection: close"]
    return [*argv, job.url if job.templates.fixed and not hidden else job.origin]


def _script(job: ToolJob) -> str:
    draws, path, body = lua(job.templates)
    text = f'wrk.method = "{job.request.method}"\n'
    if holds_secret(job.request):
        text += f"wrk.path = {path}\n" if job.templates.fixed else ""
        text += "".join(f"wrk.headers[{lua_text(name)}] = {lua_text(value)}\n" for name, value in job.request.headers)
    if job.templates.fixed:
        text += f"wrk.body = {body}\n" if body else ""
    else:
        text += DRAWING % {
            "threads": job.load.threads, "first": job.first, "seed": job.seed, "path": path, "body": body or "nil",
            "draws": "\n".join(f"   {line}" for line in draws),
        }  # fmt: skip
    return text + REPORTING % (STEPS_AT_MOST if job.histogram else 0, REPORT)


def _read(job: ToolJob, output: ToolOutput) -> ToolReport:
    if not (text := output.file(REPORT)):
        raise output.nothing("wrk")
    found: dict[str, Any] = json.loads(text)
    failed = found["status"] + found["timeout"]
    # An answer that came too late and had a bad status as well is in both counts.
    outcomes = Outcomes(
        ok=max(0, found["requests"] - failed),
        shed=None,
        status={},
        wrong_body=None,
        timeout=min(found["timeout"], found["requests"]),
        connect=found["connect"],
        reset=found["read"] + found["write"],
        malformed=None,
        unsent=None,
        in_flight=None,
        unclassified=found["status"],
    )
    measured = raw(found, job.load.connections)
    caveats = ["wrk does not check bodies, takes every status below 400 for good, and counts no request that got no answer"]
    if measured is None and found["requests"]:
        why = "does not add up" if found["counts"] else "was too wide to be read"
        caveats.append(f"wrk's histogram {why}, so that this trial has no latencies")
    spread = None if measured is None else latency.of_counts(measured)
    return ToolReport(
        duration_s=found["duration_us"] / 1e6,
        outcomes=outcomes,
        completed=found["requests"],
        latency_ok=None if failed else spread,
        latency_all=spread,
        bytes_received=found["bytes"],
        caveats=tuple(caveats),
    )


def raw(found: Mapping[str, Any], connections: int) -> dict[int, int] | None:
    """The histogram (µs → count) as wrk measured it; None when the report has none, or does not add up.

    wrk takes the mean time of a connection's cycle, and adds to each value of two cycles or more one value for each cycle less.
    Going down from the largest value, what is found there is what was measured there, so what it added can be taken away.
    """
    if len(found["counts"]) != found["values"] or not found["counts"]:
        return None
    counts = {int(value): int(count) for value, count in found["counts"]}
    cycles = found["requests"] // connections
    cycle_us = int(found["duration_us"] // cycles) if cycles else 0
    for value in sorted(counts, reverse=True):
        if not cycle_us or value < 2 * cycle_us:
            break
        for added in range(value - cycle_us, cycle_us, -cycle_us):
            if added in counts:  # below the smallest value measured wrk adds as well, and does not report it
                counts[added] -= counts[value]
    adds_up = sum(counts.values()) == found["requests"] - found["timeout"] and min(counts.values()) >= 0
    return {value: count for value, count in sorted(counts.items()) if count} if adds_up else None


def _refuse(load: Load, workload: Workload) -> str | None:
    if load.connections % load.threads:
        return f"would open fewer connections than asked: {load.connections} cannot be shared out among {load.threads} threads"
    return None


TOOL = Tool(
    name="wrk",
    command=_command,
    read=_read,
    version=("{program}", "-v"),
    version_pattern=r"wrk (\S+)",
    install="apt-get install -y wrk",
    threads=True,
    random_path=True,
    random_body=True,
    sequence=True,
    whole_seconds=True,
    refuse=_refuse,
)
