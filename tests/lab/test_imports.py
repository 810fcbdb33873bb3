"""`import`: servers made of a framework's folder, which this file writes in its own words."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.contracts import CONTRACTS
from fairground.inputs.frameworks import read_rules
from fairground.lab import imports
from fairground.lab.imports import ImportedTest
from fairground.lab.places import Places
from fairground.model import LabError, Server
from fairground.model.contract import CompiledDatabase

URLS = {"json_url": "/j", "plaintext_url": "/p", "db_url": "/d", "query_url": "/q?n=", "update_url": "/u?n=", "fortune_url": "/f"}
KEYS = {**URLS, "port": 8081, "database": "Postgres", "language": "Shell", "orm": "Raw", "display_name": "Pebble"}
LIBPQ = {
    "PGHOST": "$database_host", "PGPORT": "$database_port", "PGDATABASE": "$database_name",
    "PGUSER": "$database_user", "PGPASSWORD": "$database_password",
}  # fmt: skip
PLAIN = 'FROM node:22\nWORKDIR /app\nCOPY . .\nRUN npm ci\nCMD ["node", "main.js"]\n'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A lab with no servers but those that are imported."""
    (tmp_path / "servers").mkdir()
    return Places(servers=tmp_path / "servers", environ={"PATH": "/usr/bin:/bin"})


def framework(folder: Path, dockerfile: str = PLAIN, tests: dict[str, Any] | None = None, **files: str) -> Path:
    """A framework's folder `pebble`."""
    home = folder / "pebble"
    home.mkdir()
    tests = {"default": KEYS} if tests is None else tests
    (home / "benchmark_config.json").write_text(json.dumps({"framework": "pebble", "tests": [tests]}))
    (home / "pebble.dockerfile").write_text(dockerfile)
    for name, text in {"main_js": "", **files}.items():
        (home / name.replace("_", ".", 1)).write_text(text)
    return home


def one_of(places: Places, home: Path) -> tuple[ImportedTest, Server | None]:
    """What came of a folder's only test, and the server as the lab then loads it."""
    (found,) = imports.import_servers(places, "techempower", home).tests
    servers = places.load_servers()
    return found, servers[0] if servers else None


def texts(commands: tuple[tuple[str, ...], ...]) -> str:
    """All words of some commands."""
    return "\n".join(" ".join(one) for one in commands)


def test_a_plain_test_becomes_a_server(places: Places, tmp_path: Path) -> None:
    """Paths, port, commands and tools are those of the folder, nothing is left to say, and the folder is untouched."""
    home = framework(tmp_path)
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    found, server = one_of(places, home)
    assert server is not None and found.remarks == () and found.cause is None
    assert (server.id, server.title, server.contract.id, server.port) == ("pebble", "Pebble", "techempower", 8081)
    assert server.paths == {"plaintext": "/p", "json": "/j", "db": "/d", "queries": "/q?n=", "fortunes": "/f", "updates": "/u?n="}
    assert server.needs == (("npm", "--version"), ("node", "--version")) and server.skip == {}
    assert server.told == LIBPQ and "cd _image/app && npm ci" in texts(server.build)
    assert server.serve == ("sh", "-c", "cd _image/app && exec node main.js")
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
    assert (server.folder / "files" / "main.js").is_file() and list(server.variants) == ["raw"]


def test_two_stages_of_one_base_are_two_trees(places: Places, tmp_path: Path) -> None:
    """What one of them sets is not the other's, and what both begin with is copied once for each."""
    stages = (
        "FROM node:22 AS base\nENV MODE=all\nWORKDIR /app\nCOPY main.js .\n"
        'FROM base AS build\nENV ONLY=build\nWORKDIR /app/deep\nRUN npm ci\nCMD ["node", "wrong.js"]\n'
        'FROM base\nCOPY --from=build /app/deep /app/made\nCMD ["node", "main.js"]\n'
    )
    found, server = one_of(places, framework(tmp_path, stages))
    assert server is not None and found.remarks == () and server.told == LIBPQ | {"MODE": "all"}
    assert server.serve == ("sh", "-c", "cd _image/2/app && exec node main.js")
    commands = texts(server.build)
    assert commands.count("cp -R _image/0/. ") == 2 and "cp -R _image/1/app/deep/. _image/2/app/made" in commands
    assert not re.search(r"cp -R (\S+)/\. \1(\s|$)", commands)


def test_what_a_test_does_not_have_is_skipped(places: Places, tmp_path: Path) -> None:
    """Workloads without a key are skipped, readiness is asked where there is a path, and a strange key is said."""
    keys = {**KEYS, "database": "None", "other_url": "/x"}
    for key in ("json_url", "db_url", "query_url", "update_url", "fortune_url"):
        del keys[key]
    found, server = one_of(places, framework(tmp_path, tests={"default": keys}))
    assert server is not None and server.ready.path == "/p" and server.told == {}
    assert set(server.skip) == {f"techempower/{name}" for name in ("json", "db", "queries", "fortunes", "updates")}
    assert found.remarks == ("benchmark_config.json: `other_url` of `default`: the contract has no such workload",)


