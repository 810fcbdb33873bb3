"""The five published benchmarks as their suites hold them: every claim has its place, and what their own tables decide is decided."""

from __future__ import annotations

import pytest

from builders.paths import ROOT
from fairground.claims import judgement
from fairground.claims.judgement import ClaimVerdict
from fairground.inputs import manifest
from fairground.model import Claim, PublishedTable, Suite

CLAIMS = {"apostol": 44, "users": 20, "pgbench-tx": 21, "transfer": 18, "lookup": 12}
"""Claims that the source itself makes."""
NUMBERS = {"apostol": 124, "users": 28, "pgbench-tx": 210, "transfer": 24, "lookup": 68}
"""Numbers in the tables of results that the source publishes."""
UNMEASURED = {"apostol": 0, "users": 0, "pgbench-tx": 0, "transfer": 8, "lookup": 36}
"""Those among them that no metric measures."""
OURS = ("(our", "(from its own table)")
"""How a claim begins that the source does not make."""


def suite(name: str) -> Suite:
    """A suite of the project."""
    return manifest.load_suite(ROOT / "suites" / f"{name}.toml")


def numbers(found: Suite) -> list[PublishedTable]:
    """The published tables; one that stands beside two generators is one table."""
    return list({(one.title if one.unmeasured else one.metric, tuple(one.values.items())): one for one in found.tables}.values())


def theirs(found: Suite) -> list[Claim]:
    """What the source says itself."""
    return [one for one in found.claims if not one.says.startswith(OURS)]


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_claim_has_its_place_and_an_answer(name: str) -> None:
    """All claims stand in the suite with where they are published; each is tested, decided on paper, or has a reason why not."""
    found = suite(name)
    assert len(theirs(found)) == CLAIMS[name]
    for claim in found.claims:
        assert claim.where, claim.id
        assert claim.test or claim.paper or claim.cannot, claim.id


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_every_published_number_is_in_a_table(name: str) -> None:
    """All results that the source tabulates stand in the suite; those that nothing measures are counted apart."""
    tables = numbers(suite(name))
    assert sum(len(one.values) for one in tables) == NUMBERS[name]
    assert sum(len(one.values) for one in tables if one.unmeasured) == UNMEASURED[name]


@pytest.mark.parametrize(
    ("name", "claim", "verdict"),
    [
        ("apostol", "cpp-tightest-spread", ClaimVerdict.REFUTED_ON_PAPER),
        ("apostol", "cpp-has-idle-connections", ClaimVerdict.REFUTED_ON_PAPER),
        ("apostol", "go-leads-cpp", ClaimVerdict.SUPPORTED_ON_PAPER),
        ("apostol", "one-loop-has-least-latency", ClaimVerdict.REFUTED_ON_PAPER),
        ("users", "time-per-request-is-a-wait", ClaimVerdict.REFUTED_ON_PAPER),
        ("pgbench-tx", "think-time", ClaimVerdict.REFUTED_ON_PAPER),
        ("pgbench-tx", "all-four-reach-1.5-s", ClaimVerdict.SUPPORTED_ON_PAPER),
        ("lookup", "thirty-are-under-way", ClaimVerdict.SUPPORTED_ON_PAPER),
        ("transfer", "no-timeouts-for-nostos", ClaimVerdict.SUPPORTED_ON_PAPER),
        ("transfer", "go-is-not-faster-than-python", ClaimVerdict.SUPPORTED_ON_PAPER),
    ],
)
def test_their_own_tables_decide(name: str, claim: str, verdict: ClaimVerdict) -> None:
    """What published numbers say needs no trial."""
    found = suite(name)
    judged = {one.claim.id: one for one in judgement.judge(found.claims, [], found.tables)}
    assert judged[claim].verdict is verdict


def test_a_size_that_the_text_claims_is_held_against_the_table() -> None:
    """The text gives failing fast 60 %, and the one pair of its table 152 %: the claim keeps its test, and the table is told beside it."""
    found = suite("transfer")
    judged = {one.claim.id: one for one in judgement.judge(found.claims, [], found.tables)}
    assert judged["fast-fail-60-percent"].paper is False and judged["fast-fail-2.5x"].paper is True
    assert "published: 2.52 against 1.60" in judged["fast-fail-60-percent"].sentence
