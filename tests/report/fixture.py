"""A made-up run for the report's tests: deterministic, every number of its own, every kind of verdict in it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import NormalDist

from fairground.model import (
    Approach,
    AuditLine,
    BadAnswer,
    Cell,
    CellSettings,
    Control,
    DatabaseUse,
    Durability,
    Ending,
    Finding,
    HostUse,
    KnownNumber,
    Latency,
    Limit,
    Load,
    Machine,
    Outcomes,
    Plan,
    PlanSlot,
    Qualification,
    Result,
    RoleUse,
    Run,
    Second,
    Severity,
    StackInfo,
    Topology,
    Trial,
    Tuning,
    Verdict,
    hdr,
)

STARTED_UNIX_S = 1_790_777_520.0
HOSTILE = "\x1b[31mpanic\x1b[0m: <script>alert('stderr')</script> & \"quoted\"\x07 in handler"
LOAD = Load(connections=100, window_s=5.0)
SETTINGS = CellSettings(workers=2, pool_size=25, durability=Durability.RELAXED)
SPEED = {"ping": 41_237.0, "tx": 2_311.0, "transfer": 1_129.0}
COST_US = {"ping": (21.3, 0.0), "tx": (213.7, 371.9), "transfer": (331.1, 512.3)}
STACKS = ("alder:inline", "birch:pool", "cedar:plain", "dogwood:orm", "elm:async", "fir:raw")
WHY = {
    "ping": "What the framework itself costs: no database, a fixed body.",
    "tx": "The classic bank transaction: one prepared call, three updates and an insert.",
    "transfer": "Two updates on few rows: row locks, and deadlocks where two transfers cross.",
}


@cache
def run(blocks: int = 2) -> Run:
    """Six stacks on three workloads: valid, warned, void and repeated, rejected, skipped, and one with unknown fields."""
    cells = [(stack, workload) for workload in SPEED for stack in STACKS if (stack, workload) != ("fir:raw", "ping")]
    trials: list[Trial] = []
    for block in range(1, blocks + 1):
        for stack, workload in cells:
            trials.extend(_attempts(stack, workload, block, len(trials) + 1))
    plan = _plan(
        tuple(cells),
        blocks,
        {
            "fir:raw ping": "speaks only to the database",
            "ginkgo:fast": "needs `ginkgoc`, which is not installed: apt-get install ginkgo",
        },
    )
    return _run("2026-09-30-1412-demo", plan, tuple(trials), tuple(SPEED), STACKS)


@cache
def controlled(blocks: int = 6, *, again: float = 1.002, slowed: float = 0.91) -> Run:
    """The same stacks in six blocks beside controls of the anchor: an A/A pair apart by `again`, a slowdown to `slowed`."""
    bare = run(blocks)
    serial, controls, slots = len(bare.trials), list[Trial](), list[PlanSlot]()
    for block in range(1, blocks + 1):
        for workload in SPEED:
            for control, share in ((Control.AGAIN, again), (Control.SLOWED, slowed)):
                serial += 1
                (original,) = (
                    one for one in bare.trials if (one.cell.stack, one.cell.workload, one.block) == (STACKS[0], workload, block)
                )
                speed = SPEED[workload] * share * (1 + 0.003 * ((block * 5 + 3) % 6) + 0.0017 * block)
                server, database = COST_US[workload]
                made = _trial(
                    serial, STACKS[0], workload, block, speed=speed, cost=(server / share * (1 + 0.003 * (block % 4)), database)
                )
                controls.append(replace(made, control=control))
                planted = 0.1 if control is Control.SLOWED else 0.0
                slots.append(PlanSlot(serial, block, original.cell, 7, control, planted))
    checks = (
        KnownNumber("10 ms delay: p50", "ms", 10.0, 10.17, 0.05, True),
        KnownNumber("stall: p99", "ms", 45.0, 43.2, 0.02, False),
    )
    return replace(
        bare,
        plan=replace(bare.plan, slots=(*bare.plan.slots, *slots), blocks=9, budget_s=1200.0),
        controls=tuple(controls),
        qualification=Qualification(False, 3.71, checks),
        ending=Ending(6, "the next block would have ended after the budget of 20 min"),
    )


def big_run(stacks: int = 80, workloads: int = 9, blocks: int = 6) -> Run:
    """The largest matrix that the page's budget is held against; one stack of each ten is rejected, one trial in 97 void."""
    names = tuple(f"server{number:02d}:variant" for number in range(stacks))
    loads = tuple(f"work-{number}" for number in range(workloads))
    trials: list[Trial] = []
    latencies: dict[tuple[str, str], Latency | None] = {}  # of the first block: a histogram takes longer than all else of a trial
    for block in range(1, blocks + 1):
        for place, workload in enumerate(loads):
            for number, stack in enumerate(names):
                serial = len(trials) + 1
                verdict = Verdict.REJECTED if number % 10 == 9 else Verdict.VOID if serial % 97 == 0 else Verdict.VALID
                speed = 9_000 * 0.97**number * (1 + place / 7) * (1 + 0.004 * ((serial * 37) % 11))
                cost, known = (190 + 3.1 * number, 77.0), latencies.get((stack, workload))
                made = _trial(serial, stack, workload, block, speed=speed, cost=cost, verdict=verdict, latency=known)
                latencies[stack, workload] = made.result.latency_ok if made.result else None
                trials.append(made)
    plan = _plan(tuple((stack, workload) for workload in loads for stack in names), blocks, {})
    return _run("2026-10-01-0000-matrix", plan, tuple(trials), loads, names)


