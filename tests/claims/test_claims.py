"""Claims: each verdict is reached when it should be, and what cannot be told is said to be so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.claims import suite, trial, verdict_of
from builders.facts import DATABASE
from fairground.claims import cells, judgement, tables
from fairground.claims.statement import Term
from fairground.claims.verdict import ClaimVerdict
from fairground.model import (
    CellSettings,
    Claim,
    Durability,
    Load,
    PublishedTable,
    Topology,
    Trial,
    Verdict,
)

STEADY = [trial("a:x", 1000 + 7 * (block % 3), block) for block in range(1, 5)] + [
    trial("b:x", 500 + 3 * (block % 2), block) for block in range(1, 5)
]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("rps(a:x ping) / rps(b:x ping) > 1.5", ClaimVerdict.HOLDS),
        ("rps(a:x ping) > 1.5 * rps(b:x ping)", ClaimVerdict.HOLDS),
        ("rps(a:x ping) / rps(b:x ping) > 2.5", ClaimVerdict.FAILS),
        ("rps(a:x ping) < rps(b:x ping)", ClaimVerdict.FAILS),
        ("rps(a:x ping) / rps(b:x ping) ~ 2.1", ClaimVerdict.HOLDS),
        ("rps(a:x ping) ~ rps(b:x ping)", ClaimVerdict.FAILS),
        ("rps(a:x ping) / rps(b:x ping) > 2.003", ClaimVerdict.TIE),
        ("rps(b:x ping c100) < 600", ClaimVerdict.HOLDS),
    ],
)
def test_ratios(test: str, expected: ClaimVerdict) -> None:
    """Order, ratio, equality and bounds are decided by the interval."""
    judgement = verdict_of(test, STEADY)
    assert judgement.verdict is expected
    assert judgement.measured is not None and judgement.trials == (1, 2, 3, 4)


def test_measured_is_in_the_claims_own_terms() -> None:
    """Against a number the interval is of the left side itself."""
    judgement = verdict_of("rps(a:x ping) / rps(b:x ping) > 1.5", STEADY)
    assert judgement.measured is not None and judgement.measured.middle == pytest.approx(2.0, rel=0.02)
    assert judgement.sentence.startswith("2.0")


def test_what_machine_phases_do_to_both_cancels() -> None:
    """Blocks that are all twice as slow change no verdict, since ratios are formed inside a block."""
    slow = [trial(t.cell.stack, t.goodput_per_s / t.block, t.block) for t in STEADY if t.goodput_per_s]
    assert verdict_of("rps(a:x ping) / rps(b:x ping) > 1.9", slow).verdict is ClaimVerdict.HOLDS


def test_the_spread_of_another_generator_widens_nothing() -> None:
    """Short bursts of one generator scatter, and leave the other's steady trials of the same workload as sure as they are."""
    burst = Load(generator="ab", requests=1000)
    wild = [trial(name, rps, block, load=burst) for name in ("a:x", "b:x") for block, rps in enumerate((400, 1600, 700, 2400), 1)]
    wild = [replace(one, block=1 + (one.block + (one.cell.stack == "b:x")) % 4) for one in wild]
    close = [replace(one, cell=replace(one.cell, stack="c:x")) for one in STEADY[:4]] + [
        trial("d:x", 950 + 7 * (block % 3), block) for block in range(1, 5)
    ]
    assert verdict_of("rps(c:x ping engine) > rps(d:x ping engine)", [*close, *wild]).verdict is ClaimVerdict.HOLDS
    assert verdict_of("rps(a:x ping ab) > rps(b:x ping ab)", [*close, *wild]).verdict is ClaimVerdict.INCONCLUSIVE


def test_one_block_rests_on_an_assumption_that_is_said() -> None:
    """Without repetition only large differences are decided, and the sentence says what was assumed."""
    once = [trial("a:x", 1000), trial("b:x", 500), trial("c:x", 950)]
    large = verdict_of("rps(a:x ping) > rps(b:x ping)", once)
    assert large.verdict is ClaimVerdict.HOLDS and "is assumed" in large.sentence
    assert verdict_of("rps(a:x ping) > rps(c:x ping)", once).verdict is ClaimVerdict.INCONCLUSIVE


