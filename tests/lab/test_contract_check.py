"""Reading a contract's files for its check: a mistake hides no other, and a name must be that of a contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.orchard import make_orchard
from builders.paths import ROOT
from fairground.inputs import contracts
from fairground.lab import contract_check
from fairground.lab.contract_check import ContractFiles
from fairground.lab.places import Places
from fairground.model import LabError


def mistakes(tmp_path: Path, *spoiled: tuple[str, str, str]) -> list[str]:
    """What reading an orchard with these texts spoiled says."""
    make_orchard(tmp_path, spoiled)
    return [one.message for one in ContractFiles.read(contracts.read_contract(tmp_path / "orchard")).wrong]


def test_a_right_contract_has_no_mistake(tmp_path: Path) -> None:
    """Every file is read."""
    assert mistakes(tmp_path) == []


def test_each_file_and_case_is_read(tmp_path: Path) -> None:
    """Four mistakes in three files are four lines."""
    found = mistakes(
        tmp_path,
        ("contract.toml", 'default = "trees"', 'default = "tree"'),
        ("workloads/pick.toml", "writes = true", "write = true"),
        ("cases/one.toml", "all.sql", "some.sql"),
        ("cases/one.toml", 'matches = "^[0-9]+$"', 'matches = "("'),
    )
    assert [one.rpartition("`")[2] for one in found[:2]] == [", line 12", ", line 2"]
    assert "unknown key `write`" in found[0] and "no file `some.sql`" in found[2] and "is no pattern" in found[3]


VERIFIED = ("workloads/trees.toml", 'table = { by = "id", sql = "SELECT id, apples FROM tree" }', 'verified = "every"')
QUICK = ("cases/one.toml", 'workloads = ["trees"]', 'workloads = ["trees"]\nquick = true')


@pytest.mark.parametrize(("spoiled", "words"), [
    ((VERIFIED, QUICK), None),
    ((VERIFIED,), "case `every` is not tried before each load"),
    ((VERIFIED, QUICK, (*QUICK[:1], 'workloads = ["trees"]\nquick', 'workloads = ["pick"]\nquick')), "is not tried before each load"),
    ((VERIFIED, (*QUICK[:2], f"{QUICK[2]}\nkind = 'split'")), "case `every` is of kind `split`"),
    ((VERIFIED, (*QUICK[:2], f"{QUICK[2]}\nwarns = true")), "case `every` only warns"),
    ((VERIFIED, QUICK, ("cases/one.toml", "expect = { body = { json = { sql = \"all.sql\" } } }", "expect = { status = 404 }")), "but errors"),
    ((VERIFIED, ("cases/one.toml", 'id = "every"', 'id = "ever"')), "there is no case `every` for"),
])  # fmt: skip
def test_bodies_are_compared_with_a_case_that_is_tried(
    tmp_path: Path, spoiled: tuple[tuple[str, str, str], ...], words: str | None
) -> None:
    """A case that finds no right body before the load would leave nothing to hold bodies against."""
    found = mistakes(tmp_path, *spoiled)
    assert found == [] if words is None else len(found) == 1 and words in found[0] and "trees.toml`, line 13" in found[0], found


def test_an_optional_workload_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    """No run could leave it out."""
    (found,) = mistakes(tmp_path, ("contract.toml", 'default = "trees"', 'default = "trees"\noptional = ["pik"]'))
    assert found.startswith("there is no workload `pik` for `optional` of")


@pytest.mark.parametrize(
    ("wrong", "place"),
    [("[paths]\nrows = '/rows'", "paths.rows"), ("[numbers.scaled]\nrows = 2\n[paths]", "numbers.scaled.rows")],
)
def test_a_name_of_two_values_is_a_mistake(tmp_path: Path, wrong: str, place: str) -> None:
    """Nobody would know which of them stands for `$rows`."""
    (tmp_path / "orchard").mkdir()
    make_orchard(tmp_path, (("contract.toml", "[paths]", wrong),))
    with pytest.raises(LabError, match=f"`rows` is said twice, as `{place}` and as a number, in"):
        contracts.read_contract(tmp_path / "orchard")


def test_a_misspelt_rule_of_a_header_is_a_mistake(tmp_path: Path) -> None:
    """It would hold nothing, and nobody would know."""
    (tmp_path / "orchard").mkdir()
    make_orchard(tmp_path, (("contract.toml", "[numbers]", '[answers.headers]\ndate = "nwo"\n\n[numbers]'),))
    with pytest.raises(LabError, match="`answers.headers.date` is none of text, now, absent, nor a table"):
        contracts.read_contract(tmp_path / "orchard")


def test_a_header_of_an_answer_stands_for_that_of_the_contract_in_any_letters(tmp_path: Path) -> None:
    """Cases and workloads say otherwise by name, and HTTP knows no case of names."""
    make_orchard(tmp_path, (
        ("contract.toml", "[numbers]", '[answers.headers]\nServer = "text"\n\n[numbers]'),
        ("workloads/pick.toml", "check_one_in = 1", 'check_one_in = 1\nheaders = { SERVER = "absent" }'),
        ("cases/one.toml", "matches =", 'headers = { SERVER = "absent" }, matches ='),
    ))  # fmt: skip
    found = ContractFiles.read(contracts.read_contract(tmp_path / "orchard"))
    assert not found.wrong and found.contract.answers.headers == {"server": "text"}
    assert {one.id: one.first.expect.headers for _, one in found.workloads} == {
        "orchard/trees": {"server": "text"}, "orchard/pick": {"server": "absent"},
    }  # fmt: skip
    assert found.cases[1].case.steps[0].expect.headers == {"server": "absent"}


def test_a_contract_that_is_none_is_refused(tmp_path: Path) -> None:
    """With the one that was probably meant; what cannot be read at all is a mistake in the contract, and asks no database."""
    make_orchard(tmp_path / "contracts", (("contract.toml", "status = 200", "status = 2OO"),))
    places = Places(ROOT, tmp_path / "servers", tmp_path / "results", tmp_path / "cache")
    with pytest.raises(LabError, match="there is no contract `orchart`") as told:
        contract_check.check_contract(places, "orchart")
    assert "did you mean `orchard`?" in (told.value.hint or "")
    found = contract_check.check_contract(places, "orchard")
    assert found.right == 0 and [one.message.partition(":")[0] for one in found.wrong] == [
        "`contracts/orchard/contract.toml` is not TOML"
    ]