def _attempts(stack: str, workload: str, block: int, serial: int) -> list[Trial]:
    """The trials of one slot: the story of each stack is told here."""
    place = STACKS.index(stack)
    wobble = 1 + 0.003 * ((place * 7 + block * 5) % 6) + 0.0017 * block
    speed = SPEED[workload] * (1.0, 0.985, 0.81, 0.77, 0.42, 0.23)[place] * wobble
    server, database = COST_US[workload]
    drift = 1 + 0.004 * ((place * 5 + block * 3) % 7)
    cost = (server * (1.0, 1.31, 2.17, 2.61, 4.83, 7.07)[place] * drift, database * (1 + place / 19))
    if (stack, workload, block) == ("birch:pool", "tx", 2):
        void = _trial(serial, stack, workload, block, speed=speed * 0.9, cost=cost, verdict=Verdict.VOID)
        return [void, _trial(serial + 1, stack, workload, block, speed=speed, cost=cost, attempt=2)]
    if (stack, workload) == ("cedar:plain", "transfer"):
        return [_trial(serial, stack, workload, block, speed=speed, cost=cost, verdict=Verdict.REJECTED, lost=3 * block)]
    if (stack, workload) == ("dogwood:orm", "transfer"):
        return [_trial(serial, stack, workload, block, speed=speed, cost=cost, verdict=Verdict.VOID)]
    if stack == "elm:async":
        return [_unknown(serial, workload, block, speed)]
    verdict = Verdict.WARNED if stack == "fir:raw" else Verdict.VALID
    return [_trial(serial, stack, workload, block, speed=speed, cost=cost, verdict=verdict)]


def _trial(
    serial: int,
    stack: str,
    workload: str,
    block: int,
    *,
    speed: float,
    cost: tuple[float, float],
    verdict: Verdict = Verdict.VALID,
    attempt: int = 1,
    lost: int = 0,
    latency: Latency | None = None,
) -> Trial:
    completed = round(speed * LOAD.window_s)
    good = completed + 11 + serial
    shed = 2 + serial % 5 if workload == "transfer" else 0
    deadlocks = 13 + 2 * serial if workload == "transfer" else 0
    window = Outcomes(good, shed, {500: deadlocks} if deadlocks else {}, 0, serial % 3, 0, 0, 0, 0, 0)
    life = Outcomes(good + round(speed * 2.3) + serial, shed + 1, dict(window.status), 0, serial % 3, 0, 0, 0, 0, 0)
    latency = latency or latency_of(window.ok, 100e6 / speed, 0.45 + 0.01 * (serial % 7))
    waits = {"running": 41 + serial, "Lock:transactionid": 7 * serial, "idle": 100 - serial % 60}
    return Trial(
        number=serial,
        block=block,
        attempt=attempt,
        cell=Cell(stack, workload, Topology(), LOAD, SETTINGS),
        seed=7000 + serial,
        started_unix_s=STARTED_UNIX_S + 31 * serial,
        duration_s=11.5 + serial / 100,
        phases_s={
            "reset": 0.71 + serial / 1000,
            "start": 0.33,
            "verify": 0.52,
            "warmup": 3.0,
            "window": 5.0,
            "drain": 0.04,
            "audit": 0.11,
        },
        result=_result(serial, speed, completed, window, life, latency),
        roles=_roles(serial, completed, cost),
        host=HostUse(0.0012 + serial / 1e5, 0.93, 41_000.0 + serial, 0.21, {"TcpRetransSegs": serial}),
        database=DatabaseUse(life.ok + 57, 3 + deadlocks, life.ok * 2 + 91, deadlocks, 77_777 * serial, 25, waits, 21 + serial),
        audit=_audit(workload, life, lost),
        findings=_findings(verdict, serial, life, lost),
        verdict=verdict,
        diagnosis=_diagnosis(workload, verdict),
        stderr_tail=HOSTILE if verdict is Verdict.REJECTED else "",
        folder=f"trials/{serial:04d}",
    )


