"""What limited a trial: every reason is named where it should be, and none of the others is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fairground.judge import bottleneck
from fairground.judge.tables import ReadWhole
from fairground.model import (
    BadAnswer,
    Finding,
    RoleUse,
    Topology,
)
from judge.limited_cells import CELL, DATABASE, HOST, REASONS, latency, limit, limits, outcomes, result, roles


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (roles(server=1.2, database=0.5, generator=0.2), "app-cpu"),
        (roles(server=0.5, database=1.2, generator=0.2), "db-cpu"),
        (roles(server=0.5, proxy=0.9, database=0.5), "proxy-cpu"),
        (roles(server=0.5, pooler=0.9, database=0.5), "pooler"),
        (roles(server=0.9, database=0.6, generator=0.2), None),
        (roles(server=1.79), None),
        (roles(server=1.8), "app-cpu"),
        (roles(server=None, database=1.9), "db-cpu"),
        (roles(server=None), None),
        (roles(generator=1.0, lab=0.9), None),
        ({}, None),
    ],
)
def test_limit_by_cpu(used: dict[str, RoleUse], said: str | None) -> None:
    """Full cores are charged to the role that used most of them; cores that are not full explain nothing."""
    assert limit(used) == said


def test_a_full_database_names_its_statement() -> None:
    """`db-cpu` says which statement took the database's time, and how much of it; another role's limit does not."""
    seen = replace(DATABASE, statements={"select a": {"running": 30, "idle": 1}, "select b": {"running": 10, "idle": 90}})

    def of(id: str, used: Mapping[str, RoleUse]) -> Finding:
        return next(one for one in bottleneck.limits(CELL, result(), used, HOST, seen, 2, REASONS) if one.id == id)

    found = of("db-cpu", roles(server=0.5, database=1.2, generator=0.2))
    assert found.sentence.endswith("; 75% of its time went to `select a`")
    assert (found.evidence["statement"], found.evidence["statement_share"]) == ("select a", 0.75)
    assert "statement" not in of("app-cpu", roles(server=1.2, database=0.5, generator=0.2)).evidence


def test_a_full_database_names_the_table_that_it_reads_whole() -> None:
    """`db-cpu` says which table is read whole for each answer; where the server is full, it does not."""
    whole = ReadWhole("users", 10_000.0, 1.0, 1.0)

    def of(used: Mapping[str, RoleUse]) -> Finding:
        return bottleneck.limits(CELL, result(), used, HOST, DATABASE, 2, REASONS, whole)[0]

    found = of(roles(server=0.5, database=1.2, generator=0.2))
    said = "; 10,000 rows of `users` were read for each good answer, which needs 1: an index is missing, or is not used"
    assert found.id == "db-cpu" and found.sentence.endswith(said)
    assert (found.evidence["table"], found.evidence["rows_per_answer"]) == ("users", 10_000.0)
    other = of(roles(server=1.2, database=0.5, generator=0.2))
    assert other.id == "app-cpu" and "users" not in other.sentence and "table" not in other.evidence


@pytest.mark.parametrize(
    ("topology", "settings", "used", "said"),
    [
        (Topology(), {"cpus": 1.0}, {"server": 9.5e6}, "throttled"),
        (Topology(), {"cpus": 1.0}, {"server": 8.5e6}, None),
        (Topology(), {"cpus": 3.0}, {"server": 9.5e6}, None),
        (Topology(), {"pin": (("server", (0,)),)}, {"server": 9.5e6}, "app-cpu"),
        (Topology(), {"pin": (("database", (0,)),)}, {"server": 5e6, "database": 9.5e6}, "db-cpu"),
        (Topology("nginx"), {"pin": (("proxy", (0,)),)}, {"server": 5e6, "proxy": 9.5e6}, "proxy-cpu"),
        (Topology("nginx"), {}, {"server": 5e6, "proxy": 9.5e6}, None),
        (Topology(pooler="pgbouncer-tx"), {}, {"server": 5e6, "pooler": 9.5e6}, "pooler"),
        (Topology(pooler="pgcat-tx"), {}, {"server": 5e6, "pooler": 9.5e6}, None),
        (Topology(), {"pin": (("server", (0,)),), "cpus": 0.5}, {"server": 4.8e6}, "throttled"),
    ],
)
def test_limit_by_what_a_role_may_use(
    topology: Topology, settings: dict[str, Any], used: dict[str, float], said: str | None
) -> None:
    """A role that fills its quota, its cores or its one thread is the limit, though the machine has processors to spare."""
    cell = replace(CELL, topology=topology, settings=replace(CELL.settings, **settings))
    roles = {role: RoleUse(cpu_us, None, None, "cgroup2", throttled_periods=90) for role, cpu_us in used.items()}
    found = bottleneck.limits(cell, result(), roles, HOST, DATABASE, 4, REASONS)
    assert [reason.id for reason in found] == ([] if said is None else [said])


@pytest.mark.parametrize(("cpus", "words"), [(1.0, "0.95 of the one core that"), (1.5, "1.43 of the 1.5 cores that")])
def test_one_core_is_one(cpus: float, words: str) -> None:
    """How many cores a role filled is told as a person would say it."""
    cell = replace(CELL, settings=replace(CELL.settings, cpus=cpus))
    used = {"server": RoleUse(9.5e6 * cpus, None, None, "cgroup2", throttled_periods=90)}
    (found,) = bottleneck.limits(cell, result(), used, HOST, DATABASE, 4, REASONS)
    assert words in found.sentence


SEATS = (("server", (0,)), ("database", (1,)), ("generator", (1,)))
"""Two cores, as seats divide them."""


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (roles(server=0.95, database=0.3, generator=0.4), "app-cpu"),
        (roles(server=0.6, database=0.55, generator=0.4), "db-cpu"),
        (roles(server=0.6, database=0.4, generator=0.55), "generator"),
        (roles(server=0.92, database=0.6, generator=0.39), "db-cpu"),
        (roles(server=0.98, database=0.5, generator=0.42), "app-cpu"),
        (roles(server=0.6, database=0.3, generator=0.2, pooler=0.45), "pooler"),
        (roles(server=0.3, generator=0.95), "generator"),
        (roles(server=0.7, database=0.5, generator=0.3), None),
    ],
)
def test_limit_by_seats(used: dict[str, RoleUse], said: str | None) -> None:
    """The fuller core is the limit, of roles that share it the one that used most; a busy core is no call for more connections."""
    cell = replace(CELL, settings=replace(CELL.settings, workers=1, pin=(*SEATS, ("pooler", (1,)))))
    waited = result(latency_ok=latency(900_000, mean_us=990_000.0))
    assert limits(used, waited, cell=cell) == ([] if said is None else [said])
    assert limits(roles(server=0.3, database=0.2, generator=0.1), waited, cell=cell) == ["too-few-connections"]


def test_roles_that_overlap_share_all_of_their_cores() -> None:
    """A proxy on the cores of generator and database fills them only together with both."""
    pin = (("server", (0, 1)), ("database", (2,)), ("generator", (3,)), ("proxy", (2, 3)))
    cell = replace(CELL, topology=Topology("nginx"), settings=replace(CELL.settings, pin=pin))

    def said(**used: float) -> list[str]:
        return [one.id for one in bottleneck.limits(cell, result(), roles(**used), HOST, DATABASE, 4, REASONS)]

    assert said(server=1.0, database=0.5, generator=0.4, proxy=0.95) == ["proxy-cpu"]
    assert said(server=1.0, database=0.95, generator=0.2, proxy=0.2) == ["db-cpu"]
    assert said(server=1.0, database=0.5, generator=0.4, proxy=0.4) == []


def away(used: Mapping[str, RoleUse], role: str, cores: int) -> dict[str, RoleUse]:
    """The roles, with one of them on another machine of so many cores."""
    return {**used, role: replace(used[role], host="rack-3", cores=cores)}


def test_a_role_on_another_host_has_its_processors() -> None:
    """It fills that host alone, and takes nothing of the lab's machine."""
    used = roles(server=0.9, database=1.0, generator=0.2)
    assert limit(used) == "db-cpu" and limit(away(used, "database", 4)) is None
    assert limit(away(used, "database", 1)) == "db-cpu"
    (found,) = bottleneck.limits(CELL, result(), away(used, "database", 1), HOST, DATABASE, 2, REASONS)
    assert "the database used 1.00 of the one core that it may use" in found.sentence
    assert limit(away(roles(server=1.85, database=3.0, generator=0.2), "database", 4)) == "app-cpu"
    assert limit(away(roles(server=0.9, generator=0.95), "generator", 8)) is None


