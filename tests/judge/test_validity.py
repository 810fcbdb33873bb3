"""Whether a trial may be believed: every check fires beyond its bounds, keeps silent within them, and guesses nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from builders.facts import CLOSED, DATABASE, HOST, MILLION, OPEN, STANDARD, facts, latency, outcomes, second, severities
from fairground.judge import thresholds, validity
from fairground.judge.thresholds import CheckBounds, WarnVoid
from fairground.judge.validity import TrialFacts, ValidityCheck
from fairground.judge.validity.check import bounds_for
from fairground.model import (
    BadAnswer,
    Cell,
    CellSettings,
    Durability,
    Gap,
    RoleUse,
    Second,
    Severity,
)

CHECKS = {check.id: check for check in validity.CHECKS}


def host(**fields: Any) -> Callable[[Cell], TrialFacts]:
    """A machine with these fields."""
    return lambda cell: replace(facts(cell), host=replace(HOST, **fields))


def tcp(**counters: int) -> Callable[[Cell], TrialFacts]:
    """A machine with these TCP counters."""
    return host(tcp={**HOST.tcp, **counters})


def role(name: str, **fields: Any) -> Callable[[Cell], TrialFacts]:
    """A role with these fields."""
    return lambda cell: replace(facts(cell), roles={name: replace(RoleUse(1.0, None, None, "cgroup2"), **fields)})


def database(**fields: Any) -> Callable[[Cell], TrialFacts]:
    """A database with these fields."""
    return lambda cell: replace(facts(cell), database=replace(DATABASE, **fields))


def seconds(**fields: tuple[Any, ...]) -> tuple[Second, ...]:
    """A second for each of the values of these fields."""
    rows = [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]
    return tuple(second(number, **row) for number, row in enumerate(rows))


def halves(value: float) -> tuple[int, ...]:
    """Four values of which the later ones are so much more."""
    return (MILLION, MILLION, round(MILLION * (1 + value)), round(MILLION * (1 + value)))


def line(value: float) -> tuple[int, ...]:
    """Ten values on a straight line that grow by so much of their mean."""
    return tuple(round(MILLION * (1 + value / 10 * (place - 4.5))) for place in range(10))


def cost(value: float) -> Callable[[Cell], TrialFacts]:
    """A server whose CPU per answer grows by so much from one half to the other."""
    made = role("server", cpu_us_by_second=tuple(float(one) for one in halves(value)))
    rates = seconds(ok=(1, 1, 1, 1))
    return lambda cell: replace(facts(cell, seconds=rates), roles=made(cell).roles)


PORTS = (BadAnswer("connect", None, "Cannot assign requested address (os error 99)", "", None),)

READS: Mapping[str, Callable[[float], Callable[[Cell], TrialFacts]]] = {
    "unsent": lambda v: lambda cell: facts(cell, outcomes(MILLION - round(v * MILLION), unsent=round(v * MILLION))),
    "send-lag": lambda v: lambda cell: facts(cell, send_lag=latency(round(v * MILLION)), latency_ok=latency(MILLION)),
    "generator": lambda v: lambda cell: facts(cell, busiest_thread_share=v),
    "generator-errors": lambda v: (
        lambda cell: facts(cell, outcomes(MILLION - round(v * MILLION), connect=round(v * MILLION)), samples=PORTS)
    ),
    "connection-cap": lambda v: (
        lambda cell: facts(
            cell, seconds=tuple(second(in_flight=10**9 if place < round(v * 10_000) else 1) for place in range(10_000))
        )
    ),
    "little": lambda v: lambda cell: facts(cell, latency_all=latency(count=MILLION, mean_us=1000 * (1 + v))),
    "starved": lambda v: (
        lambda cell: facts(
            cell, latency_all=latency(count=MILLION, mean_us=1000 * (1 - v), max_us=1), seconds=(second(max_us=12 * MILLION),)
        )
    ),
    "closure": lambda v: lambda cell: facts(cell, completed=MILLION - round(v)),
    "run-queue": lambda v: role("generator", busiest_thread_waited_share=v),
    "generator-pressure": lambda v: role("generator", pressure_cpu_some_share=v),
    "steal": lambda v: host(steal_share=v),
    "foreign-cpu": lambda v: host(foreign_cpu_us=v * 10e6),
    "lab-cpu": lambda v: role("lab", cpu_us=v * 10e6),
    "io-pressure": lambda v: host(pressure_io_full_share=v),
    "canary": lambda v: host(canary_before_us=1000.0 * (1 + v), canary_after_us=1000.0),
    "frequency": lambda v: host(frequency_change_share=-v),
    "heat": lambda v: host(heat_throttles=round(v)),
    "swap": lambda v: host(swapped_pages=round(v)),
    "memory-kills": lambda v: host(memory_kills=round(v)),
    "major-faults": lambda v: host(major_faults=round(v * 10)),
    "quota": lambda v: host(periods=MILLION, throttled_periods=round(v * MILLION)),
    "retransmits": lambda v: tcp(TcpRetransSegs=round(v * MILLION)),
    "backlog": lambda v: role("server", dropped_connections=round(v)),
    "steadiness": lambda v: lambda cell: facts(cell, seconds=seconds(ok=halves(v))),
    "steady-median": lambda v: lambda cell: facts(cell, seconds=seconds(p50_us=halves(v))),
    "steady-cost": cost,
    "unstable": lambda v: lambda cell: facts(cell, seconds=seconds(in_flight=line(v))),
    "checkpoints": lambda v: database(checkpoints=round(v)),
    "autovacuum": lambda v: database(autovacuum_samples=round(v * 10_000)),
    "foreign-sessions": lambda v: database(foreign_samples=round(v * 10_000)),
    "temp-files": lambda v: database(temp_files=round(v)),
}
"""Check → facts that make it read a value."""


def step(check: ValidityCheck) -> float:
    """A little of the check's unit."""
    return 1e-4 if check.unit in ("share", "cores") else 1.0