def _unknown(serial: int, workload: str, block: int, speed: float) -> Trial:
    """A trial by a generator that tells little, on a machine that shows little: most fields are None."""
    completed = round(speed * LOAD.window_s)
    outcomes = Outcomes(completed + 9, None, {}, None, None, None, None, None, None, None)
    latency = Latency(completed + 9, None, None, 99_100 + serial, 8_300 + serial, None, 61_700 + serial, None, None)
    result = Result(
        "plain",
        ("plain", "-c", "100"),
        LOAD.window_s,
        outcomes,
        None,
        None,
        completed,
        None,
        None,
        None,
        None,
        latency,
        None,
        None,
        (),
        {},
        (),
        None,
        None,
    )
    return Trial(
        number=serial,
        block=block,
        attempt=1,
        cell=Cell("elm:async", workload, Topology(), LOAD, SETTINGS),
        seed=7000 + serial,
        started_unix_s=STARTED_UNIX_S + 31 * serial,
        duration_s=10.25 + serial / 100,
        phases_s={},
        result=result,
        roles={"server": RoleUse(None, None, None, "schedstat")},
        host=None,
        database=None,
        audit=()
        if workload == "ping"
        else (AuditLine("rows", "one history row for each acknowledged answer", None, None, None),),
        findings=(Finding("no-history", Severity.NOTE, "the generator keeps no latency histogram", {}),),
        verdict=Verdict.WARNED,
        diagnosis=None,
        stderr_tail="",
        folder=f"trials/{serial:04d}",
    )


def _result(serial: int, speed: float, completed: int, window: Outcomes, life: Outcomes, latency: Latency) -> Result:
    seconds = tuple(
        Second(
            second,
            round(speed * (1 + 0.013 * ((second * 3 + serial) % 5 - 2))),
            second % 2,
            4_100 + serial,
            30_100 + second,
            41_100,
            100,
        )
        for second in range(int(LOAD.window_s))
    )
    samples = (BadAnswer("status", 500, "status 500 instead of 200", "POST /transfer?from=3&to=9&amount=4", HOSTILE),)
    return Result(
        "engine",
        ("fairload", "run", "--plan", "-"),
        LOAD.window_s,
        window,
        life,
        completed + window.not_ok,
        completed,
        100,
        99,
        1_234_567 + serial,
        window.ok,
        latency,
        latency,
        None,
        seconds,
        {},
        samples if window.status else (),
        1_300_000 + serial,
        0.413,
    )


def latency_of(count: int, median_us: float, spread: float) -> Latency:
    """A log-normal latency whose `count` samples sit at evenly spaced quantiles, so that no random number is needed."""
    groups = min(count, 400)
    values = [max(1, round(median_us * math.exp(spread * score))) for score in _normal_scores(groups)]
    shape, buckets = hdr.HdrShape(1, 60_000_000, 3), Counter[int]()
    for group, value in enumerate(values):
        buckets[shape.place_of(value)] += count // groups + (group < count % groups)
    at = {share: values[math.ceil(share * groups) - 1] for share in (0.5, 0.9, 0.99, 0.999)}
    return Latency(
        count,
        values[0],
        math.fsum(values) / groups,
        values[-1],
        at[0.5],
        at[0.9],
        at[0.99],
        at[0.999],
        hdr.encode(shape, buckets),
    )


@cache
def _normal_scores(groups: int) -> tuple[float, ...]:
    return tuple(NormalDist().inv_cdf((group + 0.5) / groups) for group in range(groups))


def _roles(serial: int, completed: int, cost: tuple[float, float]) -> dict[str, RoleUse]:
    roles = {
        "server": RoleUse(cost[0] * completed, 43_000_000 + 1_111 * serial, 9, "cgroup2"),
        "generator": RoleUse((31.7 + serial / 9) * completed, 17_000_000 + 777 * serial, 1, "cgroup2"),
    }
    if cost[1]:
        roles["database"] = RoleUse(cost[1] * completed, 211_000_000 + 999 * serial, 31, "cgroup2")
    return roles


def _audit(workload: str, life: Outcomes, lost: int) -> tuple[AuditLine, ...]:
    if workload == "ping":
        return ()
    commits = AuditLine(
        "commits", "the database committed once for each acknowledged answer", life.ok - lost, life.ok, life.ok + life.unknown
    )
    if workload == "tx":
        return (
            commits,
            AuditLine(
                "history", "one row in pgbench_history for each acknowledged answer", life.ok, life.ok, life.ok + life.unknown
            ),
        )
    return (commits, AuditLine("money", "the sum of all credits is what it was before", 100_000 - lost, 100_000, 100_000))


