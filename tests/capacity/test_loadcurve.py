"""What steps of a load say: the objective, the queue, whose fault a miss is, the knee, overload and recovery."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.steps import outcomes, step
from fairground.capacity import loadcurve, objective
from fairground.capacity.loadcurve import CurvePoint, StepJudgement, StepWord
from fairground.generators.latency import of_counts
from fairground.model import Gap, RateStep, Second

KEPT = objective.parse("p99<50ms,errors<1%")


def word(one: RateStep, text: str = "p99<50ms,errors<1%") -> StepWord:
    """What is said of a step."""
    return loadcurve.judge(one, objective.parse(text)).word


def test_a_percentile_is_a_share_of_all_requests() -> None:
    """1 % may be late or without a good answer, together; one more and the objective is missed."""
    assert word(step(9900, 100)) is StepWord.KEPT
    assert word(step(9899, 101)) is StepWord.MISSED
    assert word(step(9900, 50, timeout=50)) is StepWord.KEPT
    assert word(step(9899, 50, timeout=51)) is StepWord.MISSED
    assert word(step(9899, 0, shed=101)) is StepWord.MISSED, "a refusal is no fast answer"


def test_every_clause_counts() -> None:
    """A step that keeps one clause and misses another has missed, and the reason names the clause."""
    one = step(9800, 200)
    assert word(one, "p90<50ms") is StepWord.KEPT and word(one, "p90<50ms,p99<50ms") is StepWord.MISSED
    assert "2.00% of the requests missed p99<50ms" in loadcurve.judge(one, objective.parse("p90<50ms,p99<50ms")).why


def test_too_few_requests_are_not_judged() -> None:
    """With few requests only what luck cannot explain is said: MLPerf's counts for 95 % are 299 without a miss, 473 with one."""
    assert [word(step(count)) for count in (298, 299)] == [StepWord.UNKNOWN, StepWord.KEPT]
    assert [word(step(count - 1, 1)) for count in (472, 473)] == [StepWord.UNKNOWN, StepWord.KEPT]
    assert word(step(50, 50)) is StepWord.MISSED
    assert word(step(98, 2)) is StepWord.UNKNOWN
    assert word(step(0)) is StepWord.UNKNOWN


def test_a_busy_machine_says_nothing_of_the_server() -> None:
    """What spoils the machine voids a step whether it kept the objective or not."""
    for one in (step(9900), step(5000, 5000)):
        assert loadcurve.judge(one, KEPT, "others computed") == StepJudgement(StepWord.VOID, "others computed")


def test_a_late_generator_is_not_the_servers_fault() -> None:
    """A miss is void when it would have been none counted from the send, and stands where the server missed from there, too."""
    assert word(step(9000, 1000, sent_late=True)) is StepWord.VOID
    assert word(step(9000, 1000)) is StepWord.MISSED
    assert word(step(9000, 0, unsent=1000)) is StepWord.VOID
    assert word(step(9000, 1000, lag_us=60_000)) is StepWord.VOID, "beyond the deadline the generator sends in bursts"
    assert word(step(9990, 10, lag_us=60_000)) is StepWord.KEPT, "lag only ever makes a server look worse"


def test_a_full_generator_is_not_the_servers_fault() -> None:
    """A miss under a generator without CPU to spare is void, as a trial is; what was kept beside one is kept."""
    found = loadcurve.judge(step(5000, 5000, busy=0.95), KEPT)
    assert found.word is StepWord.VOID and found.why == "the generator was the limit: its busiest thread was 95% busy"
    assert word(step(9990, 10, busy=0.95)) is StepWord.KEPT


def test_waiting_for_a_connection_is_the_servers_doing() -> None:
    """Where all connections are in use it is the server that has them."""
    at_cap = step(9000, 1000, sent_late=True, unsent=500, in_flight=(0, 1000, 1000, 1000))
    assert word(at_cap) in (StepWord.MISSED, StepWord.UNSTABLE)


