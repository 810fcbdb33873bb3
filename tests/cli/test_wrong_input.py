"""Wrong input: one sentence that says what, where and what to do, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import ONE, RUN, Run
from fairground.model import StorageError
from fairground.records import journal

TRY = "a service without a contract: ./fairground try http://localhost:3000/x"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("xyzzy",), "no such command 'xyzzy'", "./fairground --help"),
        (("lst",), "no such command 'lst'. Did you mean 'list'?", "./fairground --help"),
        (
            ("run", "--conections", "5"),
            "there is no option `--conections`",
            "did you mean `--connections`? All of them: ./fairground run --help",
        ),
        (("run", "--zzz"), "there is no option `--zzz`", "./fairground run --help"),
        (("run",), "name a suite or at least one `--stack`", "./fairground run suites/demo.toml, or: run --stack SERVER"),
        (
            (*RUN, "suites/demo.toml", "--stack", "alder-one"),
            "a suite and `--stack` are both given, and a suite names its stacks",
            "leave one of them out",
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
        *(
            ((verb, "http://localhost:3000/x"), f"`{verb}` takes no URL, and `http://localhost:3000/x` is one", TRY)
            for verb in ("doctor",)
        ),
        *(
            ((verb, "--stack", "http://localhost:3000/x"), "`http://localhost:3000/x` is a URL, and no stack", TRY)
            for verb in ("capacity", "run")
        ),
        (("run", "http://localhost:3000/x"), "`http://localhost:3000/x` is a URL, and no suite", TRY),
        ((*RUN, "--stack", "alder-one:fanci"), "there is no stack `alder-one:fanci`", None),
        ((*RUN, "--stack", "zzz"), "there is no stack `zzz`", "`./fairground list` shows them all"),
        (
            (*RUN, "--stack", "alder-one", "--workload", "absent"),
            "there is no workload `absent`",
            "workloads: create, crud, db-ping, db-time, lookup, page, ping, read, time, transfer, transfer-ordered, tx, update, users",
        ),
        ((*RUN, "--stack", "alder-one", "--scale", "0"), "`--scale 0` should be more than 0", None),
        ((*ONE, "--blocks", "0"), "`--blocks 0` should be more than 0", None),
        ((*ONE, "--blocks", "1000000"), "`--blocks 1000000` should be 1,000 at most", "a budget ends sooner: --budget 1h"),
        *(
            (
                (*ONE, "--rate", text),
                f"`--rate {text}` should be 0.001 to 10,000,000 requests a second",
                "for instance --rate 1000",
            )
            for text in ("1e+12", "1e-05")
        ),
        ((*ONE, "--timeout-ms", "60001"), "`--timeout-ms 60001` should be 1 to 60,000 ms", "for instance --timeout-ms 5000"),
        (
            (*ONE, "--window", "100000"),
            "`--window 100000` is longer than a day",
            "many short windows tell more than a long one: --blocks 3",
        ),
        (
            ("compare", "alder-one:plain", "alder-one:fancy", "--fail-on", "slower:500%"),
            "`--fail-on slower:500%` can never fire: nothing is slower by 100 % or more",
            "write less: slower:5%",
        ),
        ((*ONE, "--budget", "soon"), "`--budget soon` should be a time", "for instance --budget 90s, --budget 5m or --budget 1h"),
        ((*ONE, "--anchor", "alder-one"), "`alder-one` has 2 stacks", "name one: alder-one:plain, alder-one:fancy"),
        (
            (*ONE, "--anchor", "birch-two:plain"),
            "the anchor `birch-two:plain` is not in the plan",
            "it has alder-one:fancy, alder-one:plain",
        ),
        ((*ONE, "--window", "0"), "`--window 0.0` should be more than 0", None),
        ((*ONE, "--window", "nan"), "`--window nan` should be seconds", "for instance --window 2, --window 500ms or --window 1m"),
        ((*ONE, "--window", "0s"), "`--window 0.0` should be more than 0", None),
        ((*RUN, "-s", ","), "`--stack ,` names nothing", "for instance --stack NAME, or --stack ONE,OTHER"),
        (
            (*RUN, "-s", "alder-one", "-w", ","),
            "`--workload ,` names nothing",
            "for instance --workload NAME, or --workload ONE,OTHER",
        ),
        ((*ONE, "--blocks", "two"), "`--blocks two` should be a whole number", None),
        ((*ONE, "--rate", "1k"), "`--rate 1k` should be a number", None),
        ((*ONE, "--workers", "-1"), "`--workers -1` should be more than 0", None),
        ((*ONE, "--timeout-ms", "0"), "`--timeout-ms 0` should be more than 0", None),
        (
            (*ONE, "--hosts", "127.0.0.1:9"),
            "no scheduler answers at `tcp://127.0.0.1:9`",
            "start one with `./fairground host serve`, or name the address that it printed",
        ),
        (
            (*ONE, "--hosts", "10.0.0.5"),
            "`tls://10.0.0.5:8786` needs the fleet's certificate",
            "copy the folder that `./fairground host serve` made, and name it: --tls DIR",
        ),
        (
            (*ONE, "--place", "generator=b"),
            "`--place` goes with `--hosts`",
            "name where the hosts have joined: --hosts tls://10.0.0.5:8786",
        ),
        (
            (*ONE, "--place", "generator=b", "--hosts", "127.0.0.1:9", "--pin", "generator=0"),
            "`--pin generator` is of this machine, and `--place` has the generator elsewhere",
            "leave one of them out",
        ),
        (
            (*ONE, "--place", "generator=b", "--hosts", "127.0.0.1:9", "--generator", "wrk"),
            "`wrk` makes its load on the lab's machine: only the lab's engine can be on another host",
            "leave `--generator` or `--place` out",
        ),
        (
            ("compare", "alder-one:plain", "alder-one:fancy", "--hosts", "127.0.0.1:9"),
            "`--hosts` goes with `--place`: two servers are compared on one machine",
            "add --place generator=HOST",
        ),
        (
            ("capacity", "-s", "alder-one:plain", "--hosts", "127.0.0.1:9"),
            "`--hosts` goes with `--place`: a capacity is one server's, on one machine",
            "add --place generator=HOST",
        ),
        *(
            (
                (*words, "--place", "generator=b+c", "--hosts", "127.0.0.1:9"),
                "`--place generator=b+c`: the generator is on one host",
                "name one of them",
            )
            for words in (ONE, ("compare", "alder-one:plain", "alder-one:fancy"), ("capacity", "-s", "alder-one:plain"))
        ),
        (
            (*ONE, "--place", "generator"),
            "`--place generator` should be a role and a host",
            "for instance --place generator=rack-2",
        ),
        ((*ONE, "--tls", "certificate"), "`--tls` goes with `--hosts`", "name where the hosts are: --hosts tls://10.0.0.5:8786"),
        (
            ("host", "serve", "--address", "tcp://10.0.0.5:8786"),
            "`tcp://10.0.0.5:8786` is beyond loopback and not encrypted: whoever reaches it could run programs on all hosts",
            "tls://10.0.0.5:8786",
        ),
        (
            ("host", "join", "127.0.0.1"),
            "nothing is allowed to run on this host",
            "--allow servers/ for those of this checkout as they are here",
        ),
        (("host", "join", "127.0.0.1", "--allow", "all", "--role", "poet"), "there is no role `poet` for a host", None),
        (("host", "list", "http://127.0.0.1"), "`http://127.0.0.1` is not the address of a scheduler", None),
        (("list", "wishes"), "there is no list of `wishes`", "lists: stacks, workloads, suites, topologies, runs"),
        (
            ("list", "--servers", "absent"),
            "there is no folder `absent` to read servers from",
            "name one with --servers, or start the lab in its checkout",
        ),
        (("host",), "`fairground host` needs a word that says what to do", "./fairground host --help"),
        (("serve", "--port", "abc"), "invalid value for '--port': it should be a whole number", "./fairground serve --help"),
        (("new", "My Server"), "`My Server` is not a valid id for a server", "use a–z, 0–9 and -"),
        (("replicate", "transfer", "--blocks", "0"), "`--blocks 0` should be more than 0", None),
        (("replicate", "demo"), "the suite `demo` makes no claims", "./fairground run suites/demo.toml"),
        (
            ("replicate", "absent"),
            "there is no suite `absent` to replicate",
            "suites with claims: apostol, lookup, pgbench-tx, transfer, users; `all` names them all",
        ),
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
            "`My_Server` is not a valid id for a server",
            "use a–z, 0–9 and -",
        ),
        (
            ("new", "../mine", "--servers", "servers", "--from", "alder-one"),
            "`../mine` is not a valid id for a server",
            "use a–z, 0–9 and -",
        ),
        (
            ("new", "birch-two", "--servers", "servers", "--from", "alder-one"),
            "`servers/birch-two` exists already",
            "choose another id",
        ),
        (
            ("import", "techempower", "servers"),
            "there is no `benchmark_config.json` in `servers`",
            "name the folder of one framework",
        ),
        (
            ("import", "seeds", "servers"),
            "nothing can be imported for `seeds`",
            "contracts with rules for it: techempower",
        ),
        (("clean", "--yes"), "say what to remove", "--builds, --revisions, --databases, --runs"),
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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--connections", "10000000"), "10,000,000 connections are more than can be opened"),
        (("--threads", "5000"), "5,000 threads of the generator are too many for this machine"),
        (("--cpus", "4096"), "the server is to use 4096 processors, and this machine has "),
    ],
)
def test_impossible_amounts(lab: Run, words: tuple[str, ...], says: str) -> None:
    """What this machine cannot have is refused before anything is built, and the hint says what it can."""
    done = lab(*ONE, *words)
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr and "\nhint: " in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("demo", "did you mean suites/demo.toml?"),
        ("matrx", "did you mean suites/matrix.toml?"),
        ("xyzzy", "suites: suites/"),
    ],
)
def test_a_suites_bare_name(lab: Run, name: str, hint: str) -> None:
    """A name without a file gets the nearest suite's path, or all of them."""
    done = lab(*RUN, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: there is no suite file `{name}`" in done.stderr and f"hint: {hint}" in done.stderr


@pytest.mark.parametrize(
    ("words", "name"), [(("--stack", "x"), "--stack"), (("suites/demo.toml",), "SUITE"), (("--rate", "5"), "--rate")]
)
def test_what_clashes_with_resume(lab: Run, words: tuple[str, ...], name: str) -> None:
    """A run that goes on measures what it began with: another wish is refused, not passed over."""
    done = lab("run", "--resume", "latest", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: `{name}` goes with a new run, and `--resume` goes on with one\n\nhint: leave it out\n"


def test_results_that_cannot_be_made() -> None:
    """A file system without folders, such as /proc, is the machine's refusal, exit code 3."""
    with pytest.raises(StorageError, match="`/proc/nope` cannot be made: its file system takes no folders") as caught:
        journal.new_folder(Path("/proc/nope"), 0.0, "x")
    assert caught.value.exit_code == 3 and caught.value.hint


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


@pytest.mark.parametrize("text", ["", "5,", "5,2", "1,2,3", "-1,2", "a,b", "nan,nan", "1,inf"])
def test_bad_warmup(lab: Run, text: str) -> None:
    """A warm-up is a range of seconds."""
    done = lab(*ONE, f"--warmup={text}")
    problem = f"`--warmup {text}` should be least and most seconds"
    wanted = f"error: {problem}\n\nhint: for instance --warmup 2,20, or --warmup 2 for both\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", wanted)


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


def test_folders_that_are_files(lab: Run, tmp_path: Path) -> None:
    """A cache or results that are a file end with one sentence, what to do, and exit code 3; no traceback, no wrong reason."""
    (tmp_path / "cache").write_text("mine")
    (tmp_path / "results").write_text("mine")
    done = lab("check", "alder-one:plain", "--servers", "servers", "--results", "results")
    said = done.stderr.replace("\n\nhint: ", "\nhint: ").splitlines()
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert any(line.startswith(f"error: `{tmp_path}/cache") and "a file stands where a folder should be" in line for line in said)
    assert said[-1] == "hint: move the file away, or choose another folder"
    assert "namespaces" not in done.stderr and "fault of the lab" not in done.stderr
