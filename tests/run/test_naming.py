"""Workloads by their names: as they stand, in the contract of the stacks, or in the one that is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.contracts import SEEDS, WORKLOADS
from builders.orchard import make_orchard
from builders.paths import ROOT
from fairground.inputs import contracts, manifest, workload_files
from fairground.lab import compare
from fairground.lab.capacity import capacity_cells
from fairground.lab.places import Places
from fairground.model import CellSettings, LabError, Load, Plan, Stack, Suite, SuiteGroup, Workload
from fairground.run import naming, plan

MANIFEST = """
title    = "{name}"
language = "C"
homepage = "https://example.com"
about    = "For tests of names."
contract = "{contract}"
version  = ["true"]
serve    = ["true"]
[variants.plain]
about = "as it comes"
approach = "documented"
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Two servers: `picker` of a contract of the tests' own, `usual` of the standard one."""
    make_orchard(tmp_path / "contracts")
    for name, contract in (("picker", "orchard"), ("usual", "seeds")):
        (tmp_path / "servers" / name).mkdir(parents=True)
        (tmp_path / "servers" / name / "server.toml").write_text(MANIFEST.format(name=name, contract=contract))
    return Places(ROOT, tmp_path / "servers", tmp_path / "results", tmp_path / "cache")


def stack(places: Places, name: str) -> Stack:
    return next(one for server in places.load_servers() for one in server.stacks if server.id == name)


def planned(places: Places, stacks: tuple[str, ...], names: tuple[str, ...], contract: str | None = None) -> Plan:
    """The plan of a run that names these."""
    group = SuiteGroup(stacks, names, (Load(),), CellSettings(), contract=contract)
    return plan.of_suite(Suite("s", "s", "", 1, 1, (group,)), places.load_servers(), places.workloads(), "c")


def cells(places: Places, stacks: tuple[str, ...], names: tuple[str, ...], contract: str | None = None) -> set[tuple[str, str]]:
    """Stack and workload of each cell that a run would have."""
    return {(slot.cell.stack.partition(":")[0], slot.cell.workload) for slot in planned(places, stacks, names, contract).slots}


def test_a_bare_name_is_of_the_stacks_contract(places: Places) -> None:
    """With and without the option, and with its prefix, the same cell is meant."""
    wanted = {("picker", "orchard/trees")}
    assert cells(places, ("picker",), ("trees",)) == wanted
    assert cells(places, ("picker",), ("trees",), "orchard") == wanted
    assert cells(places, ("picker:plain",), ("orchard/trees",)) == wanted


def test_all_are_those_of_the_contract(places: Places) -> None:
    """Each stack has those of its own contract; the contract that is named has no others."""
    both = {("picker", "orchard/trees"), ("picker", "orchard/pick")}
    assert cells(places, ("picker",), ("all",)) == both
    assert cells(places, ("all",), ("all",), "orchard") == both
    everything = cells(places, ("picker", "usual"), ("all",))
    assert both < everything and {name for _, name in everything - both} == set(WORKLOADS) - set(SEEDS.optional)


def test_pairs_of_two_contracts_are_told_in_one_line(places: Places) -> None:
    """A stack and a workload that are named, and belong to two contracts, are left out with a word; `all` means those of each."""
    both = ("picker", "usual")
    assert cells(places, both, ("trees", "ping", "tx")) == {("picker", "orchard/trees"), ("usual", "ping"), ("usual", "tx")}
    (told,) = planned(places, both, ("trees", "ping", "tx")).skipped.items()
    assert told == (
        "pairs of two contracts: usual:plain orchard/trees and 2 more", "a stack is asked the workloads of its own contract"
    )  # fmt: skip
    assert planned(places, ("usual",), ("ping", SEEDS.optional[0])).skipped == {
        f"usual:plain {SEEDS.optional[0]}": f"does not serve `{SEEDS.optional[0]}`"
    }
    assert not planned(places, both, ("all",)).skipped and not planned(places, ("usual",), ("ping",)).skipped


