"""Projects that are begun: what is written, what the lab reads of it, what is left to be decided, and what stays as it was."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.paths import ROOT
from fairground.contract import load
from fairground.inputs import contract_texts, contracts, workload_files
from fairground.inputs.contract_texts import ProjectWords
from fairground.inputs.undecided import find_marks
from fairground.lab import beginning
from fairground.lab.beginning import ProjectAsked
from fairground.lab.places import Places
from fairground.model import LabError

TODO = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "note": {"type": "string", "nullable": True}},
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": 'A "list"\x07'},
    "servers": [{"url": "/v1"}],
    "paths": {
        "/todos/{id}": {"get": {"operationId": "one", "responses": {"200": {"content": {"application/json": {"schema": TODO}}}}}},
        "/todos": {
            "get": {
                "operationId": "every", "summary": "all of them\\",
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "items": TODO}}}}},
            }
        },
        "/text": {"get": {"operationId": "text", "responses": {"200": {"content": {"text/plain": {}}}}}},
        "/none": {"get": {"responses": {"204": {}}}},
    },
}  # fmt: skip
EVERYTHING = ProjectWords("Mine", "make it", "./serve --port 1", "/health", "npm run 'migrate all'")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """The lab's own contracts and servers, and an empty folder."""
    return Places(ROOT, tmp_path / "servers", tmp_path / "results", tmp_path / "cache")


def described(tmp_path: Path) -> Path:
    """A document's file."""
    file = tmp_path / "api.json"
    file.write_text(json.dumps(DOCUMENT))
    return file


def test_a_document_becomes_a_contract(places: Places, tmp_path: Path) -> None:
    """A workload and a case for each GET, which the lab reads; the first of which all is known is the default."""
    found = beginning.begin(places, ProjectAsked(tmp_path / "My App", document=described(tmp_path)))
    home = tmp_path / "My App" / "contracts" / "my-app"
    contract = contracts.read_contract(home)
    workloads = {one.id: one for one in workload_files.load_workloads(contract)}
    assert (contract.title, contract.default, contract.paths) == ('A "list"', "every", {"base": "/v1"})
    assert set(workloads) == {f"my-app/{name}" for name in ("every", "one", "text", "none")} and len(load(contract)) == 4
    one, text = workloads["my-app/one"], workloads["my-app/text"]
    assert one.requests[0].path == "$base/todos/example" and workloads["my-app/every"].title == "all of them\\"
    assert one.requests[0].expect.body == {"json": {"id": "integer", "note": {"optional": {"nullable": "text"}}}}
    assert text.requests[0].expect.body is None and text.requests[0].expect.content_type == (
        "text/plain", "text/plain; charset=utf-8", "text/plain;charset=utf-8",
    )  # fmt: skip
    assert found.left_out == () and found.workloads == ("one", "every", "text", "none")
    assert "servers/my-app/server.toml" in found.files
    (server,) = replace(places, servers=tmp_path / "My App" / "servers").load_servers()
    assert server.contract == contract and server.stacks[0].id == "my-app:default"


def test_each_mark_has_a_line(places: Places, tmp_path: Path) -> None:
    """What nobody said is marked where it stands; what somebody said is not."""
    folder = tmp_path / "app"
    found = beginning.begin(places, ProjectAsked(folder, document=described(tmp_path)))
    marks = find_marks(folder / "contracts" / "app", folder / "servers")
    assert len(marks) == found.undecided
    for one in marks:
        (path,) = [path for path in folder.rglob("*.*") if str(path.absolute()).endswith(one.file)]
        assert one.sentence in path.read_text().splitlines()[one.line - 1]
    files = [one.file for one in marks]
    assert files.count("app/workloads/every.toml") == 1 and files.count("app/workloads/one.toml") == 2
    assert files.count("servers/app/server.toml") == 4 and "contracts/app/schema.sql" in files
    told = beginning.begin(places, ProjectAsked(tmp_path / "told", words=EVERYTHING))
    again = find_marks(tmp_path / "told" / "contracts" / "told", tmp_path / "told" / "servers")
    assert len(again) == told.undecided
    assert not [one for one in again if "ready" in one.sentence or "starts it" in one.sentence or "CREATE" in one.sentence]


