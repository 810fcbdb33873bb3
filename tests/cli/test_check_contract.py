"""`check --contract`: its exit code is the answer of a gate."""

from __future__ import annotations

import pytest
import typer

from fairground.cli import check
from fairground.lab import contract_check
from fairground.lab.contract_check import ContractChecked
from fairground.model import LabError

GIVEN = {
    "names": None, "every": False, "only": None, "resume": None, "servers": None, "results": None, "contract": "mine",
    "database": None, "as_json": False, "verbose": False,
}  # fmt: skip


def test_a_mistake_ends_with_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is a line with what to do; a contract without one ends with 0."""
    found = ContractChecked("mine", 3, (LabError("`sql` is wrong, in `seed.sql`, line 2", "correct it"),))
    monkeypatch.setattr(contract_check, "check_contract", lambda *_: found)
    with pytest.raises(typer.Exit) as ended:
        check._contract(GIVEN)
    assert ended.value.exit_code == 1
    assert capsys.readouterr().out.startswith("✗ `sql` is wrong, in `seed.sql`, line 2 → correct it\n")
    monkeypatch.setattr(contract_check, "check_contract", lambda *_: ContractChecked("mine", 3, ()))
    check._contract(GIVEN)
    assert capsys.readouterr().out == "✓ mine: 3 statements are right\n"