def test_inconclusive_says_what_it_would_take() -> None:
    """The number of blocks that would decide is in the sentence, or that it is too close."""
    noisy = [trial("a:x", rps, block) for block, rps in enumerate((1000, 1300, 900), 1)]
    noisy += [trial("b:x", rps, block) for block, rps in enumerate((980, 990, 1000), 1)]
    assert "blocks would decide it" in verdict_of("rps(a:x ping) > rps(b:x ping)", noisy).sentence
    even = [trial(name, rps, block) for name in ("a:x", "b:x") for block, rps in enumerate((1000, 1300), 1)]
    even = [*even[:2], trial("b:x", 1300, 1), trial("b:x", 1000, 2)]
    assert "too close to call" in verdict_of("rps(a:x ping) > rps(b:x ping)", even).sentence


def test_shares_are_asked_of_each_trial() -> None:
    """A share that only some trials show is inconclusive."""
    result = STEADY[0].result
    assert result is not None
    bad = replace(STEADY[0], result=replace(result, window=replace(result.window, ok=600, status={500: 400})), block=9, number=9)
    assert verdict_of("errors(a:x ping) <= 0%", STEADY).verdict is ClaimVerdict.HOLDS
    assert verdict_of("errors(a:x ping) > 30%", [bad]).verdict is ClaimVerdict.HOLDS
    assert verdict_of("errors(a:x ping) > 30%", STEADY).verdict is ClaimVerdict.FAILS
    mixed = verdict_of("errors(a:x ping) > 30%", [*STEADY, bad])
    assert mixed.verdict is ClaimVerdict.INCONCLUSIVE and mixed.sentence == "0.00% to 40.00% in 5 trials"


def test_rejected_trials_have_shares_and_no_speed() -> None:
    """A stack that fails has no throughput to compare, and its failures count."""
    failing = [replace(one, verdict=Verdict.REJECTED) for one in STEADY]
    judgement = verdict_of("rps(a:x ping) > rps(b:x ping)", failing)
    assert judgement.verdict is ClaimVerdict.UNTESTED and "were rejected" in judgement.sentence
    assert verdict_of("errors(a:x ping) <= 0", failing).verdict is ClaimVerdict.HOLDS


def test_what_a_generator_does_not_tell_is_no_rejection() -> None:
    """A cell with numbers, and without this one, is not called rejected."""
    assert STEADY[0].result is not None
    silent = [replace(one, result=replace(STEADY[0].result, latency_ok=None)) for one in STEADY]
    judgement = verdict_of("p99(a:x ping) < p99(b:x ping)", silent)
    assert judgement.verdict is ClaimVerdict.UNTESTED
    assert judgement.sentence == "p99(a:x ping) has no number: the generator did not report it"


def test_void_trials_say_nothing() -> None:
    """What the machine spoiled is no evidence for anything."""
    void = [replace(one, verdict=Verdict.VOID) for one in STEADY]
    assert verdict_of("errors(a:x ping) <= 0", void).verdict is ClaimVerdict.UNTESTED


def test_diagnosis() -> None:
    """The named limit of a cell is compared with a word; without one the lab says `none`."""
    named = [trial("a:x", 10, block, diagnosis="deadlock") for block in (1, 2, 3)]
    assert verdict_of("diagnosis(a:x ping) is deadlock", named).verdict is ClaimVerdict.HOLDS
    other = verdict_of("diagnosis(a:x ping) is db-lock", named)
    assert (other.verdict, other.sentence) == (ClaimVerdict.FAILS, "the lab's diagnosis: deadlock in 3 of 3 trials")
    few = verdict_of("diagnosis(a:x ping) is deadlock", named[:2])
    assert (few.verdict, few.sentence) == (
        ClaimVerdict.INCONCLUSIVE,
        "the lab's diagnosis: deadlock in 2 of 2 trials; 3 are asked for",
    )
    assert verdict_of("diagnosis(a:x ping) is deadlock", STEADY).sentence == "the lab's diagnosis: none in 4 of 4 trials"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (("deadlock",) * 3, "holds (leaning)"),
        (("deadlock",) * 6, "holds (clear)"),
        (("deadlock",) * 7 + ("db-lock",), "holds (leaning)"),
        (("db-lock",) * 3, "does not hold (leaning)"),
        (("deadlock", "deadlock", "db-lock"), "inconclusive"),
        (("deadlock", "deadlock"), "inconclusive"),
    ],
)
def test_most_trials_name_the_limit(found: tuple[str, ...], words: str) -> None:
    """Three trials that agree say what most trials would; two, or two of three, agree by chance."""
    trials = [trial("a:x", 10, block, diagnosis=name) for block, name in enumerate(found, 1)]
    assert verdict_of("diagnosis(a:x ping) is deadlock", trials).words == words