def test_a_host_with_work_to_spare_leaves_the_connections() -> None:
    """`too-few-connections` is said where the database's host had time left, too."""
    waited = result(latency_ok=latency(900_000, mean_us=990_000.0))
    few = roles(server=0.3, database=3.5, generator=0.1)
    assert limits(away(few, "database", 16), waited) == ["too-few-connections"]
    assert "too-few-connections" not in limits(away(few, "database", 4), waited)


def test_a_full_generator_beside_a_server_with_few_cores() -> None:
    """A server has room while its own cores have, whatever its workers are."""
    cell = replace(CELL, settings=replace(CELL.settings, workers=4, pin=(("server", (0,)),)))
    busy = result(busiest_thread_share=0.95)
    assert limit(roles(server=0.5, generator=0.95), busy, cell=cell) == "generator"


def test_limit_by_generator() -> None:
    """A full generator is the limit, unless the server itself had no core left."""
    busy = result(busiest_thread_share=0.95)
    assert limit(roles(server=0.6, database=0.3, generator=0.95), busy) == "generator"
    assert limit(roles(server=1.85, generator=0.1), busy) == "app-cpu"
    assert limit(roles(server=0.6, generator=0.9), result(busiest_thread_share=0.90)) is None
    assert limit(roles(server=0.6), result(busiest_thread_share=None)) is None


