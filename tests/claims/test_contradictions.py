"""Verdicts are held against the tables of the same run: none says what our own numbers beside the published ones deny."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ROOT
from fairground.claims import judgement, statement, tables, windows
from fairground.claims.statement import Statement, Term
from fairground.claims.sureness import SAME
from fairground.claims.tables import TableReading
from fairground.claims.verdict import ClaimJudgement, ClaimVerdict
from fairground.inputs import manifest, workload_files
from fairground.model import Claim, Suite, Trial, Verdict
from fairground.run import plan
from report.fixture import run

REPLICATIONS = ("apostol", "lookup", "pgbench-tx", "transfer", "users")
SERVERS = manifest.load_servers(ROOT / "servers", CONTRACTS)
WORKLOADS = workload_files.load_workloads(SEEDS)
PATTERN = run(1).trials[0]
SUPERLATIVE = re.compile(r"\b(fastest|slowest|lowest|highest|upper bound)\b")


def invented(suite: Suite, seed: int) -> list[Trial]:
    """A run of the suite: each cell has a speed and latencies of its own, and each of its trials is about that good.

    In blocks that some groups alone have the machine is slower.
    """
    chance, made, speeds = random.Random(seed), list[Trial](), dict[str, tuple[float, float]]()
    assert PATTERN.result is not None and PATTERN.result.latency_ok is not None
    for slot in plan.of_suite(suite, SERVERS, WORKLOADS, "command").slots:
        rate, wait_us = speeds.setdefault(repr(slot.cell), (chance.lognormvariate(7, 1), chance.lognormvariate(9, 1)))
        around = chance.lognormvariate(0, 0.03) * (1.0 if slot.block <= suite.blocks else 0.2)
        names = ("min_us", "mean_us", "p50_us", "p75_us", "p90_us", "p95_us", "p99_us", "max_us")
        latency = replace(PATTERN.result.latency_ok, **dict.fromkeys(names, round(wait_us * around) + 1))
        good = round(rate * around * 50)
        result = replace(PATTERN.result, completed_ok=good, completed=good, window_s=50.0, latency_ok=latency)
        made.append(replace(PATTERN, cell=slot.cell, block=slot.block, number=slot.number, verdict=Verdict.VALID, result=result))
    return made


def measured(readings: Sequence[TableReading]) -> Mapping[tuple[str, str, frozenset[str]], float]:
    """Our numbers in the tables, by metric, stack, and the marks of their cells."""
    return {
        (
            reading.table.metric,
            row.stack,
            frozenset(f"{reading.table.marks} {reading.table.also.get(row.stack, '')}".split()),
        ): row.measured
        for reading in readings
        for row in reading.rows
        if reading.table.metric and row.measured is not None and row.nearest is None
    }


def sides(one: Statement, known: Mapping[tuple[str, str, frozenset[str]], float]) -> tuple[float, float] | None:
    """Both sides of a statement by the tables; None where one of its cells stands in none."""
    found = {term: known.get((term.metric, term.words[0], frozenset(term.words[1:]))) for term in one.terms}
    if any(value is None for value in found.values()):
        return None
    numbers = {term: {0: value} for term, value in found.items() if value is not None}
    return windows.product(one.left, numbers, 0), windows.product(one.right, numbers, 0)


def against_each(one: Statement, known: Collection[str]) -> list[Statement]:
    """The statement against each stack of the tables that its pattern means."""
    if not one.pattern:
        return [one]
    rivals = {stack for stack in known if fnmatchcase(stack, one.pattern)} - {term.words[0] for term in one.terms}
    return [statement.with_stacks(one, {one.pattern: name}) for name in sorted(rivals)]


def is_so(one: Statement, left: float, right: float) -> bool:
    """Whether two numbers are as a statement says."""
    if one.op == "~":
        return 1 / (1 + SAME) <= left / right <= 1 + SAME
    return left > right if one.op in (">", ">=") else left < right


def told(judged: Sequence[ClaimJudgement], readings: Sequence[TableReading]) -> Iterator[tuple[ClaimJudgement, bool]]:
    """Each verdict that the tables know as well, with whether they say the same. A pattern means each stack of the tables."""
    known = measured(readings)
    for one in judged:
        if one.claim.test is None or one.verdict not in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS):
            continue
        parts = statement.parse_all(one.claim.test)
        if any(part.kind != "ratio" for part in parts):
            continue
        against = [each for part in parts for each in against_each(part, {stack for _, stack, _ in known})]
        said = [is_so(each, *both) for each in against if (both := sides(each, known)) is not None]
        if said and (one.verdict is ClaimVerdict.HOLDS or len(said) == len(against) == 1):
            yield one, all(said) == (one.verdict is ClaimVerdict.HOLDS)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (2, 3))])
@pytest.mark.parametrize("name", REPLICATIONS)
def test_no_verdict_denies_our_own_table(name: str, seed: int) -> None:
    """Whatever a run finds, no claim holds that its tables contradict, and none fails that they bear out."""
    suite = manifest.load_suite(ROOT / "suites" / f"{name}.toml", "full")
    suite = replace(suite, blocks=2)
    trials = invented(suite, seed)
    compared = list(told(judgement.judge(suite, trials), tables.read_tables(suite, trials)))
    assert len(compared) >= 3
    assert [(one.claim.id, one.sentence) for one, same in compared if not same] == []


def test_a_verdict_that_its_table_denies_is_found() -> None:
    """The comparison sees a wrong verdict, and a superlative that holds against one of two only."""
    suite = manifest.load_suite(ROOT / "suites" / "users.toml", "quick")
    trials = invented(suite, 1)
    judged, readings = judgement.judge(suite, trials), tables.read_tables(suite, trials)
    turned = {ClaimVerdict.HOLDS: ClaimVerdict.FAILS, ClaimVerdict.FAILS: ClaimVerdict.HOLDS}
    wrong = [replace(one, verdict=turned.get(one.verdict, one.verdict)) for one in judged]
    assert all(same for _, same in told(judged, readings))
    denied = [one for one, same in told(wrong, readings) if not same]
    assert len(denied) >= 5
    first = max(suite.tables[0].values, key=lambda stack: rate(trials, stack))
    second = max((one for one in suite.tables[0].values if one != first), key=lambda stack: rate(trials, stack))
    claim = Claim("one", "it is the fastest", f"rps({second} users c128 engine) / rps(* users c128 engine) > 1")
    held = ClaimJudgement(claim, ClaimVerdict.HOLDS, "against a slow one")
    assert [same for _, same in told([held], readings)] == [False]


def rate(trials: Sequence[Trial], stack: str) -> float:
    """The mean goodput of a stack under the engine on kept connections."""
    some = [one.goodput_per_s or 0 for one in trials if one.cell.stack == stack and one.cell.workload == "users" and
            one.cell.load.generator == "engine" and one.cell.load.keep_alive and one.cell.settings.workers == 2]  # fmt: skip
    return sum(some) / len(some)


@pytest.mark.parametrize("name", REPLICATIONS)
def test_superlatives_are_held_against_all(name: str) -> None:
    """What is published as the fastest or slowest is not tested against one rival alone, nor decided by what was not run."""
    suite = manifest.load_suite(ROOT / "suites" / f"{name}.toml")
    parsed = {one.id: statement.parse_all(one.test) for one in suite.claims if one.test}
    stood_in = set(suite.nearest.values()) - {stack for table in suite.tables for stack in table.values}
    against_all = {term.words[0] for parts in parsed.values() for one in parts if one.pattern for term in one.terms}
    for claim in suite.claims:
        if claim.id in parsed and SUPERLATIVE.search(claim.says):
            assert stacks([term for one in parsed[claim.id] for term in one.terms]) & against_all, claim.id
        if claim.id in parsed and not claim.says.startswith("(our"):
            assert not stacks([term for one in parsed[claim.id] for term in one.terms]) & stood_in, claim.id


def stacks(terms: Sequence[Term]) -> set[str]:
    """The stacks of some terms."""
    return {term.words[0] for term in terms}
