"""The command line as a person meets it: helps, lists, plans, and what it says to wrong input."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fairground import store
from fairground.cli import verbs
from fairground.model import Cell, Durability, Ending, Load, PoolScope, Settings, Topology, Trial
from fairground.report import again
from report.fixture import six_blocks
from test_store import full

ROOT = Path(__file__).resolve().parents[1]
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
Golden = Callable[[Path, str], None]
GOLDEN = Path(__file__).parent / "golden" / "cli"
VERBS = tuple(str(command.name or command.callback.__name__) for command in verbs.app.registered_commands if command.callback)

MANIFEST = """
title    = "{title}"
language = "C"
homepage = "https://example.com"
about    = "For tests of the command line."
needs    = [["{need}"]]
build    = []
version  = ["true"]
serve    = ["true"]
[variants.plain]
about = "as it comes"
[variants.fancy]
about = "with more"
"""


@pytest.fixture
def lab(tmp_path: Path, fairground: Run) -> Run:
    """Runs the command line on two made-up servers, with a cache and results of its own."""
    for name, need in (("alder-one", "true"), ("birch-two", "no-such-compiler")):
        folder = tmp_path / "servers" / name
        folder.mkdir(parents=True)
        (folder / "server.toml").write_text(MANIFEST.format(title=name.title(), need=need))
        (folder / "main.c").write_text("int main;")
        (folder / "out").write_text("built")
        (folder / ".gitignore").write_text("out\n")

    def run(*words: str, **environment: str) -> Done:
        return fairground(*words, cwd=tmp_path, FAIRGROUND_CACHE=str(tmp_path / "cache"), **environment)

    return run


PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "PYTHONPATH": str(ROOT / "src")}
"""A plain log of a hundred columns."""

FORKING = """
import json, os, sys
from fairground.cli import lab, main, verbs
lab.Places().load_servers()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(order["cwd"])
        os.environ.update(order["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, path in ((1, order["stdout"]), (2, order["stderr"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.argv = ["fairground", *order["words"]]
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs the command line once for each order, each time in a process of its own that has all imports behind it: they take longer
than most verbs."""


@pytest.fixture(scope="module")
def fairground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run of the command line in a process of its own: its exit code, standard output and standard error."""
    place = tmp_path_factory.mktemp("cli")
    inherited = {name: value for name, value in os.environ.items() if name not in ("GITHUB_ACTIONS", "CI", "FORCE_COLOR")}
    server = subprocess.Popen(
        [sys.executable, "-c", FORKING], env=inherited | PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    orders, codes, files = server.stdin, server.stdout, {name: str(place / name) for name in ("stdout", "stderr")}

    def run(*words: str, cwd: Path = ROOT, **environment: str) -> Done:
        orders.write(json.dumps({"words": words, "cwd": str(cwd), "environment": environment, **files}) + "\n")
        orders.flush()
        code = int(codes.readline())
        return subprocess.CompletedProcess(words, code, *(Path(file).read_text() for file in files.values()))

    yield run
    orders.close()
    server.wait()


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, fairground: Run, golden: Golden) -> None:
    """The help of every verb, word for word, on standard output."""
    done = fairground(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    golden(GOLDEN / f"{verb}.txt", done.stdout)


def test_help_of_the_whole(fairground: Run, golden: Golden) -> None:
    """The help of the whole, word for word; the same without any word, and with `-h`."""
    helps = [fairground(*words) for words in (("--help",), (), ("-h",))]
    assert [(done.returncode, done.stderr) for done in helps] == [(0, "")] * 3
    assert len({done.stdout for done in helps}) == 1
    golden(GOLDEN / "fairground.txt", helps[0].stdout)


def test_every_golden_help_is_of_a_verb() -> None:
    """No help of a verb that is gone stays behind."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*VERBS, "fairground"}


def test_help_shows_how() -> None:
    """Every help has an example that begins as a person would type it, and fits the width."""
    for path in GOLDEN.glob("*.txt"):
        text = path.read_text()
        assert re.search(r"Examples?:\s+\./fairground", text), path.name
        assert max(len(line) for line in text.splitlines()) <= 100, path.name


def test_version() -> None:
    """`python -m fairground --version` prints the version of pyproject.toml."""
    done = subprocess.run(
        [sys.executable, "-m", "fairground", "--version"], env=os.environ | PLAIN, capture_output=True, text=True
    )
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert done.returncode == 0 and done.stdout.startswith(f"fairground {declared[1]}")


def test_exit_code_of_the_module() -> None:
    """`python -m fairground` ends with the verb's own exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "fairground", "list", "wishes"], env=os.environ | PLAIN, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no list of `wishes`\n")


# ---------------------------------------------------------------- wrong input

RUN = ("run", "--servers", "servers", "--dry-run")
ONE = (*RUN, "--stack", "alder-one", "--workload", "ping")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("xyzzy",), "no such command 'xyzzy'", "./fairground --help"),
        (("lst",), "no such command 'lst'. Did you mean 'list'?", "./fairground --help"),
        (
            ("run", "--conections", "5"),
            "no such option: --conections (Possible options: --connections, --controls, --no-controls)",
            "./fairground run --help",
        ),
        (("run",), "name either a suite or at least one `--stack`", "./fairground run suites/demo.toml, or: run --stack SERVER"),
        (
            (*RUN, "suites/demo.toml", "--stack", "alder-one"),
            "name either a suite or at least one `--stack`",
            "./fairground run suites/demo.toml, or: run --stack SERVER",
        ),
        (
            (*RUN, "suites/absent.toml"),
            "`suites/absent.toml` cannot be read (No such file or directory)",
            "check the path and its permissions",
        ),
        (
            (*RUN, "--stack", "alder-on"),
            "there is no stack `alder-on`",
            "did you mean `alder-one` or `alder-one:plain` or `alder-one:fancy`?",
        ),
        ((*RUN, "--stack", "alder-one:fanci"), "there is no stack `alder-one:fanci`", None),
        ((*RUN, "--stack", "zzz"), "there is no stack `zzz`", "`./fairground list` shows them all"),
        (
            (*RUN, "--stack", "alder-one", "--workload", "absent"),
            "the suite names a workload `absent` that does not exist",
            "workloads: db-ping, db-time, lookup, ping, time, transfer, transfer-ordered, tx, users",
        ),
        ((*RUN, "--stack", "alder-one", "--scale", "0"), "`--scale 0` should be more than 0", None),
        ((*ONE, "--blocks", "0"), "`--blocks 0` should be more than 0", None),
        ((*ONE, "--budget", "soon"), "`--budget soon` should be a time", "for instance --budget 90s, --budget 5m or --budget 1h"),
        ((*ONE, "--anchor", "alder-one"), "`alder-one` has 2 stacks", "name one: alder-one:plain, alder-one:fancy"),
        (
            (*ONE, "--anchor", "birch-two:plain"),
            "the anchor `birch-two:plain` is not in the plan",
            "it has alder-one:fancy, alder-one:plain",
        ),
        ((*ONE, "--window", "0"), "`--window 0.0` should be more than 0", None),
        ((*ONE, "--window", "nan"), "`--window nan` should be more than 0", None),
        ((*ONE, "--workers", "-1"), "`--workers -1` should be more than 0", None),
        ((*ONE, "--timeout-ms", "0"), "`--timeout-ms 0` should be more than 0", None),
        (("list", "wishes"), "there is no list of `wishes`", "lists: stacks, workloads, suites, topologies, runs"),
        (("list", "--servers", "absent"), "there is no folder `absent` to read servers from", "start the lab in its checkout"),
        (("check", "--servers", "servers"), "name a stack, or say `--all`", "./fairground check SERVER"),
        (
            ("check", "--servers", "servers", "birch-tow"),
            "there is no stack `birch-tow`",
            "did you mean `birch-two` or `birch-two:plain` or `birch-two:fancy`?",
        ),
        (("report", "--results", "none"), "there is no run in `none`", "make one with `./fairground demo`"),
        (
            ("run", "--resume", "latest", "--results", "none"),
            "there is no run in `none`",
            "make one with `./fairground demo`",
        ),
        (("new", "mine", "--servers", "servers"), "say which server to copy", "--from alder-one|birch-two"),
        (
            ("new", "mine", "--servers", "servers", "--from", "zzz"),
            "there is no server `zzz` to copy",
            "--from alder-one|birch-two",
        ),
        (
            ("new", "My_Server", "--servers", "servers", "--from", "alder-one"),
            "`My_Server` is no id for a server",
            "use a–z, 0–9 and -",
        ),
        (
            ("new", "../mine", "--servers", "servers", "--from", "alder-one"),
            "`../mine` is no id for a server",
            "use a–z, 0–9 and -",
        ),
        (
            ("new", "birch-two", "--servers", "servers", "--from", "alder-one"),
            "`servers/birch-two` exists already",
            "choose another id",
        ),
        (("clean", "--yes"), "say what to remove", "--builds, --databases, --runs"),
    ],
)
def test_wrong_input(lab: Run, words: tuple[str, ...], message: str, hint: str | None) -> None:
    """Wrong input ends with exit code 2, one sentence on what is wrong and, where there is one, a hint; nothing on stdout."""
    done = lab(*words)
    said = done.stderr.replace("\n\nhint: ", "\nhint: ").splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert said[0] == "error: " + message
    if hint is not None:
        assert said[1:] == [f"hint: {hint}"]
    assert len(said) <= 2


