"""`init` at the command line: its lines, its JSON, what it asks a person, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders.paths import ROOT
from cli.command import Run, document
from fairground.cli import beginning, verbs
from fairground.model import LabError

DOCUMENT = {
    "openapi": "3.0.3",
    "paths": {
        "/a": {
            "get": {"operationId": "one", "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}}
        }
    },
}


def test_init_says_what_it_began(lab: Run, tmp_path: Path) -> None:
    """Its contract and how many places are open, as lines and as data; the server is one of the project's at once."""
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT))
    done = lab("init", "app", "--openapi", "api.json")
    assert done.stdout.splitlines()[-1] == "app/contracts/app is a contract with 1 workload, app/servers/app its server."
    told = f"10 places to decide. Each has a line: cd app && {ROOT / 'fairground'} check --contract app"
    assert done.returncode == 0 and told in done.stderr and (ROOT / "fairground").is_file()
    assert "`--results results`" in (tmp_path / "app" / "README.md").read_text()
    found = document(lab("init", "other", "--openapi", "api.json", "--name", "mine", "--serve", "make run", "--json"))
    assert (found["name"], found["workloads"], found["undecided"]) == ("mine", ["one"], 9)
    assert "servers/mine/server.toml" in found["files"]
    assert "mine:default" in lab("list", "--servers", "other/servers").stdout


def test_a_database_is_asked_for_its_schema_alone(lab: Run) -> None:
    """The words say so: nobody takes it for a copy of rows."""
    for words in (("--database", "postgresql://me@127.0.0.1/x"), ("--schema-only",)):
        done = lab("init", "app", *words)
        assert done.returncode == 2 and "`--database` and `--schema-only` go together" in done.stderr


def test_a_person_is_asked_for_what_was_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal alone; Enter leaves it to be decided."""
    asked = list[str]()
    answers = {"Command that starts it": "npm start "}

    def prompt(question: str, **_: Any) -> str:
        asked.append(question)
        return answers.get(question, "")

    class Terminal:
        """A standard input that somebody types into."""

        def isatty(self) -> bool:
            return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(beginning.sys, "stdin", Terminal())
    monkeypatch.setattr(beginning.typer, "prompt", prompt)
    verbs.app(["init", "app", "--build", "make"], standalone_mode=False)
    assert asked == [
        "OpenAPI document (a file)",
        "Command that starts it",
        "Path that answers 200 once it is ready",
        "Command of its migrations",
    ]
    manifest = (tmp_path / "app" / "servers" / "app" / "server.toml").read_text()
    assert 'serve    = ["npm", "start"]' in manifest and 'build    = [["make"]]' in manifest
    with pytest.raises(LabError, match="exists already"):
        verbs.app(["init", "app", "--json"], standalone_mode=False)
    assert len(asked) == 4
