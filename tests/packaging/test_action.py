"""The GitHub Action: its scripts under a runner's variables, with a `fairground` that is none, and what its YAML grants."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.paths import ROOT
from fairground.lab.compare import Named, workload_of
from fairground.lab.places import Places

ACTION, WORKFLOWS = ROOT / "action.yml", sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = ROOT / "packaging" / "action"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")

FAKE = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word"; done >"$RUNNER_TEMP/words"
for word in "$@"; do case $word in --markdown=*) summary=${word#*=} ;; --results=*) results=${word#*=} ;; esac; done
echo 'round 1: said on the way' >&2
[ "$FAKE_CODE" -lt 2 ] || { echo 'error: there is no stack' >&2; exit "$FAKE_CODE"; }
echo '## B is slower' >"$summary"
echo '{"folder": "'"$results"'/one-compare"}'
exit "$FAKE_CODE"
"""


def git(folder: Path, *words: str) -> str:
    """What git prints, as nobody in particular."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, files: Mapping[str, str | None]) -> str:
    """Write files (None: remove) and commit them; the commit."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink() if text is None else path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


class Runner:
    """A runner's folders and files, in which a script of the action is run."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.workspace, self.temp = folder / "my workspace", folder / "temp"
        self._files = {name: folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")}
        programs = folder / "bin"
        shutil.copytree(repository, self.workspace)
        for made in (self.temp, programs):
            made.mkdir()
        for file in self._files.values():
            file.write_text("")
        (programs / "fairground").write_text(FAKE)
        (programs / "fairground").chmod(0o755)
        self.base = git(self.workspace, "rev-parse", "HEAD")
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
            **{name: str(path) for name, path in self._files.items()},
        }

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one script of the action, under these variables, too."""
        command = [str(SCRIPTS / script)] if script.endswith(".sh") else [sys.executable, str(SCRIPTS / script)]
        return subprocess.run(command, env={**self.environment, **variables}, capture_output=True, text=True)

    def compare(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Compare the base with the working tree, unless told otherwise."""
        asked = {"STACK": "mine:plain", "WORKLOAD": "ping", "BASE": self.base, "HEAD": ".", "BUDGET": "1m", "FAKE_CODE": "0"}
        return self.run("compare.sh", **(asked | variables))

    @property
    def summary(self) -> str:
        return self._files["GITHUB_STEP_SUMMARY"].read_text()

    @property
    def path(self) -> str:
        return self._files["GITHUB_PATH"].read_text()

    @property
    def outputs(self) -> dict[str, str]:
        """The step's outputs."""
        return dict(line.split("=", 1) for line in self._files["GITHUB_OUTPUT"].read_text().splitlines())

    @property
    def words(self) -> list[str] | None:
        """The words that `fairground` was called with; None where it was not called."""
        file = self.temp / "words"
        return file.read_text().split("\0")[:-1] if file.exists() else None


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit, made once."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q")
    commit(folder, {"x": "1"})
    return folder


@pytest.fixture
def runner(tmp_path: Path, repository: Path) -> Runner:
    """A runner whose workspace is a copy of that repository."""
    return Runner(tmp_path, repository)


# ---------------------------------------------------------------- the scripts


@pytest.mark.parametrize("code", ["0", "1"])
def test_a_comparison_is_summed_up_and_its_exit_code_passed_on(runner: Runner, code: str) -> None:
    """Whether it fails or not, the summary is the job's, and the page's path is an output."""
    done = runner.compare(FAKE_CODE=code, STACK="mine:plain", WORKLOAD="tx")
    assert done.returncode == int(code), done.stderr
    assert runner.summary == "## B is slower\n"
    folder = f"{runner.temp}/fairground/results/one-compare"
    assert re.fullmatch(r"fairground-mine-plain-tx-[0-9a-f]{8}", artifact := runner.outputs["artifact"])
    assert runner.outputs == {
        "page": f"{folder}/compare.html", "folder": folder, "artifact": artifact, "exit-code": code,
    }  # fmt: skip
    assert "round 1: said on the way" in done.stderr


@pytest.mark.parametrize("code", ["2", "3"])
def test_what_could_not_be_compared_is_said(runner: Runner, code: str) -> None:
    """Without a summary of the lab's, the job's has its last words, and there is no page."""
    assert runner.compare(FAKE_CODE=code).returncode == int(code)
    assert runner.summary.startswith("## Fairground could not compare\n\n")
    assert "    error: there is no stack\n" in runner.summary
    assert runner.outputs == {"exit-code": code}