@pytest.mark.parametrize("text", ["abc", "", "0", "-5", "1.5", "10,,20", "10,x", "nan", "inf", "1e3"])
def test_bad_connections(lab: Run, text: str) -> None:
    """Connections are whole numbers from 1, and anything else is said to be wrong."""
    done = lab(*ONE, f"--connections={text}")
    problem, hint = (
        f"`--connections {text}` should be whole numbers from 1, separated by commas",
        "for instance --connections 10,100",
    )
    wanted = f"error: {problem}\n\nhint: {hint}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", wanted)


@pytest.mark.parametrize("text", ["5", "5,2", "1,2,3", "-1,2", "a,b", "nan,nan", "1,inf"])
def test_bad_warmup(lab: Run, text: str) -> None:
    """A warm-up is a range of seconds."""
    done = lab(*ONE, f"--warmup={text}")
    wanted = f"error: `--warmup {text}` should be two numbers, the smaller first\n\nhint: for instance --warmup 2,20\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", wanted)


CAPACITY = ("capacity", "--servers", "servers")
HERE = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (CAPACITY, "name at least one `--stack`", "./fairground capacity --stack SERVER:VARIANT"),
        ((*CAPACITY, "-s", "alder-on"), "there is no stack `alder-on`", None),
        ((*CAPACITY, "-s", "alder-one", "-w", "pong"), "there is no workload `pong`", None),
        ((*CAPACITY, "-s", "alder-one", "--slo", "p99<50"), "`p99<50` in `--slo` has no unit", None),
        (
            (*CAPACITY, "-s", "alder-one", "--budget", "soon"),
            "`--budget soon` should be a time",
            "for instance --budget 90s, 5m or 1h",
        ),
        (
            (*CAPACITY, "-s", "alder-one", "--budget", "90s"),
            "`--budget 90s` leaves 45 s for each of 2 cells, and one needs 60",
            "--budget 2m",
        ),
        ((*CAPACITY, "-s", "alder-one", "--width", "0"), "`--width 0.0` should be more than 0", None),
        ((*CAPACITY, "-s", "alder-one", "--pool-wait-ms", "-1"), "`--pool-wait-ms -1` should be 0 or more", None),
        (("try",), "the URL of the service is missing", None),
        (("try", "--", "./my-server"), "the URL of the service is missing", None),
        (("try", HERE, "--url", HERE), "two URLs are given", "leave out `--url`, or give a command after `--`"),
        (("try", HERE, "./my-server"), "`./my-server` follows the URL", None),
        (("try", "https://127.0.0.1/"), "`https://127.0.0.1/` is encrypted, and the load engine speaks plain HTTP/1.1", None),
        (("try", "ftp://127.0.0.1/"), "`ftp://127.0.0.1/` is no http URL", "for instance http://127.0.0.1:3000/"),
        (("try", "http://127.0.0.1:x/"), None, "for instance http://127.0.0.1:3000/"),
        (("try", "http://me:secret@127.0.0.1/"), "a name and password in a URL are not sent", "--header 'Authorization: …'"),
        (("try", "http://127.0.0.1/ä"), "`/ä` should be percent-encoded", None),
        (
            ("try", "http://192.0.2.1/"),
            "`192.0.2.1` is not this machine, and load against other people's machines is an attack",
            "if it is yours: --i-own-this-host",
        ),
        (("try", HERE, "--body", "x"), "a GET has no body", "add --method POST"),
        (("try", HERE, "--method", "G T"), "`--method G T` is no method", None),
        (("try", HERE, "--method", "POST", "--body", "@absent"), None, "a text file in UTF-8"),
        (("try", HERE, "-H", "nonsense"), "`--header nonsense` should be a name and a value", None),
        (
            ("try", HERE, "-H", "Connection: close"),
            "`--header Connection` cannot be given: the lab frames its requests itself",
            None,
        ),
        (("try", HERE, "--slo", "fast"), "`fast` in `--slo` is no objective", None),
        (("try", HERE, "--seconds", "0"), "`--seconds 0` should be more than 0", None),
    ],
)
def test_wrong_input_of_load(lab: Run, words: tuple[str, ...], message: str | None, hint: str | None) -> None:
    """Wrong input of `capacity` and `try` ends before anything is started, sent or written."""
    done = lab(*words)
    said = done.stderr.replace("\n\nhint: ", "\nhint: ").splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert said[0] == f"error: {message}" if message else said[0].startswith("error: `")
    if hint is not None:
        assert said[1:] == [f"hint: {hint}"]