def cases() -> list[tuple[str, Cell, WarnVoid]]:
    """Each check in each of the kinds of trial for which it has bounds."""
    found = []
    for check in validity.CHECKS:
        bounds = check.bounds(STANDARD.checks)
        plain = OPEN if check.meant(READS[check.id](0.0)(OPEN)) else CLOSED
        found.append((check.id, plain, WarnVoid(bounds.warn, bounds.void)))
        if bounds.closed is not None:
            found.append((check.id, CLOSED, bounds.closed))
        if bounds.shared is not None:
            found.append((check.id, replace(OPEN, settings=CellSettings()), bounds.shared))
    return found


def test_every_check_is_tried() -> None:
    """A new check needs facts that make it fire, and bounds; no bounds are without a check."""
    assert set(READS) == set(CHECKS)
    assert {name.replace("_", "-") for name in thresholds.CheckBoundsTable.__dataclass_fields__} == set(CHECKS)
    assert len(CHECKS) == len(validity.CHECKS)


@pytest.mark.parametrize(("id", "cell", "pair"), cases(), ids=lambda one: one if isinstance(one, str) else "")
def test_check_fires_beyond_its_bounds_only(id: str, cell: Cell, pair: WarnVoid) -> None:
    """Up to the bound nothing, above it a warning, above the graver one void; the sentence and the evidence have numbers."""
    reads, little = READS[id], step(CHECKS[id])
    assert pair.warn is not None
    assert severities(id, reads(0.0)(cell)) == []
    assert severities(id, reads(max(0.0, pair.warn - little))(cell)) == []
    above = Severity.VOID if pair.void == pair.warn else Severity.WARN
    assert severities(id, reads(pair.warn + little)(cell)) == [above]
    if pair.void is None:
        assert severities(id, reads(pair.warn + 1000 * little)(cell)) == [Severity.WARN]
    else:
        assert severities(id, reads(pair.void + little)(cell)) == [Severity.VOID]
    (finding,) = (one for one in validity.findings(reads(pair.warn + little)(cell), STANDARD) if one.id == id)
    assert re.search(r"\d", finding.sentence) and finding.evidence["warned_above"] == pair.warn
    assert len(finding.evidence) >= 3