def test_inputs_are_words_of_their_own(runner: Runner) -> None:
    """Whatever an input holds, it is one word, and none of them can become an option or a command."""
    evil = "--results=/elsewhere $(touch pwned); `touch pwned`"
    done = runner.compare(STACK=evil, WORKLOAD=evil, BUDGET=evil, FAIL_ON=evil)
    assert done.returncode == 0, done.stderr
    assert runner.words is not None and runner.words[-2:] == ["--", evil]
    assert f"--workload={evil}" in runner.words and f"--budget={evil}" in runner.words and f"--fail-on={evil}" in runner.words
    assert not list(runner.workspace.glob("pwned")) and re.fullmatch(r"[\w.-]+", runner.outputs["artifact"])


@pytest.mark.parametrize(("count", "page"), [("true", "count.html"), ("false", "compare.html")])
def test_counts_have_a_page_of_their_own(runner: Runner, count: str, page: str) -> None:
    """What is counted, and what is timed, is one input; each has its page."""
    assert runner.compare(COUNT=count).returncode == 0
    assert runner.words is not None and ("--count" in runner.words) is (count == "true")
    assert runner.outputs["page"].endswith(f"/{page}")


@pytest.mark.parametrize("command", ["./new 'a b'", "cd new\nexec ./new 'a b' \"c\" && \t\\d $e\n", "-x"])
def test_services_are_compared(runner: Runner, command: str) -> None:
    """Two URLs go to `try`, each with what starts it as one word of a shell; the summary and the outputs are as for stacks."""
    done = runner.compare(
        STACK="", URL_A="http://127.0.0.1:1/x", URL_B="http://127.0.0.1:2/x", COMMAND_A="./old --port 1", COMMAND_B=command,
        FAIL_ON="slower:5%",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert runner.words is not None and runner.words[:4] == [
        "try", "--url=http://127.0.0.1:1/x", "--against=http://127.0.0.1:2/x", "--budget=1m",
    ]  # fmt: skip
    assert "--fail-on=slower:5%" in runner.words and runner.words[-4:] == ["--", "sh", "-c", "./old --port 1"]
    (other,) = (word for word in runner.words if word.startswith("--against-command="))
    assert shlex.split(other.partition("=")[2]) == ["sh", "-c", command]
    assert runner.summary == "## B is slower\n"
    assert re.fullmatch(r"fairground-services-[0-9a-f]{8}", runner.outputs["artifact"])


def test_artifacts_of_two_comparisons_have_two_names(runner: Runner) -> None:
    """A matrix compares the same under several versions in one workflow, whose artifacts share their names' room."""
    names = set()
    for asked in ({}, {"STACK": "", "URL_A": "http://127.0.0.1:1/x", "URL_B": "http://127.0.0.1:2/x"}):
        for _ in range(2):
            runner.compare(**asked)
            names.add(runner.outputs["artifact"])
    assert len(names) == 4


def test_a_contracts_own_default_is_asked(runner: Runner) -> None:
    """A project has workloads of its own, and need not name one."""
    assert runner.compare(WORKLOAD="").returncode == 0
    assert runner.words is not None and not any(word.startswith("--workload") for word in runner.words)
    assert re.fullmatch(r"fairground-mine-plain-[0-9a-f]{8}", runner.outputs["artifact"])
    assert document(ACTION)["inputs"]["workload"]["default"] == ""


@pytest.mark.parametrize(("url", "installs"), [("", True), ("http://127.0.0.1:1/x", False)])
def test_services_need_no_emulator(runner: Runner, tmp_path: Path, url: str, installs: bool) -> None:
    """Counting is of stacks: where URLs are given nothing is installed for it, though `count` is true."""
    lab, programs = copied(tmp_path), tmp_path / "bin"
    for name, text in {"sudo": '#!/bin/sh\necho "sudo $*"\n', "uname": "#!/bin/sh\necho none-such\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    variables = {**runner.environment, "COUNT": "true", "URL_A": url}
    done = subprocess.run([str(lab / "packaging/action/install.sh")], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("qemu-user" in done.stdout) is installs


def test_services_are_asked_what_the_inputs_say(runner: Runner) -> None:
    """A header, and a file of requests, are one word each; a stack has neither."""
    evil, urls = "X: $(touch pwned)", {"URL_A": "http://127.0.0.1:1/", "URL_B": "http://127.0.0.1:2/"}
    done = runner.compare(STACK="", HEADER=evil, REQUESTS="shop.toml", **urls)
    assert done.returncode == 0, done.stderr
    assert runner.words is not None and {f"--header={evil}", "--requests=shop.toml"} <= set(runner.words)
    assert not list(runner.workspace.glob("pwned"))
    assert "go with url-a" in runner.compare(REQUESTS="shop.toml").stderr


@pytest.mark.parametrize(
    "inputs", [{"URL_B": ""}, {"STACK": "mine:plain"}, {"COUNT": "yes", "URL_A": "", "URL_B": "", "STACK": "mine:plain"}]
)
def test_inputs_that_cannot_be_meant_are_wrong_input(runner: Runner, inputs: dict[str, str]) -> None:
    """The output says 2 as the step does, and nothing is asked."""
    services = {"STACK": "", "URL_A": "http://127.0.0.1:1/", "URL_B": "http://127.0.0.1:2/"}
    assert runner.compare(**services | inputs).returncode == 2
    assert runner.outputs == {"exit-code": "2"} and runner.words is None
    assert runner.compare(**services).returncode == 0


def test_revisions_become_commits(runner: Runner) -> None:
    """A branch's name is looked up, so that a comma in it does not end it; the working tree stays what it is."""
    git(runner.workspace, "branch", "a,b")
    assert runner.compare(BASE="a,b").returncode == 0
    assert runner.words is not None and f"--revisions={runner.base[:12]},." in runner.words
    assert not any(word.startswith("--fail-on") for word in runner.words)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"BASE": "--output=pwned"}, "the input base names no commit that is here; actions/checkout needs fetch-depth: 0"),
        ({"HEAD": "nowhere"}, "the input head names no commit that is here; actions/checkout needs fetch-depth: 0"),
        ({"BASE": ""}, "the input base is empty"),
        ({"STACK": ""}, "the input stack is empty"),
        ({"COUNT": "yes"}, "the input count is `yes`; write true or false"),
    ],
)
def test_wrong_input_measures_nothing(runner: Runner, variables: dict[str, str], said: str) -> None:
    """One sentence in the log and in the summary, exit code 2, and the lab is not called."""
    done = runner.compare(**variables)
    assert (done.returncode, done.stderr) == (2, f"{said}\n")
    assert runner.summary == f"## Fairground could not compare\n\n    {said}\n"
    assert runner.words is None


