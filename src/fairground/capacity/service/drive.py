"""A visit to any HTTP service: how it behaves on the wire, what closed loops get from it, and its load curve.

Nothing is known of what is behind it: no contract, no audit, no database. What stays unknown is None, and the reasons that would
need it are not given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from fairground.capacity import loadcurve, objective
from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.objective import LEAST_TAIL, Objective
from fairground.capacity.service import failures
from fairground.capacity.service.parts import Ahead, ServicePart, Unit
from fairground.capacity.service.values import (
    OPEN_CONNECTIONS,
    Closed,
    LoadTally,
    RequestShare,
    doubtful,
    kept_per_s,
    most_connections,
)
from fairground.judge import answers, pools, stalls, thresholds, validity
from fairground.judge.validity import TrialFacts
from fairground.measure.arm import ArmWindow
from fairground.measure.schedule import Rates, Whole
from fairground.measure.session import ArmSession
from fairground.model import (
    Cell,
    CellSettings,
    Finding,
    LabError,
    Latency,
    Load,
    RequestResult,
    Severity,
    Topology,
)
from fairground.model.plural import plural
from fairground.model.reason import TOO_FEW_CONNECTIONS
from fairground.model.record import TryAsked
from fairground.model.use import UNUSED

CONNECTIONS, WARM_CONNECTIONS = (1, 10, 100), 10
"""Those of the closed loops, where so many may be opened, and of the warm-up before them."""
SHARES = (0.1, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2)
"""Of the best closed loop's goodput: the rates of the load curve."""
LEAD_S = 0.3
WARM_S, WARM_LOOKS, WARM_MOST = 1.0, 4, 30
"""A service is warm when the last looks, each of so many seconds, do not get faster. After so many looks it is not waited for."""
WARMER = 1.03
MORE, LONGEST_S = 1.2, 60.0
"""A rate that is asked for gets so many times the requests that can tell, for their number varies; but no more than a minute."""
REPEATS = 2
"""The times that a rate is measured anew where it missed the objective below one that kept it; most of its steps then decide."""


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
    most: int = OPEN_CONNECTIONS
    """Connections that this machine can open."""
    confirmations: int = 0
    """The times that the rate which is told is measured anew, on fresh connections; most of its steps then decide."""
    at_least_per_s: float | None = None
    """A rate that must keep the objective: it is measured so often, too."""

    @classmethod
    def of(cls, asked: TryAsked, body_bytes: int, most: int) -> ServiceEffort:
        """Make the effort that is asked for; a body is so large, and this machine can open `most` connections."""
        return cls(
            objective.parse(asked.objective),
            seconds=asked.seconds,
            timeout_ms=asked.timeout_ms,
            threads=asked.threads,
            body_bytes=body_bytes,
            most=min(most, asked.connections or most),
            confirmations=asked.confirmations,
            at_least_per_s=asked.at_least_per_s,
        )

    def asked_s(self, rate_per_s: float) -> float:
        """Compute how long a rate that must keep the objective is measured: long enough to tell, if a minute is."""
        tells_s = math.ceil(MORE * self.objective.fewest_requests / rate_per_s)
        return float(max(self.seconds, min(LONGEST_S, tells_s)))

    @property
    def curve_s(self) -> float:
        """The planned seconds of the load curve and of what follows it, at most: the rate that is asked for may be its own."""
        wanted = self.at_least_per_s
        asked_s = 0.0 if wanted is None else self.asked_s(wanted)
        return LEAD_S + len(SHARES) * self.seconds + asked_s + self.later_s

    @property
    def later_s(self) -> float:
        """The planned seconds after the first pass: the rate that is asked for again, and what confirms the one that is told."""
        wanted = self.at_least_per_s
        again_s = 0.0 if wanted is None else LEAD_S + REPEATS * self.asked_s(wanted)
        return again_s + self.confirm_s

    @property
    def confirm_s(self) -> float:
        """The planned seconds that confirm the rate that is told."""
        return self.confirmations * (LEAD_S + self.seconds)

    @property
    def connections(self) -> int:
        """The most connections of a load."""
        return min(self.most, most_connections(self.body_bytes))


