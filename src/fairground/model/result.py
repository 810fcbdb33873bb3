"""The results of a trial: findings, outcomes, latencies, the audit's lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from fairground.model.subject import Approach, Tuning

Evidence = Mapping[str, int | float | str | None]


class Severity(StrEnum):
    NOTE = "note"
    WARN = "warn"
    VOID = "void"
    REJECT = "reject"


class Verdict(StrEnum):
    """A trial's verdict. VOID is the machine's or instrument's fault (retried, kept); REJECTED is the server's (a result)."""

    VALID = "valid"
    WARNED = "warned"
    VOID = "void"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Finding:
    """A check's outcome: one sentence, and the numbers it rests on."""

    id: str
    severity: Severity
    sentence: str
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of requests. A generator that cannot tell a kind apart leaves it None."""

    ok: int
    shed: int | None
    status: Mapping[int, int]
    """Unexpected statuses other than 503, by code."""
    wrong_body: int | None
    timeout: int | None
    connect: int | None
    reset: int | None
    malformed: int | None
    unsent: int | None
    in_flight: int | None
    unclassified: int | None = None
    """Requests without a good answer of which the generator does not tell more."""

    def join(self, other: Outcomes) -> Outcomes:
        """The sum of both, kind by kind; a kind that one of them cannot tell stays unknown."""
        status = {code: self.status.get(code, 0) + other.status.get(code, 0) for code in sorted({*self.status, *other.status})}
        sums: dict[str, int | None] = {}
        for key in fields(self):
            if key.name not in ("ok", "status"):
                first, second = getattr(self, key.name), getattr(other, key.name)
                sums[key.name] = None if first is None or second is None else first + second
        return Outcomes(ok=self.ok + other.ok, status=status, **sums)

    @property
    def total(self) -> int:
        """All requests, whatever became of them."""
        return self.ok + self.not_ok

    @property
    def other(self) -> int:
        """Unexpected statuses, and failures of which the generator does not tell more."""
        return sum(self.status.values()) + (self.unclassified or 0)

    @property
    def not_ok(self) -> int:
        return (self.shed or 0) + (self.connect or 0) + (self.unsent or 0) + self._unexplained + sum(self.status.values())

    @property
    def bad(self) -> int:
        """Requests that got something other than a good answer or silence; what a generator does not explain is among them."""
        kinds = (self.shed, self.wrong_body, self.connect, self.reset, self.malformed, self.unclassified)
        return sum(kind or 0 for kind in kinds) + sum(self.status.values())

    @property
    def unknown(self) -> int:
        """Requests that may or may not have been carried out by the server."""
        unexpected = sum(count for code, count in self.status.items() if code < 400)
        return self._unexplained + unexpected

    @property
    def _unexplained(self) -> int:
        kinds = (self.wrong_body, self.timeout, self.reset, self.malformed, self.in_flight, self.unclassified)
        return sum(kind or 0 for kind in kinds)


@dataclass(frozen=True)
class Latency:
    """A latency histogram and what is read from it, in µs; `v2` is HdrHistogram V2 deflate in base64."""

    count: int
    min_us: int | None
    mean_us: float | None
    max_us: int | None
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None
    v2: str | None
    p75_us: int | None = None
    """These two: None also where nobody counted them."""
    p95_us: int | None = None


@dataclass(frozen=True)
class Handshakes:
    """The TLS handshakes of a load's whole life, in µs from the standing TCP connection to their end; None: there was none.

    `failed` ones are not among `count`. `version` and `cipher` are those of the first.
    """

    count: int
    p50_us: int | None
    p99_us: int | None
    failed: int
    version: str | None
    cipher: str | None


@dataclass(frozen=True)
class Second:
    """One second of the window."""

    second: int
    ok: int
    not_ok: int
    p50_us: int | None
    p99_us: int | None
    max_us: int | None
    in_flight: int | None


@dataclass(frozen=True)
class Gap:
    """A stretch of the window in which requests were open and no answer came; `start_us` counts from the window's start."""

    start_us: int
    duration_us: int
    own_us: int
    """The part of it in which the generator itself did not look out for answers: it was busy, or had no processor."""


@dataclass(frozen=True)
class Look:
    """One look at an arm in its window, at a moment of the wall clock. None: this machine does not show it."""

    at_unix_s: float
    memory_bytes: int | None
    """Of the server."""
    cpu_us: Mapping[str, float]
    """CPU so far of server and database; only differences mean anything."""
    stolen_us: float
    """What the hypervisor had taken of all processors so far."""
    descriptors: int | None = None
    """Open ones of the server's processes, all together."""
    threads: int | None = None
    """Of the server."""
    processes: int | None = None
    """Of the server."""


@dataclass(frozen=True)
class LedgerRow:
    """The requests that the engine sent to one account: acknowledged, and unknown (may have happened)."""

    acknowledged_count: int
    acknowledged_sum: int
    unknown_count: int
    unknown_sum: int


@dataclass(frozen=True)
class BadAnswer:
    """One of the first answers of a bad outcome, kept as evidence."""

    outcome: str
    status: int | None
    reason: str
    request: str
    body: str | None

    @property
    def wanted_a_port(self) -> bool:
        """True if a connection could not be opened for want of a local port.

        It is told by the words of the engine, oha or the kernel.
        """
        words = ("no local port", "address not available", "cannot assign")
        return self.outcome == "connect" and any(word in self.reason.lower() for word in words)