def test_a_name_stands_before_that_of_a_contract(places: Places) -> None:
    """A workload of the very name comes first: what was said before there were several contracts means the same."""
    trees, usual = (next(one for one in places.workloads() if one.id == id) for id in ("orchard/trees", "ping"))
    twin: Workload = replace(usual, id="trees")
    found = naming.meant_workloads(["trees"], [stack(places, "picker")], [trees, twin])
    assert found == (twin,)


@pytest.mark.parametrize(
    ("stacks", "names", "contract", "words"),
    [
        (("usual",), ("orchard/trees",), None, "`usual:plain` fulfils the contract `seeds`, and `orchard/trees` is a workload of"),
        (("usual",), ("trees",), "orchard", "`usual:plain` fulfils the contract `seeds`"),
        (("picker", "usual"), ("trees",), None, "`usual:plain` fulfils the contract `seeds`"),
        (("picker",), ("tree",), None, "there is no workload `tree`"),
        (("picker",), ("ping",), "orchard", "there is no workload `ping` in the contract `orchard`"),
        (("picker",), ("trees",), "orchart", "there is no contract `orchart`"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    places: Places, stacks: tuple[str, ...], names: tuple[str, ...], contract: str | None, words: str
) -> None:
    """One sentence says what the stack fulfils, or what there is not."""
    with pytest.raises(LabError, match=words):
        cells(places, stacks, names, contract)


def test_the_default_is_the_contracts(places: Places) -> None:
    """Of a capacity and a comparison; stacks of two contracts have none."""
    assert capacity_cells(places, ["picker"], ()) == (("picker:plain", "orchard/trees"),)
    named = compare.Named("a", "b", "picker:plain", "picker:plain")
    assert compare.workload_of(places, places.load_servers(), named, None, None) == "orchard/trees"
    assert compare.workload_of(places, places.load_servers(), named, "pick", None) == "orchard/pick"
    with pytest.raises(LabError, match="several contracts"):
        places.workloads_of((), [stack(places, "picker"), stack(places, "usual")])


def test_a_comparison_asks_nothing_that_a_side_does_not_serve(places: Places, tmp_path: Path) -> None:
    """A workload that one side skips is refused with the manifest's reason, on whichever side; what both serve is asked."""
    path = tmp_path / "servers" / "usual" / "server.toml"
    more = '[variants.reader]\nabout = "reads"\napproach = "documented"\nserves = ["read"]\n[skip]\ndb-ping = "no client"\n'
    path.write_text(path.read_text() + more)
    known = places.load_servers()
    for sides in (("usual:plain", "usual:reader"), ("usual:reader", "usual:plain")):
        named = compare.Named("a", "b", *sides)
        with pytest.raises(LabError, match="has no `db-ping`: no client"):
            compare.workload_of(places, known, named, "db-ping", None)
        with pytest.raises(LabError, match="`usual:plain` has no `read`: does not serve"):
            compare.workload_of(places, known, named, "read", None)
        assert compare.workload_of(places, known, named, "ping", None) == "ping"
    alone = compare.Named("a", "b", "usual:reader", "usual:reader")
    assert compare.workload_of(places, known, alone, "read", None) == "read"


def test_a_suite_names_its_contract(places: Places, tmp_path: Path) -> None:
    """At the top of its file, for every group."""
    path = tmp_path / "suites" / "one.toml"
    path.parent.mkdir()
    path.write_text(
        'title = "one"\nabout = "it"\nblocks = 1\nseed = 1\nconnections = [1]\ncontract = "orchard"\n'
        '[[group]]\nstacks = ["all"]\nworkloads = ["trees"]\n'
    )
    (group,) = manifest.load_suite(path).groups
    assert cells(places, group.stacks, group.workloads, group.contract) == {("picker", "orchard/trees")}


def test_a_contracts_default_is_a_workload(tmp_path: Path) -> None:
    """So that a verb which asks for none finds one."""
    make_orchard(tmp_path, (("contract.toml", '"trees"\n[num', '"twigs"\n[num'),))
    with pytest.raises(LabError, match="there is no workload `twigs` for `default`"):
        workload_files.load_workloads(contracts.read_contract(tmp_path / "orchard"))