@pytest.mark.parametrize("id", sorted(CHECKS))
def test_unknown_is_not_bad(id: str) -> None:
    """Where nothing was measured a check finds nothing, and has no value."""
    for cell in (OPEN, CLOSED):
        bare = TrialFacts(10.0, cell)
        assert severities(id, bare) == []
        assert id not in validity.readings(bare, STANDARD)


def test_nothing_measured_at_all_is_nothing_found() -> None:
    """No cell, no result, no machine: no finding."""
    assert validity.findings(TrialFacts(0.0), STANDARD) == ()
    assert validity.findings(TrialFacts(1.0, host=replace(HOST, steal_share=0.5)), STANDARD, of=("machine",))[0].id == "steal"
    assert validity.findings(TrialFacts(1.0, host=replace(HOST, steal_share=0.5)), STANDARD, of=("window",)) == ()


# ---------------------------------------------------------------- which bounds


def test_bounds_of_the_closed_loop() -> None:
    """They replace both; what they do not name never happens."""
    bounds = CheckBounds(0.1, 0.2, closed=WarnVoid(0.9))
    assert bounds_for(TrialFacts(1.0, CLOSED), bounds) == WarnVoid(0.9)
    assert bounds_for(TrialFacts(1.0, OPEN), bounds) == bounds


# ---------------------------------------------------------------- the generator


def test_what_waits_for_a_connection_is_not_the_generators() -> None:
    """Once all connections of an open loop are in use, late and unsent requests are the server's: unstable, not void."""
    few = replace(OPEN, load=replace(OPEN.load, connections=10))
    late = {"send_lag": latency(900_000), "latency_ok": latency(MILLION)}
    made = facts(few, outcomes(MILLION // 2, unsent=MILLION // 2), seconds=seconds(in_flight=(10,) * 5), **late)
    found = {finding.id: finding for finding in validity.findings(made, STANDARD)}
    assert set(found) == {"connection-cap", "unstable"}
    assert {finding.severity for finding in found.values()} == {Severity.WARN}
    assert found["unstable"].evidence["unsent"] == MILLION // 2


def test_short_latencies_do_not_make_a_lag_long() -> None:
    """A lag is held against 2 ms where the latency's p99 is shorter."""
    made = facts(send_lag=latency(190), latency_ok=latency(200))
    assert severities("send-lag", made) == []
    assert validity.readings(made, STANDARD)["send-lag"] == pytest.approx(0.095)


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("Address not available", [Severity.VOID]),
        ("no local port is free; keep connections alive", [Severity.VOID]),
        ("Cannot allocate memory (os error 12)", [Severity.VOID]),
        ("Too many open files (os error 24)", [Severity.VOID]),
        ("Connection refused (os error 111)", []),
        ("timed out", []),
    ],
)
def test_connections_that_the_server_refused_are_not_the_generators(reason: str, found: list[Severity]) -> None:
    """Only what the generator's own kernel refuses before a packet is sent is its error."""
    samples = (BadAnswer("connect", None, reason, "", None),)
    assert severities("generator-errors", facts(CLOSED, outcomes(connect=5000), samples=samples)) == found


@pytest.mark.parametrize(("dropped", "connect_us", "said"), [(40, 1_010_000, False), (0, 1_010_000, True), (40, 900, True)])
def test_a_short_listen_queue_is_no_fault_of_the_generator(dropped: int, connect_us: int, said: bool) -> None:
    """Connections that wait for a place in it have no latency meanwhile, so that Little's law lacks their time."""
    lacking = facts(CLOSED, latency_all=latency(count=500, mean_us=1000.0, max_us=2000), connect=latency(max_us=connect_us))
    told = replace(lacking, roles={**lacking.roles, "server": RoleUse(1e6, None, None, "", dropped_connections=dropped)})
    found = [one.id for one in validity.findings(told, STANDARD, of=("generator", "server"))]
    assert ("little" in found) is said
    assert ("backlog" in found) is bool(dropped)


