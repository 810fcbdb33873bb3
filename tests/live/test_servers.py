"""Every server of the repository fulfils the whole contract: the same check that users run, nothing special for tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, EVERY_CASE, EVERY_WORKLOAD
from builders.passes import Passes, key_of
from fairground.host import Keeper, build
from fairground.inputs import manifest
from fairground.lab.places import Places
from fairground.lab.roots import ROOT
from fairground.measure import Bench, check
from fairground.model import Severity, Stack
from fairground.postgres import Database

WORKLOADS = EVERY_WORKLOAD
SERVERS = manifest.load_servers(ROOT / "servers", CONTRACTS, [workload.id for workload in WORKLOADS])
CASES = EVERY_CASE
CODE_LINES = 475
SOURCES = {".c", ".cc", ".cpp", ".go", ".h", ".hpp", ".java", ".js", ".mjs", ".py", ".rb", ".rs", ".sh", ".ts"}
SOURCES |= {".nos", ".template"}


WITH_DEADLINE = {"connections-severed", "database-restarts"}
"""A server must work again within five seconds in these cases, which a busy machine may make it miss."""
QUICK = tuple(case.id for case in CASES if case.quick)
WHOLE = tuple(case.id for case in CASES if case.id not in WITH_DEADLINE)


@pytest.fixture(scope="module")
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench with the session's database, on which a server may take its time to start."""
    return bench_on(keeper, database, ready_timeout_s=90.0)


@pytest.fixture(scope="module")
def builds() -> Path:
    """The lab's own cache: what a run or an earlier test has built of the same sources is not built again."""
    return Places.of(os.environ).cache


def checked(stack: Stack, bench: Bench, builds: Path, folder: Path, only: tuple[str, ...] | None) -> list[str]:
    """What is wrong with a stack, by these cases; None: all. It listens where it should, or its README admits that it does not."""
    made = build.build(bench.keeper, stack.server, builds)
    if isinstance(made, build.Unavailable):
        # A need without a hint is a program that no registry has: its server may be missing anywhere.
        assert not (os.environ.get("FAIRGROUND_REQUIRE_ALL") and made.hint), made.reason
        pytest.skip(f"{stack.id} is not available here: {made.reason} → {made.hint}")
    admitted = {"exposed"} if "listens on all addresses" in (stack.server.folder / "README.md").read_text() else set()
    ended = check.try_cases(bench, stack, folder, only)
    findings = [finding for finding in ended.findings if finding.severity is not Severity.NOTE and finding.id not in admitted]
    wrong = [f"{finding.id}: {finding.sentence}" for finding in findings]
    return [*wrong, (folder / "server.log").read_text(errors="replace")[-2000:]] if wrong else []


STACKS = pytest.mark.parametrize("stack", [stack for server in SERVERS for stack in server.stacks], ids=lambda stack: stack.id)


@pytest.mark.live
@STACKS
def test_stack_fulfils_the_contract(stack: Stack, bench: Bench, builds: Path, tmp_path: Path) -> None:
    """The quick cases pass, or are skipped with the reason that the manifest gives; of a server that has changed since, the others, too."""
    passes, key = Passes(builds / "passes"), key_of(stack.server)
    due = passes.is_due(stack, key)
    wrong = checked(stack, bench, builds, tmp_path, WHOLE if due else QUICK)
    assert not wrong, "\n".join(wrong)
    if due:
        passes.note(stack, key)


@pytest.mark.live
@pytest.mark.nightly
@STACKS
def test_stack_fulfils_the_whole_contract(stack: Stack, bench: Bench, builds: Path, tmp_path: Path) -> None:
    """Every case passes of every stack, those with a deadline, too."""
    wrong = checked(stack, bench, builds, tmp_path, None)
    assert not wrong, "\n".join(wrong)
    Passes(builds / "passes").note(stack, key_of(stack.server))


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.id)
def test_folder_is_complete_and_small(server: manifest.Server) -> None:
    """A server has a README and a .gitignore where it is built, and the code of its documented variants and that of the others stay short."""
    assert (server.folder / "README.md").exists()
    assert (server.folder / ".gitignore").exists() or not server.build
    lines: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for path in build.sources(server.folder):
        place = path.relative_to(server.folder)
        if path.suffix in SOURCES:
            lines["documented" in place.parts][str(place)] = code_lines(path)
    assert any(lines.values())
    assert all(sum(part.values()) <= CODE_LINES for part in lines.values()), lines


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor a comment of their own."""
    return sum(
        bool(line.strip()) and not line.strip().startswith(("//", "#", "*", "/*")) for line in path.read_text().splitlines()
    )
