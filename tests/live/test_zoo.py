"""The zoo: every animal, tried as a real server is, gets the verdict that `zoo/expected.toml` foretells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builders import zoo
from builders.expected import COMES_AND_GOES
from builders.zoo import Row, Sessions
from fairground.host import Child, build
from fairground.inputs import manifest
from fairground.judge import answers
from fairground.measure import Attempt, Bench, check, checked, path, together
from fairground.measure.path import Route
from fairground.model import Cell, CellSettings, Durability, Finding, PlanSlot, Severity, Stack, Topology, Trial, Verdict
from fairground.postgres import Database

pytestmark = pytest.mark.live


def patient(bench: Bench, expected: Row) -> Bench:
    """The bench, which does not wait long for an animal that is known never to become ready."""
    return replace(bench, ready_timeout_s=zoo.NEVER_READY_S) if expected.get("finding") == "ready" else bench


def measure(bench: Bench, row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, Trial]:
    """A trial of each stack in one round, in which all are up and each is loaded for a whole window."""
    settings = zoo.settings_of(row)
    if row.get("place") == "durable":
        settings = replace(settings, durability=Durability.DURABLE)
    attempts = [
        Attempt(
            PlanSlot(number, 1, Cell(name, row["workload"], Topology(), zoo.load_of(row, 1.0), settings), 7, turns_s=0),
            1, stack, folder / f"{number}", f"trial-{number}",
        )
        for number, (name, stack) in enumerate(zoo.labelled(stacks), 1)
    ]  # fmt: skip
    trials = together(patient(bench, row), attempts, zoo.WORKLOADS[row["workload"]])
    return dict(zip(stacks, trials, strict=True))


@pytest.fixture(scope="module")
def sessions(bench: Bench, durable: Database, tmp_path_factory: pytest.TempPathFactory) -> Sessions[Trial]:
    """The rounds of all rows, some of which ask for a database that waits for its disk."""
    places = {None: bench, "durable": replace(bench, database=durable)}

    def measured(row: Row, stacks: Sequence[str], folder: Path) -> Mapping[str, Trial]:
        return measure(places[row.get("place")], row, stacks, folder)

    return Sessions(zoo.EXPECTED["trial"], measured, tmp_path_factory.mktemp("zoo"))


def of_the_animal(findings: tuple[Finding, ...], expected: str | None = None) -> tuple[Finding, ...]:
    """The findings without those about the machine. A busy one stalls any server: `stalls` is the animal's where it is expected."""
    machines = COMES_AND_GOES | ({"stalls"} - {expected})
    return tuple(finding for finding in findings if finding.id not in machines)


@pytest.mark.parametrize("expected", zoo.by_night(zoo.EXPECTED["trial"], lambda row: row.get("nightly", False)))
def test_trial_verdict(bench: Bench, sessions: Sessions[Trial], expected: Row) -> None:
    """A trial of the animal ends with its verdict and its finding, a healthy one beside it with none, and nothing is left running."""
    if not zoo.is_possible(expected, bench):
        pytest.skip("a server cannot leave its control group here")
    trial, healthy = sessions.end(expected)
    findings, told = of_the_animal(trial.findings, expected.get("finding")), zoo.sentences(trial)
    assert answers.verdict(findings) == expected["verdict"], told
    if "finding" in expected:
        found = next((finding for finding in findings if finding.id == expected["finding"]), None)
        assert found is not None, told
        assert found.severity == expected.get("severity", found.severity)
    else:
        assert not [finding for finding in findings if finding.severity is not Severity.NOTE], told
    if trial.verdict is Verdict.REJECTED:
        assert trial.goodput_per_s is None
    if healthy is not None:
        assert answers.verdict(of_the_animal(healthy.findings)) is Verdict.VALID, zoo.sentences(healthy)
    assert not bench.keeper.orphans()


@pytest.mark.parametrize(
    ("expected", "stack"),
    [(one, stack) for one in zoo.EXPECTED["check"] for stack in one["stacks"]],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_check_verdict(bench: Bench, expected: Row, stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` finds what is wrong with the animal, in the case that is meant to find it; nothing else is tried of the wrong ones."""
    if expected.get("case") == "terminates":  # its trial waits as long as any
        monkeypatch.setattr(path, "STOP_GRACE_S", 1.0)
        monkeypatch.setattr(checked, "STOP_GRACE_S", 1.0)
    (found,) = manifest.find_stack(zoo.SERVERS, stack)
    only = (expected["case"],) if "case" in expected else None
    ended = check.try_cases(patient(bench, expected), found, tmp_path, only, zoo.SCALE)
    failed = [finding.id for finding in ended.findings if finding.severity is Severity.REJECT]
    assert bool(failed) is not expected["passes"], [finding.sentence for finding in ended.findings if finding.id in failed]
    assert expected.get("finding") in (None, *failed)
    assert not bench.keeper.orphans()


def test_cases_with_the_same_settings_share_a_start(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two run on the server that is up already, the others on one more, whose settings are theirs."""
    started: list[CellSettings | None] = []
    real = Route.open_server

    def noted(route: Route, stack: Stack, settings: CellSettings | None = None) -> Child:
        started.append(settings)
        return real(route, stack, settings)

    monkeypatch.setattr(Route, "open_server", noted)
    (stack,) = manifest.find_stack(zoo.SERVERS, "healthy")
    only = ("ping", "connections-severed", "pool-wait-unlimited", "debit-first", "hang-up-in-transaction")
    ended = check.try_cases(bench, stack, tmp_path, only, zoo.SCALE)
    assert {finding.severity for finding in ended.findings} == {Severity.NOTE}, ended.findings
    assert [settings and (settings.pool_size, settings.workers) for settings in started] == [None, (2, 1)]


@pytest.mark.parametrize("expected", zoo.EXPECTED["absent"], ids=lambda one: one["stack"])
def test_animal_that_is_not_here(bench: Bench, expected: Row, tmp_path: Path) -> None:
    """A server that cannot be built here is unavailable with a reason, and that is no error."""
    (stack,) = manifest.find_stack(zoo.SERVERS, expected["stack"])
    made = build.build(bench.keeper, [stack], tmp_path)
    assert isinstance(made, build.Unavailable)
    assert expected["reason"] in made.reason


def test_every_animal_is_expected() -> None:
    """No animal is in the zoo without its golden verdict."""
    named = {one["stack"] for part in ("trial", "limit", "absent") for one in zoo.EXPECTED[part]} | {
        stack for one in zoo.EXPECTED["check"] for stack in one["stacks"]
    }
    assert {stack.id for server in zoo.SERVERS for stack in server.stacks} == named
