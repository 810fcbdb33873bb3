"""Which stacks `make test` holds against the contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders import passes
from builders.contracts import CASES, CONTRACTS, SEEDS
from builders.passes import Passes, representatives
from builders.paths import TESTS
from fairground.host import sources
from fairground.inputs import manifest
from fairground.model import Approach, Server


@pytest.fixture
def servers(tmp_path: Path) -> tuple[Server, ...]:
    """Two servers whose folders may be changed, in one language: one of three stacks and a smaller one."""
    for name in ("payer", "pinger"):
        sources.copy_sources(TESTS / "zoo" / name, tmp_path / "servers" / name)
    (tmp_path / "servers" / "payer" / "lock").write_text("x" * 100_000)
    return tuple(manifest.load_servers(tmp_path / "servers", CONTRACTS))


@pytest.fixture
def known(tmp_path: Path) -> Passes:
    """Nothing is known yet."""
    return Passes(tmp_path / "passes.json", tmp_path / "notes")


def tried(known: Passes, servers: tuple[Server, ...]) -> dict[str, bool]:
    """The stacks that are tried by day: whether whole."""
    return {stack.id: whole for stack, whole in known.by_day(servers)}


def everything(servers: tuple[Server, ...]) -> dict[str, bool]:
    """Each stack, whole."""
    return {stack.id: True for server in servers for stack in server.stacks}


def test_what_never_passed_is_due_whole(known: Passes, servers: tuple[Server, ...]) -> None:
    """Nothing is known: every stack is tried, with all cases."""
    assert len(everything(servers)) > 3 and tried(known, servers) == everything(servers)


@pytest.mark.parametrize("way", ["keep", "note"])
def test_what_has_passed_is_left_to_a_representative(known: Passes, servers: tuple[Server, ...], way: str) -> None:
    """The repository's file and a machine's own note say it alike; the smaller server then stands for both, with its quick cases."""
    for server in servers:
        for stack in server.stacks:
            getattr(known, way)(stack)
    (smaller,) = (one for one in servers if one.id == "pinger")
    assert tried(known, servers) == {smaller.stacks[0].id: False}


def test_a_server_that_changed_is_due_with_all_its_stacks(known: Passes, servers: tuple[Server, ...]) -> None:
    """Another byte in its folder: each of its stacks is due until it has passed with that."""
    for server in servers:
        for stack in server.stacks:
            known.keep(stack)
    payer, pinger = sorted(servers, key=lambda one: one.id)
    (payer.folder / "serve.py").write_text("# changed")
    expected = everything((payer,)) | {pinger.stacks[0].id: False}
    assert tried(known, servers) == expected
    known.note(payer.stacks[0])
    del expected[payer.stacks[0].id]
    assert tried(known, servers) == expected


def test_another_contract_is_due_on_one_representative(
    known: Passes, servers: tuple[Server, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What judges all servers has changed: of those that stand for others one is tried whole, the rest by night."""
    payer, pinger = sorted(servers, key=lambda one: one.id)
    built = replace(payer, build=(("make",),))
    for server in (built, pinger):
        for stack in server.stacks:
            known.keep(stack)
    monkeypatch.setattr(passes, "judges", lambda _: "another")
    standing = representatives([built, pinger])
    assert tried(known, (built, pinger)) == {one.id: one.server is built for one in standing} and len(standing) == 2
    skips = replace(built, skip={"ping": "it answers nothing"})
    assert passes.foremost(representatives([skips, pinger])) == [pinger.stacks[0]]


def test_each_language_and_build_tool_has_a_representative(servers: tuple[Server, ...]) -> None:
    """A server in the same language that is built by another tool stands for itself; so does one in another language."""
    payer, pinger = sorted(servers, key=lambda one: one.id)
    assert [one.server.id for one in representatives([payer, pinger])] == ["pinger"]
    assert len(representatives([replace(payer, build=(("make",),)), pinger])) == 2
    assert len(representatives([replace(payer, language="Other"), pinger])) == 2


def test_of_its_stacks_the_quickest_to_build_stands_for_it(servers: tuple[Server, ...]) -> None:
    """The one with the fewest commands, and a documented one where several have as few."""
    payer = min(servers, key=lambda one: one.id)
    slow, plain, documented = payer.variants.values()
    slow = replace(slow, build=(("make", "libraries"), ("make",)), approach=Approach.DOCUMENTED)
    documented = replace(documented, approach=Approach.DOCUMENTED)
    one_each = replace(payer, build=(("make",),), variants={"slow": slow, "plain": plain, "documented": documented})
    assert [stack.variant for stack in representatives([one_each])] == [documented]
    assert [stack.variant for stack in representatives([replace(one_each, variants={"slow": slow, "plain": plain})])] == [plain]


def test_two_copies_of_a_server_pass_alike(servers: tuple[Server, ...], tmp_path: Path) -> None:
    """What a server passes with says nothing of where its folder is."""
    payer = min(servers, key=lambda one: one.id)
    sources.copy_sources(payer.folder, tmp_path / "others" / "payer")
    (copy,) = manifest.load_servers(tmp_path / "others", CONTRACTS)
    assert [passes.pass_of(one) for one in copy.stacks] == [passes.pass_of(one) for one in payer.stacks]


def test_cases_that_a_stack_is_not_asked_do_not_judge_it(servers: tuple[Server, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another case of an optional workload concerns those alone that serve it."""
    payer = min(servers, key=lambda one: one.id).stacks[0]
    serving = replace(payer, variant=replace(payer.variant, serves=SEEDS.optional))
    before = [passes.pass_of(one) for one in (payer, serving)]
    (optional, *_) = (case for case in CASES if case.workloads and set(case.workloads) <= set(SEEDS.optional))
    monkeypatch.setattr(passes, "load", lambda _: (*CASES, replace(optional, id="another")))
    passes.judges.cache_clear()
    after = [passes.pass_of(one) for one in (payer, serving)]
    passes.judges.cache_clear()
    assert before[0] == after[0] and before[1] != after[1] and before[0] != before[1]


def test_one_that_serves_all_stands_for_its_contract(servers: tuple[Server, ...]) -> None:
    """It is tried each day beside those of each language, and whole where what judges it has changed."""
    payer, pinger = sorted(servers, key=lambda one: one.id)
    serving = {"serves": replace(payer.stacks[0].variant, serves=SEEDS.optional)}
    all_served = replace(payer, variants=serving)
    assert [one.id for one in representatives([all_served, pinger])] == [pinger.stacks[0].id, all_served.stacks[0].id]
    built = replace(all_served, build=(("make",),))
    assert passes.foremost(representatives([built, pinger])) == [built.stacks[0]]


def test_the_file_names_stacks_that_there_are() -> None:
    """No stack that is gone is left in the repository's file."""
    here = {stack.id for server in manifest.load_servers(TESTS.parent / "servers", CONTRACTS) for stack in server.stacks}
    assert set(Passes(passes.KEPT, TESTS)._kept()) <= here