def copied(folder: Path) -> Path:
    """A lab of what the scripts look at, whose door says that it was called."""
    lab = folder / "lab"
    for name, text in {
        "requirements.lock": "a==1",
        "engine/Cargo.toml": "",
        "engine/Cargo.lock": "",
        "engine/src/main.rs": "",
    }.items():
        path = lab / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (lab / "fairground").write_text('#!/bin/sh\necho "called with $*"\n')
    (lab / "fairground").chmod(0o755)
    scripts = lab / "packaging" / "action"
    scripts.mkdir(parents=True)
    for script in SCRIPTS.glob("*.sh"):
        (scripts / script.name).write_bytes(script.read_bytes())
        (scripts / script.name).chmod(0o755)
    return lab


def test_the_key_is_that_of_the_content(runner: Runner, tmp_path: Path) -> None:
    """The same lab has the same key; another lock, and another source of the engine, have others."""
    lab, keys = copied(tmp_path), []
    for name in (None, None, "requirements.lock", "engine/src/main.rs"):
        if name is not None:
            (lab / name).write_text("changed")
        subprocess.run([str(lab / "packaging/action/key.sh")], env=runner.environment, check=True)
        keys.append(runner.outputs["key"])
    assert keys[0] == keys[1] and len(set(keys)) == 3
    assert all(re.fullmatch(r"fairground-[0-9a-f]{64}", key) for key in keys) and runner.outputs["lab"] == str(lab)