@pytest.mark.parametrize(
    ("test", "published", "words"),
    [
        ("rps(a:x ping) / rps(b:x ping) > 1", 2.2, "holds, size and direction"),
        ("rps(a:x ping) / rps(b:x ping) > 1", 2.6, "holds, direction only"),
        ("rps(a:x ping) / rps(b:x ping) > 1", 1.5, "holds, direction only"),
        ("rps(a:x ping) > 1.5 * rps(b:x ping)", 2.0, "holds, size and direction"),
        ("rps(b:x ping) < 600", 490, "holds, size and direction"),
        ("rps(b:x ping) < 600", 100, "holds, direction only"),
        ("rps(a:x ping) / rps(b:x ping) > 1", None, "holds"),
        ("rps(a:x ping) / rps(b:x ping) ~ 2", 2.0, "holds"),
        ("rps(a:x ping) / rps(b:x ping) > 2.5", 2.0, "does not hold"),
    ],
)
def test_a_claim_with_a_number_has_three_answers(test: str, published: float | None, words: str) -> None:
    """Size and direction, direction only, or no; one without a number, or of equality, holds or does not."""
    (found,) = judgement.judge(suite(Claim("one", "it is so", test, published)), STEADY)
    assert found.words == f"{words} (clear)"


@pytest.mark.parametrize(
    ("test", "published", "words"),
    [
        ("rps(a:x ping) / rps(c:x ping) > 1", 1.2, "holds, size and direction"),
        ("rps(a:x ping) / rps(c:x ping) > 1", 1.05, "holds, direction only"),
        ("rps(a:x ping) / rps(c:x ping) > 1", 1.4, "holds, direction only"),
        ("rps(c:x ping) < rps(a:x ping)", 0.95, "holds, direction only"),
        ("rps(c:x ping) / rps(a:x ping) < 0.95", 0.95, "holds, size and direction"),  # a bound is no equality
        ("errors(c:x ping) > 0.1%", 0.2, "holds, size and direction"),
        ("errors(c:x ping) > 0.1%", 0.5, "holds, direction only"),
        ("timeouts(c:x ping) > 0", 50, "holds"),  # how many there are depends on how long was counted
    ],
)
def test_small_differences_and_shares_have_a_size(test: str, published: float, words: str) -> None:
    """What differs by a seventh is not the size of a twentieth, though it is within 25 %; a share of answers has a size as a ratio has."""
    failing = [trial("c:x", 870 + 4 * (block % 2), block) for block in range(1, 5)]
    (found,) = judgement.judge(suite(Claim("one", "it is so", test, published)), [*STEADY, *map(failed, failing)])
    assert found.words == f"{words} (clear)"


@pytest.mark.parametrize(
    ("test", "failing", "window_s", "verdict"),
    [
        ("timeouts(c:x ping) > 0", 1, 1.0, ClaimVerdict.HOLDS),
        ("timeouts(c:x ping) > 0", 0, 1.0, ClaimVerdict.INCONCLUSIVE),
        ("timeouts(c:x ping) > 0", 0, 15.0, ClaimVerdict.FAILS),
        ("timeouts(c:x ping) <= 0", 1, 1.0, ClaimVerdict.FAILS),
        ("timeouts(c:x ping) <= 0", 0, 1.0, ClaimVerdict.INCONCLUSIVE),
        ("timeouts(c:x ping) <= 0", 0, 15.0, ClaimVerdict.HOLDS),
        ("errors(c:x ping) > 0", 1, 1.0, ClaimVerdict.HOLDS),
        ("errors(c:x ping) <= 0", 1, 1.0, ClaimVerdict.FAILS),
        ("errors(c:x ping) <= 0", 0, 1.0, ClaimVerdict.HOLDS),
        ("errors(c:x ping) ~ 0", 0, 1.0, ClaimVerdict.HOLDS),
        ("errors(c:x ping) ~ 0", 1, 1.0, ClaimVerdict.FAILS),
        ("timeouts(c:x ping) ~ 0", 0, 15.0, ClaimVerdict.HOLDS),
        ("timeouts(c:x ping) > 300", 1, 1.0, ClaimVerdict.INCONCLUSIVE),
        ("timeouts(c:x ping) > 900", 1, 1.0, ClaimVerdict.FAILS),
        ("timeouts(c:x ping) > 100", 1, 1.0, ClaimVerdict.INCONCLUSIVE),
        ("timeouts(c:x ping) > 100", 2, 1.0, ClaimVerdict.HOLDS),
    ],
)
def test_one_event_shows_that_there_are_some(test: str, failing: int, window_s: float, verdict: ClaimVerdict) -> None:
    """One trial with a timeout proves that there are some. Two short ones without prove nothing, and 30 s do; a share needs no time."""
    trials = [
        replace(one, result=replace(one.result, window_s=window_s))
        for one in (trial("c:x", 870), trial("c:x", 870, 2))
        if one.result
    ]
    found = verdict_of(test, [*map(failed, trials[:failing]), *trials[failing:]])
    assert found.verdict is verdict
    assert ("none in 30 s would decide it" in found.sentence) == (verdict is ClaimVerdict.INCONCLUSIVE and not failing)