def test_the_database_is_told_by_the_lab(places: Places, tmp_path: Path) -> None:
    """Words of the database in variables become what the lab tells. Longer words that begin like one, and other ports, stay."""
    variables = (
        "ENV AT=postgres://benchmarkdbuser:benchmarkdbpass@tfb-database/hello_world?x=1 DB_PORT=5432 NAME=hello_world_app"
        " OTHER=mongodb://tfb-database:27017\n"
    )
    _, server = one_of(places, framework(tmp_path, PLAIN.replace("RUN", variables + "RUN")))
    assert server is not None and server.told == LIBPQ | {
        "AT": "postgres://${database_user}:${database_password}@${database_host}:${database_port}/${database_name}?x=1",
        "DB_PORT": "${database_port}",
        "NAME": "hello_world_app",
        "OTHER": "mongodb://${database_host}:27017",
    }


def test_a_compiled_in_database_is_given(places: Places, tmp_path: Path) -> None:
    """A server whose files name the database's host gets it by the names that the rules have, and nobody edits a file."""
    found, server = one_of(places, framework(tmp_path, db_txt="user = me\nhost = tfb-database\n"))
    assert server is not None and found.remarks == ()
    assert server.database == CompiledDatabase("tfb-database", 5432, "hello_world", "benchmarkdbuser", "benchmarkdbpass")


def test_a_test_without_a_database_is_given_none(places: Places, tmp_path: Path) -> None:
    """Files of the framework's other tests say nothing of it."""
    tests = {"default": {**KEYS, "database": "None"}}
    _, server = one_of(places, framework(tmp_path, tests=tests, db_txt="host = tfb-database\n"))
    assert server is not None and server.database is None


@pytest.mark.parametrize(("word", "stands"), [("5432", "$database_name"), ("5432x", "$database_port")])
def test_half_the_words_are_no_database(word: str, stands: str) -> None:
    """A word that is missing, and a port that is no number: what sources have compiled in is then not known."""
    rules = read_rules(CONTRACTS["techempower"])
    others = {one: said for one, said in rules.database.items() if said not in ("$database_port", stands)}
    assert rules.compiled is not None and replace(rules, database={**others, word: stands}).compiled is None


def test_a_compiled_in_host_without_the_other_words_is_named(places: Places, tmp_path: Path) -> None:
    """Where the rules do not know all that is compiled in, each line that has the host is told with its file."""
    home = tmp_path / "contracts" / "pebbles"
    shutil.copytree(CONTRACTS["techempower"].folder, home)
    rules = (home / "import.toml").read_text()
    (home / "import.toml").write_text("\n".join(line for line in rules.splitlines() if not line.startswith('"5432"')))
    contract = replace(CONTRACTS["techempower"], folder=home)
    assert read_rules(contract).compiled is None and read_rules(CONTRACTS["techempower"]).compiled is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("RUN apt-get install -y libsomething", "installs packages of the system"),
        ("RUN curl https://example.com/x.tgz", "`curl`, which is no tool of a language"),
        ("RUN curl https://example.com/x.sh | sh", "has a pipe or a choice"),
        ("RUN npm install -g thing", "installs beyond its folder"),
        ("RUN cp main.js /usr/local/bin/main.js", "names `/usr/local/bin/main.js` of the image"),
        ("RUN rm main.js && cp main.js ~/x", "is not plain"),
        ("COPY absent.txt .", "there is no `absent.txt`"),
        ("COPY ../secret .", "is not in the framework's folder"),
        ("COPY --from=other:1 /x /y", "`/x` is of the image `other:1`"),
        ("ENV PATH=/usr/x/bin:$PATH", "which is of the image"),
        ("ONBUILD RUN true", "`ONBUILD RUN true` is not taken over"),
    ],
)
def test_what_is_not_plain_is_said_and_not_done(places: Places, tmp_path: Path, line: str, said: str) -> None:
    """The line is named, the rest is taken, and no command reaches beyond the server's folder."""
    found, server = one_of(places, framework(tmp_path, PLAIN.replace("RUN npm ci", f"{line}\nRUN npm ci")))
    assert server is not None and "npm ci" in texts(server.build)
    assert len(found.remarks) == 1 and found.remarks[0].startswith("pebble.dockerfile, line 4: ") and said in found.remarks[0]
    assert not any(word in texts(server.build) for word in ("curl", "apt-get", "/usr/", "~", " -g", "secret"))