def test_a_broken_manifest_stops_everything(lab: Run, tmp_path: Path) -> None:
    """A server.toml with a mistake is wrong input for every verb that reads servers, named with file, key and line."""
    broken = tmp_path / "servers" / "birch-two" / "server.toml"
    broken.write_text(broken.read_text().replace("serve ", "srve "))
    for words in (
        ("list",),
        ("run", "--stack", "alder-one", "--dry-run"),
        ("check", "alder-one"),
        ("new", "mine", "--from", "alder-one"),
    ):
        done = lab(*words, "--servers", "servers")
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("error: unknown key `srve` in `servers/birch-two/server.toml`, line 9\n"), words
        assert "did you mean `serve`?" in done.stderr


# ---------------------------------------------------------------- lists


def test_dry_run_marks_controls_and_tells_the_budget(lab: Run) -> None:
    """A plan that compares shows its controls, and `--no-controls` leaves them out; a budget says that it ends after whole blocks."""
    compares = (*ONE, "--blocks", "3")
    lines = lab(*compares).stdout.splitlines()
    assert sum("alder-one:plain ping direct c100  control: " in line for line in lines) == 6
    assert len(lines) == 3 * 4 + 1
    assert "control" not in lab(*compares, "--no-controls").stdout
    assert lab(*ONE, "--budget", "90s").stdout.splitlines()[-1].endswith("without builds, ended after whole blocks within 90 s")