def test_a_growing_queue_is_unstable() -> None:
    """A queue that grows by more than chance makes a step UNSTABLE, with its growth; a queue that wanders does not."""
    grows = step(9000, 1000, in_flight=tuple(range(10, 900, 80)))
    found = loadcurve.judge(grows, KEPT)
    assert found.word is StepWord.UNSTABLE and found.low is False
    assert found.backlog_per_s == pytest.approx((grows.in_flight[-1] - 10) / grows.duration_s)
    assert loadcurve.backlog_per_s(step(10_000, in_flight=(300, 310, 290, 305, 320, 280, 300, 295, 310, 310, 305))) is None
    assert loadcurve.backlog_per_s(step(10_000, in_flight=(5, 600, 700, 300, 10, 20, 500, 600, 100, 50, 500))) is None
    assert loadcurve.backlog_per_s(step(10_000)) is None, "nothing is known of the queue"


def test_a_queue_before_the_cap_counts() -> None:
    """Requests that were due and never sent are a queue, too."""
    standing = step(9000, 0, unsent=1000, in_flight=(1000,) * 11)
    assert loadcurve.backlog_per_s(standing) == pytest.approx(1000 / standing.duration_s)


def test_percentiles_need_a_tail_and_count_failures_as_late() -> None:
    """Ten requests beyond it are asked for; a percentile among requests without a good answer is none."""
    assert loadcurve.percentile_us(step(999), 0.99) is None
    found = loadcurve.percentile_us(step(9800, 200), 0.99)
    assert found is not None and found == pytest.approx(80_000, rel=0.002)
    assert loadcurve.percentile_us(step(9800, 0, timeout=200), 0.99) is None
    assert loadcurve.percentile_us(step(9800, 0, timeout=200), 0.5) == pytest.approx(1000, rel=0.002)
    assert loadcurve.few(step(9000), 0.99) and not loadcurve.few(step(10_000), 0.99)


def point(rate: float, mean_us: int, found: StepWord = StepWord.KEPT, share: float = 1.0) -> CurvePoint:
    """A stable point with one latency."""
    count = round(rate * 10 * share)
    one = replace(step(count), rate_per_s=rate, duration_s=10.0, latency_ok=of_counts({mean_us: count}))
    return CurvePoint("curve", 1, one, StepJudgement(found, ""))


def test_the_knee_of_a_queue_is_at_half_of_its_capacity() -> None:
    """Kleinrock: an M/M/1 queue has the most power at half load, where latency is twice that of an idle one."""
    rates = [100, 200, 300, 400, 500, 600, 700, 800, 900]
    assert loadcurve.knee([point(rate, round(1e6 / (1000 - rate))) for rate in rates]) == (500, 400, 600)


def test_the_knee_needs_three_stable_rates() -> None:
    """Steps whose queue grew have no place on the curve."""
    points = [point(100, 1000), point(200, 1000), point(300, 1000, StepWord.UNSTABLE)]
    assert loadcurve.knee(points) is None
    assert loadcurve.knee([*points, point(400, 1000)]) == (400, 200, 400)


def second(at: int, ok: int = 500, not_ok: int = 0, p99_us: int | None = 5000) -> Second:
    """One second after an overload."""
    return Second(at, ok, not_ok, p99_us, p99_us, p99_us, 0)


@pytest.mark.parametrize(
    ("bad", "recovered"),
    [
        ([], 0.0),
        ([second(0, p99_us=900_000)], 1.0),
        ([second(0), second(1, not_ok=3), second(2, ok=100)], 3.0),
    ],
)
def test_recovery_ends_with_the_last_bad_second(bad: list[Second], recovered: float) -> None:
    """Late answers, errors and missing answers each make a second bad."""
    good = [second(at) for at in range(len(bad), len(bad) + 3)]
    assert loadcurve.recovered_s([*bad, *good], 500, KEPT) == recovered


def test_no_recovery_is_unknown_not_long() -> None:
    """A last second that is still bad is no recovery; nothing seen is none either."""
    assert loadcurve.recovered_s([second(0), second(1, not_ok=1)], 500, KEPT) is None
    assert loadcurve.recovered_s([], 500, KEPT) is None