def _findings(verdict: Verdict, serial: int, life: Outcomes, lost: int) -> tuple[Finding, ...]:
    if verdict is Verdict.VOID:
        evidence = {"foreign_cpu_share": 0.31, "limit_share": 0.15}
        return (
            Finding("foreign-cpu", Severity.VOID, "another process used 31 % of a core during the window (limit 15 %)", evidence),
        )
    if verdict is Verdict.REJECTED:
        sentence = f"{lost or 1} of {life.ok:,} acknowledged transfers are not in the database"
        return (Finding("audit-commits", Severity.REJECT, sentence, {"acknowledged": life.ok, "found": life.ok - (lost or 1)}),)
    if verdict is Verdict.WARNED:
        return (
            Finding(
                "steal",
                Severity.WARN,
                f"the hypervisor took {1.2 + serial / 100:.2f} % of the machine (limit 0.5 %)",
                {"steal_share": 0.012},
            ),
        )
    return ()


def _diagnosis(workload: str, verdict: Verdict) -> str | None:
    if verdict in (Verdict.VOID, Verdict.REJECTED):
        return None
    return {"ping": "app-cpu", "tx": "db-cpu", "transfer": "db-lock"}.get(workload, "app-cpu")


def _plan(cells: tuple[tuple[str, str], ...], blocks: int, skipped: dict[str, str]) -> Plan:
    slots = tuple(
        PlanSlot(number + 1 + block * len(cells), block + 1, Cell(stack, workload, Topology(), LOAD, SETTINGS), 7)
        for block in range(blocks)
        for number, (stack, workload) in enumerate(cells)
    )
    command = f"./fairground run suites/demo.toml --seed 7 --blocks {blocks}"
    return Plan("demo", 7, blocks, slots, skipped, command, slots[0].cell.stack)


def _run(name: str, plan: Plan, trials: tuple[Trial, ...], workloads: tuple[str, ...], stacks: tuple[str, ...]) -> Run:
    kernel = {"net.core.somaxconn": "4096", "net.ipv4.ip_local_port_range": "32768 60999", "open files": "1048576"}
    machine = Machine(
        "9f2c", "Example CPU @ 2.60 GHz", 2, 8_345_678_901, "6.1.0-18-amd64", "Debian 12", "kvm", None, "tsc", kernel
    )
    infos = {
        stack: StackInfo(
            stack,
            stack.split(":")[0].title() + " HTTP",
            "Treelang",
            "A made-up server.",
            f"https://example.org/{stack.split(':')[0]}",
            f"{stack.split(':')[0]} 1.{number}.0, driver 0.{number + 40}",
            None,
            f"{number + 10:02x}ab{number:04x}",
            {0: Approach.TUNED, 1: Approach.ENGINE}.get(number, Approach.DOCUMENTED),
            (Tuning("LEAVES=400", "fewer <collections>", "https://example.org/guide"),) if number == 0 else (),
        )
        for number, stack in enumerate(stacks)
    }
    infos["ginkgo:fast"] = StackInfo(
        "ginkgo:fast", "Ginkgo", "Treelang", "Not here.", "https://example.org/ginkgo", None, "needs `ginkgoc`", None
    )
    words = {
        workload: {
            "title": f"{workload} title",
            "why": WHY.get(workload, "Size only."),
            "request": f"POST /{workload}?from={{int:1..100}}",
            "limit_sql": "" if workload == "ping" else "SELECT 1;",
            "twin": "transfer-ordered" if workload == "transfer" else "",
        }
        for workload in workloads
    }
    limits = tuple(
        Limit(
            workload,
            "null-responder" if workload == "ping" else "pgbench",
            SPEED.get(workload, 15_000.0) * 1.37,
            "25 clients, prepared, 5 s",
        )
        for workload in workloads
    )
    return Run(
        1,
        name,
        Path("results") / name,
        STARTED_UNIX_S,
        plan,
        machine,
        {"fairground": "0.1.0", "engine": "fairload 0.1.0", "PostgreSQL": "18.1"},
        {"fsync": "off", "shared_buffers": "512MB", "synchronous_commit": "off"},
        infos,
        words,
        trials,
        limits,
        True,
    )


two_blocks = cache(run)
six_blocks = cache(controlled)


@cache
def one_block() -> Run:
    """The same stacks in a single block."""
    return run(blocks=1)