@pytest.mark.parametrize(("steal_share", "said"), [(0.02, True), (0.0, False), (None, False)])
def test_what_the_hypervisor_took_could_not_be_used(steal_share: float | None, said: bool) -> None:
    """Processors and threads are full where they used nine tenths of the time that the hypervisor left."""
    host = replace(HOST, steal_share=steal_share)
    thread = RoleUse(9e6, None, None, "cgroup2", busiest_thread_share=0.89)
    assert (limit(roles(server=1.77), host=host) == "app-cpu") is said
    assert (limit(roles(server=0.6), result(busiest_thread_share=0.89), host) == "generator") is said
    assert (limit({"server": thread}, host=host) == "app-serial") is said


@pytest.mark.parametrize(
    ("share", "cores", "said"), [(0.95, 0.98, "app-serial"), (0.89, 0.98, None), (None, 0.98, None), (0.95, 1.9, "app-cpu")]
)
def test_limit_by_one_thread(share: float | None, cores: float, said: str | None) -> None:
    """One hot thread is named while the machine has time left, and not where all cores are full."""
    use = RoleUse(cores * 10e6, None, None, "cgroup2", busiest_thread_share=share)
    assert limit({"server": use}) == said


@pytest.mark.parametrize(
    ("connect", "reason", "said"),
    [
        (7, "Cannot assign requested address (os error 99)", "ports"),
        (7, "no local port is free; keep connections alive", "ports"),
        (7, "Connection refused", None),
        (0, "Cannot assign", None),
    ],
)
def test_limit_by_ports(connect: int, reason: str, said: str | None) -> None:
    """Connections that the kernel would not open are for want of ports; refused ones are not."""
    sample = BadAnswer("connect", None, reason, "GET /ping", None)
    assert limit({}, result(outcomes(connect=connect), samples=(sample,))) == said


@pytest.mark.parametrize(
    ("drops", "max_us", "said"),
    [(100, 1_004_000, "backlog"), (99, 1_004_000, None), (100, 500_000, None), (0, 1_004_000, None), (None, 3_000_000, None)],
)
def test_limit_by_backlog(drops: int | None, max_us: int, said: str | None) -> None:
    """Connections that were dropped and tried again for a tenth of their time are named; fewer, or either alone, are not."""
    use = RoleUse(1e6, None, None, "cgroup2", dropped_connections=drops)
    assert limit({"server": use}, result(connect=latency(100, max_us=max_us))) == said


def test_one_dropped_connection_hides_no_other_limit() -> None:
    """One of 100 connections waited for one of ten seconds: the server's processors are still what was full."""
    use = RoleUse(19e6, None, None, "cgroup2", dropped_connections=1)
    assert limits({"server": use}, result(connect=latency(100, max_us=1_004_000))) == ["app-cpu"]


def test_limit_by_a_connection_for_each_request() -> None:
    """As many sessions of the database as answers are named; those that a pool needs, or none known, are not."""
    assert limit({}, database=replace(DATABASE, sessions=990)) == "connect-per-request"
    assert limit({}, database=replace(DATABASE, sessions=499)) is None
    assert limit({}, database=replace(DATABASE, sessions=None)) is None
    assert limit({}, result(outcomes(ok=60)), database=replace(DATABASE, sessions=45)) is None