class Over(Exception):
    """The arm cannot be loaded any more; why is among its findings."""


Measuring = Generator[Ahead | ServicePart, None, ServicePart | None]
"""What comes and what is finished; at last what was measured of a load curve that ended early, if anything."""


def measure(done: Sequence[ServicePart], session: ArmSession, label: str, effort: ServiceEffort, cores: int) -> Measuring:
    """Measure the closed loops of the arm `label`, a service, and then the load curve about the best of them.

    Before each load it yields what comes. What is among the parts `done` is not measured again. It ends early where the arm
    cannot be loaded any more.
    """
    try:
        return (yield from _measured(done, session, label, effort, cores))
    except Over:
        return None


def _measured(done: Sequence[ServicePart], session: ArmSession, label: str, effort: ServiceEffort, cores: int) -> Measuring:
    loads = itertools.count(1 + sum(len(part.tallies) or part.closed is not None or bool(part.curve) for part in done))

    def load(shape: Load, seed: int, rates: Rates = ()) -> ArmWindow:
        windows = session.load(Whole(label, shape, seed, rates, folder=f"load-{next(loads):03}"))
        if not windows:
            raise Over
        return windows[0]

    known = [part.closed for part in done if part.closed is not None]
    fit = loops_within(effort.connections)
    missing = [connections for connections in fit if all(one.connections != connections for one in known)]
    curved = any(part.curve is not None for part in done)
    seconds, warm_up_s = float(effort.seconds), min(1.0, effort.seconds / 2)
    left_s = len(missing) * (warm_up_s + seconds) + (0.0 if curved else effort.curve_s)
    if missing or not curved:
        yield Ahead("warm-up", WARM_LOOKS * WARM_S, WARM_LOOKS * WARM_S + left_s)
        yield _warm_up(load, effort, min(WARM_CONNECTIONS, max(fit)))
    for connections in missing:
        yield Ahead(f"closed loop, {connections} connection{'s' if connections > 1 else ''}", warm_up_s + seconds, left_s)
        left_s -= warm_up_s + seconds
        threads = min(effort.threads, connections)
        shape = Load(connections, window_s=seconds, warmup_min_s=warm_up_s, timeout_ms=effort.timeout_ms, threads=threads)
        part, closed = _loop(load(shape, 1 + fit.index(connections), ()), cores)
        known.append(closed)
        yield part
    return None if curved else (yield from _curve(load, max(one.goodput_per_s for one in known), effort))


def loops_within(most: int) -> list[int]:
    """The connections of each closed loop, where `most` may be opened."""
    return sorted({min(connections, most) for connections in CONNECTIONS})


def _warm_up(load: Callable[[Load, int, Rates], ArmWindow], effort: ServiceEffort, connections: int) -> ServicePart:
    """Load the service until it does not get faster; where it still does at the end, that is said."""
    shape = Load(connections, window_s=WARM_S, warmup_min_s=0.0, timeout_ms=effort.timeout_ms)
    looks, tallies = list[float](), list[LoadTally]()
    while len(looks) < WARM_LOOKS or (warming := is_warming(looks)) and len(looks) < WARM_MOST:
        measured = load(shape, 100 + len(looks), ())
        looks.append(measured.whole.goodput_per_s)
        tallies.append(tally(measured, "the warm-up"))
    found: tuple[Finding, ...] = ()
    if warming:
        sentence = (
            f"it still got faster after {len(looks)} s under load, from {looks[0]:,.0f} to {looks[-1]:,.0f} answers a second"
        )
        found = (Finding("warm-up", Severity.WARN, f"{sentence}: these numbers are not those of a warm service"),)
    return ServicePart(Unit.WARM_UP, findings=found, tallies=tuple(tallies))


def is_warming(looks: Sequence[float]) -> bool:
    """True if the later half of the last looks lies above the earlier half, without exception."""
    half = WARM_LOOKS // 2
    earlier, later = looks[-WARM_LOOKS:-half], looks[-half:]
    return min(later) > max(earlier) and math.fsum(later) > WARMER * math.fsum(earlier)


