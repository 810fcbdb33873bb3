"""Any HTTP service as it is seen from outside: its conduct, what closed loops got from it, its load curve. Values only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairground.capacity.loadcurve import CurvePoint, StepWord
from fairground.capacity.service import coding
from fairground.model import BadAnswer, Finding, Handshakes, Outcomes, Severity

OPEN_CONNECTIONS = 1000
"""Of the load curve, where bodies are not large."""
HELD_BYTES, HELD_EACH_BYTES = 256 << 20, 256 << 10
"""What the load engine holds of the bodies of all connections together, and of each at least (docs/engine-protocol.md)."""


def most_connections(body_bytes: int) -> int:
    """The most connections to a service with bodies of this size: the engine must hold two bodies on each of them."""
    if 2 * body_bytes <= HELD_EACH_BYTES:
        return OPEN_CONNECTIONS
    return min(OPEN_CONNECTIONS, max(1, HELD_BYTES // (2 * body_bytes)))


@dataclass(frozen=True)
class Visit:
    """All that is known of a service from outside. `server` says whose CPU was metered; None: nobody's."""

    url: str
    method: str
    objective: str
    deadline_us: float | None
    conduct: Conduct | None
    """None: the service never answered."""
    server: str | None
    closed: tuple[Closed, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    limited_by: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What the service did wrong by itself: it ended, or never listened; and what failed under load."""
    acknowledged: int = 0
    """Good answers of all of its loads."""
    of_file: bool = False
    """Whether a file says what it is asked, and what is right."""
    at_least_per_s: float | None = None
    """The rate that must keep the objective, where one was asked for."""
    none_within_s: int | None = None
    """The seconds of a window in which no answer ended, where loops got good ones all the same; None: one did, or none came."""
    asks: str = ""
    """What it is asked, as far as a record keeps it: two that were asked for the same have the same text."""

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that clients will break on, and what the service did wrong by itself."""
        alone = tuple(one for one in self.findings if one.severity is Severity.REJECT)
        return (*alone, *(self.conduct.broken if self.conduct is not None else ()))

    @property
    def kept_per_s(self) -> float | None:
        """The highest rate of the curve that kept the objective, where no lower one missed it."""
        return kept_per_s(self.curve)

    @property
    def keeps_enough(self) -> bool | None:
        """True if most steps of the rate that was asked for kept the objective, and no lower rate missed it.

        None: it cannot be told, or no rate was asked for.
        """
        if self.at_least_per_s is None:
            return None
        kept = kept_by_rate(self.curve).get(self.at_least_per_s)
        return kept and (self.kept_per_s or 0.0) >= self.at_least_per_s

    @property
    def kept_times(self) -> int:
        """The number of times that this rate was measured."""
        return sum(point.step.rate_per_s == self.kept_per_s for point in self.curve)

    @property
    def most_times(self) -> int:
        """The number of times that the rate with the most measurements was measured; 0 without a load curve."""
        return max(Counter(point.step.rate_per_s for point in self.curve).values(), default=0)

    @property
    def keeps_all(self) -> bool:
        """True if the highest rate that was offered kept the objective: the limit lies above it."""
        return bool(self.curve) and self.kept_per_s == max(point.step.rate_per_s for point in self.curve)

    @property
    def repeated_per_s(self) -> tuple[float, ...]:
        """The rates that were measured again, since a higher one kept the objective that they did not keep at first.

        The one that was asked for is not among them: it is measured three times anyway.
        """
        rates = [point.step.rate_per_s for point in self.curve]
        first = {point.step.rate_per_s for point in self.curve if point.trial == 1 and not point.judgement.low}
        return tuple(sorted(rate for rate in first - {self.at_least_per_s} if rates.count(rate) > 1))


def kept_by_rate(curve: Sequence[CurvePoint]) -> dict[float, bool | None]:
    """Rate → whether it kept the objective, by most of its steps that tell, lowest rate first. None: none of them tells."""
    found: dict[float, bool | None] = {}
    for rate in sorted({point.step.rate_per_s for point in curve}):
        said = [point.judgement.low for point in curve if point.step.rate_per_s == rate]
        kept, missed = said.count(True), said.count(False)
        found[rate] = kept > missed if kept or missed else None
    return found


def kept_per_s(curve: Sequence[CurvePoint]) -> float | None:
    """The highest rate that kept the objective, where no lower one missed it; None: there is none."""
    best = None
    for rate, kept in kept_by_rate(curve).items():
        if kept is False:
            break
        best = rate if kept else best
    return best


def doubtful(curve: Sequence[CurvePoint]) -> tuple[float, ...]:
    """The rates that did not keep the objective below one that did: a service does not do better under more load, as a rule."""
    kept = kept_by_rate(curve)
    highest = max((rate for rate, word in kept.items() if word), default=0.0)
    told = {point.step.rate_per_s for point in curve if point.judgement.word is not StepWord.UNKNOWN}
    return tuple(rate for rate, word in kept.items() if not word and rate < highest and rate in told)


@dataclass(frozen=True)
class Conduct:
    """The answer of a service, and how it behaves. `body` None: its answers differ."""

    status: int
    content_type: str | None
    body: bytes | None
    body_bytes: int
    kept_open: bool
    findings: tuple[Finding, ...]
    coding: str | None = None
    """The content coding of the body, such as gzip."""
    target: str | None = None
    """The place that a redirect led to, which is loaded in place of the URL's own."""
    good: bool = True
    """Whether a client wants such an answer; else there is nothing to load."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Of several requests, each by its name: the status that is good."""

    @property
    def is_compared(self) -> bool:
        """True if bodies are held against the first one under load: all were the same, and what they hold can be read."""
        return self.body is not None and (self.coding is None or coding.is_readable(self.coding))

    @property
    def content(self) -> bytes | None:
        """The content of the body, as far as that can be read here; else the body as it came. None: answers differ."""
        if self.body is None:
            return None
        found = coding.decode(self.body, self.coding)
        return self.body if found is None else found

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that clients will break on."""
        return tuple(one for one in self.findings if one.severity is Severity.REJECT)


@dataclass(frozen=True)
class RequestShare:
    """One request of several in a closed loop: its good answers a second, and the latencies of these, in µs (None: unknown)."""

    goodput_per_s: float
    p50_us: float | None
    p99_us: float | None
    due: int
    not_ok: int


@dataclass(frozen=True)
class Closed:
    """The result of N connections that each ask again when they have their answer. Latencies in µs; None: unknown."""

    connections: int
    goodput_per_s: float
    p50_us: float | None
    p99_us: float | None
    due: int
    not_ok: int
    server_us_per_answer: float | None
    server_cores: float | None
    void: str | None
    handshakes: Handshakes | None = None
    """Those of TLS, for its connections; None for plain HTTP."""
    per_any: bool = False
    """Whether most answers were not good, so that CPU is per answer of any kind."""
    requests: Mapping[str, RequestShare] = field(default_factory=dict)
    """Each request of a file, by name; empty where there is one."""


@dataclass(frozen=True)
class LoadTally:
    """The outcomes of all requests of one load, its warm-up among them. `load` names it in words.

    `samples` has the first bad answer of each kind. `closed` are the kept connections that the service closed, and `dropped`
    those of them that no answer announced; None: not told. `own` says why the generator itself could open no connection.
    """

    load: str
    outcomes: Outcomes
    samples: tuple[BadAnswer, ...] = ()
    compared: int | None = None
    closed: int | None = None
    dropped: int | None = None
    void: str | None = None
    own: str | None = None