CELL = Cell("alder-one:fancy", "tx", Topology(), Load(), Settings())
CELLS = (
    CELL,
    replace(CELL, load=Load(7, False, 1.5, 0.25, 3.0, 900, threads=2)),
    replace(CELL, load=Load(model="open", rate_per_s=250.5, arrivals="constant", generator="engine")),
    replace(CELL, workload="ping", load=Load(requests=5000, generator="ab")),
    replace(CELL, topology=Topology("nginx", "pgbouncer-tx", 40, 300)),
    replace(CELL, topology=Topology(pooler="pgcat-session")),
    replace(CELL, settings=Settings(3, 15, 0, False, Durability.DURABLE, 2, PoolScope.PER_WORKER, 1.5, 512)),
    replace(CELL, settings=Settings(pin=(("server", (0,)),), postgres=(("jit", "off"), ("work_mem", "8MB")))),
)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_a_trials_own_command_measures_its_cell(cell: Cell, lab: Run) -> None:
    """The command on a trial's page plans that very cell once, with the same stream of requests."""
    trial = replace(full(Trial), cell=cell, seed=987_654)
    words = shlex.split(again.command(trial))[1:]
    (slot,) = document(lab(*words, "--servers", "servers", "--dry-run", "--json"))["plan"]["slots"]
    assert slot["cell"] == json.loads(json.dumps(asdict(cell)))
    assert (slot["seed"], slot["control"]) == (987_654, None)