def test_a_count_has_the_size_of_its_rate() -> None:
    """How many there are is told over as long as was published, with Poisson's interval: one in ten seconds is not fifty."""
    table = PublishedTable("Late", "timeouts", "requests", "ping", {"c:x": 50.0}, window_s=10.0)
    claim = Claim("one", "it is so", "timeouts(c:x ping) > 0", 50.0)
    for count, words in ((1, "holds, direction only"), (25, "holds, size and direction"), (13, "holds, size open")):
        (found,) = judgement.judge(
            suite(claim, tables=(table,)), [timed_out(trial("c:x", 870, block), count) for block in (1, 2)]
        )
        assert found.words.startswith(words), found
    assert found.sentence == "13 in 2 trials: 26.0 in 10 s (17.0 to 38.1)"


def timed_out(one: Trial, count: int) -> Trial:
    """The trial with so many timeouts in its five seconds."""
    assert one.result is not None
    return replace(one, result=replace(one.result, window=replace(one.result.window, timeout=count)))


NAMED = [trial("a:x", 10, block, diagnosis="deadlock") for block in (1, 2, 3)]


def test_a_diagnosis_is_held_to_looks() -> None:
    """Three trials that agree decide a run that is judged once, and four one that is judged up to four times."""
    claim = Claim("one", "it is so", "diagnosis(a:x ping) is deadlock")
    (once,), (often,) = (judgement.judge(suite(claim), NAMED, looks) for looks in (1, 4))
    assert once.verdict is ClaimVerdict.HOLDS and once.sentence.endswith("deadlock in 3 of 3 trials")
    assert often.verdict is ClaimVerdict.INCONCLUSIVE and often.sentence.endswith("deadlock in 3 of 3 trials; 4 are asked for")
    (longer,) = judgement.judge(suite(claim), [*NAMED, replace(NAMED[0], block=4, number=4)], 4)
    assert longer.verdict is ClaimVerdict.HOLDS


def test_a_diagnosis_of_many_is_held_to_their_number() -> None:
    """One of 14 stacks is named by none of three trials by chance, and by none of eight by no chance."""
    stacks, test = [f"s{place}:x" for place in range(14)], "diagnosis(* ping) is deadlock"

    def judged(trials: int) -> judgement.ClaimJudgement:
        blocks = range(1, trials + 1)
        named = [trial(stack, 10, block, diagnosis="deadlock") for stack in stacks[1:] for block in blocks]
        return verdict_of(test, [*named, *(trial(stacks[0], 10, block, diagnosis="db-lock") for block in blocks)])

    few = judged(3)
    assert few.verdict is ClaimVerdict.INCONCLUSIVE and "db-lock in 3 of 3 trials; 6 are asked for" in few.sentence
    assert judged(8).verdict is ClaimVerdict.FAILS


@pytest.mark.parametrize("test", ["timeouts(a:x ping) > 36", "timeouts(* ping) <= 36"])
def test_counts_are_held_to_looks_and_rivals(test: str) -> None:
    """Fifty where 36 are the bound: one look at one stack decides, and one of four looks or of four stacks does not."""
    many, none = timed_out(trial("a:x", 870), 50), [timed_out(trial(f"{name}:x", 870), 10) for name in "bcd"]
    claim, alone = Claim("one", "it is so", test), "*" not in test
    (once,) = judgement.judge(suite(claim), [many])
    assert once.verdict is (ClaimVerdict.HOLDS if alone else ClaimVerdict.FAILS)
    (later,) = judgement.judge(suite(claim), [many], 4) if alone else judgement.judge(suite(claim), [many, *none])
    assert later.verdict is ClaimVerdict.INCONCLUSIVE