@pytest.mark.parametrize(("hit", "newer"), [("true", True), ("", False)])
def test_install_calls_the_door(runner: Runner, tmp_path: Path, hit: str, newer: bool) -> None:
    """The lab is on the job's PATH, and an engine out of the cache is not taken for older than its sources."""
    lab = copied(tmp_path)
    engine, source = lab / "engine/target/release/fairload", lab / "engine/src/main.rs"
    engine.parent.mkdir(parents=True)
    engine.write_text("")
    engine.chmod(0o755)
    os.utime(engine, (1, 1))
    done = subprocess.run(
        [str(lab / "packaging/action/install.sh")], env={**runner.environment, "CACHE_HIT": hit}, capture_output=True, text=True
    )
    assert done.stdout == "called with --version\n", done.stderr
    assert Path(runner.path.strip(), "fairground").resolve() == lab / "fairground"
    assert (engine.stat().st_mtime >= source.stat().st_mtime) is newer


TUNED, SHOWN = '[variants.plain]\napproach = "tuned"\n', '[variants.shown]\napproach = "documented"\n'


def changed(runner: Runner, base: str, head: str, said: str = "") -> dict[str, str]:
    """Stack → workload of what two commits differ in, as the workflow asks for it."""
    done = runner.run("changed.py", BASE=base, HEAD=head, WORKLOAD="rows")
    assert (done.returncode, done.stderr) == (0, said)
    return {one["stack"]: one["workload"] for one in json.loads(runner.outputs["stacks"])}


def test_changed_servers_are_found(runner: Runner) -> None:
    """Servers that both commits have and that differ; neither new nor removed ones, nor new variants, nor the lab's files."""
    names = ("changed", "removed", "same")
    base = commit(runner.workspace, {**{f"servers/{name}/server.toml": TUNED for name in names}, "servers/twins.toml": ""})
    head = commit(
        runner.workspace,
        {"servers/changed/server.toml": TUNED + SHOWN, "servers/removed/server.toml": None, "servers/new/server.toml": TUNED,
         "servers/twins.toml": "x", "src/lab.py": ""},
    )  # fmt: skip
    assert changed(runner, base, head) == {"changed:plain": ""}


@pytest.mark.parametrize(
    ("name", "stacks"),
    [
        ("main.x", ["one:shown", "one:plain"]),
        ("documented/main.x", ["one:shown"]),
        ("published/deep/main.x", ["one:told"]),
    ],
)
def test_what_is_changed_is_what_is_compared(runner: Runner, name: str, stacks: list[str]) -> None:
    """Code of documented or published variants is held by them, though another variant is the manifest's first."""
    manifest = TUNED + '[variants.told]\napproach = "published"\n' + SHOWN
    base = commit(runner.workspace, {"servers/one/server.toml": manifest})
    head = commit(runner.workspace, {f"servers/one/{name}": ""})
    assert list(changed(runner, base, head)) == stacks


def test_each_is_asked_what_its_contract_has_and_it_serves(runner: Runner) -> None:
    """The workflow's workload where the server has it, and else the contract's default."""
    manifests = {"usual": SHOWN, "other": 'contract = "other"\n' + SHOWN, "bare": SHOWN + '[skip]\nrows = "no client"\n'}
    base = commit(
        runner.workspace,
        {"contracts/seeds/workloads/rows.toml": "", "contracts/other/workloads/trees.toml": ""}
        | {f"servers/{name}/server.toml": text for name, text in manifests.items()},
    )
    head = commit(runner.workspace, {f"servers/{name}/x": "" for name in manifests})
    assert changed(runner, base, head) == {"bare:shown": "", "other:shown": "", "usual:shown": "rows"}


def test_a_server_whose_program_is_not_here_is_left_out(runner: Runner) -> None:
    """It cannot be compared here, and that is no fault of the change; one whose programs are here is compared."""
    names = {"here": "git", "gone": "no-such-program"}
    files = {f"servers/{name}/server.toml": f'needs = [["{program}", "-v"]]\n{SHOWN}' for name, program in names.items()}
    base = commit(runner.workspace, dict(files))
    head = commit(runner.workspace, {f"servers/{name}/x": "" for name in names})
    said = "gone is not compared: there is no `no-such-program` here\n"
    assert changed(runner, base, head, said) == {"here:shown": ""}