def test_report_tells_machines_what_the_page_says(lab: Run, tmp_path: Path) -> None:
    """`report --json` ends with the three sentences of the claim box and every stack against its anchor; a run without transfers
    cannot explain them."""
    run = six_blocks()
    folder = store.create(
        tmp_path / "results", run.plan, started_unix_s=run.started_unix_s, machine=run.machine, versions=run.versions,
        database_settings=run.database_settings, stacks=run.stacks, workloads=run.workloads,
    )  # fmt: skip
    for trial in run.everything:
        store.append(folder, trial)
    store.end(folder, Ending(6, "the time was up"))
    end = json.loads(lab("report", "--results", "results", "--json").stdout)
    assert (
        end["headline"][0] == "Of 12 comparisons of goodput with alder:inline on 3 workloads 9 are slower and 3 are equivalent."
    )
    assert len([row for row in end["comparisons"] if row["quantity"] == "goodput"]) == 12
    assert {row["anchor"] for row in end["comparisons"]} == {"alder:inline"}
    assert len(list((folder / "trials").glob("*.html"))) == len(run.everything)
    told = lab("report", "--results", "results", "--transfer", "told.md")
    assert told.returncode == 0 and "<!-- transfer -->" in (tmp_path / "told.md").read_text()
    before = (tmp_path / "told.md").read_text()
    lab("report", "--results", "results", "--transfer", "told.md")
    assert (tmp_path / "told.md").read_text() == before


def document(done: Done) -> Mapping[str, Any]:
    """The JSON on standard output of a verb that succeeded."""
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert found["schema"] == 1
    return found


def test_list_of_workloads(fairground: Run) -> None:
    """`list workloads --json` is JSON with one object for each workload file; the plain list has one line for each."""
    ids = sorted(path.stem for path in (ROOT / "workloads").glob("*.toml"))
    rows = document(fairground("list", "workloads", "--json"))["workloads"]
    assert [row["id"] for row in rows] == ids
    assert all(set(row) == {"id", "title", "why", "request"} for row in rows)
    lines = fairground("list", "workloads").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ids


def test_list_of_suites(fairground: Run) -> None:
    """Every suite is listed by the path that `run` takes."""
    rows = document(fairground("list", "suites", "--json"))["suites"]
    assert [row["path"] for row in rows] == sorted(f"suites/{path.name}" for path in (ROOT / "suites").glob("*.toml"))


@pytest.mark.live
def test_list_of_stacks(lab: Run) -> None:
    """Stacks are listed with what keeps one from being runnable here; the talk about them is no data."""
    rows = document(lab("list", "--servers", "servers", "--json"))["stacks"]
    assert [(row["id"], row["state"], row["why"]) for row in rows] == [
        ("alder-one:plain", "not built", ""),
        ("alder-one:fancy", "not built", ""),
        ("birch-two:plain", "not here", "needs `no-such-compiler` on PATH"),
        ("birch-two:fancy", "not here", "needs `no-such-compiler` on PATH"),
    ]
    plain = lab("list", "--servers", "servers")
    assert plain.stdout.splitlines()[2].split() == [
        "birch-two:plain",
        "C",
        "Birch-Two",
        "not",
        "here",
        "needs",
        "`no-such-compiler`",
        "on",
        "PATH",
    ]
    assert plain.stderr == "4 stacks, 2 runnable here · more: list workloads · list topologies · list suites · list runs\n"


def test_list_of_no_runs(lab: Run) -> None:
    """Without a run the list of runs is empty, and that is no error."""
    assert document(lab("list", "runs", "--results", "none", "--json"))["runs"] == []


