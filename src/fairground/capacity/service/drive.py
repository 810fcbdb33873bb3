"""A visit to any HTTP service: how it behaves on the wire, what closed loops get from it, and its load curve.

Nothing is known of what is behind it: no contract, no audit, no database. What stays unknown is None, and the reasons that would
need it are not given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fairground.capacity import loadcurve
from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.objective import LEAST_TAIL, Objective
from fairground.capacity.service.behaviour import Asked
from fairground.capacity.service.parts import Ahead, ServicePart, Unit
from fairground.capacity.service.values import Closed, Conduct, doubtful, most_connections
from fairground.judge import thresholds
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Rates, Whole
from fairground.measure.session import ArmSession
from fairground.model import Audit, Cell, CellSettings, Expectation, Finding, LabError, Load, Topology, Workload, secret
from fairground.model.reason import TOO_FEW_CONNECTIONS

CONNECTIONS = (1, 10, 100)
"""Those of the closed loops."""
SHARES = (0.1, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2)
"""Of the best closed loop's goodput: the rates of the load curve."""
LEAD_S = 0.3
LARGE_BODY, WHOLE_BODY, CHECK_LARGE = 1 << 10, 64 << 10, 100
"""Bodies above the first are compared for one answer in a hundred, above the second not at all; lengths always."""
REPEATS = 2
"""So often more a rate is measured that missed the objective below one that kept it; most of its steps then decide."""


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
        title=f"{asked.method} {secret.redact(asked.target)}",
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


@dataclass(frozen=True)
class ServiceEffort:
    """The effort of a visit.

    It says how long each measurement is, in seconds, when an answer is too late, how many threads load, and how large
    an answer is.
    """

    objective: Objective
    seconds: int
    timeout_ms: int
    threads: int = 1
    body_bytes: int = 0


class Over(Exception):
    """The arm cannot be loaded any more; why is among its findings."""


def measure(
    done: Sequence[ServicePart], session: ArmSession, label: str, effort: ServiceEffort, cores: int
) -> Iterator[Ahead | ServicePart]:
    """Measure the closed loops of the arm `label`, a service, and then the load curve about the best of them.

    Before each load it yields what comes. What is among the parts `done` is not measured again. It ends early where the arm
    cannot be loaded any more.
    """
    try:
        yield from _measured(done, session, label, effort, cores)
    except Over:
        return


def _measured(
    done: Sequence[ServicePart], session: ArmSession, label: str, effort: ServiceEffort, cores: int
) -> Iterator[Ahead | ServicePart]:
    loads = itertools.count(1 + sum(part.closed is not None or bool(part.curve) for part in done))

    def load(shape: Load, seed: int, rates: Rates = ()) -> ArmWindow:
        windows = session.load(Whole(label, shape, seed, rates, folder=f"load-{next(loads):03}"))
        if not windows:
            raise Over
        return windows[0]

    known = [part.closed for part in done if part.closed is not None]
    fit = [connections for connections in CONNECTIONS if connections <= most_connections(effort.body_bytes)]
    missing = [connections for connections in fit if all(one.connections != connections for one in known)]
    curved = any(part.curve is not None for part in done)
    seconds, warm_up_s = float(effort.seconds), min(1.0, effort.seconds / 2)
    left_s = len(missing) * (warm_up_s + seconds) + (0.0 if curved else LEAD_S + len(SHARES) * seconds)
    for connections in missing:
        yield Ahead(f"closed loop, {connections} connection{'s' if connections > 1 else ''}", warm_up_s + seconds, left_s)
        left_s -= warm_up_s + seconds
        shape = Load(connections, window_s=seconds, warmup_min_s=warm_up_s, timeout_ms=effort.timeout_ms, threads=effort.threads)
        part, closed = _loop(load(shape, 1 + CONNECTIONS.index(connections), ()), cores)
        known.append(closed)
        yield part
    if not curved:
        yield from _curve(load, max(one.goodput_per_s for one in known), effort)


