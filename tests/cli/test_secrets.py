"""What a person gives and nobody else may read is in nothing that the command line prints, keeps or shows in the process list."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from builders.stored import head
from builders.waiting import eventually
from cli.command import PLAIN, Run, stored
from fairground import records
from fairground.model.record import RecordKind, TryAsked
from report.fixture import one_block

WORD = "S3cr3t-pa55"
HERE = "http://127.0.0.1:9/"
DATABASE = f"postgresql://lab:{WORD}@127.0.0.1:9/postgres"
MEASURING = (
    ("run", "-s", "alder-one", "-w", "ping"),
    ("compare", "alder-one:plain", "alder-one:fancy"),
    ("capacity", "-s", "alder-one:plain"),
    ("cross-check", "-s", "alder-one:plain", "--generator", "engine"),
    ("check", "alder-one"),
    ("why", "latest", "alder-one", "ping"),
    ("demo", "--seats", "nonsense"),
    ("replicate", "nonsense"),
)
"""Each verb that takes a database, and ends before it measures."""


def leaks(folder: Path) -> list[str]:
    """The files below a folder in which the planted secret is."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(str(path.relative_to(folder)) for path in files if WORD.encode() in path.read_bytes())


UNREADABLE = (
    f"postgresql://lab:p@{WORD}@127.0.0.1/x",
    f"postgresql://lab:p/{WORD}@127.0.0.1/x",
    f"postgresql://lab:1/{WORD}@127.0.0.1/x",
    f"postgresql://lab:%zz{WORD}@127.0.0.1/x",
    f"host=127.0.0.1 port=9 password={WORD}",
    f"host=127.0.0.1 {WORD}",
)
"""Passwords with characters that should be percent-encoded, and other spellings."""


