"""The suites of the repository: they load in every profile, and each of their claims speaks of one planned cell."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ROOT
from fairground import generators
from fairground.claims import cells, statement
from fairground.claims.statement import Term
from fairground.inputs import manifest, workload_files
from fairground.model import LabError, Suite
from fairground.run import plan

SERVERS = manifest.load_servers(ROOT / "servers", CONTRACTS)
WORKLOADS = workload_files.load_workloads(SEEDS)
WITH_CLAIMS = [path for path in sorted((ROOT / "suites").glob("*.toml")) if "[[claims]]" in path.read_text()]


def planned(suite: Suite) -> list[Any]:
    """Every cell of the suite's plan, as something that has a cell."""
    return [SimpleNamespace(cell=slot.cell) for slot in plan.of_suite(suite, SERVERS, WORKLOADS, "command").slots]


def test_there_are_five_replications() -> None:
    """One for each published benchmark."""
    assert len(WITH_CLAIMS) == 5


@pytest.mark.parametrize("path", WITH_CLAIMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("profile", ["quick", "full"])
def test_every_claim_means_one_planned_cell(path: Path, profile: str) -> None:
    """A claim whose cell is not in the plan, or is two of them, would never get a verdict; the full profile has all tables' cells."""
    suite = manifest.load_suite(path, profile)
    trials = planned(suite)
    assert suite.source and suite.claims and suite.tables
    for claim in suite.claims:
        for term in [term for one in statement.parse_all(claim.test) for term in one.terms] if claim.test else ():
            if "*" not in term.words[0]:
                assert cells.cell_of(term, suite, trials), claim.id
    for step in suite.steps:
        for text in (step.without, step.through):
            assert cells.cell_of(Term("cpu", tuple(text.split())), suite, trials), step.what
    for table in suite.tables if profile == "full" else ():
        for stack in table.values if table.metric else ():
            words = (suite.nearest.get(stack, stack), *table.marks.split(), *table.also.get(stack, "").split())
            assert cells.cell_of(Term(table.metric, words), suite, trials), table.title


@pytest.mark.parametrize("path", WITH_CLAIMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("profile", ["quick", "full"])
def test_generators_can_make_every_load(path: Path, profile: str) -> None:
    """A tool that measures whole seconds, or cannot vary its requests, is asked for nothing else."""
    workloads = {one.id: workload_files.render(one, 10) for one in WORKLOADS}
    asked = {(one.cell.load, one.cell.workload) for one in planned(manifest.load_suite(path, profile))}
    refusals = [
        generators.TOOLS[load.generator].refusal(load, workloads[name])
        for load, name in asked
        if load.generator != generators.ENGINE
    ]
    assert set(refusals) <= {None}


@pytest.mark.parametrize("path", WITH_CLAIMS, ids=lambda path: path.stem)
def test_quick_profile_is_short(path: Path) -> None:
    """A quick replication is planned to end within 25 minutes."""
    suite = manifest.load_suite(path, "quick")
    assert plan.estimate_s(plan.of_suite(suite, SERVERS, WORKLOADS, "command").slots) < 25 * 60


def test_full_is_longer_than_quick() -> None:
    """Profiles change blocks and windows, and groups may belong to one of them."""
    path = ROOT / "suites" / "apostol.toml"
    quick, full = (manifest.load_suite(path, profile) for profile in ("quick", "full"))
    assert full.blocks > quick.blocks and len(full.groups) > len(quick.groups)
    assert full.groups[2].loads[0].window_s > quick.groups[2].loads[0].window_s


def test_unknown_profile_is_refused() -> None:
    """A profile that a suite lacks is an error with those that it has."""
    with pytest.raises(LabError, match="has no profile `fast`") as caught:
        manifest.load_suite(ROOT / "suites" / "apostol.toml", "fast")
    assert caught.value.hint == "known profiles: full, quick"


def test_a_profile_may_name_other_stacks() -> None:
    """The matrix is of what is deployed; its full profile is of everything, in more blocks."""
    usual, full = (manifest.load_suite(ROOT / "suites" / "matrix.toml", profile) for profile in (None, "full"))
    assert [group.stacks for group in usual.groups] == [("deployed",)]
    assert [group.stacks for group in full.groups] == [("all",)]
    assert full.blocks > usual.blocks