def test_a_stall_of_the_server_is_no_late_generator() -> None:
    """An open loop waits for a connection while the server holds them all, and that between two counts of a second, too."""
    rate_per_s, connections = OPEN.load.rate_per_s or 0.0, OPEN.load.connections
    stall_us = round(2e6 * connections / rate_per_s) + 60_000
    for own_us, capped in ((0, True), (stall_us, False)):
        assert facts(OPEN, gaps=(Gap(0, stall_us, own_us),)).capped is capped


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, []),
        ({"in_flight_end": 1}, [Severity.VOID]),
        ({"completed": MILLION - 1, "in_flight_end": 1}, []),
        ({"completed": None}, []),
        ({"window": outcomes(unsent=40)}, []),
    ],
)
def test_closure(fields: dict[str, Any], found: list[Severity]) -> None:
    """What was sent came back or is in flight; what was never sent is in neither."""
    assert severities("closure", facts(**fields)) == found


# ---------------------------------------------------------------- the machine


def test_a_durable_database_may_wait_for_the_disk() -> None:
    """Waiting for the disk is what a durable cell measures, and no fault of the machine's."""
    durable = replace(CLOSED, settings=replace(CLOSED.settings, durability=Durability.DURABLE))
    assert severities("io-pressure", host(pressure_io_full_share=0.5)(durable)) == []
    assert severities("io-pressure", host(pressure_io_full_share=0.5)(CLOSED)) == [Severity.VOID]


def test_a_server_killed_at_its_own_limit_is_no_fault_of_the_machine() -> None:
    """Where the server has a memory limit, the kernel's kills are its own."""
    limited = replace(CLOSED, settings=replace(CLOSED.settings, memory_mb=64))
    assert severities("memory-kills", host(memory_kills=3)(limited)) == []
    assert severities("memory-kills", host(memory_kills=3)(CLOSED)) == [Severity.VOID]


def test_a_quota_that_the_cell_asks_for_may_throttle() -> None:
    """The server's own quota is the design; another role's, or one around the lab, is not."""
    quota = replace(CLOSED, settings=replace(CLOSED.settings, cpus=1.0))
    free = host(periods=0, throttled_periods=0)(quota)
    throttled = RoleUse(1.0, None, None, "cgroup2", periods=100, throttled_periods=50)
    assert severities("quota", replace(free, roles={"server": throttled})) == []
    assert severities("quota", replace(free, cell=CLOSED, roles={"server": throttled})) == [Severity.VOID]
    assert severities("quota", replace(free, roles={"database": throttled})) == [Severity.VOID]


def test_one_segment_sent_again_warns_of_nothing() -> None:
    """A share of few segments is luck: one alone is no reason to warn, two of as few are."""
    one, two = (host(tcp={"TcpRetransSegs": again, "TcpOutSegs": 100})(CLOSED) for again in (1, 2))
    assert severities("retransmits", one) == []
    assert severities("retransmits", two) == [Severity.WARN]


def test_one_step_of_the_clock_is_no_steal() -> None:
    """Two steps of 10 ms in a window of a second on two cores are 1 %: half of that was taken for certain, which is the bound."""
    two_steps = host(steal_share=0.01, steal_step_share=0.005)(CLOSED)
    three_steps = host(steal_share=0.015, steal_step_share=0.005)(CLOSED)
    assert (severities("steal", two_steps), severities("steal", three_steps)) == ([], [Severity.WARN])


def test_copies_that_had_arrived_are_no_losses() -> None:
    """A segment that the receiver got twice was not lost; one that it reports nothing of was."""
    copies = tcp(TcpRetransSegs=5_000, TcpExtTCPDSACKRecvSegs=5_000)(CLOSED)
    losses = tcp(TcpRetransSegs=5_000, TcpExtTCPDSACKRecvSegs=2_000)(CLOSED)
    assert (severities("retransmits", copies), severities("retransmits", losses)) == ([], [Severity.WARN])
    assert validity.readings(losses, STANDARD)["retransmits"] == pytest.approx(0.003)


