"""What a person gives and nobody else may read, while something is measured: records, logs, pages, streams, the process list."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from builders import quiet
from builders.paths import ROOT
from fairground.host import free_port
from fairground.postgres import Database

pytestmark = pytest.mark.live

ECHO = """
import base64, http.server, os, sys

print("began with", dict(os.environ), flush=True)
answers = -20


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global answers
        answers += 1  # so that those of the checks are all right
        body = f"{self.path}\\n{self.headers}".encode()
        self.send_response(200 if answers < 0 or answers % 50 else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        print("was sent", sent, flush=True)
        body = b'{"given": "%s"}' % sent.split('"')[3].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_response(self, status):
        login = self.headers.get("Authorization", "")
        if login.startswith("Basic "):
            login = base64.b64decode(login[6:]).decode()
        print(f"came from {login}\\n", end="", flush=True)
        super().send_response(status)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
"""
"""A service that says whatever it was given, and an error now and then."""
MANIFEST = """
title = "Teller"
language = "Python"
homepage = "https://example.com"
about = "Tells where its database is."
needs = [["python3", "--version"]]
build = []
version = ["python3", "--version"]
serve = ["sh", "-c", 'echo "$DATABASE_URL" >&2; exec python3 serve.py']
[variants.one]
about = "as it comes"
approach = "engine"
"""

LOOK_S = 0.05
"""How often the command lines of this machine are read."""


def lines_with(word: str) -> set[str]:
    """The command lines on this machine in which a word is."""
    found = set[str]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if word.encode() in line:
            found.add(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def ended(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code once it has ended, and none where it has not a moment later: who looked all the time would take its processor."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(LOOK_S)
    return None


def measured(words: tuple[str, ...], word: str, folder: Path) -> tuple[int, str]:
    """Run the lab with these words. From its first sentence to its end no command line may show the word; its code and output."""
    said, shown = folder / "said", set[str]()
    environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
    with said.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairground", *words], env=environment, cwd=folder, stdout=stream, stderr=stream
        )
        try:
            while (code := ended(process)) is None:
                if said.stat().st_size:
                    shown |= lines_with(word)
        finally:
            process.kill()
            process.wait()
    assert shown == set()
    return code, said.read_text()


def leaks(word: str, folder: Path) -> list[str]:
    """The files below a folder that hold the word, in letters or in base64."""
    forms = {word.encode()}
    for before in range(3):  # so many bytes of a group of three stand before it
        encoded = base64.b64encode(bytes(before) + word.encode())
        forms.add(encoded[before + 1 if before else 0 : (before + len(word)) * 8 // 6])
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(str(path.relative_to(folder)) for path in files if any(form in path.read_bytes() for form in forms))


def test_an_echo_of_secrets_is_kept_nowhere(tmp_path: Path) -> None:
    """A service that writes its environment into its log, and its request into right and wrong answers."""
    word, port = f"S3cr3t-{os.getpid()}", free_port()
    (tmp_path / "echo.py").write_text(ECHO)
    words = (
        "try", "--url", f"http://127.0.0.1:{port}/tokens?token={word}&page=1", "-H", f"Authorization: Bearer {word}",
        f"-HCookie: sid={word}; theme=dark", "-H", "X-Request-Id: abc", "--window", "1", "--slo", "p50<2s,errors<50%",
        "--results", "results", "--", "env", f"PGPASSWORD={word}", sys.executable, "echo.py", str(port),
    )  # fmt: skip
    code, said = measured(words, word, tmp_path)
    assert code in (0, 1) and word not in said and "/tokens?token=(hidden)" in said, said
    (folder,) = (tmp_path / "results").iterdir()
    assert leaks(word, tmp_path) == []
    head, log = (folder / "head.json").read_text(), (folder / "server.log").read_text()
    assert "'X-Request-Id: abc'" in head and "'PGPASSWORD': '(hidden)'" in log, "what is no secret stays"
    assert (folder / "try.html").is_file() and list(folder.glob("load-*"))


LOGIN = """
[data.people]
rows = [{ name = "ada", code = "%s" }]
[data.visits]
for_each = "people"
request = { method = "POST", path = "/login", body = '{{"password": "{people.code}"}' }
keep = { mark = "given" }
[[request]]
path = "/orders"
headers = { authorization = "Bearer {visits.mark}" }
[[request]]
path = "/"
"""
"""Requests with a login, whose columns have names that tell nothing."""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-H", "Authorization: Basic @"), ""),
        (("--method", "POST", "--body", "@file"), '{"password": "%s"}'),
        (("--requests", "file.toml"), LOGIN),
    ],
    ids=["a login in base64", "a body of a file", "a login of a file"],
)
def test_what_a_secret_says_is_a_secret(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    """The password in a header of base64 or in a file, and what a login gave, in the log of the service; its other words stay."""
    word, port = f"S3cr3t-{os.getpid()}", free_port()
    (tmp_path / "echo.py").write_text(ECHO)
    if text:
        (tmp_path / words[-1].removeprefix("@")).write_text(text % word)
    login = base64.b64encode(f"me:{word}".encode()).decode()
    typed = tuple(one.replace("Basic @", f"Basic {login}") for one in words)
    command = ("--no-load", "--results", "results", "--", sys.executable, "echo.py", str(port))
    code, said = measured(("try", "--url", f"http://127.0.0.1:{port}/", *typed, *command), word, tmp_path)
    assert code in (0, 1) and word not in said, said
    (folder,) = (tmp_path / "results").iterdir()
    assert leaks(word, tmp_path) == ([words[-1].removeprefix("@")] if text else [])
    log = (folder / "server.log").read_text()
    assert "(hidden)" in log and "came from" in log, "it has said it"


@contextmanager
def given(database: Database, word: str) -> Iterator[str]:
    """A URL for the session's database as one who may make databases and no roles, so that servers log in with the password."""
    database.drop_arms()  # another role could not drop those of earlier tests
    with database.connect("postgres") as connection:
        connection.execute(f"CREATE ROLE somebody_secret LOGIN CREATEDB PASSWORD '{word}'".encode())
        connection.execute("GRANT CONNECT ON DATABASE postgres TO somebody_secret")
        try:
            address = database.admin
            yield f"postgresql://somebody_secret:{word}@{address.host}:{address.port}/postgres"
        finally:
            database.drop_arms()
            names = "SELECT datname FROM pg_database WHERE datdba = 'somebody_secret'::regrole"
            for (name,) in connection.execute(names.encode()).fetchall():
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
            connection.execute("DROP OWNED BY somebody_secret")
            connection.execute("DROP ROLE somebody_secret")


def put_teller(servers: Path) -> None:
    """Put a server there that tells where its database is."""
    shutil.copytree(ROOT / "tests" / "zoo" / "healthy", servers / "teller")
    shutil.copytree(ROOT / "tests" / "zoo" / "animal", servers / "animal")
    (servers / "teller" / "server.toml").write_text(MANIFEST)


def test_the_password_of_a_given_database_is_kept_nowhere(database: Database, tmp_path: Path) -> None:
    """A server that writes its `DATABASE_URL` to its standard error, beside the run's own lines, records and pages."""
    word = f"S3cr3t-{os.getpid()}"
    put_teller(tmp_path / "servers")
    with given(database, word) as url:
        words = (
            "run", "-s", "teller", "-w", "db-ping", "--servers", "servers", "--results", "results", "--blocks", "1", "--window",
            "1", "--warmup", "1", "--connections", "4", f"--database={url}",
        )  # fmt: skip
        code, said = measured(words, word, tmp_path)
    assert code in (0, 1, 3) and word not in said and "report  results" in said, said
    assert leaks(word, tmp_path) == []
    (folder,) = (tmp_path / "results").iterdir()
    assert "postgresql://somebody_secret:(hidden)@" in (folder / "trials" / "0001.html").read_text()
    logs = [log.read_text() for log in folder.glob("trials/*/server.log")]
    assert logs and all("postgresql://somebody_secret:(hidden)@" in log for log in logs), "it has said it"


MEASURING = (
    ("run", "-s", "teller", "-w", "db-ping", "--window", "1", "--warmup", "1", "--connections", "4", "--blocks", "1"),
    ("why", "latest", "teller:one", "db-ping", "--reason", "too-few-connections", "--budget", "15s"),
    ("compare", "teller:one", "teller:one", "-w", "db-ping", "--budget", "15s"),
    ("capacity", "-s", "teller", "-w", "db-ping", "--connections", "20", "--budget", "60s"),
    ("check", "teller"),
)
"""Each verb that measures a server beside a database."""


@pytest.mark.nightly
def test_no_verb_that_measures_keeps_the_password_of_a_database(database: Database, tmp_path: Path) -> None:
    """Whatever they write, say, or start; nor has any page that is made of it later."""
    word = f"S3cr3t-{os.getpid()}"
    put_teller(tmp_path / "servers")
    places = ("--servers", "servers", "--results", "results")
    with given(database, word) as url:
        for words in MEASURING:
            code, said = measured((*words, *places, f"--database={url}"), word, tmp_path)
            assert code in (0, 1, 3) and word not in said, said
            assert leaks(word, tmp_path) == [], words
    for words in (("report", "latest"), ("report", "--site", "site"), ("list", "runs")):
        code, said = measured((*words, "--results", "results"), word, tmp_path)
        assert code == 0 and word not in said, said
    assert leaks(word, tmp_path) == []
    logs = [[log.read_text() for log in folder.rglob("server.log")] for folder in (tmp_path / "results").iterdir()]
    assert len(logs) == len(MEASURING) and all(some and "(hidden)@" in some[0] for some in logs), "each server has said it"


NOTHING_THERE = (
    ("host", "serve", "--address", "tls://lab:{}@127.0.0.1:99999"),
    ("host", "share", "--name", "token={}", "--hosts", "lab:{}@127.0.0.1:1"),
    ("host", "join", "lab:{}@127.0.0.1"),
    ("serve", "--host", "http://me:{}@127.0.0.1"),
    ("serve", "--servers", "postgres://lab:{}@h/x"),
    ("new", "mine", "--from", "postgresql://lab:{}@h/x"),
    ("new", "password={}", "--from", "nobody"),
    ("init", "mine", "--openapi", "https://{}@h/x", "--name", "api_key={}"),
    ("init", "mine", "--database", "postgresql://lab:{}@127.0.0.1:1/x", "--schema-only"),
    ("clean", "--results", "token={}"),
    ("clean", "token={}"),
    ("doctor", "postgresql://lab:{}@h/x"),
    ("list", "cookie={}"),
    ("report", "postgresql://lab:{}@h/x", "--results", "."),
    ("demo", "--seats", "token={}"),
)
"""Verbs that take no secret, each with one in the words that it takes; `{}` stands for it."""


@pytest.mark.parametrize("words", NOTHING_THERE, ids=" ".join)
def test_a_secret_in_the_wrong_place_is_shown_nowhere(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a verb makes of it, the secret is in no sentence, no file and no command line; nor is one of the environment."""
    word = f"S3cr3t-{os.getpid()}"
    monkeypatch.setenv("PGPASSWORD", word)
    monkeypatch.setenv("API_TOKEN", f"{word}-2")
    code, said = measured(tuple(one.format(word) for one in words), word, tmp_path)
    assert code in (0, 2), said
    assert said and word not in said
    assert leaks(word, tmp_path) == []


def test_the_verbs_that_only_show_have_no_secret_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor`, `clean` and `list` say what is there: of the environment nothing."""
    word = f"S3cr3t-{os.getpid()}"
    for name in ("PGPASSWORD", "DB_PASS", "API_TOKEN", "COOKIE"):
        monkeypatch.setenv(name, word)
    for words in (("doctor",), ("clean",), ("list",), ("list", "runs")):
        code, said = measured(words, word, tmp_path)
        assert code in (0, 1) and word not in said, words
    assert leaks(word, tmp_path) == []