def test_what_it_reads_can_be_built_and_served(places: Places, tmp_path: Path) -> None:
    """Two stages, a renamed file, a glob and absolute paths: the commands lay out what the image would have, and serve it."""
    text = (
        "FROM maker AS one\nENV GREETING='hello all'\nWORKDIR /src\nCOPY part.txt renamed.txt\nCOPY *.sh /tools/\n"
        'RUN mkdir out && ./../tools/join.sh renamed.txt > /src/out/result.txt && echo "$GREETING" >> out/result.txt\n'
        "FROM runner\nWORKDIR /app\nCOPY --from=one /src/out lib\nCOPY --from=one /src/renamed.txt .\n"
        'ENTRYPOINT ["cat"]\nCMD ["/app/lib/result.txt", "renamed.txt"]\n'
    )
    home = framework(tmp_path, text, part_txt="part\n", join_sh='#!/bin/sh\ncat "$1" "$1"\n')
    (home / "join.sh").chmod(0o755)
    found, server = one_of(places, home)
    assert server is not None and found.remarks == ()
    for command in (*server.build, *server.build):  # a second build begins anew
        subprocess.run(command, cwd=server.folder, check=True)
    served = subprocess.run(server.serve, cwd=server.folder, check=True, capture_output=True, text=True)
    assert served.stdout == "part\npart\nhello all\npart\n"


def test_only_servers_that_load_are_written(places: Places, tmp_path: Path) -> None:
    """Another database, no dockerfile, nothing that serves, or an id that is taken: each is said, and nothing is written."""
    tests = {
        "default": KEYS,
        "mysql": {**KEYS, "database": "MySQL"},
        "absent": KEYS,
        "out": {**KEYS, "dockerfile": "../pebble.dockerfile"},
        "silent": {**KEYS, "dockerfile": "silent.dockerfile"},
        "none": {"database": "None"},
    }
    home = framework(tmp_path, tests=tests, silent_dockerfile="FROM image\n")
    (tmp_path / "pebble.dockerfile").write_text(PLAIN)
    found = imports.import_servers(places, "techempower", home)
    assert [(one.test, one.cause) for one in found.tests] == [
        ("default", None),
        ("mysql", "its database is mysql"),
        ("absent", "there is no `pebble-absent.dockerfile`"),
        ("out", "there is no `../pebble.dockerfile`"),
        ("silent", "what serves could not be read"),
        ("none", "it has none of plaintext_url, json_url, db_url, query_url, fortune_url, update_url"),
    ]
    assert [path.name for path in places.servers.iterdir()] == ["pebble"]
    again = imports.import_servers(places, "techempower", home).tests[0]
    assert again.folder is None and again.cause == f"`{places.servers / 'pebble'}` exists already"


@pytest.mark.parametrize("command", ["/opt/theirs/run", "/usr/sbin/theirs"])
def test_what_only_the_base_image_has_cannot_serve(places: Places, tmp_path: Path, command: str) -> None:
    """A program that no line of the dockerfile puts there is said, and there is no server."""
    found, server = one_of(places, framework(tmp_path, f"FROM theirs\nCOPY . /app\nCMD {command}\n"))
    assert server is None and found.remarks == (f"pebble.dockerfile, line 3: `CMD {command}` names `{command}` of the image",)


@pytest.mark.parametrize(
    ("build", "needs", "missing"),
    [
        ("", (("sh", "-c", "command -v pebbled"),), ("pebbled",)),
        ("RUN pip install pebbled\n", (("python3", "--version"),), ()),
        ("RUN python3 -m venv /opt/e\nENV PATH=/opt/e/bin:$PATH\n", (("python3", "--version"),), ()),
    ],
)
def test_what_serves_is_a_need(
    places: Places, tmp_path: Path, build: str, needs: tuple[tuple[str, ...], ...], missing: tuple[str, ...]
) -> None:
    """A program from PATH that is no tool of a language must be there, unless what builds it brings it."""
    found, server = one_of(places, framework(tmp_path, f"FROM image\nCOPY . /app\n{build}CMD pebbled --port 1\n"))
    assert server is not None and (server.needs, found.missing) == (needs, missing)


def test_links_out_of_the_folder_are_left_out(places: Places, tmp_path: Path) -> None:
    """A link to somewhere else is named and not copied, and one within the folder is."""
    home = framework(tmp_path)
    (tmp_path / "own.key").write_text("mine")
    (home / "out.key").symlink_to(tmp_path / "own.key")
    (home / "in.js").symlink_to("main.js")
    found, server = one_of(places, home)
    assert server is not None and found.remarks == ("out.key: a link that leads elsewhere",)
    assert sorted(path.name for path in (server.folder / "files").iterdir() if path.is_symlink()) == ["in.js"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "has no list `tests`"),
        ('{"tests": {}}', "has no list `tests`"),
        (None, "there is no `benchmark_config.json` in"),
    ],
)
def test_a_folder_that_is_no_frameworks(places: Places, tmp_path: Path, text: str | None, said: str) -> None:
    """It is wrong input, said in one sentence."""
    if text is not None:
        (tmp_path / "benchmark_config.json").write_text(text)
    with pytest.raises(LabError, match=said) as caught:
        imports.import_servers(places, "techempower", tmp_path)
    assert caught.value.exit_code == 2


def test_a_contract_without_rules_has_no_imports(places: Places, tmp_path: Path) -> None:
    """The contracts that have rules are named."""
    with pytest.raises(LabError, match="nothing can be imported for `seeds`") as caught:
        imports.import_servers(places, "seeds", framework(tmp_path))
    assert caught.value.hint == "contracts with rules for it: techempower"