def test_some_of_many_are_held_to_their_number() -> None:
    """Of ten stacks one has none in half a minute by chance; that all have none is shown as soon as each of them shows it."""

    def judged(test: str, stacks: int, window_s: float, looks: int = 1) -> judgement.ClaimJudgement:
        trials = [trial(f"s{place}:x", 870, block) for place in range(stacks) for block in (1, 2)]
        long = [replace(one, result=replace(one.result, window_s=window_s)) for one in trials if one.result]
        return judgement.judge(suite(Claim("one", "it is so", test)), long, looks)[0]

    few = judged("timeouts(* ping) > 0", 10, 15.5)
    assert few.verdict is ClaimVerdict.INCONCLUSIVE and few.sentence.endswith("none in 54 s would decide it")
    assert judged("timeouts(* ping) > 0", 10, 27.0).verdict is ClaimVerdict.FAILS
    assert judged("timeouts(* ping) > 0", 1, 15.5).verdict is ClaimVerdict.FAILS
    for test, decided in (("timeouts(* ping) <= 0", ClaimVerdict.HOLDS), ("timeouts(s0:x ping) > 0", ClaimVerdict.FAILS)):
        assert judged(test, 10, 15.5).verdict is decided
        assert judged(test, 10, 15.5, looks=4).verdict is ClaimVerdict.INCONCLUSIVE


def test_a_share_of_many_is_held_to_their_number() -> None:
    """One trial a little above the bound refutes a claim about one stack, and none about four."""
    trials = [failed(trial("a:x", 870)), *(trial(f"{name}:x", 870) for name in "bcd")]
    assert verdict_of("errors(* ping) < 15%", trials[:1]).verdict is ClaimVerdict.FAILS
    assert verdict_of("errors(* ping) < 15%", trials).verdict is ClaimVerdict.INCONCLUSIVE
    assert verdict_of("errors(* ping) < 1%", trials).verdict is ClaimVerdict.FAILS


def test_a_trial_that_counted_nothing_is_no_time_without_an_event() -> None:
    """Where deadlocks are known of one trial of two, only that one's seconds are seconds without a deadlock."""
    known = [
        replace(one, result=replace(one.result, window_s=16.0), database=DATABASE)
        for one in (trial("c:x", 870), trial("c:x", 870, 2))
        if one.result
    ]
    test = "deadlocks(c:x ping) > 0"
    assert verdict_of(test, known).verdict is ClaimVerdict.FAILS
    assert verdict_of(test, [known[0], replace(known[1], database=None)]).verdict is ClaimVerdict.INCONCLUSIVE


def failed(one: Trial) -> Trial:
    """The trial with a timeout for each four good answers."""
    assert one.result is not None
    window = replace(one.result.window, timeout=250, status={})
    return replace(one, result=replace(one.result, window=window))


PAPER = (
    PublishedTable("Rates", "rps", "requests/s", "ping c100", {"a:x": 2_000.0, "b:x": 1_000.0}),
    PublishedTable("Medians", "p50", "ms", "ping c100", {"a:x": 10.0, "b:x": 30.0}),
    PublishedTable("Closed", "rps", "requests/s", "ping c100 close", {"a:x": 500.0}),
)


@pytest.mark.parametrize(
    ("paper", "verdict", "sentence"),
    [
        ("rps(a:x ping c100) > rps(b:x ping c100)", ClaimVerdict.SUPPORTED_ON_PAPER, "published: 2,000 against 1,000"),
        ("rps(a:x ping c100) / rps(a:x ping c100 close) > 5", ClaimVerdict.REFUTED_ON_PAPER, "published: 4.00 against 5.00"),
        # Little's law: requests under way are rate × time, here in ms
        ("rps(a:x ping c100) * p50(a:x ping c100) ~ 100k", ClaimVerdict.REFUTED_ON_PAPER, "published: 20,000 against 100,000"),
        ("rps(b:x ping c100) * p50(b:x ping c100) > 25k", ClaimVerdict.SUPPORTED_ON_PAPER, "published: 30,000 against 25,000"),
    ],
)
def test_its_own_table_decides(paper: str, verdict: ClaimVerdict, sentence: str) -> None:
    """Published numbers support or refute a claim without a trial; marks mean exactly the table that has them."""
    (found,) = judgement.judge(suite(Claim("one", "it is so", paper=paper), tables=PAPER), [])
    assert (found.verdict, found.sentence) == (verdict, sentence)
    assert found.paper is (verdict is ClaimVerdict.SUPPORTED_ON_PAPER)