def test_what_is_no_run_is_listed_beside_the_runs(lab: Run, tmp_path: Path) -> None:
    """What `capacity`, `compare` and `try` left is listed with its page; `report` says where that is."""
    for name, kind in (("2026-01-02-030405-try", "try"), ("2026-01-02-040506-capacity", "capacity")):
        folder = tmp_path / "some" / name
        folder.mkdir(parents=True)
        (folder / f"{kind}.json").write_text("{}", encoding="utf-8")
    rows = document(lab("list", "runs", "--results", "some", "--json"))["runs"]
    assert [(row["id"], row["kind"], Path(row["page"]).name) for row in rows] == [
        ("2026-01-02-030405-try", "try", "try.html"),
        ("2026-01-02-040506-capacity", "capacity", "capacity.html"),
    ]
    listed = lab("list", "runs", "--results", "some")
    assert listed.code == 0 and "2026-01-02-040506-capacity" in listed.out
    asked = lab("report", "2026-01-02-04", "--results", "some")
    assert asked.code == 2
    assert "`2026-01-02-040506-capacity` is no run but of `capacity`" in asked.err and "capacity.html" in asked.err
    assert "there is no run in `some`" in lab("report", "latest", "--results", "some").err


# ---------------------------------------------------------------- plans


def test_dry_run(lab: Run, tmp_path: Path) -> None:
    """A dry run prints every trial in its order and the time that it takes, and makes nothing."""
    words = (*RUN, "--stack", "alder-one", "-w", "ping", "-w", "tx", "--connections", "10,100", "--blocks", "2", "--seed", "7")
    done = lab(*words)
    assert done.returncode == 0, done.stderr
    *trials, last = done.stdout.splitlines()
    assert re.fullmatch(r"16 trials, about \d.+ without builds", last)
    cells = [tuple(line.split()[2:]) for line in trials]
    assert [line.split()[0] for line in trials] == [str(number) for number in range(1, 17)]
    wanted = {
        (f"alder-one:{variant}", workload, "direct", load)
        for variant in ("plain", "fancy")
        for workload in ("ping", "tx")
        for load in ("c10", "c100")
    }
    assert {cell[1:] for cell in cells if cell[0] == "1"} == wanted == {cell[1:] for cell in cells if cell[0] == "2"}
    assert lab(*words).stdout == done.stdout, "the same seed gives the same order"
    assert not (tmp_path / "results").exists() and not (tmp_path / "cache").exists()


def test_topologies_of_the_command_line(lab: Run) -> None:
    """Every proxy is planned with every pooler; a hop, a core or a setting that does not exist is an error before anything runs."""
    found = lab(*ONE, "--proxy", "none,nginx", "--pooler", "none,pgbouncer-tx", "--dry-run")
    assert {line.split()[5] for line in found.stdout.splitlines() if " block " in line} == {
        "direct", "nginx", "pgbouncer-tx", "nginx+pgbouncer-tx"
    }  # fmt: skip
    for words, said in (
        (("--proxy", "ngnix"), "there is no proxy `ngnix`"),
        (("--pin", "server=4096"), "`server` is to run on core 4096, which this machine has not for us"),
        (("--pin", "cook=0"), "`--pin` names a role `cook` that does not exist"),
        (("--postgres", "work_men=8MB"), "PostgreSQL has no setting `work_men`"),
        (("--postgres", "fsync=on"), "the PostgreSQL setting `fsync` is the lab's own"),
        (("--cpus", "0"), "`--cpus` is below 0.01"),
    ):
        refused = lab(*ONE, *words, "--dry-run")
        assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, f"error: {said}")


