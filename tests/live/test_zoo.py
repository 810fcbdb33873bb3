"""The zoo: every animal, tried as a real server is, gets the verdict that `zoo/expected.toml` foretells."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import planted
from builders.benches import bench_on
from builders.expected import each
from builders.paths import TESTS
from fairground import contract
from fairground.host import Child, Keeper, build
from fairground.inputs import manifest
from fairground.judge import answers
from fairground.lab.roots import ROOT
from fairground.measure import Bench, check, run
from fairground.measure.path import Route
from fairground.model import Cell, Durability, Finding, Load, Settings, Severity, Slot, Stack, Topology, Trial, Verdict
from fairground.postgres import Database
from noise import OF_THE_MACHINE

ZOO = TESTS / "zoo"
EXPECTED = tomllib.loads((ZOO / "expected.toml").read_text())
SERVERS = {server.id: server for server in manifest.load_servers(ZOO)}
WORKLOADS = {workload.id: workload for workload in manifest.load_workloads(ROOT / "workloads")}
CASES = contract.load(ROOT / "contract" / "cases")
MACHINE = OF_THE_MACHINE
"""Findings about the machine: on a busy one they come and go, and say nothing of the animal."""
SCALE = 1
NEVER_READY_S = 3.0
"""How long is waited for an animal that never becomes ready: all others have the bench's time."""

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def bench(keeper: Keeper, database: Database) -> Iterator[Bench]:
    """A bench with the session's database."""
    yield bench_on(keeper, database, ready_timeout_s=10.0)


def tried(bench: Bench, expected: dict, folder: Path) -> Trial:
    """One trial of an animal, as `expected` names it."""
    (stack,) = manifest.find_stack(tuple(SERVERS.values()), expected["stack"])
    workload = manifest.render(WORKLOADS[expected["workload"]], SCALE)
    load = Load(
        connections=expected["connections"],
        window_s=expected.get("window_s", 2.0),
        warmup_min_s=1.0,
        warmup_max_s=1.0,
        timeout_ms=5000,
    )
    settings = Settings(workers=1, pool_size=expected.get("pool_size", 8), scale=SCALE, **expected.get("settings", {}))
    if expected.get("place") == "durable":
        settings = replace(settings, durability=Durability.DURABLE)
    cell = Cell(stack.id, workload.id, Topology(), load, settings)
    return run(bench, Slot(1, 1, cell, 7), 1, stack, workload, folder, "trial")


@contextmanager
def placed(bench: Bench, expected: dict) -> Iterator[Bench]:
    """The bench, or one with a database that waits for its disk, where the row asks for it."""
    if expected.get("place") is None:
        yield bench
        return
    with planted.standing(expected, lambda _: None) as (durable, _):
        yield durable


def patient(bench: Bench, expected: dict) -> Bench:
    """The bench, which does not wait long for an animal that is known never to become ready."""
    return replace(bench, ready_timeout_s=NEVER_READY_S) if expected.get("finding") == "ready" else bench


def of_the_animal(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without those about the machine."""
    return tuple(finding for finding in findings if finding.id not in MACHINE)


@pytest.mark.parametrize("expected", each(EXPECTED["trial"]))
def test_trial_verdict(bench: Bench, expected: dict, tmp_path: Path) -> None:
    """A trial of the animal ends with its verdict and its finding, and leaves nothing running."""
    if expected.get("groups") and (os.geteuid() != 0 or bench.keeper.groups.version is None):
        pytest.skip("a server cannot leave its control group here")
    with placed(bench, expected) as there:
        trial = tried(patient(there, expected), expected, tmp_path / "trial")
    findings = of_the_animal(trial.findings)
    told = "\n".join(f"{finding.id} {finding.severity}: {finding.sentence}" for finding in trial.findings)
    assert answers.verdict(findings) == expected["verdict"], told
    if "finding" in expected:
        found = next((finding for finding in findings if finding.id == expected["finding"]), None)
        assert found is not None, told
        assert found.severity == expected.get("severity", found.severity)
    else:
        assert not [finding for finding in findings if finding.severity is not Severity.NOTE], told
    if trial.verdict is Verdict.REJECTED:
        assert trial.goodput_per_s is None
    assert not bench.keeper.orphans()


@pytest.mark.parametrize(
    ("expected", "stack"),
    [(one, stack) for one in EXPECTED["check"] for stack in one["stacks"]],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_check_verdict(bench: Bench, expected: dict, stack: str, tmp_path: Path) -> None:
    """`check` finds what is wrong with the animal, in the case that is meant to find it; nothing else is tried of the wrong ones."""
    (found,) = manifest.find_stack(tuple(SERVERS.values()), stack)
    only = (expected["case"],) if "case" in expected else None
    ended = check.check(patient(bench, expected), found, tmp_path, only, SCALE)
    failed = [finding.id for finding in ended.findings if finding.severity is Severity.REJECT]
    assert bool(failed) is not expected["passes"], [finding.sentence for finding in ended.findings if finding.id in failed]
    assert expected.get("finding") in (None, *failed)
    assert not bench.keeper.orphans()


def test_cases_with_the_same_settings_share_a_start(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two run on the server that is up already, the others on one more, whose settings are theirs."""
    started: list[Settings | None] = []
    real = Route.open_server

    def noted(route: Route, stack: Stack, settings: Settings | None = None) -> Child:
        started.append(settings)
        return real(route, stack, settings)

    monkeypatch.setattr(Route, "open_server", noted)
    (stack,) = manifest.find_stack(tuple(SERVERS.values()), "healthy")
    only = ("ping", "connections-severed", "pool-wait-unlimited", "debit-first", "hang-up-in-transaction")
    ended = check.check(bench, stack, tmp_path, only, SCALE)
    assert {finding.severity for finding in ended.findings} == {Severity.NOTE}, ended.findings
    assert [settings and (settings.pool_size, settings.workers) for settings in started] == [None, (2, 1)]


@pytest.mark.parametrize("expected", EXPECTED["absent"], ids=lambda one: one["stack"])
def test_animal_that_is_not_here(bench: Bench, expected: dict, tmp_path: Path) -> None:
    """A server that cannot be built here is unavailable with a reason, and that is no error."""
    (stack,) = manifest.find_stack(tuple(SERVERS.values()), expected["stack"])
    made = build.build(bench.keeper, stack.server, tmp_path)
    assert isinstance(made, build.Unavailable)
    assert expected["reason"] in made.reason


def test_every_animal_is_expected() -> None:
    """No animal is in the zoo without its golden verdict."""
    named = {one["stack"] for part in ("trial", "limit", "absent") for one in EXPECTED[part]} | {
        stack for one in EXPECTED["check"] for stack in one["stacks"]
    }
    assert {stack.id for server in SERVERS.values() for stack in server.stacks} == named