@dataclass(frozen=True)
class RequestResult:
    """One request of a mix: outcomes of those inside the window and of the whole life, its edges among them.

    `latency_ok` has the good answers of the window, without those to its edges.
    """

    window: Outcomes
    life: Outcomes
    latency_ok: Latency | None
    refused: int = 0
    """Good answers of the whole life that had to be errors."""

    @property
    def done(self) -> int:
        """Good answers of the whole life that the database must show."""
        return self.life.ok - self.refused

    def join(self, other: RequestResult) -> RequestResult:
        """The counts of both added up, with the latency of the one that has it."""
        return replace(
            self,
            window=self.window.join(other.window),
            life=self.life.join(other.life),
            latency_ok=self.latency_ok or other.latency_ok,
            refused=self.refused + other.refused,
        )


@dataclass(frozen=True)
class Result:
    """A generator's report on a trial, in one form for all generators. `window` counts requests sent inside the window."""

    generator: str
    command: tuple[str, ...]
    window_s: float
    window: Outcomes
    life: Outcomes | None
    """From the first request to the end of the drain, warm-up included."""
    completed: int | None
    completed_ok: int
    in_flight_start: int | None
    in_flight_end: int | None
    bytes_received: int | None
    bodies_checked: int | None
    latency_ok: Latency | None
    latency_all: Latency | None
    connect: Latency | None
    seconds: tuple[Second, ...]
    ledgers: Mapping[str, Mapping[str, LedgerRow]] | None
    """None: the generator keeps none."""
    samples: tuple[BadAnswer, ...]
    cpu_us: int | None
    busiest_thread_share: float | None
    uncounted_most: int | None = 0
    """Requests that may have reached the server and stand in no count, since the generator drops them; None: nobody knows."""
    caveats: tuple[str, ...] = ()
    """What a reader must know of this generator's numbers, a sentence each."""
    send_lag: Latency | None = None
    """Open loop: from the moment a request was due to its sending, a wait for a free connection included."""
    started_unix_us: int | None = None
    """When the window began, by the wall clock."""
    gaps: tuple[Gap, ...] | None = None
    """Stretches of 20 ms or more without an answer; None: the generator tells none."""
    compared: int | None = None
    """Answers of the generator's whole life whose body was compared, every wrong one among them."""
    closed: int | None = None
    """Kept connections that the server closed in the generator's whole life; None: the generator does not tell."""
    dropped: int | None = None
    """Those of them that no answer announced."""
    refused: int = 0
    """Good answers of the generator's whole life that had to be errors: what they were asked for must not be done."""
    pipeline: int = 1
    """The requests that were sent at once on each connection."""
    requests: Mapping[str, RequestResult] = field(default_factory=dict)
    """The requests of a mix, by name; empty where there is only one."""

    @property
    def done(self) -> int:
        """Good answers of the generator's whole life that the database must show."""
        return (self.life or self.window).ok - self.refused

    @property
    def goodput_per_s(self) -> float:
        """Good answers a second that arrived inside the window; errors are never inside it. 0 when there was no window."""
        return self.completed_ok / self.window_s if self.window_s else 0.0

    def with_life_of(self, joined: Result) -> Result:
        """This window, with what all loads of an arm together counted over their whole life."""
        requests = {
            name: replace(one, life=joined.requests[name].life, refused=joined.requests[name].refused)
            for name, one in self.requests.items()
            if name in joined.requests
        }
        return replace(self, life=joined.life, refused=joined.refused, requests=requests)

    def goodput_of_per_s(self, name: str) -> float:
        """The part of the goodput that is one request's of a mix: by its share of the window's good answers."""
        together = sum(one.window.ok for one in self.requests.values())
        return self.goodput_per_s * self.requests[name].window.ok / together if together else 0.0


@dataclass(frozen=True)
class AuditLine:
    """One line of the audit's arithmetic: `expected_min` ≤ `found` ≤ `expected_max` (None: no upper bound)."""

    id: str
    sentence: str
    found: int | float | None
    expected_min: int | float | None
    expected_max: int | float | None

    @property
    def holds(self) -> bool:
        if self.found is None or self.expected_min is None:
            return False
        return self.expected_min <= self.found and (self.expected_max is None or self.found <= self.expected_max)


@dataclass(frozen=True)
class Machine:
    """The fingerprint of the machine that a run was made on. None: this machine does not show it."""

    hostname_hash: str
    cpu_model: str | None
    cores: int
    memory_bytes: int | None
    kernel: str
    distribution: str | None
    virtualization: str | None
    cpu_governor: str | None
    clocksource: str | None
    limits: Mapping[str, str]
    """Kernel settings that matter (`net.core.somaxconn`, …) and the open-file limit."""
    awake: bool = False
    """Whether its processors were kept from idling while it was measured."""

    @property
    def group(self) -> str:
        """The group of machines that may be compared: `AMD EPYC, 2 cores, 24 GiB`."""
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.0f} GiB"
        return f"{self.cpu_model or 'unknown CPU'}, {self.cores} {'core' if self.cores == 1 else 'cores'}{memory}"


@dataclass(frozen=True)
class StackInfo:
    """The part of a result that describes the stack itself: words from the manifest, versions from the receipt."""

    id: str
    title: str
    language: str
    about: str
    homepage: str
    receipt: str | None
    unavailable: str | None
    content_hash: str | None
    approach: Approach | None = None
    """None where a server's manifest of a past revision does not declare it."""
    tuning: tuple[Tuning, ...] = ()