def test_what_is_measured_comes_before_what_is_published() -> None:
    """A claim with both has the verdict of the trials, and the sentence of the table beside it."""
    claim = Claim("one", "it is so", "rps(a:x ping) > rps(b:x ping)", paper="rps(a:x ping c100) < rps(b:x ping c100)")
    (found,) = judgement.judge(suite(claim, tables=PAPER), STEADY)
    assert found.verdict is ClaimVerdict.HOLDS and found.paper is False
    assert found.sentence.endswith("; its own table refutes it (published: 2,000 against 1,000)")


def test_metrics_read_their_numbers() -> None:
    """Each latency, what was received in a second, and the connections that failed; what a record lacks is not told."""
    one = trial("a:x", 1000)
    assert one.result is not None and one.result.latency_ok is not None
    latency = replace(one.result.latency_ok, min_us=500, p75_us=2_000, p95_us=None)
    window = replace(one.result.window, connect=3)
    told = replace(one, result=replace(one.result, latency_ok=latency, window=window, bytes_received=5_000_000))
    for metric, value in {"min": 0.5, "p75": 2.0, "bytes": 1_000_000.0, "interval": 1.0}.items():
        measured = verdict_of(f"{metric}(a:x ping) > 0.1", [told]).measured
        assert measured is not None and measured.middle == pytest.approx(value)
    assert verdict_of("p95(a:x ping) > 1ms", [told]).sentence.endswith("the generator did not report it")
    assert verdict_of("connecterrors(a:x ping) > 0", [told]).verdict is ClaimVerdict.HOLDS
    assert verdict_of("connecterrors(a:x ping) > 3", [told]).verdict is ClaimVerdict.INCONCLUSIVE


def test_words_choose_the_cell() -> None:
    """Marks narrow the cell; what is not said is plain; what still means two cells is not tested."""
    trials = [
        trial("a:x", 100, load=Load(100, window_s=5.0)),
        trial("a:x", 400, load=Load(100, keep_alive=False, window_s=5.0)),
        trial("a:x", 700, load=Load(100, window_s=5.0, think_ms=5.0)),
        trial("a:x", 900, load=Load(100, window_s=5.0), topology=Topology("nginx", None)),
        trial("a:x", 50, load=Load(100, window_s=5.0), settings=CellSettings(pool_wait_ms=0)),
    ]
    for words, value in {"": 100, "close": 400, "think=5": 700, "nginx": 900, "wait=0": 50}.items():
        measured = verdict_of(f"rps(a:x ping {words}) > 1", trials).measured
        assert measured is not None and measured.middle == pytest.approx(value)
    two = [trial("a:x", 100, load=Load(10)), trial("a:x", 100, load=Load(100))]
    assert verdict_of("rps(a:x ping) > 1", two).sentence == "a:x ping means 2 cells of this run"
    assert verdict_of("rps(a:x ping c7) > 1", two).sentence == "a:x ping c7 was not measured"


def test_a_claim_without_a_test_says_why() -> None:
    """What needs other machines or programs is listed with its reason."""
    (found,) = judgement.judge(suite(Claim("x", "it scales on ten cores", cannot="needs ten cores")), STEADY)
    assert (found.verdict, found.sentence) == (ClaimVerdict.UNTESTED, "needs ten cores")


def test_published_table_beside_ours() -> None:
    """Every published row has our number or None, and the order's agreement is of the rows that have both."""
    table = PublishedTable("GET /ping", "rps", "requests/s", "ping c100", {"a:x": 2000.0, "b:x": 900.0, "gone:x": 5.0})
    (reading,) = tables.read_tables(suite(tables=(table,)), STEADY)
    assert [(row.stack, row.published) for row in reading.rows] == [("a:x", 2000.0), ("b:x", 900.0), ("gone:x", 5.0)]
    assert reading.rows[0].measured == pytest.approx(1005, rel=0.01) and reading.rows[2].measured is None
    assert reading.correlation is None and reading.measured == 2


