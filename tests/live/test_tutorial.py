"""The tutorial does what it says: its commands are run one after the other, in a folder of their own, in both languages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from builders import quiet
from builders.paths import ROOT
from fairground.lab.places import Places

pytestmark = [pytest.mark.live, pytest.mark.nightly]

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
CHOICE = "export SERVER=todo-node "
SLOW_MACHINE = """
fairground() {
    command fairground "$@" && code=0 || code=$?
    case "$1:$code" in compare:3) code=0 ;; esac
    return "$code"
}
"""
"""Where the budget lasts for one start alone, a comparison has no interval and ends with 3. It has its record and its page."""
MADE_BY_BUILDS = shutil.ignore_patterns("node_modules", ".venv", "__pycache__", "results")


def commands(page: str) -> str:
    """The commands of a page: what stands in its blocks of shell, in their order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("server", ["todo-node", "todo-python"])
def test_the_tutorials_commands_work(server: str, tmp_path: Path) -> None:
    """From the copy to the comparison: every command ends well, the broken owner is caught, and the pages are there."""
    checkout, project = tmp_path / "fairground", tmp_path / "my-todo"
    shutil.copytree(ROOT / "examples", checkout / "examples", ignore=MADE_BY_BUILDS)
    (checkout / "fairground").symlink_to(ROOT / "fairground")
    environment = quiet.environment(Places.of({}).cache)
    script = f"set -eu\n{SLOW_MACHINE}\n" + commands(PAGE).replace(CHOICE, f"export SERVER={server} ")
    done = subprocess.run(["bash", "-c", script], cwd=checkout, env=environment, capture_output=True, text=True, timeout=1200)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "✓ todo: " in said and re.search(rf"{server}:\w+: \d+ cases passed", said)
    assert "case:wrong-owner" in said and "exit code 1" in said
    assert f"{server}:" in next((project / "results").glob("*/report.html")).read_text(encoding="utf-8")
    compared = next((project / "results").glob("*/compare.html")).read_text(encoding="utf-8")
    assert "with index.sql" in compared and "todos_of_person" in compared
