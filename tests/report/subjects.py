"""What pages about one thing show, made up: a capacity, a visit to a service, a comparison, and a suite that was replicated."""

from __future__ import annotations

from dataclasses import replace

from fairground.capacity.loadcurve import CurvePoint, Overload, StepJudgement, StepWord
from fairground.capacity.search import Capacity, Confirmed, RateBounds
from fairground.capacity.service.values import Closed, Conduct, Visit
from fairground.claims import judgement, tables
from fairground.generators.latency import of_counts
from fairground.model import Claim, Condition, Finding, Handshakes, Outcomes, PublishedTable, RateStep, Second, Severity, Suite
from fairground.report.comparison import ComparisonLine
from fairground.report.replication import Replication
from fairground.stats import differences
from report import fixture


def point(
    phase: str, rate: float, fast: int, late: int = 0, word: StepWord = StepWord.KEPT, why: str = "", trial: int = 1
) -> CurvePoint:
    """A judged step with `fast` answers in 2 ms and `late` ones in 80 ms."""
    good = of_counts({2000: fast, 80_000: late})
    zeros = dict.fromkeys(("shed", "wrong_body", "timeout", "connect", "reset", "malformed", "unsent", "in_flight"), 0)
    one = RateStep(rate, 5.0, fast + late, Outcomes(ok=fast + late, status={}, **zeros), fast + late, good, good, good,
               of_counts({100: fast + late}), (0, 5), 1000, 0.2, {"server": 100.0 * (fast + late)})  # fmt: skip
    return CurvePoint(phase, trial, one, StepJudgement(word, why, 90.0 if word is StepWord.UNSTABLE else None))


LIMIT = Finding("app-cpu", Severity.NOTE, "the 2 cores were full, and the server used 1.20 of them", {"server_cores": 1.2})
CURVE = (
    *(point("curve", rate, round(rate * 5), trial=trial) for trial in (1, 2) for rate in (400, 1200, 2000)),
    point("curve", 2400, 10_000, 2000, StepWord.MISSED, "16.67% of the requests missed p99<50ms"),
    point("curve", 3000, 11_000, 900, StepWord.UNSTABLE, "requests under way grew by 90 a second"),
)
OVER = Overload(2000.0, 1.5, 1700.0, 0.85, 910_000.0, 1200, 900.0, 0.12, 3.0, 16.0)
WHOLE = Capacity(
    stack="one:plain",
    workload="ping",
    objective="p99<50ms,errors<1%",
    deadline_us=50_000.0,
    search=(
        point("search", 2000, 10_000),
        point("search", 2200, 9000, 2000, StepWord.MISSED, "18.18% of the requests missed p99<50ms"),
    ),
    found=RateBounds(2100, 2200),
    ended="the bracket is as narrow as asked for",
    fresh=(point("confirm", 2000, 10_000),),
    confirmations=(Confirmed(2100, 1, 2), Confirmed(2000, 3, 3)),
    curve=CURVE,
    over=OVER,
    over_points=(point("overload", 1000, 5000), point("overload", 3000, 9000), point("overload", 1000, 5000)),
    over_seconds=tuple(Second(at, 1000, 0, 2000, 3000, 4000, 3) for at in range(15)),
    limited_by=(LIMIT,),
)
CHECKS = (
    Finding("status", Severity.NOTE, "20 answers, all with status 200"),
    Finding("keep-alive", Severity.WARN, "20 requests needed 20 connections: the service closes what could be kept open"),
    Finding("split", Severity.REJECT, "a request in parts: sent byte by byte: <no> answer\x1b[31m in time"),
)
VISIT = Visit(
    url="https://127.0.0.1:3000/<x>",
    method="GET",
    objective="p99<50ms,errors<1%",
    deadline_us=50_000.0,
    conduct=Conduct(200, "text/plain", b"hello", 5, False, CHECKS),
    server="process 4242, which listens on port 3000",
    closed=(
        Closed(1, 900.0, 1000, 2000, 1800, 0, 110.0, 0.1, None, Handshakes(1, 900, 900, 0, "TLS 1.3", "TLS_<x>")),
        Closed(10, 2100.0, 4000, None, 4200, 3, 100.0, 0.2, None, Handshakes(10, 4100, 8200, 2, "TLS 1.3", "TLS_<x>")),
    ),
    curve=CURVE,
)

SLOWER = [1.05, 1.06, 1.05, 1.04, 1.055, 1.045]


def line(quantity: str, ratios: list[float], more_is_better: bool) -> ComparisonLine:
    """A line of six starts; `ratios` are B over A in the quantity's own terms."""
    better = ratios if more_is_better else [1 / ratio for ratio in ratios]
    found = differences.table({"x": better})["x"]
    return ComparisonLine("ping c100", quantity, "per second", 1000.0, 1050.0, found, more_is_better, tuple(ratios), margin=0.01)


LINES = (
    line("goodput", SLOWER, True),
    line("server CPU", SLOWER, False),
    line("goodput", [1.001, 0.999, 1.002, 1.0, 1.001, 0.998], True),
    line("goodput", [0.9, 1.1, 1.2, 0.85, 1.0, 1.05], True),
    line("goodput", [1.1], True),
)


SUITE = Suite(
    "fable", "A fable of trees", "Six trees in <one> garden.", 2, 1, (), "The Garden, 2024",
    (
        Claim("aspen-first", "aspen gives more than cedar", "rps(aspen:plain ping) / rps(cedar:plain ping) > 1", 1.5, "table 1", "It | grows.", shown_by=("cedar-first",)),
        Claim("cedar-first", "cedar gives more than aspen", "rps(cedar:plain ping) > rps(aspen:plain ping)", 2.0, "table 2", "It is older.", note="Both stand in the shade."),
        Claim("far", "it holds on ten cores", cannot="needs <ten> cores"),
    ),
    (PublishedTable("GET /ping", "rps", "requests/s", "ping", {"aspen:plain": 900.0, "cedar:plain": 600.0, "yew:old": 1.0}),),
    (Condition("Soil", "loam | sand", "sand", "page <1>"),),
)  # fmt: skip


def replicated() -> Replication:
    """The fable judged on the report's own example."""
    run = fixture.two_blocks()
    first, second = fixture.STACKS[0], fixture.STACKS[2]
    renamed = replace(
        SUITE,
        claims=tuple(
            replace(one, test=one.test and one.test.replace("aspen:plain", first).replace("cedar:plain", second))
            for one in SUITE.claims
        ),
        tables=(replace(SUITE.tables[0], values={first: 900.0, second: 600.0, "yew:old": 1.0}),),
        nearest={"yew:old": first},
    )
    return Replication(renamed, run, judgement.judge(renamed, run.trials), tables.read_tables(renamed, run.trials))