@pytest.mark.parametrize(
    ("verb", "database"), [*((verb, DATABASE) for verb in MEASURING), *((("check", "alder-one"), one) for one in UNREADABLE)]
)
def test_a_database_that_is_of_no_use_is_refused_without_its_password(
    lab: Run, tmp_path: Path, verb: tuple[str, ...], database: str
) -> None:
    """Nobody listens, or libpq cannot read it: the error says so without a piece of the password, and no record has it."""
    done = lab(*verb, *(() if verb[0] in ("demo",) else ("--servers", "servers")), "--results", "results", "--database", database)
    assert done.returncode in (2, 3), done.stderr
    assert WORD not in done.stdout + done.stderr and leaks(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        (f"http://me:{WORD}@127.0.0.1:9/",),
        (f"http://127.0.0.1:9/a b?token={WORD}",),
        (f"http://127.0.0.1:x/?api_key={WORD}",),
        (f"ftp://127.0.0.1:9/?token={WORD}",),
        (f"me:{WORD}@127.0.0.1:9",),
        (f"http://127.0.0.1:9/x?token={WORD}", "--no-load"),
        (f"--url=http://127.0.0.1:9/x?a=1&token={WORD}=", "--no-load"),
        (HERE, "--header", f"Authorization Bearer {WORD}"),
        (HERE, f"--header=Cookie: ä {WORD}"),
        (HERE, f"-HX-Api-Key: {WORD}", "--slo", "fast"),
        (HERE, "--method", "POST", "--body", f'{{"password": "{WORD}"}}', "--no-load"),
        (HERE, "./server", f"PGPASSWORD={WORD}"),
        (HERE, f"--token={WORD}"),
        (HERE, f"--no-load=password={WORD}"),
        ("--url", HERE, "--", "env", f"PGPASSWORD={WORD}", "no-such-program"),
        ("--url", HERE, "--", "no-such-program", "--db-password", WORD),
    ],
)
def test_an_attempt_that_fails_is_told_without_secrets(lab: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Wrong input and a service that is not there, with a secret in each place where one can be."""
    done = lab("try", *words, "--results", "results")
    assert done.returncode in (2, 3), done.stderr
    assert done.stderr.count("error: ") == 1 and WORD not in done.stdout + done.stderr and leaks(tmp_path) == []


def test_a_record_of_an_earlier_lab_is_shown_without_its_secrets(lab: Run, tmp_path: Path) -> None:
    """A command that was kept with its password is listed, reported and published without it; the rest of it stays."""
    run = one_block()
    command = f"./fairground run suites/x.toml --database '{DATABASE}' --label /tokens"
    folder = stored(replace(run, plan=replace(run.plan, command=command)), tmp_path / "results")
    assert leaks(tmp_path) == [f"results/{folder.name}/head.json"], "as it was kept by an earlier lab"
    told = [
        lab("list", "runs", "--results", "results"),
        lab("list", "runs", "--results", "results", "--json"),
        lab("report", "--results", "results"),
        lab("report", "--results", "results", "--json"),
        lab("report", "--results", "results", "--site", "site"),
    ]
    for done in told:
        assert done.returncode == 0 and WORD not in done.stdout + done.stderr
    assert leaks(tmp_path) == [f"results/{folder.name}/head.json"]
    assert "postgresql://lab:(hidden)@127.0.0.1:9/postgres" in (folder / "report.html").read_text()
    assert "/tokens" in (folder / "report.html").read_text()


def test_a_try_of_an_earlier_lab_is_shown_without_its_secrets(lab: Run, tmp_path: Path) -> None:
    """The URL of a kept request loses the value that tells, on its page and in JSON; its path stays."""
    asked = TryAsked(
        f"http://127.0.0.1:9/tokens?token={WORD}", "GET", (("X-Api-Key", WORD), ("X-Request-Id", "abc")), None, "p99<50ms", 1, 1000,
        False, False, None,
    )  # fmt: skip
    begun = replace(head(RecordKind.TRY), versions={"fairground": "1"}, asked=asked)
    folder = records.create(tmp_path / "results", "try", begun).folder
    assert WORD in (folder / "head.json").read_text(), "as it was kept by an earlier lab"
    for words in ((folder.name,), (folder.name, "--json"), ("--site", "site")):
        done = lab("report", *words, "--results", "results")
        assert done.returncode == 0 and WORD not in done.stdout + done.stderr
    assert leaks(tmp_path) == [f"results/{folder.name}/head.json"]
    assert "/tokens?token=(hidden)" in (folder / "try.html").read_text()


def test_records_are_for_their_owner_and_pages_for_everybody(lab: Run, tmp_path: Path) -> None:
    """What may hold a secret has the mode 600, folders of raw data 700, and a page the usual one."""
    run = one_block()
    before = os.umask(0o022)
    try:
        folder = stored(run, tmp_path / "results")
        raw = records.trial_folder(folder, run.plan.slots[0], 1)
        assert lab("report", "--results", "results").returncode == 0
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (raw, *folder.iterdir())}
    assert modes[raw.name] == 0o700
    assert {modes[name] for name in ("head.json", "entries.jsonl", "limits.jsonl", "database.json", "workloads.json")} == {0o600}
    assert modes["report.html"] == modes["summary.csv"] == 0o644 and modes["trials"] == 0o755
    assert {stat.S_IMODE(page.stat().st_mode) for page in (folder / "trials").glob("*.html")} == {0o644}


# ---------------------------------------------------------------- the process list


def processes(word: str) -> list[str]:
    """The command lines on this machine in which a word is."""
    found = list[str]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


@contextmanager
def waiting(words: tuple[str, ...], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command line while it waits for a file that nobody has written yet."""
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-m", "fairground", *words], env=os.environ | PLAIN | {"CI": "1"}, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    opened = list[int]()

    def is_read() -> bool:
        try:
            opened.append(os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    assert eventually(is_read)
    try:
        yield process
    finally:
        os.write(opened[0], b"nonsense")
        os.close(opened[0])
        process.communicate(timeout=60)


@pytest.mark.live
@pytest.mark.parametrize(
    "words",
    [
        ("try", HERE, "-H", "Cookie: sid={}", "--header", "@pipe"),
        ("try", "http://127.0.0.1:9/x?api_key={}", "--header", "@pipe"),
        ("try", "--url", HERE, "--header=@pipe", "--", "env", "PGPASSWORD={}", "./server", "--port", "3000"),
        ("try", HERE, "--method", "POST", "--body", '{{"password": "{}"}}', "--header", "@pipe"),
        ("try", "--url", HERE, "--header=@pipe", "--", "mysql", "-h", "127.0.0.1", "-p{}", "shop"),
    ],
)
def test_the_process_list_does_not_show_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    """While the lab runs its words are there without the secret in them, and the other words stand as they were typed."""
    word = f"{WORD}-{os.getpid()}"
    typed = tuple(one.format(word) for one in words)
    with waiting(typed, tmp_path) as process:
        assert processes(word) == []
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"(hidden)" in shown and shown.split(b"\0")[3] == words[0].encode()


@pytest.mark.live
def test_a_honest_command_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    """Nothing is changed where nothing is secret."""
    words = ("try", "http://127.0.0.1:9/tokens?page=1", "-H", "X-Request-Id: abc", "--header", "@pipe")
    with waiting(words, tmp_path) as process:
        assert Path(f"/proc/{process.pid}/cmdline").read_bytes().endswith(b"\0".join(map(str.encode, words)) + b"\0")


# ---------------------------------------------------------------- from a file


def test_a_database_is_read_from_a_file(lab: Run, tmp_path: Path) -> None:
    """`--database @FILE` is the URL in the file; a file that is not there is named."""
    (tmp_path / "url").write_text(f"{DATABASE}\n")
    done = lab("check", "alder-one", "--servers", "servers", "--results", "results", "--database", "@url")
    assert done.returncode == 2 and "cannot connect to the given database" in done.stderr and WORD not in done.stderr
    done = lab("check", "alder-one", "--servers", "servers", "--database", "@absent")
    assert done.returncode == 2 and "error: `--database @absent` cannot be read (No such file or directory)" in done.stderr


def test_headers_are_read_from_a_file(lab: Run, tmp_path: Path) -> None:
    """`--header @FILE` has one header a line; one that is none is wrong input, and is not shown."""
    (tmp_path / "headers").write_text(f"Accept: text/html\n\nAuthorization: Bearer {WORD}\n")
    done = lab("try", HERE, "--header", "@headers", "--no-load", "--results", "results")
    assert done.returncode == 3 and "got no answer" in done.stderr
    (tmp_path / "headers").write_text(f"Accept: text/html\n{WORD}\n")
    done = lab("try", HERE, "--header", "@headers", "--results", "results")
    assert done.returncode == 2 and done.stderr.startswith("error: `--header @headers` should be a name and a value\n")


def test_who_types_a_secret_is_told_of_files(lab: Run) -> None:
    """One sentence names the alternatives, where something is begun; an honest command has none."""
    done = lab("try", HERE, "-H", f"Cookie: sid={WORD}", "--no-load", "--results", "results")
    assert "this command line holds a secret" in done.stderr and "`--header @FILE`" in done.stderr
    done = lab("try", HERE, "-H", "X-Request-Id: abc", "--no-load", "--results", "results")
    assert done.returncode == 3 and "holds a secret" not in done.stderr


@pytest.mark.live
def test_a_build_that_fails_says_no_secret_of_the_environment(lab: Run, tmp_path: Path) -> None:
    """A build sees the whole environment. No word of the command has a sign that would tell of a secret."""
    path = tmp_path / "servers" / "alder-one" / "server.toml"
    told = re.sub(r"(?m)^build .*$", 'build = [["sh", "-c", "echo error of $API_TOKEN; exit 1"]]', path.read_text())
    path.write_text(told)
    done = lab("run", "-s", "alder-one", "-w", "ping", "--servers", "servers", "--results", "results", API_TOKEN=WORD)
    assert done.returncode == 3 and "error of (hidden)" in done.stderr and WORD not in done.stdout + done.stderr
    assert leaks(tmp_path) == []