def test_rows_of_a_table_lack_what_the_machine_did_to_some_blocks() -> None:
    """A stack that was also measured while the machine was slow stands to the others, also of another table, as if it had not been."""
    first = PublishedTable("GET /ping", "rps", "requests/s", "ping c100", {"a:x": 2000.0, "b:x": 900.0})
    other = PublishedTable("One", "rps", "requests/s", "ping c100", {"b:x": 900.0})
    slow = [trial("a:x", 400, block) for block in (5, 6, 7)]
    for trials in (STEADY, [*STEADY, *slow]):
        one, two = (reading.rows for reading in tables.read_tables(suite(tables=(first, other)), trials))
        assert one[0].measured and one[1].measured and one[1] == two[0]
        assert one[0].measured / one[1].measured == pytest.approx(2.007, abs=0.01)
    (alone,) = tables.read_tables(suite(tables=(first,)), slow)
    assert alone.rows[0].measured == pytest.approx(400) and alone.rows[1].measured is None


def test_an_order_is_told_from_six_rows_on() -> None:
    """Three rows have the same order by chance in one of six cases; six have it in one of 720, and the exact p says so."""
    names = [f"{letter}:x" for letter in "abcdef"]
    trials = [trial(name, 1000 + 100 * place) for place, name in enumerate(names)]
    values = {name: 10.0 + place for place, name in enumerate(names)}
    whole, part = (
        PublishedTable("GET /ping", "rps", "requests/s", "ping c100", dict(list(values.items())[:many])) for many in (6, 5)
    )
    six, five = tables.read_tables(suite(tables=(whole, part)), trials)
    assert six.correlation == pytest.approx(1.0) and six.p == pytest.approx(2 / 720)
    assert (five.correlation, five.p, five.measured) == (None, None, 5)


def test_published_shares_and_counts_beside_ours() -> None:
    """Both may be zero; our counts are told over the window that was published, whatever ours was, and shares as they are."""
    one = trial("a:x", 1000)
    assert one.result is not None
    window = replace(one.result.window, timeout=6)
    late = replace(one, result=replace(one.result, window=window, window_s=3.0))
    none = replace(late, block=late.block + 1, result=replace(one.result, window_s=3.0))
    share = late.result.window.not_ok / window.total if late.result and late.result.window.not_ok is not None else None
    assert share
    counts = PublishedTable("Late", "timeouts", "requests", "ping", {"a:x": 0.0, "gone:x": 5.0}, window_s=10.0)
    errors = PublishedTable("Errors", "errors", "share", "ping", {"a:x": 0.4})
    late_reading, share_reading = tables.read_tables(suite(tables=(counts, errors)), [late, none])
    assert [row.measured for row in late_reading.rows] == [pytest.approx(10.0), None]
    assert share_reading.rows[0].measured == pytest.approx(share / 2)


def test_a_published_table_of_what_nothing_measures_has_no_numbers_of_ours() -> None:
    """It stands with its rows, and a claim's paper cannot mean it."""
    table = PublishedTable("Relative speed", None, "of the fastest", "", {"a:x": 1.0}, unmeasured="a ratio to another machine's")
    (reading,) = tables.read_tables(suite(tables=(table,)), STEADY)
    assert [(row.published, row.measured) for row in reading.rows] == [(1.0, None)]
    assert tables.published_value(Term("rps", ("a:x",)), [table]) is None


def test_what_the_suite_says_for_all_is_plain() -> None:
    """Durability, pool, threads and generator are those of the suite unless a claim says otherwise, and so are its other settings."""
    usual, load = CellSettings(pool_size=15, durability=Durability.DURABLE), Load(generator="wrk", threads=4, window_s=5.0)
    theirs = suite(Claim("x", "it is so", "rps(a:x ping c100) > 1"), load=load, settings=usual)
    assert {"durable", "pool=15", "threads=4", "wrk"} < cells.plain(theirs) and not {"relaxed", "c100"} & cells.plain(theirs)
    trials = [
        trial("a:x", 100, load=load, settings=usual),
        trial("a:x", 200, load=replace(load, threads=2), settings=usual),
        trial("a:x", 300, load=load, settings=replace(usual, pool_size=25)),
        trial("a:x", 400, load=replace(load, generator="engine"), settings=usual),
    ]
    (found,) = judgement.judge(theirs, trials)
    assert found.measured is not None and found.measured.middle == pytest.approx(100)
    (bare,) = judgement.judge(suite(*theirs.claims), trials)
    assert bare.sentence == "a:x ping c100 means 2 cells of this run"