def _curve(
    load: Callable[[Load, int, Rates], ArmWindow], best_per_s: float, effort: ServiceEffort
) -> Iterator[Ahead | ServicePart]:
    """Measure the load curve about the best closed loop; empty where no loop got a good answer."""
    if best_per_s == 0:
        yield ServicePart(Unit.CURVE, curve=())
        return
    connections = most_connections(effort.body_bytes)
    threads = min(effort.threads, connections)
    shape = Load(connections, model="open", warmup_min_s=LEAD_S, timeout_ms=effort.timeout_ms, threads=threads)
    rates = tuple((float(f"{share * best_per_s:.4g}"), float(effort.seconds)) for share in SHARES)
    seed = len(CONNECTIONS) + 1

    def points(some: Rates, seed: int, first: int) -> list[CurvePoint]:
        measured, found = load(shape, seed, some), list[CurvePoint]()
        for step in measured.steps:
            trial = first + sum(point.step.rate_per_s == step.rate_per_s for point in found)
            found.append(CurvePoint("curve", trial, step, loadcurve.judge(step, effort.objective, measured.void)))
        return found

    yield _ahead("load curve", rates)
    curve = points(rates, seed, 1)
    if again := tuple((rate, seconds) for rate, seconds in rates if rate in doubtful(curve)):
        yield _ahead("rates in doubt, once more", again * REPEATS)
        curve += points(again * REPEATS, seed + 1, 2)
    yield ServicePart(Unit.CURVE, curve=tuple(sorted(curve, key=lambda point: point.step.rate_per_s)))


def _ahead(what: str, rates: Rates) -> Ahead:
    """The last load that is planned."""
    load_s = LEAD_S + math.fsum(seconds for _, seconds in rates)
    return Ahead(f"{what}, {len(rates)} steps", load_s, load_s)


def _loop(measured: ArmWindow, cores: int) -> tuple[ServicePart, Closed]:
    """The part of one closed loop, and its numbers."""
    result, used = measured.whole, measured.roles.get("server")
    latency, cpu_us = result.latency_ok, used.cpu_us if used else None
    closed = Closed(
        connections=measured.load.connections,
        goodput_per_s=result.goodput_per_s,
        p50_us=latency.p50_us if latency else None,
        p99_us=latency.p99_us if latency and latency.count * 0.01 >= LEAST_TAIL else None,
        due=result.window.total,
        not_ok=result.window.not_ok,
        server_us_per_answer=None if cpu_us is None or not result.completed_ok else cpu_us / result.completed_ok,
        server_cores=None if cpu_us is None else cpu_us / 1e6 / result.window_s,
        void=measured.void,
        handshakes=measured.handshakes,
    )
    cell = Cell("the service", "try", Topology(), Load(), CellSettings(workers=cores))
    return ServicePart(
        Unit.LOOP, closed=closed, limited_by=_limits(measured, cell, cores), note=_strangers(measured, cores)
    ), closed


def _limits(measured: ArmWindow, cell: Cell, cores: int) -> tuple[Finding, ...]:
    """The reasons that can be known from outside: that nothing was full cannot be, where not everybody's CPU is known."""
    busy = measured.host.busy_share if measured.host else None
    idle = busy is not None and busy < thresholds.standard().reasons.idle_cores and "server" in measured.roles
    return tuple(one for one in measured.limits(cell, cores) if idle or one.id != TOO_FEW_CONNECTIONS.id)


def _strangers(measured: ArmWindow, cores: int) -> str | None:
    """A sentence on CPU that was used by nobody whom we meter; None where it is little or not known."""
    if measured.host is None or measured.host.busy_share is None or any(use.cpu_us is None for use in measured.roles.values()):
        return None
    known = sum(use.cpu_us or 0.0 for use in measured.roles.values()) / 1e6 / measured.window_s
    others = measured.host.busy_share * cores - known
    most = thresholds.standard().checks.foreign_cpu.void
    if most is None or others <= most:
        return None
    whose = "the service, its database and others" if "server" not in measured.roles else "its database, the kernel and others"
    said = f"{others:.1f} of {cores} cores were used by what is not metered here ({whose})"
    return f"{said}; any of it that is not the service's makes these numbers too low"


def check_headers(headers: tuple[tuple[str, str], ...]) -> None:
    """Raise LabError for a header that the engine writes itself."""
    for name, _ in headers:
        if name.lower() in ("content-length", "connection", "transfer-encoding"):
            raise LabError(f"`--header {name}` cannot be given: the lab frames its requests itself", "leave it out")


def _plain(text: str) -> str:
    """Text as a template that stands for itself."""
    return text.replace("{", "{{")
