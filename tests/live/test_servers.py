"""Servers of the repository fulfil the contract, each night all of them: the same check that users run, nothing special for tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, EVERY_CASE, EVERY_WORKLOAD
from builders.passes import KEPT, Passes
from fairground.host import Keeper, build, sources
from fairground.inputs import manifest
from fairground.inputs.roots import ROOT
from fairground.lab.places import Places
from fairground.measure import Bench, check
from fairground.model import Severity, Stack
from fairground.postgres import Database

WORKLOADS = EVERY_WORKLOAD
SERVERS = manifest.load_servers(ROOT / "servers", CONTRACTS, [workload.id for workload in WORKLOADS])
CASES = EVERY_CASE
CODE_LINES = 600
SOURCES = {".c", ".cc", ".cpp", ".go", ".h", ".hpp", ".java", ".js", ".mjs", ".py", ".rb", ".rs", ".sh", ".ts"}
SOURCES |= {".nos", ".template"}


WITH_DEADLINE = {"connections-severed", "database-restarts"}
"""A server must work again within five seconds in these cases, which a busy machine may make it miss."""


@pytest.fixture(scope="module")
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench with the session's database, on which a server may take its time to start."""
    return bench_on(keeper, database, ready_timeout_s=90.0)


@pytest.fixture(scope="module")
def builds() -> Path:
    """The lab's own cache: what a run or an earlier test has built of the same sources is not built again."""
    return Places.of(os.environ).cache


def cases_of(stack: Stack, whole: bool) -> tuple[str, ...]:
    """The cases of its contract by day: the quick ones, or all without a deadline."""
    own = [case for case in CASES if case.contract == stack.server.contract.id]
    return tuple(case.id for case in own if (case.id not in WITH_DEADLINE if whole else case.quick))


def checked(stack: Stack, bench: Bench, builds: Path, folder: Path, only: tuple[str, ...] | None) -> list[str]:
    """What is wrong with a stack, by these cases; None: all. It listens where it should, or its README admits that it does not."""
    made = build.build(bench.keeper, [stack], builds)
    if isinstance(made, build.Unavailable):
        # A need without a hint is a program that no registry has: its server may be missing anywhere.
        assert not (os.environ.get("FAIRGROUND_REQUIRE_ALL") and made.hint), made.reason
        pytest.skip(f"{stack.id} is not available here: {made.reason} → {made.hint}")
    admitted = {"exposed"} if "listens on all addresses" in (stack.server.folder / "README.md").read_text() else set()
    ended = check.try_cases(bench, stack, folder, only)
    findings = [finding for finding in ended.findings if finding.severity is not Severity.NOTE and finding.id not in admitted]
    wrong = [f"{finding.id}: {finding.sentence}" for finding in findings]
    return [*wrong, (folder / "server.log").read_text(errors="replace")[-2000:]] if wrong else []


PASSES = Passes(KEPT, Places.of(os.environ).cache / "passes")


def by_id(stack: Stack | bool) -> str:
    """The name of a stack in a test's id, and how much it is tried."""
    return stack.id if isinstance(stack, Stack) else "whole" if stack else "quick"


@pytest.mark.live
@pytest.mark.parametrize(("stack", "whole"), PASSES.by_day(SERVERS), ids=by_id)
def test_stack_fulfils_the_contract(stack: Stack, whole: bool, bench: Bench, builds: Path, tmp_path: Path) -> None:
    """Of one server for each language the quick cases pass, of one that has changed since it passed, and of one for all, the others too."""
    wrong = checked(stack, bench, builds, tmp_path, cases_of(stack, whole))
    assert not wrong, "\n".join(wrong)
    if whole:
        PASSES.note(stack)


@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("stack", [stack for server in SERVERS for stack in server.stacks], ids=by_id)
def test_stack_fulfils_the_whole_contract(stack: Stack, bench: Bench, builds: Path, tmp_path: Path) -> None:
    """Every case passes of every stack, those with a deadline, too."""
    wrong = checked(stack, bench, builds, tmp_path, None)
    assert not wrong, "\n".join(wrong)
    PASSES.keep(stack)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.id)
def test_folder_is_complete_and_small(server: manifest.Server) -> None:
    """A server has a README and a .gitignore where it is built; its documented, its published and its other code stay short."""
    assert (server.folder / "README.md").exists()
    assert (server.folder / ".gitignore").exists() or not server.build
    lines: dict[str, dict[str, int]] = {}
    for path in sources.walk(server.folder):
        place = path.relative_to(server.folder)
        if path.suffix in SOURCES:
            part = place.parts[0] if place.parts[0] in ("documented", "published") else ""
            lines.setdefault(part, {})[str(place)] = code_lines(path)
    assert lines
    assert all(sum(part.values()) <= CODE_LINES for part in lines.values()), lines


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/decisions/033-a-servers-length.md"])
def test_who_writes_a_server_is_told_how_short_it_stays(page: str) -> None:
    """The pages that tell the bound have the number that is counted against."""
    assert f"{CODE_LINES} lines" in (ROOT / page).read_text(encoding="utf-8")


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor a comment of their own."""
    return sum(
        bool(line.strip()) and not line.strip().startswith(("//", "#", "*", "/*")) for line in path.read_text().splitlines()
    )