FIELD = [*STEADY, *(trial("c:x", 1200 + 5 * (block % 2), block) for block in range(1, 5))]


@pytest.mark.parametrize(
    ("test", "verdict", "against"),
    [
        ("rps(c:x ping) / rps(* ping) > 1", ClaimVerdict.HOLDS, "against a:x, the hardest of 2: 1.1"),
        ("rps(a:x ping) / rps(* ping) > 1", ClaimVerdict.FAILS, "against c:x, the hardest of 2: 0.8"),
        ("rps(a:x ping) / rps(b* ping) > 1", ClaimVerdict.HOLDS, "against b:x, the hardest of 1: 2.0"),
        ("rps(b:x ping) / rps(* ping) < 1", ClaimVerdict.HOLDS, "against a:x, the hardest of 2: 0."),
        ("rps(a:x ping) / rps(z* ping) > 1", ClaimVerdict.UNTESTED, "no stack that fits `z*` was measured beside it"),
    ],
)
def test_the_first_of_all_is_held_against_all(test: str, verdict: ClaimVerdict, against: str) -> None:
    """A superlative holds only where it holds against each stack that the pattern means; the hardest of them is named."""
    found = verdict_of(test, FIELD)
    assert found.verdict is verdict and found.sentence.startswith(against)


def test_who_was_not_asked_is_no_rival() -> None:
    """A claim about the first of all is held to the number of stacks that have its cell, whatever else the run measured."""
    others = [trial(f"{name}:x", 900, block, workload="other") for name in "defghi" for block in range(1, 5)]
    alone, beside = (verdict_of("rps(a:x ping) / rps(* ping) > 1", trials) for trials in (FIELD, [*FIELD, *others]))
    assert alone.verdict is ClaimVerdict.FAILS and beside == alone


def test_what_was_not_run_has_our_nearest_beside_it() -> None:
    """The row has the number of ours that comes nearest, and its name; the claim keeps its verdict, and is told what ours gives."""
    table = PublishedTable("GET /ping", "rps", "requests/s", "ping c100", {"Theirs": 2000.0, "b:x": 900.0})
    paper = "rps(Theirs ping c100) > rps(b:x ping c100)"
    claim = Claim("x", "theirs is faster", cannot="Theirs was not run", paper=paper)
    whole = suite(claim, tables=(table,), nearest={"Theirs": "a:x"})
    (reading,) = tables.read_tables(whole, STEADY)
    assert (reading.rows[0].nearest, reading.rows[1].nearest, reading.measured) == ("a:x", None, 1)
    assert reading.rows[0].measured == pytest.approx(1005, rel=0.01)
    (found,) = judgement.judge(whole, STEADY)
    assert found.verdict is ClaimVerdict.SUPPORTED_ON_PAPER
    assert "Theirs was not run; with a:x in place of Theirs: 2.0" in found.sentence
    (tested,) = judgement.judge(replace(whole, claims=(Claim("x", "it is faster", "rps(Theirs ping) > rps(b:x ping)"),)), STEADY)
    assert tested.verdict is ClaimVerdict.UNTESTED
    assert tested.sentence.startswith("Theirs ping was not measured; with a:x in place of Theirs: 2.0")


def test_windows_of_another_length_widen_nothing() -> None:
    """Short windows scatter more than long ones of the same workload and generator."""
    short = Load(window_s=1.0, connections=128)
    wild = [trial(name, rps, block, load=short) for name in ("a:x", "b:x") for block, rps in enumerate((400, 1600, 700, 2400), 1)]
    wild = [replace(one, block=1 + (one.block + (one.cell.stack == "b:x")) % 4) for one in wild]
    close = [replace(one, cell=replace(one.cell, stack="c:x")) for one in STEADY[:4]] + [
        trial("d:x", 950 + 7 * (block % 3), block) for block in range(1, 5)
    ]
    assert verdict_of("rps(c:x ping c100) > rps(d:x ping c100)", [*close, *wild]).verdict is ClaimVerdict.HOLDS
