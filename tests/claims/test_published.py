"""The five published benchmarks as their suites hold them: every claim has its place, and what their own tables decide is decided."""

from __future__ import annotations

import re

import pytest

from builders.paths import ROOT
from fairground.claims import cells, judgement, statement
from fairground.claims.verdict import ClaimVerdict
from fairground.inputs import manifest
from fairground.model import Claim, PublishedTable, Suite
from fairground.report import replication
from fairground.report.replication import Replication
from report.fixture import run

CLAIMS = {"apostol": 45, "users": 20, "pgbench-tx": 21, "transfer": 18, "lookup": 12}
"""Claims that the source itself makes."""
NUMBERS = {"apostol": 124, "users": 28, "pgbench-tx": 210, "transfer": 24, "lookup": 68}
"""Numbers in the tables of results that the source publishes."""
UNMEASURED = {"apostol": 0, "users": 0, "pgbench-tx": 0, "transfer": 8, "lookup": 36}
"""Those among them that no metric measures."""
TOOLS = ("ab", "wrk", "hey", "vegeta", "k6", "oha")
DURABLE = {"apostol": False, "users": True, "pgbench-tx": True, "transfer": True, "lookup": False}
"""Whether the source's database was durable; that of `lookup` has none."""
NEEDED = {
    "apostol": ("pgbouncer-tx", "pgbouncer-session"),
    "pgbench-tx": ("pgbouncer-tx", "pool=2000"),
    "transfer": ("wrk wait=0", "shed("),
    "users": ("ping c128 ab close", "users c128 ab close"),
    "lookup": ("bytes(", "lookup c30 vegeta"),
}
"""What the explanations and conditions of each suite rest on, as its claims say it."""


def suite(name: str) -> Suite:
    """A suite of the project, as it is measured quickly."""
    return manifest.load_suite(ROOT / "suites" / f"{name}.toml", "quick")


def numbers(found: Suite) -> list[PublishedTable]:
    """The published tables; one that stands beside two generators is one table."""
    return list({(one.title if one.unmeasured else one.metric, tuple(one.values.items())): one for one in found.tables}.values())


def theirs(found: Suite) -> list[Claim]:
    """What the source says itself."""
    return [one for one in found.claims if not one.ours]


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
    judged = {one.claim.id: one for one in judgement.judge(found, [])}
    assert judged[claim].verdict is verdict


def test_a_size_that_the_text_claims_is_held_against_the_table() -> None:
    """Rust's 152 % are in the table. The 60 % are said of a server whose second row was not published: no number decides them."""
    found = suite("transfer")
    judged = {one.claim.id: one for one in judgement.judge(found, [])}
    assert judged["fast-fail-60-percent"].paper is None and judged["fast-fail-2.5x"].paper is True


ALL = {
    "apostol": ("nginx-is-the-ceiling",),
    "users": ("cpu-is-near-100-percent",),
    "pgbench-tx": ("pq-beats-pgx", "no-errors"),
    "transfer": ("timeouts-when-waiting", "pattern-not-language"),
    "lookup": ("no-errors",),
}
"""Claims about all stacks, or every load."""
MACHINE = {
    "pgbench-tx": ("express-on-par", "webflux-keeps-up"),
    "transfer": ("excess-costs-nothing",),
    "lookup": ("express-is-too-slow", "axum-gives-15k"),
}
"""Claims that another machine or another load decides."""


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_is_said_of_all_is_asked_of_all(name: str) -> None:
    """No claim about every stack or load is tested by one of them, while its table has the others."""
    claims = {one.id: one for one in suite(name).claims}
    for id in ALL[name]:
        parts = statement.parse_all(claims[id].test or "")
        assert len(parts) > 1 or parts[0].pattern, id


@pytest.mark.parametrize("name", sorted(MACHINE))
def test_what_the_machine_decides_is_not_refuted(name: str) -> None:
    """The claim says why, and the page with it."""
    claims = {one.id: one for one in suite(name).claims}
    assert all(claims[id].not_refuted_by for id in MACHINE[name])


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_a_table_has_the_numbers_of_the_tool_in_its_title(name: str) -> None:
    """A table that is titled with a tool's command holds cells of that tool, and of no other."""
    for table in suite(name).tables:
        tool = table.title.split()[0]
        if tool in TOOLS:
            assert tool in table.marks.split(), table.title


