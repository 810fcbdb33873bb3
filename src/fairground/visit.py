"""A visit to any HTTP service: how it behaves on the wire, what closed loops get from it, and its load curve.

Nothing is known of what is behind it: no contract, no audit, no database. What stays unknown is None, and the reasons that would
need it are not given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairground import loadcurve, thresholds
from fairground.conduct import Asked
from fairground.loadcurve import Point
from fairground.model import Audit, Cell, Expectation, Finding, LabError, Load, Settings, Topology, Workload
from fairground.objective import LEAST_TAIL, Objective
from fairground.service import Closed, Conduct, Visit
from fairground.stand import Measured, Target, load

CONNECTIONS = (1, 10, 100)
"""Of the closed loops."""
SHARES = (0.1, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2)
"""Of the best closed loop's goodput: the rates of the load curve."""
LEAD_S = 0.3
LARGE_BODY, WHOLE_BODY, CHECK_LARGE = 1 << 10, 64 << 10, 100
"""Bodies above the first are compared for one answer in a hundred, above the second not at all; lengths always."""
OPEN_CONNECTIONS = 1000


def workload(asked: Asked, conduct: Conduct) -> Workload:
    """The request as the engine asks it, and what is right: the status and, where bodies were all the same, the body."""
    body, rule, one_in = conduct.body, None, 1
    if body is not None and len(body) <= WHOLE_BODY:
        try:
            rule = {"exact": body.decode("utf-8")}
            one_in = 1 if len(body) <= LARGE_BODY else CHECK_LARGE
        except UnicodeDecodeError:
            pass  # the engine compares text: of other bodies the status alone is held against the service
    host = () if any(name.lower() == "host" for name, _ in asked.headers) else (("host", asked.authority),)
    return Workload(
        id="try",
        title=f"{asked.method} {asked.target}",
        why="",
        method=asked.method,
        path=_plain(asked.target),
        headers=(*host, *asked.headers),
        body=None if asked.body is None else _plain(asked.body.decode()),
        expect=Expectation(conduct.status, None, rule, one_in),
        ledger=(),
        audit=Audit(writes=False, commits_per_answer=0, rows_per_answer=0),
        limit_sql=None,
    )


def measure(visit: Visit, target: Target, objective: Objective, seconds: int, cores: int, timeout_ms: int,
            say: Callable[[str], None]) -> Visit:  # fmt: skip
    """The closed loops, then the load curve about the best of them. `say` hears a line for each."""
    cell = Cell("the service", "try", Topology(), Load(), Settings(workers=cores))
    closed, limits, notes = list[Closed](), tuple[Finding, ...](), list[str]()
    for number, connections in enumerate(CONNECTIONS, 1):
        shape = Load(connections, window_s=float(seconds), warmup_min_s=min(1.0, seconds / 2), timeout_ms=timeout_ms)
        measured = load(target, shape, (), number)
        result, used = measured.result, measured.roles.get("server")
        latency, cpu_us = result.latency_ok, used.cpu_us if used else None
        closed.append(
            Closed(
                connections=connections,
                goodput_per_s=result.goodput_per_s,
                p50_us=latency.p50_us if latency else None,
                p99_us=latency.p99_us if latency and latency.count * 0.01 >= LEAST_TAIL else None,
                due=result.window.total,
                not_ok=result.window.not_ok,
                server_us_per_answer=None if cpu_us is None or not result.completed_ok else cpu_us / result.completed_ok,
                server_cores=None if cpu_us is None else cpu_us / 1e6 / result.window_s,
                void=measured.void,
            )
        )
        limits = _limits(measured, cell, cores) or limits
        if (strangers := _strangers(measured, cores)) is not None:
            notes = [strangers]
        say(f"closed loop, {connections} connections: {result.goodput_per_s:,.0f}/s")
    best = max(one.goodput_per_s for one in closed)
    found = replace(visit, closed=tuple(closed), limited_by=limits, notes=tuple(notes))
    if best == 0:
        return replace(found, notes=(*notes, "no closed loop got a good answer, so no load curve was measured"))
    shape = Load(OPEN_CONNECTIONS, model="open", warmup_min_s=LEAD_S, timeout_ms=timeout_ms)
    rates = [(float(f"{share * best:.4g}"), float(seconds)) for share in SHARES]
    say(f"load curve, {rates[0][0]:,.4g} to {rates[-1][0]:,.4g}/s")
    measured = load(target, shape, rates, len(CONNECTIONS) + 1)
    points = [Point("curve", 1, step, loadcurve.judge(step, objective, measured.void)) for step in measured.steps]
    return replace(found, curve=tuple(points))


def _limits(measured: Measured, cell: Cell, cores: int) -> tuple[Finding, ...]:
    """The reasons that can be known from outside: that nothing was full cannot be, where not everybody's CPU is known."""
    busy = measured.host.busy_share if measured.host else None
    idle = busy is not None and busy < thresholds.standard().reasons.idle_cores and "server" in measured.roles
    return tuple(one for one in measured.limits(cell, cores) if idle or one.id != "too-few-connections")


def _strangers(measured: Measured, cores: int) -> str | None:
    """A sentence on CPU that was used by nobody whom we meter; None where it is little or not known."""
    if measured.host is None or measured.host.busy_share is None or any(use.cpu_us is None for use in measured.roles.values()):
        return None
    known = sum(use.cpu_us or 0.0 for use in measured.roles.values()) / 1e6 / measured.result.window_s
    others = measured.host.busy_share * cores - known
    most = thresholds.standard().checks.foreign_cpu.void
    if most is None or others <= most:
        return None
    whose = "the service, its database and others" if "server" not in measured.roles else "its database, the kernel and others"
    said = f"{others:.1f} of {cores} cores were used by what is not metered here ({whose})"
    return f"{said}; what of it is not part of the service makes these numbers too low"


def check_headers(headers: tuple[tuple[str, str], ...]) -> None:
    """LabError for a header that the engine writes itself."""
    for name, _ in headers:
        if name.lower() in ("content-length", "connection", "transfer-encoding"):
            raise LabError(f"`--header {name}` cannot be given: the lab frames its requests itself", "leave it out")


def _plain(text: str) -> str:
    """Text as a template that stands for itself."""
    return text.replace("{", "{{")
