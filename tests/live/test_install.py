"""The wheel: built, installed into an environment and a home of its own, and used from an unrelated folder."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.paths import ENGINE, ROOT

pytestmark = [pytest.mark.live, pytest.mark.nightly]

WHEEL_BYTES = 15 << 20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout. Skipped only where the build backend cannot be had.

    Its engine is compiled by the profile of the engine's tests, beside theirs, so that both have their dependencies compiled once.
    """
    folder = tmp_path_factory.mktemp("wheel")
    words = ("wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    compiled = {"CARGO_TARGET_DIR": str(ROOT / "engine" / "target"), "MATURIN_PEP517_ARGS": "--profile tested"}
    done = subprocess.run([sys.executable, "-m", "pip", *words], env=os.environ | compiled, capture_output=True, text=True)
    if "No matching distribution found for maturin" in done.stderr:
        pytest.skip(f"maturin cannot be had: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `fairground` of an empty environment that has the wheel. Its needs are those of this environment, by a path."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site, needs = (
        subprocess.run([program, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
        for program in (str(python), sys.executable)
    )
    Path(site, "needs.pth").write_text(f"{needs}\n")  # no .pth of that folder is read, so this checkout's source stays unseen
    return place / "bin" / "fairground"


@functools.cache
def caches_of_go() -> Mapping[str, str]:
    """Where Go keeps what it has compiled and fetched on this machine; nothing where there is no Go."""
    if shutil.which("go") is None:
        return {}
    asked = subprocess.run(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], capture_output=True, text=True, check=True)
    return {str(name): str(place) for name, place in json.loads(asked.stdout).items()}


def environment(folder: Path) -> Mapping[str, str]:
    """A home and a cache that are empty, and no word of the checkout. Only Go's own caches are the machine's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FAIRGROUND", "XDG", "VIRTUAL"))}
    plain = {"CI": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
    return {**kept, **caches_of_go(), "HOME": str(folder / "home"), **plain}


def call(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb in `folder / "work"`."""
    for name in ("home", "work"):
        (folder / name).mkdir(exist_ok=True)
    return subprocess.run(
        [str(program), *words], cwd=folder / "work", env=environment(folder), capture_output=True, text=True, timeout=150
    )


def files_of(program: Path) -> set[str]:
    """All files of the installed package but compiled ones."""
    (package,) = program.parents[1].glob("lib/python3*/site-packages/fairground")
    return {str(path) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_the_wheel_holds_sources_only(wheel: Path) -> None:
    """It is small, has the engine and the lab's inputs, and exactly those files of servers that the checkout counts as sources."""
    assert wheel.stat().st_size < WHEEL_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    assert {Path(name).name for name in names if ".data/scripts/" in name} == {"fairground", "fairload"}
    for folder in ("contract", "workloads", "suites", "servers"):
        listing = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", folder],
            capture_output=True,
            text=True,
            check=True,
        )
        mark = f"fairground/data/{folder}/"
        held = {name.removeprefix("fairground/data/") for name in names if name.startswith(mark)}
        assert held == {name for name in listing.stdout.splitlines() if (ROOT / name).exists()}


def test_it_answers_from_any_folder(installed: Path, tmp_path: Path) -> None:
    """What needs no measurement: the version, lists, the doctor, plans of suites, what can be replicated; no text
    names a door."""
    version = call(installed, tmp_path, "--version")
    assert version.returncode == 0 and "(wheel " in version.stdout
    stacks = json.loads(call(installed, tmp_path, "list", "--json").stdout)["stacks"]
    folders = {path.parent.name for path in (ROOT / "servers").glob("*/server.toml")}
    assert {row["id"].partition(":")[0] for row in stacks} == folders
    doctor = json.loads(call(installed, tmp_path, "doctor", "--json").stdout)["checks"]
    assert next(line for line in doctor if line["id"] == "engine")["state"] == "ok"
    for words in (("suites/demo.toml",), ("suites/transfer.toml", "--profile", "quick")):
        done = call(installed, tmp_path, "run", *words, "--dry-run")
        assert done.returncode == 0 and "trials" in done.stdout, done.stderr
    unknown = call(installed, tmp_path, "replicate", "no-such-suite")
    assert unknown.returncode == 2 and "transfer" in unknown.stderr
    help_ = call(installed, tmp_path, "run", "--help")
    assert "fairground run" in help_.stdout and "./fairground" not in help_.stdout


def test_it_measures_a_project_of_ones_own(installed: Path, tmp_path: Path) -> None:
    """A project with a copy of a server that can be had is checked and run; builds and results are nowhere in the package."""
    rows = json.loads(call(installed, tmp_path, "list", "--json").stdout)["stacks"]
    quick = [row for row in rows if row["state"] != "not here" and row["language"] in ("Go", "Python")]
    if not quick:
        pytest.skip("no server of the lab that builds quickly can be had here")
    source = sorted(quick, key=lambda row: (row["language"], row["id"]))[0]["id"]
    before = files_of(installed)
    server, _, variant = source.partition(":")
    for words in (("init", "."), ("new", "mine", "--from", server)):
        begun = call(installed, tmp_path, *words)
        assert begun.returncode == 0, begun.stderr
    checked = call(installed, tmp_path, "check", f"mine:{variant}", "--case", "ping")
    assert checked.returncode == 0 and "mine" in checked.stdout, checked.stderr
    words = ("-w", "db-ping", "--connections", "2", "--window", "1", "--warmup", "1,1", "--blocks", "1", "--no-controls")
    run = call(installed, tmp_path, "run", "-s", f"mine:{variant}", *words, "--quiet")
    assert run.returncode in (0, 3), run.stderr  # 3: what else runs on this machine voided it
    assert "no limit for" not in run.stderr  # its results are in a folder that is named from the current one
    (page,) = (tmp_path / "work" / "results").glob("*/report.html")
    trials = [json.loads(line) for line in page.with_name("entries.jsonl").read_text().splitlines()]
    assert trials and all(trial["verdict"] != "rejected" and trial["result"] for trial in trials)
    assert files_of(installed) == before


@contextmanager
def service() -> Iterator[str]:
    """Something that answers HTTP: the address of the load engine's null responder."""
    port = "17907"
    command = [str(ENGINE), "null", "--port", port]
    pipe = subprocess.PIPE  # it ends with its standard input
    child = subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True)
    try:
        assert child.stderr is not None and "listening" in child.stderr.readline()
        yield f"http://127.0.0.1:{port}/"
    finally:
        child.terminate()
        child.wait()


def test_it_tries_a_service(installed: Path, tmp_path: Path) -> None:
    """`try URL` finds the engine beside its interpreter, and leaves its record in the current folder."""
    with service() as address:
        done = call(installed, tmp_path, "try", address, "--window", "1", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    assert [path for path in (tmp_path / "work" / "results").iterdir() if (path / "head.json").exists()]