@pytest.mark.parametrize(
    ("text", "p50_us", "p99_us", "recovered"),
    [
        ("p50<5ms,p99.9<200ms", 2_000, 40_000, 0.0),
        ("p50<5ms,p99.9<200ms", 6_000, 40_000, None),
        ("p50<5ms,p99.9<200ms", 2_000, 201_000, None),
        ("p90<50ms", 2_000, 60_000, 0.0),
        ("errors<1%", 900_000, 900_000, 0.0),
    ],
)
def test_a_second_is_held_against_each_deadline_by_what_is_known(
    text: str, p50_us: int, p99_us: int, recovered: float | None
) -> None:
    """A deadline of the median says nothing of a second's p99: only what misses its own percentile for certain is late."""
    after = [replace(second(at, p99_us=p99_us), p50_us=p50_us) for at in range(5)]
    assert loadcurve.recovered_s(after, 500, objective.parse(text)) == recovered


@pytest.mark.parametrize(("rate", "ok", "recovered"), [(5, 1, 0.0), (500, 230, 0.0), (500, 200, None)])
def test_few_answers_by_chance_are_no_lack_of_them(rate: float, ok: int, recovered: float | None) -> None:
    """Requests arrive by chance: a second of a low rate often has fewer than half of it."""
    assert loadcurve.recovered_s([second(at, ok=ok) for at in range(5)], rate, KEPT) == recovered


def test_an_overload_in_numbers() -> None:
    """Retention is of capacity; refusals have a latency of their own where nothing else failed."""
    good, refused = {30_000: 12_000}, {500: 2900, 2000: 100}
    during = replace(
        step(12_000, 0, shed=3000, rate=1500.0),
        latency_ok=of_counts(good), latency_all=of_counts(good | refused), completed_ok=9000,
    )  # fmt: skip
    after = replace(point(500, 1000).step, duration_s=20.0)
    found = loadcurve.overload(1000, during, after, [second(0), second(20, p99_us=80_000), second(21)], 20, KEPT)
    assert (found.factor, found.retention, found.not_ok_share, found.shed) == (1.5, 0.9, 0.2, 3000)
    assert found.shed_p99_us == pytest.approx(2000, rel=0.01) and found.p99_good_us == pytest.approx(30_000, rel=0.01)
    assert (found.recovery_s, found.watched_s) == (1.0, 20.0)
    mixed = replace(during, outcomes=outcomes(12_000, shed=2900, timeout=100))
    assert loadcurve.overload(1000, mixed, after, [], 20, KEPT).shed_p99_us is None


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (Gap(400_000, 300_000, 1_000), StepWord.MISSED),
        (Gap(400_000, 300_000, 290_000), StepWord.VOID),
        (Gap(400_000, 90_000, 1_000), StepWord.VOID),
    ],
    ids=["the server stops", "the engine had no processor", "too short to need every connection"],
)
def test_a_server_that_stops_is_told_from_a_generator_that_is_late(gap: Gap, said: StepWord) -> None:
    """In a stall of 0.3 s more requests are due than there are connections: the others wait for one, and that is the server's doing."""
    late = replace(step(9000, 1000, sent_late=True, lag_us=234_000, in_flight=(5, 6, 5, 7)), connections=200, gaps=(gap,))
    found = loadcurve.judge(late, KEPT)
    assert found.word is said
    assert ("the server stalls" in found.why) is (said is StepWord.MISSED)


@pytest.mark.parametrize(
    ("gap_ms", "stalls"), [(100, False), (150, False), (1_500, True)], ids=["an answer", "a slow answer", "a stall"]
)
def test_a_slow_answer_is_no_stall(gap_ms: int, stalls: bool) -> None:
    """A request that is alone has no answer beside it: a stall is longer than the answers of that rate leave."""
    slow, gap = of_counts({100_000: 300}), Gap(400_000, 1000 * gap_ms, 0)
    one = replace(step(0, 300, rate=20.0), latency_ok=slow, latency_all=slow, service=slow, gaps=(gap,))
    found = loadcurve.judge(one, KEPT)
    assert found.word is StepWord.MISSED and ("the server stalls" in found.why) is stalls


def test_a_server_that_answers_nothing_stalls() -> None:
    """Without any answer there is no usual gap: each of them is a stall."""
    one = replace(step(0, timeout=300), latency_ok=None, service=None, gaps=(Gap(0, 300_000, 0),))
    assert "the server stalls: once" in loadcurve.judge(one, KEPT).why