def tally(measured: ArmWindow, name: str) -> LoadTally:
    """Count the outcomes of all requests of a load."""
    result = measured.whole
    return LoadTally(
        load=name,
        outcomes=result.life or result.window,
        samples=answers.samples_of(result),
        compared=result.compared,
        closed=result.closed,
        dropped=result.dropped,
        void=measured.void,
        own=validity.own_side(result),
    )


def _curve(load: Callable[[Load, int, Rates], ArmWindow], best_per_s: float, effort: ServiceEffort) -> Measuring:
    """Measure the load curve about the best closed loop; empty where no loop got a good answer."""
    curve, tallies = list[CurvePoint](), list[LoadTally]()
    if best_per_s:
        try:
            yield from _steps(load, best_per_s, effort, curve, tallies)
        except Over:
            return _curve_part(curve, tallies) if curve else None
    yield _curve_part(curve, tallies)
    return None


def _curve_part(curve: Sequence[CurvePoint], tallies: Sequence[LoadTally]) -> ServicePart:
    by_rate = tuple(sorted(curve, key=lambda point: point.step.rate_per_s))
    return ServicePart(Unit.CURVE, curve=by_rate, tallies=tuple(tallies))


def _steps(
    load: Callable[[Load, int, Rates], ArmWindow],
    best_per_s: float,
    effort: ServiceEffort,
    curve: list[CurvePoint],
    tallies: list[LoadTally],
) -> Iterator[Ahead]:
    """Add the steps of each load to `curve`, and what became of its requests to `tallies`. `Over` leaves what they hold."""
    connections = effort.connections
    threads = min(effort.threads, connections)
    shape = Load(connections, model="open", warmup_min_s=LEAD_S, timeout_ms=effort.timeout_ms, threads=threads)
    offered = {float(f"{share * best_per_s:.4g}"): float(effort.seconds) for share in SHARES}
    wanted = effort.at_least_per_s
    if wanted is not None:
        offered[wanted] = effort.asked_s(wanted)
    rates = tuple(sorted(offered.items()))
    seed = len(CONNECTIONS) + 1

    def measure_steps(some: Rates, seed: int, first: int) -> None:
        measured, found = load(shape, seed, some), list[CurvePoint]()
        tallies.append(tally(measured, failures.CURVE))
        for step in measured.steps:
            trial = first + sum(point.step.rate_per_s == step.rate_per_s for point in found)
            found.append(CurvePoint("curve", trial, step, loadcurve.judge(step, effort.objective, measured.void)))
        curve.extend(found)

    yield _ahead("load curve", rates, effort.later_s)
    measure_steps(rates, seed, 1)
    if again := tuple((rate, seconds) for rate, seconds in rates if rate in doubtful(curve)):
        yield _ahead("rates in doubt, once more", again * REPEATS, effort.later_s)
        measure_steps(again * REPEATS, seed + 1, 2)
    if wanted is not None and (missing := 1 + REPEATS - sum(point.step.rate_per_s == wanted for point in curve)) > 0:
        again = ((wanted, offered[wanted]),) * missing
        yield _ahead("the rate that is asked for", again, effort.confirm_s)
        measure_steps(again, seed + 2 + len(curve), 2)
    told = kept_per_s(curve) if effort.confirmations else None
    while told is not None and sum(point.step.rate_per_s == told for point in curve) <= effort.confirmations:
        again = ((told, float(effort.seconds)),)
        yield _ahead("confirmation", again * effort.confirmations)
        for number in range(effort.confirmations):
            measure_steps(again, seed + 2 + len(curve), 2 + number)
        told = kept_per_s(curve)


def _ahead(what: str, rates: Rates, later_s: float = 0.0) -> Ahead:
    """The next steps of the load curve; so many seconds of load are planned after them."""
    load_s = LEAD_S + math.fsum(seconds for _, seconds in rates)
    return Ahead(f"{what}, {len(rates)} step{'s' if len(rates) > 1 else ''}", load_s, load_s + later_s)