def test_what_a_full_listen_queue_dropped_is_no_loss() -> None:
    """The kernel sends it again and counts it, and the server's queue has a finding of its own."""
    for dropped, said in ((5_000, []), (2_000, [Severity.WARN])):
        made = replace(
            tcp(TcpRetransSegs=5_000)(CLOSED), roles={"server": RoleUse(1e6, None, None, "", dropped_connections=dropped)}
        )
        assert severities("retransmits", made) == said


def test_a_change_of_pace_is_a_fact_where_turns_were_taken() -> None:
    """The canary of such a trial is a note; what else was found of the machine stays a warning."""
    made = host(canary_before_us=1000.0, canary_after_us=1500.0, steal_share=0.02)(CLOSED)
    found = validity.findings(made, STANDARD, of=("machine",))
    assert {one.id: one.severity for one in found} == {"canary": Severity.WARN, "steal": Severity.WARN}
    beside = validity.beside_turns(found)
    assert {one.id: one.severity for one in beside} == {"canary": Severity.NOTE, "steal": Severity.WARN}
    assert [one.sentence for one in beside] == [one.sentence for one in found]


# ---------------------------------------------------------------- the window


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ((100, 100, 120, 120), [Severity.WARN]),
        ((120, 120, 100, 100), [Severity.WARN]),
        ((100, 100, 110, 110), []),
        ((100, 100, 5, 120, 120), [Severity.WARN]),
        ((100, 300, 900), []),
        ((0, 0, 0, 0), []),
    ],
)
def test_halves(rates: tuple[int, ...], found: list[Severity]) -> None:
    """A drift of either sign is found; three seconds have no halves, and a middle second belongs to none."""
    assert severities("steadiness", facts(seconds=seconds(ok=rates))) == found


def test_growth_that_may_be_chance_is_no_growth() -> None:
    """What is in flight may wander; a line that rises beyond its own scatter does not."""
    assert severities("unstable", facts(seconds=seconds(in_flight=(10, 14, 8, 13, 12)))) == []
    assert severities("unstable", facts(seconds=seconds(in_flight=(10, 21, 29, 41, 50)))) == [Severity.WARN]
    assert severities("unstable", facts(CLOSED, seconds=seconds(in_flight=(10, 21, 29, 41, 50)))) == []


# ---------------------------------------------------------------- what could not be made


def test_one_sentence_says_what_was_not_checked() -> None:
    """Checks without readings are named once, with their numbers; those not meant for such a trial are not."""
    (finding,) = validity.unmade(host(steal_share=None)(CLOSED), STANDARD)
    assert (finding.id, finding.severity) == ("unchecked", Severity.NOTE)
    assert "time taken by the hypervisor (steal) (V8)" in finding.sentence
    named = str(finding.evidence["checks"]).split()
    assert {"steal", "canary", "little"} <= set(named)
    assert not {"foreign-cpu", "retransmits", "unsent", "send-lag", "unstable"} & set(named)


def test_nothing_is_said_when_all_were_made() -> None:
    """A trial with every reading has no such note."""
    whole: dict[str, Any] = {"seconds": seconds(ok=(1,) * 5), "latency_all": latency(count=10**6, mean_us=1000.0)}
    made = facts(CLOSED, busiest_thread_share=0.1, **whole)
    roles = {
        "server": RoleUse(1.0, None, None, "cgroup2", cpu_us_by_second=(1.0,) * 5, dropped_connections=0),
        "generator": RoleUse(1.0, None, None, "cgroup2", busiest_thread_waited_share=0.0, pressure_cpu_some_share=0.0),
        "lab": RoleUse(1.0, None, None, "process clock"),
    }
    still = dict.fromkeys(("heat_throttles", "swapped_pages", "memory_kills", "major_faults", "periods", "throttled_periods"), 0)
    calm = replace(
        HOST, pressure_io_full_share=0.0, frequency_change_share=0.0, canary_before_us=1.0, canary_after_us=1.0, **still
    )
    clean = replace(DATABASE, checkpoints=0, autovacuum_samples=0, foreign_samples=0, temp_files=0)
    made = replace(made, roles=roles, host=calm, database=clean)
    assert validity.unmade(made, STANDARD) == ()
    assert validity.findings(made, STANDARD) == ()