@pytest.mark.parametrize(
    ("peak", "allowed", "said"), [(960e6, 1000, "memory"), (900e6, 1000, None), (960e6, None, None), (None, 1000, None)]
)
def test_limit_by_memory(peak: float | None, allowed: int | None, said: str | None) -> None:
    """A server at its memory limit is named; one without a limit, or of which nothing is known, is not."""
    use = RoleUse(1e6, None if peak is None else int(peak), None, "cgroup2")
    assert limit({"server": use}, cell=replace(CELL, settings=replace(CELL.settings, memory_mb=allowed))) == said


@pytest.mark.parametrize(("throttled", "said"), [(30, "throttled"), (3, "too-few-connections")])
def test_a_quota_that_is_somebody_elses_is_named(throttled: int, said: str) -> None:
    """A service in a container with a quota leaves the machine idle, and more connections would give nothing."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    use = RoleUse(3e6, None, None, "cgroup2", periods=100, throttled_periods=throttled)
    assert limit({"server": use}, waiting) == said
    assert limit({"server": replace(use, periods=None, throttled_periods=None)}, waiting) == "too-few-connections"


@pytest.mark.parametrize(("share", "said"), [(0.4, "stopped"), (0.0, "too-few-connections"), (None, "too-few-connections")])
def test_a_server_that_is_stopped_again_and_again_is_named(share: float | None, said: str) -> None:
    """`cpulimit` stops a process by signals, and no quota tells of it."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    assert limit({"server": RoleUse(3e6, None, None, "cgroup2", stopped_share=share)}, waiting) == said


def test_limit_by_throttling() -> None:
    """A server that is out of quota in a tenth of its periods is throttled, though its mean is below the quota."""
    cell = replace(CELL, settings=replace(CELL.settings, cpus=1.0))
    use = RoleUse(7e6, None, None, "cgroup1", periods=100, throttled_periods=30)
    assert limit({"server": use}, cell=cell) == "throttled"
    assert limit({"server": replace(use, throttled_periods=3)}, cell=cell) is None


def test_pauses_are_no_sign_of_too_few_connections() -> None:
    """Little's law counts the pause of each connection: without it nothing says where their time went, with it the sum is right."""
    quick = result(latency_ok=latency(900_000, mean_us=100_000.0))
    assert limit(roles(server=0.3), quick) is None
    pausing = replace(CELL, load=replace(CELL.load, think_ms=900.0))
    (found,) = bottleneck.limits(pausing, quick, roles(server=0.3), HOST, DATABASE, 2, REASONS)
    assert (found.id, "100.00 ms and a pause of 900 ms each give" in found.sentence) == ("too-few-connections", True)
    short = replace(CELL, load=replace(CELL.load, think_ms=700.0))
    assert limit(roles(server=0.3), quick, cell=short) is None


def test_limit_by_too_few_connections() -> None:
    """A closed loop whose connections all wait while nothing is full is named; an open loop, or a busy machine, is not."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    assert limit(roles(server=0.3), waiting) == "too-few-connections"
    (found,) = bottleneck.limits(CELL, waiting, roles(server=0.3, database=0.1), HOST, DATABASE, 2, REASONS)
    assert found.sentence.endswith(
        "nothing was full. More connections may give more, or the server serves one request after the other:"
        " the same with 200 connections would tell"
    )
    assert limit(roles(server=1.6), waiting) is None
    assert limit(roles(server=0.3, generator=0.2), waiting, replace(HOST, busy_share=0.98)) is None
    assert limit(roles(server=0.3), replace(waiting, busiest_thread_share=0.8)) is None
    opened = replace(CELL, load=replace(CELL.load, model="open", rate_per_s=100.0))
    assert limit(roles(server=0.3), waiting, cell=opened) is None


def test_a_database_whose_processors_nobody_reads_is_said() -> None:
    """A given database may be full unseen: where it was at work, nothing more is claimed than was read."""
    waiting = result(latency_ok=latency(900_000, mean_us=1_000_000.0))
    for database, said in ((DATABASE, True), (replace(DATABASE, wait_events={"idle": 250}), False)):
        (found,) = bottleneck.limits(CELL, waiting, roles(server=0.3), HOST, database, 2, REASONS)
        assert ("nothing was full (the database's processors are not read)" in found.sentence) is said