def test_what_is_said_is_written(places: Places, tmp_path: Path) -> None:
    """Commands are words, migrations stand in place of a schema, and the path is the one that was given."""
    beginning.begin(places, ProjectAsked(tmp_path / "app", "mine", words=EVERYTHING))
    contract = contracts.read_contract(tmp_path / "app" / "contracts" / "mine")
    assert contract.title == "Mine" and (contract.ready.path, contract.ready.status) == ("/health", 200)
    assert contract.migrations is not None and contract.migrations.run == ("npm", "run", "migrate all")
    assert contract.migrations.folder == tmp_path / "app" / "servers" / "mine" and "schema" not in contract.sql
    manifest = tomllib.loads((tmp_path / "app" / "servers" / "mine" / "server.toml").read_text())
    assert (manifest["build"], manifest["serve"]) == ([["make", "it"]], ["./serve", "--port", "1"])
    assert set(contract.environment.values()) == {"$host", "$port", "$database_url"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npm ci && npm run build", ["sh", "-c", "npm ci && npm run build"]),
        ("make > 'the log'", ["sh", "-c", "make > 'the log'"]),
        ("./serve --url 'http://a/?x=1&y=2'", ["./serve", "--url", "http://a/?x=1&y=2"]),
        ("PORT=3000 MODE='a b' node .", ["env", "PORT=3000", "MODE=a b", "node", "."]),
        ("node . --port=3000", ["node", ".", "--port=3000"]),
        ("uvicorn main:app --port $PORT", ["sh", "-c", "uvicorn main:app --port $PORT"]),
        ('psql "${DATABASE_URL}" -f a.sql', ["sh", "-c", 'psql "${DATABASE_URL}" -f a.sql']),
        ('./serve "`nproc`" $(date)', ["sh", "-c", './serve "`nproc`" $(date)']),
        ("java -cp lib/*.jar Main", ["sh", "-c", "java -cp lib/*.jar Main"]),
        ("./serve '$PORT' \\$X \"*\" --port=$port", ["./serve", "$PORT", "$X", "*", "--port=$port"]),
    ],
)
def test_a_command_that_needs_a_shell_gets_one(command: str, words: list[str]) -> None:
    """Operators outside of quotes are a shell's, so is what it fills in; a variable before a program is `env`'s, which becomes the program."""
    assert contract_texts.words_of(command) == words


def test_somebodys_files_stay(places: Places, tmp_path: Path) -> None:
    """A README that is there is not written again, and a second contract can be begun beside the first."""
    (tmp_path / "README.md").write_text("my words")
    for name in ("one", "two"):
        beginning.begin(places, ProjectAsked(tmp_path, name))
    assert (tmp_path / "README.md").read_text() == "my words" and (tmp_path / ".gitignore").read_text() == "/results/\n"
    assert sorted(path.name for path in (tmp_path / "contracts").iterdir()) == ["one", "two"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ProjectAsked(Path("app"), "App"), "`App` is not a valid id for a contract"),
        (ProjectAsked(Path("…")), "`` is not a valid id for a contract"),
        (ProjectAsked(Path("app"), "techempower"), "the lab has a folder `contracts/techempower` of its own"),
        (ProjectAsked(Path("app"), "taken"), "`app/contracts/taken` exists already"),
        (ProjectAsked(Path("app"), words=ProjectWords(ready="health")), "`--ready health` is no path"),
        (ProjectAsked(Path("app"), database="x", words=ProjectWords(migrate="y")), "both say where tables come from"),
        (ProjectAsked(Path("app"), document=Path("none.json")), "`none.json` cannot be read"),
        (ProjectAsked(Path("app"), words=ProjectWords(serve="it's")), "`--serve it's` is no command"),
    ],
)
def test_a_project_that_cannot_begin(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: ProjectAsked, words: str
) -> None:
    """Each mistake is one sentence, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("app/contracts/taken").mkdir(parents=True)
    with pytest.raises(LabError) as caught:
        beginning.begin(places, asked)
    assert words in caught.value.message and caught.value.exit_code == 2
    assert [str(path) for path in Path().rglob("*.*")] == []


def test_a_question_that_the_lab_could_not_read_is_left_out(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One odd operation does not spoil the others, and is said."""
    texts = beginning.contract_texts.workload_toml
    monkeypatch.setattr(
        beginning.contract_texts,
        "workload_toml",
        lambda one, origin: texts(one, origin).replace("[expect]", "[expects]") if one.id == "every" else texts(one, origin),
    )
    found = beginning.begin(places, ProjectAsked(tmp_path / "app", document=described(tmp_path)))
    assert found.workloads == ("one", "text", "none") and "GET /todos: unknown key `expects`" in found.left_out[-1]
    assert not (tmp_path / "app" / "contracts" / "app" / "cases" / "every.toml").exists()