def test_not_all_of_many_servers_are_compared(runner: Runner) -> None:
    """A change of many servers compares a stack of each before a second of any, as many as there is time for, and says so."""
    names = [f"servers/s{number}" for number in range(6)]
    base = commit(runner.workspace, {f"{name}/server.toml": TUNED + SHOWN for name in names})
    head = commit(runner.workspace, {f"{name}/x": "" for name in names})
    said = "12 stacks differ; the first 4 are compared: s0:shown, s1:shown, s2:shown, s3:shown\n"
    assert len(changed(runner, base, head, said)) == 4


def test_every_server_of_the_lab_can_be_asked(runner: Runner) -> None:
    """The workflow's own workload is one that the chosen stacks of all servers serve, or their contract's default is asked."""
    (workload,) = {step["env"]["WORKLOAD"] for path in WORKFLOWS for step in steps(path) if step.get("id") == "changed"}
    read = [*ROOT.glob("servers/*/server.toml"), *ROOT.glob("contracts/*/workloads/*.toml")]
    files: dict[str, str | None] = {str(path.relative_to(ROOT)): path.read_text() for path in read}
    places = Places(ROOT, ROOT / "servers", runner.temp / "results", runner.temp / "cache")
    known = places.load_servers()
    base, asked = commit(runner.workspace, files), {}
    for server in known:
        head = commit(runner.workspace, {f"servers/{server.id}/x": ""})
        runner.run("changed.py", BASE=base, HEAD=head, WORKLOAD=workload)
        asked |= {one["stack"]: one["workload"] for one in json.loads(runner.outputs["stacks"])}
        base = head
    assert asked
    for stack, word in asked.items():
        assert workload_of(places, known, Named("a", "b", stack, stack), word or None, None)


# ---------------------------------------------------------------- what the YAML says


def document(path: Path) -> dict[Any, Any]:
    """A YAML file. `on` is a boolean in YAML 1.1."""
    found = yaml.safe_load(path.read_text())
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """The steps of an action, or of all jobs of a workflow."""
    found = document(path)
    for one in [found["runs"]] if "runs" in found else found["jobs"].values():
        yield from one["steps"]


FILES = [pytest.param(path, id=path.name) for path in (ACTION, *WORKFLOWS)]


@pytest.mark.parametrize("path", FILES)
def test_no_expression_is_in_a_script(path: Path) -> None:
    """What is foreign reaches scripts through the environment alone."""
    scripts = [step["run"] for step in steps(path) if "run" in step]
    assert scripts and not any("${{" in script for script in scripts)


@pytest.mark.parametrize("path", FILES)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    """What others wrote is used as it was at one commit, and a comment says which version that is."""
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used and all(one == "./" or PINNED.fullmatch(one) for one in used)
    told = re.findall(r"uses: \S+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", path.read_text(), re.MULTILINE)
    assert len(told) == sum(one != "./" for one in used)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in WORKFLOWS])
def test_workflows_may_only_read(path: Path) -> None:
    """A workflow that runs a pull request's code reads the repository, has no secret, and leaves no token behind."""
    found = document(path)
    assert found["permissions"] == {"contents": "read"} and not any("permissions" in job for job in found["jobs"].values())
    assert "pull_request_target" not in found[True] and "secrets." not in path.read_text()
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts and all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert all("timeout-minutes" in job for job in found["jobs"].values())


def test_every_input_is_used_and_every_variable_has_one() -> None:
    """The comparison's variables are the inputs, by name; what a workflow gives the action is an input of it."""
    inputs = document(ACTION)["inputs"]
    (compare,) = (step for step in steps(ACTION) if step.get("id") == "compare")
    assert compare["env"] == {name.upper().replace("-", "_"): f"${{{{ inputs.{name} }}}}" for name in inputs}
    given = [step["with"] for path in WORKFLOWS for step in steps(path) if step.get("uses") == "./"]
    assert given and all(set(words) <= set(inputs) for words in given)
    required = {name for name, one in inputs.items() if one.get("required")}
    assert all(required <= set(words) for words in given)


def test_scripts_of_the_action_are_there() -> None:
    """Each script that a step runs is a file that may be run."""
    named = {
        name
        for path in (ACTION, *WORKFLOWS)
        for step in steps(path)
        for name in re.findall(r"packaging/\S+?\.(?:sh|py)", step.get("run", ""))
    }
    assert len(named) == 4
    assert all((ROOT / name).is_file() and (name.endswith(".py") or os.access(ROOT / name, os.X_OK)) for name in named)