def test_the_five_hold_all_claims_and_numbers() -> None:
    """A hostile count of the five sources found 109 claims and 435 numbers; what is counted here by itself is no less."""
    found = [suite(name) for name in CLAIMS]
    assert sum(len(theirs(one)) for one in found) >= 109
    assert sum(len(table.values) for one in found for table in numbers(one)) >= 435


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_a_claim_with_a_number_is_held_against_no_bar_of_ours(name: str) -> None:
    """A published ratio is tested for its direction, so that its size is an answer of its own; another bar is said to be ours."""
    for claim in theirs(suite(name)):
        if not claim.published or not claim.test:
            continue
        test = statement.parse_all(claim.test)[0]
        same = test.op == "~" and (bool(test.right.terms) or test.right.factor == 1)
        absolute = test.kind == "ratio" and len(test.terms) == 1
        some = test.kind == "number" and test.right.factor <= 0.001
        assert (test.against_one and test.op != "~") or same or absolute or some or "bar" in claim.note, claim.id


@pytest.mark.parametrize("name", sorted(DURABLE))
def test_durability_is_the_sources_own(name: str) -> None:
    """The suite quotes the durability of its source, and measures all of its groups under it; nothing else is plain in its claims."""
    found = suite(name)
    (said,) = [one for one in found.conditions if one.what == "Durability"]
    word = "durable" if DURABLE[name] else "relaxed"
    assert said.here.startswith(word) and said.where and said.theirs
    assert {str(group.settings.durability) for group in found.groups} == {word}
    assert word in cells.plain(found)


@pytest.mark.parametrize("name", sorted(DURABLE))
def test_every_explanation_is_tested_or_not_measured(name: str) -> None:
    """Each of ours is a claim with a test, or names claims that have one; else the page says "Not measured." behind it."""
    found = suite(name)
    page = Replication(found, run(1), judgement.judge(found, []), ())
    deciding = {one.id for one in found.claims if one.test or one.paper}
    for judged in page.judgements:
        claim = judged.claim
        assert claim.test or not claim.says.startswith("(our explanation)"), claim.id
        assert set(claim.shown_by) <= deciding, claim.id
        if claim.reason:
            told = replication.explain(judged, page)
            assert told.endswith("Not measured.") if not claim.shown_by else all(one in told for one in claim.shown_by), claim.id


def test_the_quick_profile_measures_what_each_explanation_of_conditions_needs() -> None:
    """Poolers, a pool of 2,000, 503s under wrk and ab on a cheap request are cells of the quick profile, and claims speak of them."""
    spoken = {name: " ".join(one.test or "" for one in suite(name).claims) for name in CLAIMS}
    loads = {name: {(load.generator, one) for one in suite(name).groups for load in one.loads} for name in CLAIMS}
    for name, marks in NEEDED.items():
        assert all(mark in spoken[name] for mark in marks), name
    assert {"pgbouncer-tx", "pgbouncer-session"} <= poolers("apostol") and "pgbouncer-tx" in poolers("pgbench-tx")
    assert max(one.settings.pool_size for one in suite("pgbench-tx").groups) == 2000
    assert any(tool == "ab" and group.workloads == ("ping",) for tool, group in loads["users"])
    assert any(tool == "wrk" and group.settings.pool_wait_ms == 0 for tool, group in loads["transfer"])
    behind = [one for one in suite("pgbench-tx").claims if one.id.endswith("-works-behind-a-pooler")]
    assert len({one.test.split()[0] for one in behind if one.test}) == 4


def poolers(name: str) -> set[str]:
    """The poolers that the quick profile of a suite measures, where they are there."""
    return {path.pooler for group in suite(name).groups for path in group.topologies if path.pooler}


def test_explanations_of_transfers_name_the_claims_that_show_them() -> None:
    """What docs/transfer.md says happens, and each remedy, names claims of the suite that have a test, or says that it is not measured."""
    text = (ROOT / "docs" / "transfer.md").read_text()
    happens, helps = text.split("## What happens")[1].split("## Measured by a run")[0].split("## What helps, and what does not")
    tested = {one.id for one in suite("transfer").claims if one.test}
    for part in (happens, *helps.strip().removeprefix("- ").split("\n- ")):
        named = set(re.findall(r"`([a-z0-9-]+)`", part)) & tested
        assert named or "Not measured" in part, part


def test_a_claim_of_another_profile_says_which() -> None:
    """What only the full profile measures is tested there, and in the quick one decided on paper or said to need it."""
    path = ROOT / "suites" / "pgbench-tx.toml"
    quick, full = (
        {one.id: one for one in manifest.load_suite(path, profile).claims}["pq-drops-10-percent"] for profile in ("quick", "full")
    )
    assert full.test and full.cannot is None
    assert (quick.test, quick.cannot) == (None, "needs the profile full")