def test_dry_run_as_json(lab: Run) -> None:
    """As JSON the plan is the whole plan, with every setting that was given."""
    given = ("--close", "--workers", "3", "--pool-size", "9", "--pool-wait-ms", "0", "--no-prepared", "--durable", "--scale", "2",
             "--pool-per-worker", "--cpus", "1.5", "--memory-mb", "900", "--pin", "server=0", "--postgres", "work_mem=8MB",
             "--proxy", "nginx", "--pooler", "pgbouncer-tx", "--pooler-size", "7", "--pooler-clients", "70")  # fmt: skip
    found = document(lab(*ONE, *given, "--window", "2.5", "--warmup", "1,4", "--timeout-ms", "700", "--json"))
    assert found["estimate_s"] > 0
    cell = found["plan"]["slots"][0]["cell"]
    assert cell["settings"] == {
        "workers": 3, "pool_size": 9, "pool_wait_ms": 0, "prepared": False, "durability": "durable", "scale": 2,
        "pool_scope": "per-worker", "cpus": 1.5, "memory_mb": 900, "pin": [["server", [0]]], "postgres": [["work_mem", "8MB"]],
    }  # fmt: skip
    assert cell["topology"] == {"proxy": "nginx", "pooler": "pgbouncer-tx", "pooler_size": 7, "pooler_clients": 70}
    load = cell["load"]
    assert (load["keep_alive"], load["window_s"], load["warmup_min_s"], load["warmup_max_s"]) == (False, 2.5, 1.0, 4.0)
    assert (load["timeout_ms"], load["connections"]) == (700, 100)


@pytest.mark.parametrize("suite", sorted(path.name for path in (ROOT / "suites").glob("*.toml")))
def test_every_suite_can_be_planned(fairground: Run, suite: str) -> None:
    """Every suite of the project has a plan with trials in it."""
    found = document(fairground("run", f"suites/{suite}", "--dry-run", "--json"))
    assert found["plan"]["slots"]


# ---------------------------------------------------------------- new, clean


def test_new_copies_sources_only(lab: Run, tmp_path: Path) -> None:
    """A new server is a copy of another without what was built, and is a server at once."""
    done = lab("new", "mine", "--servers", "servers", "--from", "alder-one")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "servers/mine is a copy of alder-one. Edit it, then: ./fairground check mine\n"
    found = {path.name for path in (tmp_path / "servers" / "mine").iterdir()}
    assert found == {".gitignore", "main.c", "server.toml"}
    planned = lab(*RUN, "--stack", "mine:plain", "-w", "ping")
    assert planned.returncode == 0 and "mine:plain ping direct c100" in planned.stdout


def test_clean_shows_first(lab: Run, tmp_path: Path) -> None:
    """Without `--yes` nothing is removed and the command that would is shown; with it only what was named goes."""
    for name in ("cache/builds", "cache/postgres", "runs"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(bytes(1_500_000))
    shown = lab("clean", "--builds", "--results", "runs")
    assert shown.returncode == 0
    assert [line.split()[:3] for line in shown.stdout.splitlines()] == [
        ["builds", "1.5", "MB"],
        ["databases", "1.5", "MB"],
        ["runs", "1.5", "MB"],
    ]
    assert shown.stdout.splitlines()[0].endswith(f"{tmp_path}/cache/builds  ./fairground clean --builds --yes")
    assert (tmp_path / "cache" / "builds" / "file").exists()
    rows = document(lab("clean", "--builds", "--yes", "--results", "runs", "--json"))["folders"]
    assert [(row["what"], row["removed"]) for row in rows] == [("builds", True), ("databases", False), ("runs", False)]
    left = [name for name in ("cache/builds", "cache/postgres", "runs") if (tmp_path / name).exists()]
    assert left == ["cache/postgres", "runs"]


# ---------------------------------------------------------------- nothing measured


@pytest.mark.live
def test_check_where_nothing_can_be_started(lab: Run) -> None:
    """When no stack can be had here exit code 3 says so, and the reason is data and talk."""
    done = lab("check", "birch-two", "--servers", "servers", "--json")
    assert done.returncode == 3
    assert "not here: birch-two, needs `no-such-compiler` on PATH" in done.stderr
    states = {id: (verdict["state"], verdict["reason"]) for id, verdict in json.loads(done.stdout)["stacks"].items()}
    assert states == {f"birch-two:{name}": ("not here", "needs `no-such-compiler` on PATH") for name in ("plain", "fancy")}


def test_a_reader_that_went_away() -> None:
    """A reader that closes its pipe early, as `head` does, is no fault."""
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, "-c", f"{sys.executable} -m fairground list workloads --json | true"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
