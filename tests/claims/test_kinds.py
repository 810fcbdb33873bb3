"""Claims hold stacks of one kind against each other; a row of others says which of them are of which kind."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders.contracts import CONTRACTS
from builders.paths import ROOT
from fairground.claims import judgement
from fairground.inputs import manifest
from fairground.model import Approach, Claim, Stack, Suite
from fairground.report import replication
from fairground.report.replication import Replication
from fairground.report.text import kinds
from report.fixture import run

STACKS = {stack.id: stack for server in manifest.load_servers(ROOT / "servers", CONTRACTS) for stack in server.stacks}
APPROACHES = {id: stack.variant.approach for id, stack in STACKS.items() if stack.variant.approach is not None}
MIXED = {
    "apostol": {"nginx-is-the-ceiling", "nodelay-frees-python", "one-loop-is-not-slow"},
    "users": set[str](),
    "pgbench-tx": set[str](),
    "transfer": {"pattern-not-language", "timeouts-when-waiting"},
    "lookup": set[str](),
}
"""Claims that mix kinds on purpose: all against each other, with Rails as published; all against one of ours; one against a remedy."""


def suite(name: str) -> Suite:
    """A suite of the project, as it is measured quickly."""
    return manifest.load_suite(ROOT / "suites" / f"{name}.toml", "quick")


def cells(found: Suite) -> set[tuple[str, str]]:
    """The stacks and workloads that its groups measure."""
    return {(stack, workload) for one in found.groups for stack in one.stacks for workload in one.workloads}


@pytest.mark.parametrize("name", sorted(MIXED))
def test_a_claim_holds_like_against_like(name: str) -> None:
    """Every stack of a claim is one of the repository, and no claim but a few of ours mixes kinds without meaning to."""
    found = suite(name)
    assert {stack for stack, _ in cells(found)} <= set(STACKS)
    assert {one.id for one in found.claims if len(kinds.kinds_of(one, APPROACHES, cells(found))) > 1} == MIXED[name]


@pytest.mark.parametrize("name", sorted(MIXED))
def test_a_row_says_which_are_of_which_kind(name: str) -> None:
    """On the page and in Markdown, the rows of mixed claims say so, and no other."""
    found, example = suite(name), run(1)
    info, slot = next(iter(example.stacks.values())), example.plan.slots[0]
    stacks = {id: replace(info, id=id, approach=stack.variant.approach) for id, stack in STACKS.items()}
    slots = tuple(replace(slot, cell=replace(slot.cell, stack=stack, workload=workload)) for stack, workload in cells(found))
    measured = replace(example, stacks=stacks, plan=replace(example.plan, slots=slots))
    page = Replication(found, measured, judgement.judge(found, []), ())
    for text in (replication.markdown(page, "quick"), replication.html(page, "quick")):
        told = [one for one in found.claims if kinds.mixture(one, measured) and kinds.mixture(one, measured) in text]
        assert {one.id for one in told} == MIXED[name]
        assert text.count("Of different kinds") == len(MIXED[name])


@pytest.mark.parametrize("name", sorted(MIXED))
def test_conditions_tell_kinds_versions_and_processes(name: str) -> None:
    """Each suite says what kind its servers are of, whose versions differ, and how many processes there were, there and here."""
    conditions = {one.what: one for one in suite(name).conditions}
    assert {"Kinds of server", "Versions"} <= set(conditions) and {"Processes", "Workers"} & set(conditions)
    assert all(one.theirs and one.here and one.where for one in conditions.values())


OF_A_MACHINE = re.compile(
    r"\b(?:Java|Node|Python|Ruby|PostgreSQL|Go|Rust) \d|\b(?:both|\d+|two|four) (?:cores|processors)\b|memory would"
)
"""What a run finds where it is measured: versions of toolchains and of the database, how many processors, how much memory."""


@pytest.mark.parametrize("name", sorted(MIXED))
def test_conditions_here_are_those_of_the_suite(name: str) -> None:
    """They are printed for every machine: what only its receipts know is not in them. Versions in lock files are fixed."""
    assert not [one.here for one in suite(name).conditions if OF_A_MACHINE.search(one.here)]
    assert OF_A_MACHINE.search("2 processes on 2 cores") and OF_A_MACHINE.search("Spring Boot 4.1 on Java 17")
    assert not OF_A_MACHINE.search("2 processes, however many cores there are; Spring Boot 4.1 and Express 5")


def test_kinds_are_those_of_the_stacks_that_a_test_names() -> None:
    """A name is itself; a pattern is what fits it and has a cell of that workload; a claim without a test is of no kind."""
    approaches = {"a:x": Approach.PUBLISHED, "b:x": Approach.TUNED, "c:x": Approach.ENGINE}
    here = {("a:x", "ping"), ("b:x", "ping"), ("c:x", "tx")}
    claim = Claim("one", "One is more.", "rps(a:x ping) / rps(b:x ping) > 1")
    assert kinds.kinds_of(claim, approaches, here) == {Approach.PUBLISHED: ["a:x"], Approach.TUNED: ["b:x"]}
    alike = replace(claim, test="rps(a:x ping) > 5k")
    assert kinds.kinds_of(alike, approaches, here) == {Approach.PUBLISHED: ["a:x"]}
    pattern = replace(claim, test="rps(a:x ping) / rps(* ping) > 1")
    assert kinds.kinds_of(pattern, approaches, here) == {Approach.PUBLISHED: ["a:x"], Approach.TUNED: ["b:x"]}
    assert kinds.kinds_of(replace(claim, test=None), approaches, here) == {}


def test_each_choice_of_an_author_has_its_page() -> None:
    """A published stack says what its author chose, and where: a page of the publication or of its code."""
    published: list[Stack] = [one for one in STACKS.values() if one.variant.approach is Approach.PUBLISHED]
    assert published
    for stack in published:
        assert stack.variant.tuning and all(one.source.startswith("https://") for one in stack.variant.tuning), stack.id
