"""The use cases know no terminal: nothing of a command line is loaded with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairground.inputs.roots import ROOT

LAB = ROOT / "src" / "fairground" / "lab"
WITH_DASK = ("hosts", "joining")
"""Dask loads click with itself. They are imported last, for what is loaded stays."""
MODULES = sorted((path.stem for path in LAB.glob("*.py") if path.stem != "__init__"), key=lambda name: (name in WITH_DASK, name))
TERMINAL = ("fairground.cli", "typer", "rich", "click")


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """Module of the lab → what of a terminal is loaded once it is imported; they are imported one after the other."""
    program = (
        "import importlib, json, sys\n"
        "found = {}\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(f'fairground.lab.{name}')\n"
        f"    found[name] = [one for one in sys.modules if one.startswith({TERMINAL!r})]\n"
        "print(json.dumps(found))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(ROOT) / "src")}
    done = subprocess.run([sys.executable, "-c", program, *MODULES], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_use_case_loads_no_terminal(module: str, loaded: dict[str, list[str]]) -> None:
    """A fresh interpreter that imports a use case has loaded no command line and nothing that draws on a terminal."""
    assert [one for one in loaded[module] if module not in WITH_DASK or not one.startswith("click")] == []