def _loop(measured: ArmWindow, cores: int) -> tuple[ServicePart, Closed]:
    """The part of one closed loop, and its numbers."""
    result, used = measured.whole, measured.roles.get("server")
    latency, cpu_us = result.latency_ok, used.cpu_us if used else None
    ended = result.completed_ok if result.completed is None else result.completed
    per_any = result.completed_ok * 2 < ended
    answered = ended if per_any else result.completed_ok
    closed = Closed(
        connections=measured.load.connections,
        goodput_per_s=result.goodput_per_s,
        p50_us=latency.p50_us if latency else None,
        p99_us=_tail_us(latency),
        due=result.window.total,
        not_ok=result.window.not_ok,
        server_us_per_answer=None if cpu_us is None or not answered else cpu_us / answered,
        server_cores=None if cpu_us is None else cpu_us / 1e6 / result.window_s,
        void=measured.void,
        handshakes=measured.handshakes,
        per_any=per_any,
        requests={name: _share(one, result.window_s) for name, one in result.requests.items()},
    )
    cell = Cell("the service", "try", Topology(), measured.load, CellSettings(workers=cores))
    limits = _limits(measured, cell, cores)
    part = ServicePart(
        Unit.LOOP,
        closed=closed,
        findings=(*_waits(measured, cell, limits), *_database(measured)),
        tallies=(tally(measured, plural(measured.load.connections, "connection")),),
        limited_by=limits,
        note=_strangers(measured, cores),
    )
    return part, closed


def _share(one: RequestResult, window_s: float) -> RequestShare:
    """Make the numbers of one request of several."""
    latency, window = one.latency_ok, one.window
    return RequestShare(window.ok / window_s, latency.p50_us if latency else None, _tail_us(latency), window.total, window.not_ok)


def _tail_us(latency: Latency | None) -> float | None:
    return latency.p99_us if latency is not None and latency.count * 0.01 >= LEAST_TAIL else None


def _waits(measured: ArmWindow, cell: Cell, limits: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings on connections that waited all the time while others were served, and on stalls of all of them."""
    standard, result = thresholds.standard(), measured.whole
    facts = TrialFacts(measured.window_s, cell, result, measured.roles, measured.host)
    found = validity.findings(facts, standard, of=("server",))
    if measured.void is None:  # on a machine that others kept busy it is not the service that stood still
        found += stalls.findings(cell, result, measured.looks, limits[0].id if limits else None, standard.rules)
    count = cell.load.connections
    return tuple(replace(one, sentence=f"{count} connection{'' if count == 1 else 's'}: {one.sentence}") for one in found)


def _limits(measured: ArmWindow, cell: Cell, cores: int) -> tuple[Finding, ...]:
    """The reasons that can be known from outside: that nothing was full cannot be, where not everybody's CPU is known."""
    known = measured.host is not None and measured.host.busy_share is not None and "server" in measured.roles
    held = pools.held_cell_of(cell, measured.database)
    return tuple(one for one in measured.limits(held, cores) if known or one.id != TOO_FEW_CONNECTIONS.id)


def _database(measured: ArmWindow) -> tuple[Finding, ...]:
    """Tell what the service's database was seen doing, where it was looked at."""
    seen = measured.database
    if seen is None or not seen.wait_samples:
        return ()
    busy = {doing: count for doing, count in seen.wait_events.items() if doing not in ("idle", UNUSED)}
    total, most = sum(busy.values()), sorted(busy.items(), key=lambda one: -one[1])[:4]
    told = ", ".join(f"{count / total:.0%} {doing}" for doing, count in most) or "nobody"
    held = seen.connections_peak or 0
    count = measured.load.connections
    words = f"{count} connection{'' if count == 1 else 's'}: the service held {held} to its database; at work: {told}"
    used = measured.roles.get("database")
    cores = None if used is None or used.cpu_us is None else used.cpu_us / 1e6 / measured.window_s
    words += "" if cores is None else f"; the database used {cores:.2f} cores"
    return (Finding("database", Severity.NOTE, words, {"held": seen.connections_peak, "cores": cores}),)


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
